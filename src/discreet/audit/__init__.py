"""Exact and statistical verification of every privacy claim."""
