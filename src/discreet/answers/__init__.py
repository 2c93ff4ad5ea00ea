"""What an analyst receives: columns of noisy values with their error, and ways to look at them."""
