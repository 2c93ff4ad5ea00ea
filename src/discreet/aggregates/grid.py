"""The public grid that values are rounded to before they are summed as integers."""

from fractions import Fraction
from math import floor

from discreet.model.expression import Expression, Field, Range
from discreet.model.policy import ValueType

_GRID_STEPS = 2**20
"""A column without a unit is rounded to about a millionth of its range."""
EXACT_STEPS = 2**53
"""Below this many steps of a grid, doubles are exact, and fit 64 bits."""


def grid_of(argument: Expression, span: Range) -> Fraction:
    """The declared unit of a column, 1 for whole numbers of moderate range, else a power of two."""
    if isinstance(argument, Field) and argument.unit is not None:
        return argument.unit
    width = span.high - span.low
    if argument.type is ValueType.INTEGER and width <= _GRID_STEPS:
        return Fraction(1)
    power = floor(width / _GRID_STEPS).bit_length() if width >= _GRID_STEPS else 0
    if power:
        return Fraction(2) ** (power - 1)
    inverse = floor(_GRID_STEPS / width) if width else 1
    return Fraction(1, 2 ** max(0, inverse.bit_length() - 1))


def steps(distance: Fraction, grid: Fraction) -> int:
    """How many steps of the grid a distance is, rounded as values are."""
    return abs(floor(distance / grid + Fraction(1, 2)))
