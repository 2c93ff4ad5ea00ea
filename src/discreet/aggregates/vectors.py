"""The vectors of exact integers that noise is added to. Every measure is computed from some of them.

WeightedSum      Σ w·q over the rows, or the people, of each group
Histogram        Σ w over the rows of each group and bin, for quantiles
DistinctCount    different values in each group, among a few of each person
Scores           people or rows of each group, to pick the largest from
LeftOut          people by how much contribution bounding leaves out of them, and by their size
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import TypeAlias, TypeVar

from discreet.aggregates.grid import EXACT_STEPS
from discreet.aggregates.weights import Unit, Weight, together, too_large
from discreet.model.expression import Expression, Field
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity

_LARGEST_VALUE = Fraction(10) ** 280
"""The most that one row adds, in the units of the question: sums of such values are still finite doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedSum:
    """One integer for each group: values clamped to bounds and rounded to a public grid, times weights.

    Each row adds w·q, q = ⌊(x − offset)/grid + ½⌋ to the power, with |q| ≤ largest.
    """

    weight: Weight | None
    """None where no person has two rows."""
    value: Expression | None
    """What is summed; None counts."""
    condition: Expression | None
    """Rows on which it is not true do not count."""
    not_null: Expression | None
    """Rows on which it is NULL do not count."""
    offset: Fraction
    grid: Fraction
    power: int
    """The value is raised to this power after rounding: 2 for sums of squares."""
    largest: int
    signed: bool
    sets: tuple[bool, ...]
    """For each grouping set, whether it has no keys, and so one group."""
    one_each: bool = field(default=False, repr=False)
    """Whether no person is in two groups of a set: what it is grouped by, a person has one of."""

    @property
    def unit(self) -> Unit:
        return Unit.ROWS if self.weight is None else self.weight.unit

    @property
    def weighing(self) -> Weight:
        """`weight`, or 1 for each row where no person has two."""
        return self.weight or Weight.one(Unit.ROWS)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The sensitivity of the whole vector, over all groups and grouping sets."""
        weight = self.weighing
        if self.largest * weight.whole >= 2**62:  # what one row adds must be a 64-bit integer
            raise too_large()
        if self.most_steps >= EXACT_STEPS or self.scale * self.largest >= _LARGEST_VALUE:
            raise too_large()
        return together(
            [
                weight.sensitivity(
                    neighbours,
                    largest=self.largest,
                    signed=self.signed,
                    one_group=one_group,
                    one_each=self.one_each,
                )
                for one_group in self.sets
            ]
        )

    @property
    def most_steps(self) -> int:
        """The largest size of a value on the grid, before it is raised to the power."""
        return self.largest if self.power == 1 else isqrt(self.largest)

    @property
    def scale(self) -> Fraction:
        """What one integer of this vector stands for."""
        scale: Fraction = self.grid**self.power / self.weighing.whole
        return scale

    @property
    def bound(self) -> Fraction:
        """The most that one row adds, in the units of the question."""
        bound: Fraction = self.scale * self.weighing.whole * self.largest
        return bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """One integer for each group and bin of a public range: the weighted rows in it."""

    weight: Weight | None
    """In ℓ₁, because the bound has to hold for coarser bins too."""
    value: Expression
    condition: Expression | None
    low: Fraction
    width: Fraction
    """Of a bin."""
    leaves: int
    points: bool
    """Whether bin i holds one value alone, low + i·width; else it reaches from there to the next."""
    sets: int

    @property
    def rows(self) -> int:
        """The most that one person adds to all bins together."""
        return 1 if self.weight is None else self.weight.limit * self.weight.whole

    def histogram_sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        return together([Sensitivity.histogram(neighbours, max_rows=self.rows)] * self.sets)

    @property
    def scale(self) -> Fraction:
        return Fraction(1, 1 if self.weight is None else self.weight.whole)

    def value_at(self, position: float) -> float:
        """The value at a position, which is counted in bins."""
        return float(self.low + self.width * Fraction(position))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """How many different values each group has. A person adds at most `values` pairs of group and value.

    Which pairs of a person with more are taken depends on that person's rows alone (the first in the order
    of a hash of person, group and value: see `sql.distinct`). Adding or removing a person changes only
    whether those pairs occur.
    """

    value: Expression
    condition: Expression | None
    values: int
    one_row: bool
    sets: tuple[bool, ...]
    one_each: bool = field(default=False, repr=False)
    """Whether no person has two pairs of group and value."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One person's pairs appear or disappear: at most `values` of them, in one group or in several.

        If a person is replaced, some disappear and others appear. In one group the two cancel.
        """
        k = self.values
        sides = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        each = [
            Sensitivity(neighbours=neighbours, l0=1, linf=k, l1=k, l2_squared=k**2)
            if one_group
            else Sensitivity(
                neighbours=neighbours, l0=sides * k, linf=k, l1=sides * k, l2_squared=sides * k**2
            )
            for one_group in self.sets
        ]
        return together(each)

    @property
    def scale(self) -> Fraction:
        return Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One score for each group: people, or rows of which each person has at most `rows` in each group."""

    condition: Expression | None
    rows: int
    one_row: bool
    largest: bool

    @property
    def scale(self) -> Fraction:
        return Fraction(1)

    def sensitivity(self, neighbours: Neighbours) -> ScoreSensitivity:
        return ScoreSensitivity.additive(0, self.rows, neighbours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamped:
    """A column with bounds that is summed: what lies beyond them is taken off."""

    value: Field
    condition: Expression | None

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        if self.value.range is None:
            raise TypeError("A column with bounds is expected here.")
        return self.value.range.low, self.value.range.high


SIZES = (0.0625, 0.125, 0.25, 0.5, 0.7, 1.0)
"""The largest sizes of people who count fully, in each bin of them, as shares of what counts fully."""
BEYOND_STEPS = 4096
"""In so many steps of a column's bounds it is measured how far values lie beyond them."""
BEYOND_BINS = 14
"""For what is taken off above, and as many for below: up to 1/64 of the bounds, 1/32, … 64, and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """How many people lose how much by their weight: one integer for each bin.

    A person with n rows (or pairs of person and group, or of group and value) and the weight w loses
    n·(1 − w), rounded to a whole number. Bin 0 holds the people who lose 0 or 1, bin b those who lose more
    than 2^(b−1) and at most 2^b, the last of `bins` whoever loses more.

    People who count fully are in further bins, which cost nothing: nobody is in two. If clamping takes
    something off the sum of a person's values, in that of how much. Else in that of their size, which tells
    how many people come near the limit, and so what is likely beyond it.
    """

    weight: Weight
    """Of DISTINCT: so many values count, and the others are dropped."""
    distinct: Expression | None
    """What different values are counted of; None where rows or people are weighed."""
    condition: Expression | None
    """Rows on which it is not true do not count."""
    clamped: tuple[Clamped, ...] = field(default=(), compare=False)
    """The columns that are summed with this weight. They decide between bins that a question pays for anyway,
    and so are no part of what it is."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """One bin of a person who comes or goes; two bins if one is replaced."""
        return Sensitivity.histogram(neighbours, max_rows=1)

    @property
    def bins(self) -> int:
        """The last one is for people who lose more than 64 times what counts fully, or more than 2²²."""
        if self.only_clamps:
            return 0
        return min((64 * self.weight.limit - 1).bit_length(), 22) + 2

    @property
    def only_clamps(self) -> bool:
        """Whether everybody has one row. Then nothing is taken off but by clamping, and who loses nothing is
        in no bin."""
        return self.weight == Weight.one(Unit.ROWS)

    @property
    def first_beyond(self) -> int:
        """The first bin of what clamping takes off. Those of losses and of sizes come before."""
        return 0 if self.only_clamps else self.bins + len(SIZES)

    @property
    def all_bins(self) -> int:
        """With those of what clamping takes off above and below."""
        return self.first_beyond + (2 * BEYOND_BINS if self.clamped else 0)

    @property
    def scale(self) -> Fraction:
        return Fraction(1)


Part: TypeAlias = WeightedSum | Histogram | DistinctCount | Scores | LeftOut
T = TypeVar("T")


def known(kind: type[T], value: object) -> T:
    """The value, if it is of this kind. Plans are made so that it is; any other plan stops here."""
    if not isinstance(value, kind):
        raise TypeError(f"A {kind.__name__} is expected here.")
    return value
