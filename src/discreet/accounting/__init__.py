"""Composition, calibration and privacy filters: what many releases cost together."""
