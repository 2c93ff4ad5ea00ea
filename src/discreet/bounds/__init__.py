"""What one person can change at most, and the noise that hides it: bounds, mechanisms, price."""
