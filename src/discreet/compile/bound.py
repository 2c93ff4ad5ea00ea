"""Stage 3: what one person can change at most, as exact integers.

Every measure becomes weighted sums of integers over the rows of each group:

1. each row's value is clamped to its bounds and rounded to a public grid: q = ⌊(x − offset)/grid + ½⌋, an
   integer with |q| ≤ Q
2. each person gets one weight, from the number of their rows in the question: w = ⌊2^s·min(1, B/n)⌋, B the
   declared max_rows
3. a sum over a group is Σ w·q

A person's weights sum to at most B·2^s over all their rows and groups, so one person moves the whole vector
of a measure by at most B·Q·2^s in ℓ₁, and hence in ℓ₂, however many groups there are. Nothing is dropped at
random.
Counting people is the same over distinct (person, group) pairs, with max_groups in the place of B.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import floor

from discreet.compile.functions import range_of
from discreet.errors import QueryRefused
from discreet.model.exact import LARGEST_SENSITIVITY
from discreet.model.expression import Expression, Field
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Dataset, ValueType
from discreet.model.query import Aggregate, Measure, Query
from discreet.model.sensitivity import Sensitivity

WEIGHT_BITS = 20
"""A person with more than max_rows rows has a weight on a grid of 2⁻²⁰."""

_GRID_STEPS = 2**20
"""A column without a unit is rounded to about a millionth of its range."""


class Unit(Enum):
    """What is summed over."""

    ROWS = "rows"
    PEOPLE = "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedSum:
    """One vector of integers, an entry for each group, that will meet noise."""

    unit: Unit
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
    """Q: the most that a row of weight 1 adds, in grid units to the power."""
    weight_bits: int
    rows: int
    """B: the rows, or groups, of a person that count fully."""
    signed: bool
    one_group: bool
    """Whether there is but one group, or as good as: no keys."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """The move of the whole vector when one person comes, goes, or is replaced.

        Replaced, it is one person's vector minus another's. In a shared group the two add up only if
        values have both signs; in different groups they stand side by side.
        """
        reach = self.rows * self.largest * 2**self.weight_bits
        fits = self.largest * 2**self.weight_bits < 2**62  # what one row adds is a 64-bit integer
        if not fits or reach > LARGEST_SENSITIVITY // 4:
            raise QueryRefused(
                "This measure is too large to be computed exactly.",
                remedy="The owner can declare narrower bounds, or a coarser unit.",
            )
        most_groups = 1 if self.one_group else self.rows * 2**self.weight_bits  # beyond, weights are 0
        if neighbours is Neighbours.ADD_REMOVE:
            moved, together = 1, 1
        else:
            moved, together = (1 if self.one_group else 2), (2 if self.signed else 1)
        sides = max(moved, together)
        return Sensitivity(
            neighbours=neighbours,
            l0=moved * most_groups,
            linf=together * reach,
            l1=sides * reach,
            l2_squared=max(together**2, moved) * reach**2,
        )

    @property
    def scale(self) -> Fraction:
        """What one integer of this vector stands for."""
        scale: Fraction = self.grid**self.power / 2**self.weight_bits
        return scale


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMeasure:
    """A measure as the sums that it is computed from: count; sum; or count, sum and squares."""

    measure: Measure
    parts: tuple[int, ...]
    """Positions in the vector of sums, in the order count, sum, squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A query whose every number is a weighted sum of integers."""

    query: Query
    neighbours: Neighbours
    sums: tuple[WeightedSum, ...]
    measures: tuple[BoundedMeasure, ...]


def bound(query: Query, dataset: Dataset) -> Bounded:
    """Turn each measure into weighted sums; the same sum is used once."""
    sums: list[WeightedSum] = []
    measures = []
    for measure in query.measures:
        parts = []
        for part in _parts(measure, query):
            if part not in sums:
                sums.append(part)
            parts.append(sums.index(part))
        measures.append(BoundedMeasure(measure=measure, parts=tuple(parts)))
    return Bounded(query=query, neighbours=dataset.neighbours, sums=tuple(sums), measures=tuple(measures))


def _parts(measure: Measure, query: Query) -> list[WeightedSum]:
    match measure.aggregate:
        case Aggregate.PEOPLE:
            return [_people(measure, query)]
        case Aggregate.COUNT:
            return [_count(measure, query)]
        case Aggregate.SUM:
            return [_sum(measure, query, centred=False, power=1)]
        case Aggregate.AVERAGE:
            return [_count(measure, query), _sum(measure, query, centred=True, power=1)]
        case Aggregate.VARIANCE:
            return [
                _count(measure, query),
                _sum(measure, query, centred=True, power=1),
                _sum(measure, query, centred=True, power=2),
            ]


def _count(measure: Measure, query: Query) -> WeightedSum:
    return WeightedSum(
        unit=Unit.ROWS,
        value=None,
        condition=measure.condition,
        not_null=measure.argument,
        offset=Fraction(0),
        grid=Fraction(1),
        power=1,
        largest=1,
        weight_bits=_weight_bits(query),
        rows=_rows(query),
        signed=False,
        one_group=not query.keys,
    )


def _people(measure: Measure, query: Query) -> WeightedSum:
    table = query.table
    if table.one_row_a_person:
        return _count(measure, query)
    groups = table.max_groups if query.keys else 1
    return WeightedSum(
        unit=Unit.PEOPLE,
        value=None,
        condition=measure.condition,
        not_null=None,
        offset=Fraction(0),
        grid=Fraction(1),
        power=1,
        largest=1,
        weight_bits=WEIGHT_BITS if query.keys else 0,
        rows=groups,
        signed=False,
        one_group=not query.keys,
    )


def _sum(measure: Measure, query: Query, *, centred: bool, power: int) -> WeightedSum:
    argument = measure.argument
    span = None if argument is None else range_of(argument)
    if argument is None or span is None:
        raise _no_bounds(measure, query)
    grid = _grid(argument, span.high - span.low, query)
    offset = floor((span.low + span.high) / 2 / grid) * grid if centred else Fraction(0)
    steps = max(_steps(span.low - offset, grid), _steps(span.high - offset, grid), 1)
    return WeightedSum(
        unit=Unit.ROWS,
        value=argument,
        condition=measure.condition,
        not_null=argument,
        offset=offset,
        grid=grid,
        power=power,
        largest=steps**power,
        weight_bits=_weight_bits(query),
        rows=_rows(query),
        signed=power == 1 and span.low < offset < span.high,
        one_group=not query.keys,
    )


def _steps(distance: Fraction, grid: Fraction) -> int:
    return abs(floor(distance / grid + Fraction(1, 2)))


def _grid(argument: Expression, width: Fraction, query: Query) -> Fraction:
    """The declared unit of a column, 1 for whole numbers of moderate range, else a power of two."""
    if isinstance(argument, Field):
        column = query.table.columns.get(argument.name)
        if column is not None and column.unit is not None:
            return column.unit
    if argument.type is ValueType.INTEGER and width <= _GRID_STEPS:
        return Fraction(1)
    power = floor(width / _GRID_STEPS).bit_length() if width >= _GRID_STEPS else 0
    if power:
        return Fraction(2) ** (power - 1)
    inverse = floor(_GRID_STEPS / width) if width else 1
    return Fraction(1, 2 ** max(0, inverse.bit_length() - 1))


def _rows(query: Query) -> int:
    return 1 if query.table.one_row_a_person else query.table.max_rows


def _weight_bits(query: Query) -> int:
    return 0 if query.table.one_row_a_person else WEIGHT_BITS


def _no_bounds(measure: Measure, query: Query) -> QueryRefused:
    argument = measure.argument
    function = measure.aggregate.value.upper()
    if isinstance(argument, Field):
        place = f"[tables.{query.table.name}.columns.{argument.name}]"
        return QueryRefused(
            f"{function}({argument.name}) has no bounds, so one person could change it without limit.",
            remedy=f"The owner can declare them in the policy: {place} bounds = [low, high].",
        )
    return QueryRefused(
        f"{function}(…) has no bounds, so one person could change it without limit.",
        remedy="Use columns with declared bounds, or clamp it: least(greatest(…, 0), 100).",
    )
