"""Logistic regression by objective perturbation."""
