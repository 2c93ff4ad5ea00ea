"""The curator: answers questions about one dataset within its budget, and shows nothing else of it."""

from discreet.curator.curator import Curator

__all__ = ["Curator"]
