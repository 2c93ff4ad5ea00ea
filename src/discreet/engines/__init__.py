"""Databases that run what the compiler emits."""
