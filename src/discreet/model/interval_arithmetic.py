"""Sound interval arithmetic: where the values of an expression lie, given where its columns lie.

Two facts make the ends safe. Integers are computed exactly. Doubles are correctly rounded, and rounding
never swaps two numbers, so that an exact end that is rounded outward to the next double bounds every result.
ln, log10 and exp are not correctly rounded by any C library: their ends move out by a few doubles more.
And a dialect may compute with 0 instead of a tiny number, so 0 counts as possible there (`or_zero`): or else
a divisor or logarithm would go unguarded, and raise.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

LARGEST_DOUBLE = Fraction(1.7976931348623157e308)
LARGEST_INTEGER = 2**63 - 1
SMALLEST_INTEGER = -(2**63)
SMALLEST_FACTOR = Fraction(1, 10**149)
"""Dialects replace only numbers below this by 0: PostgreSQL those below 10⁻¹⁵⁰, and exp(x) below e⁻³⁴⁵."""

_LIBRARY_ERROR_DOUBLES = 4
"""glibc, musl and the BSDs document errors below 2 units in the last place; 4 leaves room."""

End: TypeAlias = Fraction | float
"""An exact number, or ±∞ where nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueInterval:
    """All values that an expression can take, NULL aside; None where there is no bound."""

    low: Fraction | None = None
    high: Fraction | None = None

    @property
    def known(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def ends(self) -> tuple[End, End]:
        return (
            -math.inf if self.low is None else self.low,
            math.inf if self.high is None else self.high,
        )

    def excludes_zero(self) -> bool:
        low, high = self.ends
        return low > 0 or high < 0

    def within(self, largest: float) -> bool:
        """Whether every value is at most so large, in size."""
        low, high = self.ends
        return low >= -largest and high <= largest

    def fits_integer(self) -> bool:
        """Whether every value fits 64 bits."""
        low, high = self.ends
        return low >= SMALLEST_INTEGER and high <= LARGEST_INTEGER

    def within_integers(self) -> "ValueInterval":
        """The interval of a value that is known to be a 64-bit integer, so that both ends are known."""
        low, high = self.ends
        return interval(max(low, Fraction(SMALLEST_INTEGER)), min(high, Fraction(LARGEST_INTEGER)))


UNKNOWN = ValueInterval()


def interval(low: End | int, high: End | int) -> ValueInterval:
    return ValueInterval(
        low=None if low == -math.inf else Fraction(low),
        high=None if high == math.inf else Fraction(high),
    )


def point(value: Fraction | int) -> ValueInterval:
    return ValueInterval(low=Fraction(value), high=Fraction(value))


def double_below(value: Fraction) -> Fraction | None:
    """The largest double that is at most the value; None below all doubles."""
    try:
        nearest = float(value)
    except OverflowError:
        return None if value < 0 else LARGEST_DOUBLE
    if math.isinf(nearest):
        return None if value < 0 else LARGEST_DOUBLE
    if Fraction(nearest) > value:
        nearest = math.nextafter(nearest, -math.inf)
    return None if math.isinf(nearest) else Fraction(nearest)


def double_above(value: Fraction) -> Fraction | None:
    """The smallest double that is at least the value; None above all doubles."""
    mirrored = double_below(-value)
    return None if mirrored is None else -mirrored


def outward(exact: ValueInterval) -> ValueInterval:
    """Where a correctly rounded double lies whose exact value lies in the interval."""
    return ValueInterval(
        low=None if exact.low is None else double_below(exact.low),
        high=None if exact.high is None else double_above(exact.high),
    )


def hull(intervals: Iterable[ValueInterval]) -> ValueInterval:
    """The interval of a value that comes from any one of them. If there are none, it is NULL: 0 will do."""
    ends = [each.ends for each in intervals]
    if not ends:
        return point(0)
    return interval(min(low for low, _ in ends), max(high for _, high in ends))


def or_zero(value: ValueInterval) -> ValueInterval:
    """Extended to 0, if a value in it is so small that a dialect may compute with 0 instead."""
    low, high = value.ends
    return interval(
        Fraction(0) if 0 < low < SMALLEST_FACTOR else low,
        Fraction(0) if -SMALLEST_FACTOR < high < 0 else high,
    )


def add(left: ValueInterval, right: ValueInterval) -> ValueInterval:
    (a, b), (c, d) = left.ends, right.ends
    return interval(_sum(a, c), _sum(b, d))


def subtract(left: ValueInterval, right: ValueInterval) -> ValueInterval:
    return add(left, negate(right))


def negate(value: ValueInterval) -> ValueInterval:
    low, high = value.ends
    return interval(-high, -low)


def multiply(left: ValueInterval, right: ValueInterval) -> ValueInterval:
    products = [_product(a, b) for a in left.ends for b in right.ends]
    return interval(min(products), max(products))


def divide(left: ValueInterval, right: ValueInterval) -> ValueInterval:
    """A divisor that can be near zero leaves no bound."""
    if not right.excludes_zero():
        return UNKNOWN
    inverses = [Fraction(0) if isinstance(end, float) else 1 / end for end in right.ends]
    return multiply(left, interval(min(inverses), max(inverses)))


def modulo(left: ValueInterval, right: ValueInterval, gap: int) -> ValueInterval:
    """The remainder has the sign of the dividend and is smaller than the divisor, by gap at least."""
    size = min(absolute(left).ends[1], max(absolute(right).ends[1] - gap, Fraction(0)))
    low, high = left.ends
    return interval(Fraction(0) if low >= 0 else -size, Fraction(0) if high <= 0 else size)


def absolute(value: ValueInterval) -> ValueInterval:
    low, high = value.ends
    return interval(max(low, -high, Fraction(0)), max(-low, high))


def sign(value: ValueInterval) -> ValueInterval:
    low, high = value.ends
    return interval((low > 0) - (low < 0), (high > 0) - (high < 0))


def least(intervals: Iterable[ValueInterval]) -> ValueInterval:
    ends = [each.ends for each in intervals]
    return interval(min(low for low, _ in ends), min(high for _, high in ends))


def greatest(intervals: Iterable[ValueInterval]) -> ValueInterval:
    ends = [each.ends for each in intervals]
    return interval(max(low for low, _ in ends), max(high for _, high in ends))


def power(value: ValueInterval, exponent: int) -> ValueInterval:
    """For doubles that are multiplied one by one, each product rounded: the same steps on the two ends."""
    low, high = (absolute(value) if exponent % 2 == 0 else value).ends
    return interval(
        min(_float_power(low, exponent), LARGEST_DOUBLE), max(_float_power(high, exponent), -LARGEST_DOUBLE)
    )


def each_end(value: ValueInterval, function: Callable[[Fraction], int]) -> ValueInterval:
    """For a non-decreasing function into the integers."""
    return ValueInterval(
        low=None if value.low is None else Fraction(function(value.low)),
        high=None if value.high is None else Fraction(function(value.high)),
    )


def half_away_from_zero(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2)) if value >= 0 else math.ceil(value - Fraction(1, 2))


def rounded(value: ValueInterval, digits: int) -> ValueInterval:
    """For round(x · 10^digits) / 10^digits in doubles: the same non-decreasing steps on the two ends."""
    doubles = outward(value)
    if doubles.low is None or doubles.high is None or absolute(doubles).ends[1] > 2**900:
        return UNKNOWN  # so large that DuckDB may hand back x itself
    return interval(_rounded_end(doubles.low, digits), _rounded_end(doubles.high, digits))


def square_root(value: ValueInterval) -> ValueInterval:
    """IEEE rounds square roots correctly, so that the ends are those of the doubles at the ends."""
    low, high = value.ends
    return interval(
        Fraction(math.sqrt(low)) if low > 0 else Fraction(0),
        math.inf if high == math.inf else Fraction(math.sqrt(max(high, 0))),
    )


def logarithm(value: ValueInterval, function: Callable[[float], float]) -> ValueInterval:
    low, high = value.ends
    return interval(
        _steps(function(float(low)), -math.inf) if low > 0 else -math.inf,
        _steps(function(float(high)), math.inf) if 0 < high < math.inf else (math.inf if high > 0 else 0),
    )


def exponential(value: ValueInterval) -> ValueInterval:
    low, high = value.ends
    return interval(
        max(_steps(math.exp(min(low, 709)), -math.inf), Fraction(0)),
        _steps(math.exp(high), math.inf) if high < 709 else math.inf,
    )


def _sum(left: End, right: End) -> End:
    if isinstance(left, float):
        return left
    return right if isinstance(right, float) else left + right


def _product(left: End, right: End) -> End:
    """An unknown number times zero is zero."""
    if left == 0 or right == 0:
        return Fraction(0)
    if isinstance(left, float) or isinstance(right, float):
        return math.inf if (left > 0) == (right > 0) else -math.inf
    return left * right


def _float_power(end: End, exponent: int) -> End:
    result = base = float(end)
    for _ in range(exponent - 1):
        result *= base
    return result


def _rounded_end(end: Fraction, digits: int) -> Fraction:
    modifier = float(10**digits)
    return Fraction(half_away_from_zero(Fraction(float(end) * modifier)) / modifier)


def _steps(value: float, towards: float) -> Fraction:
    for _ in range(_LIBRARY_ERROR_DOUBLES):
        value = math.nextafter(value, towards)
    return Fraction(value)
