"""One limit on what it takes to list the public values of all keys of a question."""

from dataclasses import dataclass

from discreet.errors import QueryRefused

_MOST_STEPS = 1_500_000
"""Calls that are computed on a day, and as much as they take of other work: about two seconds."""


@dataclass(slots=True)
class Listing:
    """How much may still be computed to list values."""

    left: int = _MOST_STEPS

    def take(self, steps: int) -> None:
        """Refuse what would take too long, all keys together."""
        self.left -= steps
        if self.left < 0:
            raise QueryRefused(
                "It would take long to list all groups of this question.",
                remedy="Group by fewer things, or by simpler or coarser ones; or leave fewer days in WHERE.",
            )
