"""What one person can change at most, and the noise that hides it: vectors, weights, mechanisms, price."""
