"""The deadline of what was paid for: one for all statements of a question and its draw."""

import time
from dataclasses import dataclass

from discreet.errors import TookTooLong


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """A moment on the monotonic clock, which does not follow changes of the date."""

    seconds: float
    """The time limit that it was made from, for errors."""
    end: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """So many seconds from now."""
        return cls(seconds=seconds, end=time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds, never below 0."""
        return max(0.0, self.end - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left == 0

    def check(self) -> None:
        """Raise if time is up. To be called between two steps of work that was charged."""
        if self.is_over:
            raise self.took_too_long()

    def took_too_long(self) -> TookTooLong:
        """The error for a question that we stopped. Asked again, it would be stopped again."""
        return TookTooLong(
            f"The question took longer than {self.seconds:g} seconds, the time limit of this policy."
            " What was charged stays charged.",
            remedy="Ask a simpler question; or ask the owner of the data for a larger time_limit.",
        )
