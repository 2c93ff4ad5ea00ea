"""The minimum of a sum of logistic losses with a ridge and a linear term, to a precision that is proved.

The loss of a row with margin m and label 0 has the derivative c·l(m − s), l the logistic function, c ≤ 1 a
number of the row's own and s about ln c; with label 1 it is −c·l(−m − s). For c = 1 that is logistic
regression. For smaller c it is much the same where it is far below c, but never beyond c: a smooth way to
clip. The function l is tabulated: a line between neighbouring points of a grid, flat beyond its ends. All
losses are convex, and with u = c·l for the size of the derivative, the second derivative is at most
    STEEPER · u·(1 − u/c) + c·FLAT:
that is l′ = l·(1 − l), but for what a line and rounding add.

Precision
    The gradient is that of this very loss, exact but for the rounding of each row's residual:
    - a row is whole numbers, and a point is a pair of whole numbers for each coordinate, so that its margin
      is two products of whole numbers below 2⁵³, exact in any order, and one rounding: 2⁻⁵³ of itself. Taking
      off s is another. As |m|·l′(m) ≤ 0.23 and |s| ≤ 2, the residual is off by (0.23 + 0.23 + ½)·2⁻⁵³;
    - the line is followed and multiplied by c with two roundings of numbers of at most 1: 2⁻⁵³ in all, and
      2⁻⁶⁴ for its slope of at most 2⁻¹²;
    - residuals are rounded to whole multiples of 2⁻⁵², by at most 2⁻⁵³: the sums of their products with the
      rows are then exact, in blocks and in Python's integers, and so are ridge and noise.
    That is less than RESIDUAL_ERROR = 2⁻⁵¹ a row, whatever the data. Where the gradient is shorter than g,
    the point is within g/λ of the minimum, λ the least ridge (strong convexity).
    Products are below 2⁵³ where √(coordinates) · length of a row is at most 2¹², and length of a point ·
    length of a row at most FARTHEST_POINT. The minimum is no farther than √(2·ln 2·rows/λ) + 2‖noise‖/λ from
    0, as the function is no larger there than at 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.learn.core.encoding import BITS, ONE

POINT_BITS = 52
"""A coordinate of 1 is 2^POINT_BITS."""
RIDGE_BITS = 20
HALF_BITS = 26
"""Residuals are two numbers of so many bits."""
RESIDUAL_ERROR = 2.0**-51
STEEPER = 1 + Fraction(1, 2**9)
FLAT = 2.0**-39
FARTHEST_POINT = 2**22
"""The most that the length of a point times the length of a row can be."""

_LOW_BITS = 32
_BLOCK = 2**11
_CELLS, _END = 2**10, 32
_TABLE_BITS = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Perturbed:
    """The function that is minimised. It is secret, as it holds the noise."""

    values: Floats
    """Rows in whole numbers. ONE stands for 1, and no number is beyond 32·ONE."""
    labels: Floats
    """0 or 1."""
    caps: Floats
    """c of each row, as a whole number of 2^−HALF_BITS: at least ¼ and at most 1."""
    ridge: Integers
    """The ridge of each coordinate, in units of 2^−RIDGE_BITS."""
    noise: Integers
    noise_bits: int
    """The noise is in units of 2^−noise_bits."""
    farthest: float
    """No point beyond this length is looked at: FARTHEST_POINT over the length of the longest row."""

    @property
    def unit_bits(self) -> int:
        """The gradient is in units of 2^−unit_bits."""
        return max(self.noise_bits, POINT_BITS + RIDGE_BITS)

    def gradient(self, point: Integers) -> Integers:
        """Exact but for the error of residuals that is stated above."""
        total = np.zeros((self.values.shape[1], 2), dtype=object)
        for block, residuals, _ in self._blocks(point):
            scaled = residuals * 2.0**HALF_BITS
            halves = np.empty((len(block), 2))
            np.rint(scaled, out=halves[:, 0])
            np.rint((scaled - halves[:, 0]) * 2.0**HALF_BITS, out=halves[:, 1])
            total += (block.T @ halves).astype(np.int64)  # below 2⁵³: exact in any order
        of_rows = total[:, 0] * 2**HALF_BITS + total[:, 1]
        bits = self.unit_bits
        found: Integers = (
            of_rows * 2 ** (bits - BITS - 2 * HALF_BITS)
            + point * self.ridge * 2 ** (bits - POINT_BITS - RIDGE_BITS)
            + self.noise * 2 ** (bits - self.noise_bits)
        )
        return found

    def curvature(self, point: Integers) -> Floats:
        """The matrix of second derivatives, approximately."""
        total = np.diag(self.ridge.astype(np.float64) / 2**RIDGE_BITS)
        for block, _, slopes in self._blocks(point):
            total += (block * (slopes / ONE**2)[:, None]).T @ block
        return total

    def _blocks(self, point: Integers) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Rows with their residuals and the slopes of these."""
        high, low = _halves(point)
        both = np.column_stack([high, low])
        table, steps = _logistic_table()
        for start in range(0, len(self.values), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = self.values[part]
            products = block @ both
            signs = 1 - 2 * self.labels[part]
            caps = self.caps[part] * 2.0**-HALF_BITS
            margins = products[:, 0] * 2.0 ** (_LOW_BITS - POINT_BITS - BITS)
            margins += products[:, 1] * 2.0 ** (-POINT_BITS - BITS)
            margins = (margins * signs - _about_logarithm(caps)) * _CELLS
            np.clip(margins, -_END * _CELLS, _END * _CELLS, out=margins)
            cells = np.floor(margins)
            margins -= cells
            places = (cells + _END * _CELLS).astype(np.intp)
            slopes = steps[places]
            sizes = (table[places] + margins * slopes) * caps
            yield block, sizes * signs, slopes * caps * _CELLS


def minimise(problem: Perturbed, tolerance: float) -> Integers:
    """A point, in units of 2^−POINT_BITS, whose gradient as computed is no longer than the tolerance.

    By Newton's method. A step is taken whole if it halves the shortest gradient so far. Otherwise it is
    halved until the function still falls at its end: being convex, it then fell all the way. Whole steps are
    limited in number. Each other step lowers the function by at least some amount, as long as the gradient is
    longer than the tolerance. So the search ends if the tolerance is above the precision.
    """
    point = np.zeros(problem.values.shape[1], dtype=object)
    point[:] = 0
    gradient = problem.gradient(point)
    shortest = length = _length(gradient, problem.unit_bits)
    while length > tolerance:
        floats = _floats(gradient, problem.unit_bits)
        step = -np.linalg.solve(problem.curvature(point), floats).astype(np.float64)
        point, gradient = _moved(problem, point, step, shortest / 2)
        length = _length(gradient, problem.unit_bits)
        shortest = min(shortest, length)
    return point


def _moved(problem: Perturbed, point: Integers, step: Floats, enough: float) -> tuple[Integers, Integers]:
    """The end of the step, halved as often as needed, and the gradient there."""
    for halvings in range(_LOW_BITS + POINT_BITS):
        part = step * 2.0**-halvings
        end = point + np.array([round(each * 2**POINT_BITS) for each in part.tolist()], dtype=object)
        if _length(end, POINT_BITS) > problem.farthest:
            continue
        gradient = problem.gradient(end)
        if _length(gradient, problem.unit_bits) <= enough:
            break
        if _floats(gradient, problem.unit_bits) @ step <= 0:
            break
    return end, gradient


def _halves(point: Integers) -> tuple[Floats, Floats]:
    """The upper part in units of 2^(_LOW_BITS − POINT_BITS), and the rest, of at most _LOW_BITS − 1 bits."""
    high = (point + 2 ** (_LOW_BITS - 1)) // 2**_LOW_BITS
    low = point - high * 2**_LOW_BITS
    return high.astype(np.float64), low.astype(np.float64)


def _length(values: Integers, bits: int) -> float:
    """The ℓ₂ norm of values in units of 2^−bits, rounded up."""
    square = sum(int(each) ** 2 for each in values)
    return float((isqrt(square) + 1) / 2**bits) * (1 + 2.0**-50)


def _floats(values: Integers, bits: int) -> Floats:
    return np.array([int(each) / 2**bits for each in values])


def _about_logarithm(c: Floats) -> Floats:
    """ln c to 0.004 for c from ¼ to 1, by operations that are the same for a row wherever it stands."""
    w = (c - 1) / (c + 1)
    square = w * w
    series: Floats = 2 * w * (1 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7))))
    return series


@lru_cache(maxsize=1)
def _logistic_table() -> tuple[Floats, Floats]:
    """The logistic function on the grid in whole multiples of 2^−_TABLE_BITS, and its steps, never below 0.

    Its steepness is checked against the bound above, whatever e^x was computed to be.
    """
    points = np.arange(-_END * _CELLS, _END * _CELLS + 1) / _CELLS
    table = np.rint(2.0**_TABLE_BITS / (1 + np.exp(-points))) * 2.0**-_TABLE_BITS
    table = np.maximum.accumulate(table)
    steps = np.diff(table, append=table[-1])
    least = np.minimum(table[:-1] * (1 - table[:-1]), table[1:] * (1 - table[1:]))  # l·(1 − l) is concave
    if table.min() < 0 or table.max() > 1 or (steps[:-1] * _CELLS > float(STEEPER) * least + FLAT).any():
        raise ArithmeticError("The logistic function was computed wrongly.")
    return table, steps
