"""Spark, on this machine or elsewhere."""
