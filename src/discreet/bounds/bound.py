"""Stage 3: what one person can change at most, as exact integers.

Every measure becomes vectors of integers, with an entry for each group (see `parts`), in which each person
counts by one weight (see `weights`). One person moves the whole vector of a measure by a known amount,
however many groups there are, and nothing is dropped at random.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from discreet.bounds.grid import grid_of, steps
from discreet.bounds.vectors import DistinctCount, Histogram, Part, Scores, WeightedSum
from discreet.bounds.weights import Norm, Unit, Weight
from discreet.bounds.work_limits import check_statements
from discreet.errors import QueryRefused
from discreet.functions.registry import range_of
from discreet.model.expression import Expression, Field, Range, title
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Dataset, ValueType
from discreet.model.query import Aggregate, Measure, Picks, Query, group_count

_MOST_POINTS = 4096
"""A range with no more values than this gets a bin for each."""
_BINS = 1024
_MOST_TREES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMeasure:
    """A measure as the vectors that it is computed from: count; sum; or count, sum and squares."""

    measure: Measure
    parts: tuple[int, ...]
    """Positions among the parts, in the order count, sum, squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A query whose every number comes from vectors of integers."""

    query: Query
    neighbours: Neighbours
    parts: tuple[Part, ...]
    measures: tuple[BoundedMeasure, ...]
    selector: int | None
    """With private keys: the part whose noisy count decides which of them are named."""


def bound(query: Query, dataset: Dataset) -> Bounded:
    """Turn each measure into its parts; the same part is used once."""
    if query.private_keys and dataset.delta == 0:
        name = next(key.name for key in query.keys if key.values is None)
        raise QueryRefused(
            f"The values of {name} are not public, and this dataset has no δ to show some of them.",
            remedy=f"List them: WHERE {name} IN (…), or declare keys = […] in the policy.",
        )
    return _Bounder(query, dataset).bounded()


class _Bounder:
    def __init__(self, query: Query, dataset: Dataset) -> None:
        self._query = query
        self._source = query.source
        self._neighbours = dataset.neighbours
        self._gaussian = dataset.delta > 0
        self._parts: list[Part] = []
        self._one_group = tuple(not chosen for chosen in query.sets)
        self._selecting = _selecting(query)

    def bounded(self) -> Bounded:
        query = self._query
        measures = tuple(
            BoundedMeasure(
                measure=measure, parts=tuple(self._index(part) for part in self._measured(measure))
            )
            for measure in query.measures
        )
        selector = self._selector() if query.private_keys else None
        if query.picks is not None:
            self._index(self._scores(query.picks))
        keys = [key.expression for key in query.keys]
        check_statements(query.source, keys, len(query.sets) * self._pieces())
        return Bounded(
            query=query,
            neighbours=self._neighbours,
            parts=tuple(self._parts),
            measures=measures,
            selector=selector,
        )

    def _pieces(self) -> int:
        """Sums over rows that are weighed alike are one piece (`emit_sql`); all else is one each."""
        rows = [part for part in self._parts if isinstance(part, WeightedSum) and part.unit is Unit.ROWS]
        return len(self._parts) - len(rows) + len({part.weight for part in rows})

    def _index(self, part: Part) -> int:
        if part not in self._parts:
            self._parts.append(part)
        return self._parts.index(part)

    def _measured(self, measure: Measure) -> list[Part]:
        match measure.aggregate:
            case Aggregate.PEOPLE:
                return [self._people(measure.condition)]
            case Aggregate.COUNT:
                return [self._count(measure)]
            case Aggregate.DISTINCT:
                return [self._distinct(measure)]
            case Aggregate.SUM:
                return [self._sum(measure, centred=False, power=1)]
            case Aggregate.AVERAGE:
                return [self._count(measure), self._sum(measure, centred=True, power=1)]
            case Aggregate.VARIANCE:
                return [
                    self._count(measure),
                    self._sum(measure, centred=True, power=1),
                    self._sum(measure, centred=True, power=2),
                ]
            case Aggregate.QUANTILE:
                return [self._histogram(measure)]

    # Weights

    def _norm(self) -> Norm:
        """ℓ₂ where Gaussian noise is added to one set of groups; the norms of one group are the same."""
        several = bool(self._query.keys) and len(self._query.sets) == 1
        return Norm.L2 if self._gaussian and several else Norm.L1

    def _row_weight(self, norm: Norm, *, names_keys: bool = False) -> Weight | None:
        if self._source.one_row_a_person:
            return None
        return Weight.for_rows(self._source.max_rows, norm, names_keys=names_keys)

    # Parts

    def _selector(self) -> int:
        """One noisy count both names the private keys and is released."""
        chosen = self._selecting
        if chosen is None or chosen.aggregate is Aggregate.PEOPLE:
            return self._index(self._people(None))
        return self._index(self._count(chosen))

    def _count(self, measure: Measure) -> WeightedSum:
        selects = measure is self._selecting
        weight = self._row_weight(Norm.L1 if selects else self._norm(), names_keys=selects)
        return self._ones(weight, measure.condition, measure.argument)

    def _people(self, condition: Expression | None) -> WeightedSum:
        if self._source.one_row_a_person:
            return self._ones(None, condition, None)
        if not self._query.keys:
            return self._ones(Weight.one(Unit.PEOPLE), condition, None)
        names_keys = self._query.private_keys and condition is None
        weight = Weight.for_people(self._source.max_groups, self._norm(), names_keys=names_keys)
        return self._ones(weight, condition, None)

    def _ones(
        self, weight: Weight | None, condition: Expression | None, not_null: Expression | None
    ) -> WeightedSum:
        return WeightedSum(
            weight=weight,
            value=None,
            condition=condition,
            not_null=not_null,
            offset=Fraction(0),
            grid=Fraction(1),
            power=1,
            largest=1,
            signed=False,
            sets=self._one_group,
        )

    def _sum(self, measure: Measure, *, centred: bool, power: int) -> WeightedSum:
        argument, span = _bounded_argument(measure)
        grid = grid_of(argument, span)
        offset = floor((span.low + span.high) / 2 / grid) * grid if centred else Fraction(0)
        most = max(steps(span.low - offset, grid), steps(span.high - offset, grid), 1)
        return WeightedSum(
            weight=self._row_weight(self._norm()),
            value=argument,
            condition=measure.condition,
            not_null=argument,
            offset=offset,
            grid=grid,
            power=power,
            largest=most**power,
            signed=power == 1 and span.low < offset < span.high,
            sets=self._one_group,
        )

    def _histogram(self, measure: Measure) -> Histogram:
        if not self._query.private_keys and group_count(self._query) > _MOST_TREES:
            raise QueryRefused(
                f"Quantiles can be asked for {_MOST_TREES:,} groups at most.",
                remedy="Group by fewer things, or by coarser ones.",
            )
        argument, span = _bounded_argument(measure)
        unit = argument.unit if isinstance(argument, Field) else None
        grid = Fraction(1) if argument.type is ValueType.INTEGER and unit is None else unit
        low, width, leaves, points = span.low, (span.high - span.low) / _BINS, _BINS, False
        if grid is not None:
            first, last = ceil(span.low / grid), floor(span.high / grid)
            if 0 < last - first < _MOST_POINTS:
                low, width, leaves, points = first * grid, grid, last - first + 1, True
        return Histogram(
            weight=self._row_weight(Norm.L1),
            value=argument,
            condition=measure.condition,
            low=low,
            width=width or Fraction(1),
            leaves=leaves,
            points=points,
            sets=len(self._query.sets),
        )

    def _distinct(self, measure: Measure) -> DistinctCount:
        if measure.argument is None:
            raise TypeError("A count of different values is of something.")
        return DistinctCount(
            value=measure.argument,
            condition=measure.condition,
            values=self._source.max_groups,
            one_row=self._source.one_row_a_person,
            sets=self._one_group,
        )

    def _scores(self, picks: Picks) -> Scores:
        people = picks.aggregate is Aggregate.PEOPLE
        return Scores(
            condition=picks.condition,
            rows=1 if people else self._source.max_rows,
            one_row=self._source.one_row_a_person,
            largest=picks.largest,
        )


def _selecting(query: Query) -> Measure | None:
    """The measure that can tell which private keys to name: people if they are asked for, or else rows."""
    plain = [m for m in query.measures if m.argument is None and m.condition is None]
    for aggregate in (Aggregate.PEOPLE, Aggregate.COUNT):
        for measure in plain if query.private_keys else ():
            if measure.aggregate is aggregate:
                return measure
    return None


def _bounded_argument(measure: Measure) -> tuple[Expression, Range]:
    argument = measure.argument
    span = None if argument is None else range_of(argument)
    if argument is not None and span is not None:
        return argument, span
    function = measure.aggregate.value.upper()
    if isinstance(argument, Field):
        raise QueryRefused(
            f"{function}({title(argument.name)}) has no bounds, so one person could change it without limit.",
            remedy="The owner can declare them in the policy:"
            f" [tables.….columns.{title(argument.name)}] bounds = [low, high].",
        )
    raise QueryRefused(
        f"{function}(…) has no bounds, so one person could change it without limit.",
        remedy="Use columns with declared bounds, or clamp it: least(greatest(…, 0), 100).",
    )
