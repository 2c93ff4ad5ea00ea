"""Vectors that one row enters once, together: they cost what one of them costs.

A family cuts rows into cells, by which of its conditions are true of a row. A row is in one cell. In a cell
stand a few functions of the row, none of them larger than its own bound, and together no larger than one
bound: relative to their bounds, their sizes add up to 1 at most.

COUNT      1
VALUE      the value, measured from a point
LINE       R − q and q, of a value that is q of R steps above its lower bound
PARABOLA   (R − q)², 2q(R − q) and q², which add up to R²: the Bernstein polynomials of degree 2

So the vector of all functions, over all groups, relative to their bounds, moves in ℓ₁ and in ℓ₂ as a count of
rows does. Let family members have noise that is in proportion to their bounds. Then Laplace noise with scales
bᵢ and bounds Mᵢ loses ε = Δ₁·maxᵢ Mᵢ/bᵢ together, and Gaussian noise ρ = ½·Δ₂²·maxᵢ Mᵢ²/σᵢ², with Δ that of
the count (parallel composition: McSherry, SIGMOD 2009, theorem 4, for functions that share one bound).

Counts of conditions are sums of cells. Number, sum and squares of a value are sums of the polynomials: 1 is
their sum, and their weights are those of Bernstein's basis. Which of several ways of measuring has the least
noise is known before (McKenna et al., HDMM, arXiv 1808.03537): see `bounds.together.families`.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import comb

from discreet.aggregates.grid import EXACT_STEPS
from discreet.aggregates.vectors import WeightedSum
from discreet.aggregates.weights import together, too_large
from discreet.model.expression import Expression
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity

MOST_CONDITIONS = 60
"""Which of them are true of a row is one 64-bit number."""


class Basis(Enum):
    """The functions of a row in one cell."""

    COUNT = "count"
    VALUE = "value"
    LINE = "line"
    PARABOLA = "parabola"

    @property
    def degree(self) -> int:
        return {Basis.LINE: 1, Basis.PARABOLA: 2}.get(self, 0)

    @property
    def functions(self) -> int:
        return self.degree + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCell:
    """Rows of which exactly these conditions are true, and what is measured of them."""

    pattern: int
    """Bit i is whether condition i is true."""
    basis: Basis
    start: int = 0
    """Of VALUE: where it is measured from, in steps above the lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFamily:
    """What one row enters once. No two of its cells have the same pattern."""

    conditions: tuple[Expression, ...]
    value: Expression | None
    """What is summed, if anything is. One of the conditions is that it is not NULL."""
    offset: Fraction
    """The lower bound of the value, on its grid."""
    grid: Fraction
    steps: int
    """From the lower to the upper bound: R."""
    cells: tuple[RowCell, ...]

    def __post_init__(self) -> None:
        patterns = [cell.pattern for cell in self.cells]
        if len(set(patterns)) < len(patterns) or len(self.conditions) > MOST_CONDITIONS:
            raise TypeError("A row is in one cell of a family.")

    def __hash__(self) -> int:
        """Of few facts: there may be many conditions, and a family is looked up for each of its vectors."""
        return hash((self.offset, self.steps, len(self.conditions), len(self.cells)))

    def bound(self, cell: RowCell) -> int:
        """The most that one row adds to a vector of the cell, and at most what it adds to all of them."""
        if cell.basis is Basis.VALUE:
            return max(abs(cell.start), abs(self.steps - cell.start), 1)
        size: int = self.steps**cell.basis.degree
        return size

    def weights(self, cell: RowCell, power: int, start: Fraction) -> tuple[Fraction, ...]:
        """How (x − start)^power of a row is a sum of the cell's functions, each divided by their bound."""
        low, width = self.offset - start, self.grid * self.steps
        if cell.basis is Basis.VALUE:
            return (self.grid * self.bound(cell),)
        expanded = {0: (Fraction(1),), 1: (low, width), 2: (low * low, 2 * low * width, width * width)}[power]
        return tuple(
            sum((each * _raised(place, cell.basis.degree, i) for i, each in enumerate(expanded)), Fraction(0))
            for place in range(cell.basis.functions)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSum(WeightedSum):
    """One vector of a family: rows of one cell, and one function of them."""

    family: VectorFamily
    cell: RowCell
    place: int
    """Which of the functions of the cell."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Its own. A row that is replaced may go to another vector of the family."""
        weight = self.weighing
        if self.largest * weight.whole >= 2**62 or self.family.steps >= EXACT_STEPS:
            raise too_large()
        return together(
            [
                weight.sensitivity(
                    neighbours,
                    largest=self.largest,
                    signed=self.signed,
                    one_group=one_group,
                    one_each=self.one_each,
                    shared=True,
                )
                for one_group in self.sets
            ]
        )

    @property
    def scale(self) -> Fraction:
        """All are told relative to their bound: the noise of a family is alike then."""
        return Fraction(1, self.largest * self.weighing.whole)


def members(family: VectorFamily, like: WeightedSum) -> list[JointSum]:
    """All vectors of a family, of rows that are weighed as in another vector."""
    return [
        JointSum(
            weight=like.weight,
            value=None if cell.basis is Basis.COUNT else family.value,
            condition=None,
            not_null=None,
            offset=family.offset,
            grid=family.grid,
            power=1,
            largest=family.bound(cell),
            signed=cell.basis is Basis.VALUE and 0 < cell.start < family.steps,
            sets=like.sets,
            one_each=like.one_each,
            family=family,
            cell=cell,
            place=place,
        )
        for cell in family.cells
        for place in range(cell.basis.functions)
    ]


def _raised(place: int, degree: int, power: int) -> Fraction:
    """The weight of a Bernstein polynomial in t^power: the share of its choices of `power` things."""
    return Fraction(comb(place, power), comb(degree, power)) if power <= degree else Fraction(0)
