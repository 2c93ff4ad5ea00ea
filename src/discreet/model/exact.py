"""Exact numbers: how every privacy parameter is read, and certified bounds on ln and exp.

A float is read as the decimal that it prints as: ``0.1`` means one tenth, so that ten questions at 0.1
fit a budget of 1 exactly. Everything else that is not plainly a number in range is refused.
"""

import math
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from discreet.errors import InvalidInput

Number: TypeAlias = int | float | Decimal | Fraction
"""What a caller may write for a quantity; it is turned into a Fraction first."""

EPSILON_RANGE = (Fraction(1, 10**12), Fraction(10**6))
RHO_RANGE = (Fraction(1, 10**24), Fraction(10**12))
SMALLEST_DELTA = Fraction(1, 10**60)
CONFIDENCE_RANGE = (Fraction(1, 10**6), 1 - Fraction(1, 10**15))
SCALE_RANGE = (Fraction(1, 2**50), Fraction(2**100))
LARGEST_SENSITIVITY = 2**120
LARGEST_COUNT = 2**40

_LONGEST_BITS = 20_000  # of a numerator or denominator: no parameter needs more, and arithmetic stays quick
_MARGIN = Fraction(1, 10**12)


def exact_fraction(value: object, name: str) -> Fraction:
    """Read a number exactly; a float as the decimal that it prints as."""
    if type(value) is Fraction and _is_short(value):  # most are: a plan checks hundreds of them
        return value
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise InvalidInput(
            f"{name} must be a number, not {_describe(value)}.",
            remedy=f"Give {name} as an int, float, Decimal or Fraction.",
        )
    finite = value.is_finite() if isinstance(value, Decimal) else _is_finite(value)
    if not finite:
        raise InvalidInput(f"{name} must be finite, not {value}.", remedy="Give a finite number.")
    if isinstance(value, Rational):
        found = Fraction(int(value.numerator), int(value.denominator))
        if not _is_short(found):
            raise _unwieldy(name)
        return found
    if isinstance(value, Decimal):
        if len(value.as_tuple().digits) > 1000 or (value and not -400 < value.adjusted() < 400):
            raise _unwieldy(name)
        return Fraction(value)
    return Fraction(float.__repr__(float(value)))


def _is_short(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) <= _LONGEST_BITS


def within(value: object, name: str, low: Fraction, high: Fraction) -> Fraction:
    """Read a number and require low ≤ value ≤ high."""
    exact = exact_fraction(value, name)
    top, bottom = exact.numerator, exact.denominator  # integers compare faster than fractions
    if top * low.denominator < low.numerator * bottom or top * high.denominator > high.numerator * bottom:
        raise InvalidInput(
            f"{name} must be between {short(low)} and {short(high)}, not {short(exact)}.",
            remedy=f"Choose {name} inside that range.",
        )
    return exact


def positive_epsilon(value: object, name: str = "epsilon") -> Fraction:
    return within(value, name, *EPSILON_RANGE)


def positive_rho(value: object, name: str = "rho") -> Fraction:
    return within(value, name, *RHO_RANGE)


def positive_delta(value: object, name: str = "delta") -> Fraction:
    """Read 0 < δ < 1. That δ is below 1/n is not checked: n is not known here."""
    exact = exact_fraction(value, name)
    if not SMALLEST_DELTA <= exact < 1:
        raise InvalidInput(
            f"{name} must be at least {short(SMALLEST_DELTA)} and below 1, not {short(exact)}.",
            remedy=f"Choose {name} well below one over the number of people, such as 1e-9.",
        )
    return exact


def confidence_level(value: object, name: str = "confidence") -> Fraction:
    return within(value, name, *CONFIDENCE_RANGE)


def positive_scale(value: object, name: str = "scale") -> Fraction:
    """Read a noise scale, in grid units."""
    return within(value, name, *SCALE_RANGE)


def whole(value: object, name: str, low: int, high: int) -> int:
    """Read an integer in range; a float is refused even when it is whole."""
    if type(value) is int and low <= value <= high:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(
            f"{name} must be a whole number, not {_describe(value)}.",
            remedy=f"Give {name} as an int.",
        )
    return int(within(int(value), name, Fraction(low), Fraction(high)))


def positive_count(value: object, name: str) -> int:
    return whole(value, name, 1, LARGEST_COUNT)


def ln_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Certified lower and upper bound on ln x for x > 0, about `digits` significant digits apart.

    The decimal specification makes ``ln`` correctly rounded, so one unit in the last place to either
    side of the rounded argument's logarithm encloses the truth. ln 1 is 0 exactly; the unit beside a 0 is so
    small that its fraction has a billion digits.
    """
    if x == 1:
        return Fraction(0), Fraction(0)
    low, high = _decimal_bounds(x, digits + 5)
    context = decimal_context(digits)
    below, above = context.ln(low), context.ln(high)
    return (
        Fraction(context.next_minus(below)) if below else Fraction(0),
        Fraction(context.next_plus(above)) if above else Fraction(0),
    )


def exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Certified lower and upper bound on e^x, about `digits` significant digits apart; |x| ≤ 2000."""
    if abs(x) > 2000:
        raise InvalidInput("e^x is only bounded for |x| ≤ 2000.", remedy="Compare logarithms.")
    low, high = _decimal_bounds(x, digits + 5)
    context = decimal_context(digits)
    return Fraction(context.next_minus(context.exp(low))), Fraction(context.next_plus(context.exp(high)))


def round_up(x: float, *, digits: int = 12) -> Fraction:
    """A short decimal at or above x·(1 + 10⁻¹²): how a computed loss becomes a stated one."""
    if x == 0:
        return Fraction(0)
    return _shortened(Fraction(x) * (1 + _MARGIN), digits, ROUND_CEILING)


def round_down(x: float, *, digits: int = 12) -> Fraction:
    """A short decimal at or below x·(1 - 10⁻¹²), for x ≥ 0."""
    return _shortened(Fraction(x) * (1 - _MARGIN), digits, ROUND_FLOOR)


def decimal_context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    """All settings given: what is left out would come from the application's own decimal context."""
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


def _decimal_bounds(x: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    return (
        decimal_context(digits, ROUND_FLOOR).divide(numerator, denominator),
        decimal_context(digits, ROUND_CEILING).divide(numerator, denominator),
    )


def _shortened(x: Fraction, digits: int, rounding: str) -> Fraction:
    context = decimal_context(digits, rounding)
    return Fraction(context.divide(Decimal(x.numerator), Decimal(x.denominator)))


def _unwieldy(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} has too many digits, or is far out of range.", remedy="Give a number of ordinary size."
    )


def _is_finite(value: Real) -> bool:
    return isinstance(value, Rational) or math.isfinite(value)


def _describe(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def short(value: Fraction) -> str:
    """A parameter for people to read: never pages of digits."""
    if value.denominator == 1 and abs(value) < 10**7:
        return str(value.numerator)
    return f"{decimal_context(6).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"
