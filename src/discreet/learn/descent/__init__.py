"""Noisy gradient descent."""
