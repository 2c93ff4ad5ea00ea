"""discreet: learn from data about people without learning about any one of them."""

__version__ = "0.1.0"
