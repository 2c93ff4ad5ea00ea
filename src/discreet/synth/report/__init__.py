"""How good a synthetic table is: numbers, limits and a page."""
