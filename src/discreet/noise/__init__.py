"""The only randomness that privacy rests on: exact, vectorised, from a cryptographic generator."""
