"""The sum, the difference and the ratio of noisy numbers, with an interval. People get this wrong by hand.

Two ways, and the page says which was taken:

quadrature
    The half-width is the root of the sum of the squares. For numbers whose noise is independent and known:
    counts and sums of different groups of one column. It is exact for Gaussian noise. For Laplace noise it
    holds from a confidence of 0.95 on: |X + Y| with scales a and b exceeds ln(1/α)·√(a² + b²) with
    probability at most α = 0.05, and with more numbers less often. At 0.9 it would
    not. Tests compute these exactly.

worst case
    Interval arithmetic on intervals that all hold at once: each of k is taken at confidence 1 − (1 − c)/k,
    which the stored noise allows for free (the union bound). Whatever the numbers have in common, it holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_CONFIDENCE = 0.95
"""For quadrature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumber:
    """A number, and where the plain answer lies."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What several numbers are together."""

    name: str
    number: NoisyNumber


def combined(numbers: Sequence[NoisyNumber], *, independent: bool) -> list[Combined]:
    """The sum; of two numbers also the difference and the ratio."""
    found = [Combined(name="sum", number=_sum(numbers, independent=independent))]
    if len(numbers) == 2:
        first, second = numbers
        minus = NoisyNumber(value=-second.value, low=-second.high, high=-second.low)
        found.append(Combined(name="difference", number=_sum((first, minus), independent=independent)))
        if not independent:
            found.append(Combined(name="ratio", number=ratio(first, second)))
    return found


def ratio(first: NoisyNumber, second: NoisyNumber) -> NoisyNumber:
    """Interval arithmetic: unbounded if the divisor may be zero."""
    value = first.value / second.value if second.value else math.nan
    if second.low <= 0 <= second.high or not math.isfinite(second.low + second.high):
        return NoisyNumber(value=value, low=-math.inf, high=math.inf)
    ends = [a / b for a in (first.low, first.high) for b in (second.low, second.high)]
    return NoisyNumber(value=value, low=min(ends), high=max(ends))


def _sum(numbers: Sequence[NoisyNumber], *, independent: bool) -> NoisyNumber:
    value = math.fsum(number.value for number in numbers)
    if independent:
        half = math.sqrt(math.fsum(number.half**2 for number in numbers))
        return NoisyNumber(value=value, low=value - half, high=value + half)
    return NoisyNumber(
        value=value,
        low=sum(number.low for number in numbers),
        high=sum(number.high for number in numbers),
    )
