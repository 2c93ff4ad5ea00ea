"""The nouns: frozen, without I/O, standard library only."""
