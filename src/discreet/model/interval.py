"""Where the truth lies, at a stated confidence."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From low to high, both included, with at least this confidence."""

    low: Fraction
    high: Fraction
    confidence: Fraction

    @property
    def half_width(self) -> Fraction:
        return (self.high - self.low) / 2

    def around(self, value: int | Fraction) -> "Interval":
        """The same interval moved to a released value."""
        return Interval(low=value + self.low, high=value + self.high, confidence=self.confidence)

    def __contains__(self, value: int | float | Fraction) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{float(self.low):g}, {float(self.high):g}] at {float(self.confidence):.4g}"
