"""Random integers on a device: 48 bits at a time, no floating point.

Every client draws in the same order and in the same way, so that two clients with the same random bytes
send the same report. 48 bits are exact in every language, JavaScript's numbers included.
"""

import os
from collections.abc import Callable

BITS = 48
RANGE = 1 << BITS
"""Thresholds are out of this many."""

_BYTES = BITS // 8


class Draws:
    """Integers out of a stream of random bytes: the operating system's, unless a test brings its own."""

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._bytes = random_bytes

    def integer(self) -> int:
        """From 0 to 2⁴⁸ − 1, each equally likely: six bytes, the lowest first."""
        return int.from_bytes(self._bytes(_BYTES), "little")

    def below(self, bound: int) -> int:
        """From 0 to bound − 1, each equally likely: a draw that would favour small integers is repeated."""
        limit = RANGE - RANGE % bound
        while (drawn := self.integer()) >= limit:
            pass
        return drawn % bound
