"""Multiplicative weights: synthetic tables, and counting questions that share what they paid for."""
