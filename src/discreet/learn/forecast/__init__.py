"""How good a model will be, before anything is spent."""
