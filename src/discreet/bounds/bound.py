"""Stage 3: what one person can change at most, as exact integers.

Every measure becomes the vectors of integers that its aggregate defines (see `aggregates`), with an entry for
each group. All rows of a person get one weight (see `aggregates.weights`). One person moves the whole vector
of a measure by a known amount at most, however many groups there are, and nothing is dropped at random.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.joint import JointSum, VectorFamily
from discreet.aggregates.people import count_of_people
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import Clamped, DistinctCount, Histogram, LeftOut, Part, Scores, WeightedSum
from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.bounds.one_value import fields_with_one_value
from discreet.bounds.together.families import MeasuredTogether, measured_together
from discreet.bounds.together.wanted import WantedSum, wanted
from discreet.bounds.work_limits import check_statements, check_written
from discreet.errors import QueryRefused
from discreet.model.exact import LARGEST_COUNT
from discreet.model.expression import Field, fields_of, title
from discreet.model.neighbours import Neighbours
from discreet.model.person_value import PersonAggregate
from discreet.model.policy import Dataset, ValueType
from discreet.model.query import (
    Filter,
    FollowKey,
    GroupKey,
    Measure,
    PerPerson,
    Picks,
    Query,
    Relation,
    Scan,
    group_count,
)

OneValue: TypeAlias = Callable[[Relation], frozenset[str] | None]

_LARGEST_MEASURED = Fraction(10) ** 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredVector:
    """A vector of a measure, and how it is computed from what is released."""

    vector: Part
    terms: tuple[tuple[int, Fraction], ...]
    """Positions among the parts, and what they are multiplied with: in the units of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMeasure:
    """A measure as the vectors that it is computed from."""

    measure: Measure
    vectors: tuple[MeasuredVector, ...]
    """In the order of its aggregate: such as count, sum, squares."""

    @property
    def parts(self) -> tuple[int, ...]:
        """Positions among the parts: all that it is computed from."""
        return tuple(dict.fromkeys(part for each in self.vectors for part, _ in each.terms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A query whose every number comes from vectors of integers."""

    query: Query
    neighbours: Neighbours
    parts: tuple[Part, ...]
    measures: tuple[BoundedMeasure, ...]
    selector: int | None
    """With private keys: the part whose noisy count decides which of them are named."""
    left_out_share: Fraction = field(default=Fraction(0), repr=False)
    """Of the price, for the parts that are `LeftOut`; 0 if there are none."""
    pieces: int = field(default=1, repr=False, compare=False)
    """How many sums its statements consist of. Each reads the rows anew."""
    apart: "Bounded | None" = field(default=None, repr=False, compare=False)
    """The same with a part for each vector, if some are measured together; None if none are."""
    known: dict[str, object] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What was computed from it, by a name for each: it never changes."""

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """The parts that have one price: those of a family, and each other one by itself."""
        found: dict[VectorFamily | int, list[int]] = {}
        for i, part in enumerate(self.parts):
            found.setdefault(part.family if isinstance(part, JointSum) else i, []).append(i)
        return [tuple(block) for block in found.values()]

    @property
    def measured_parts(self) -> list[Part]:
        """The parts that its measures are computed from, and the one that names private keys."""
        used = {part for measure in self.measures for part in measure.parts} | {self.selector}
        return [part for i, part in enumerate(self.parts) if i in used]


def bound(
    query: Query, dataset: Dataset, one_value: OneValue = fields_with_one_value, *, together: bool = True
) -> Bounded:
    """Turn each measure into its parts. Measures share equal parts, and families of them.

    `one_value` says of which fields of a relation a person has one value: None if that is not to be used, as
    in answers of older versions. Nor are vectors measured `together` there.
    """
    if query.private_keys and dataset.delta == 0:
        raise _no_delta(next(key for key in query.keys if key.values is None))
    bounded = _Bounder(query, dataset, one_value(query.source)).bounded()
    return _put_together(bounded, gaussian=dataset.delta > 0) if together else bounded


def _no_delta(key: GroupKey) -> QueryRefused:
    """Private keys need some δ. A date has public days and months as soon as it has bounds."""
    dates = [each for each in fields_of(key.expression) if each.type in (ValueType.DATE, ValueType.TIMESTAMP)]
    declare = "keys = […]"
    if dates:
        declare = f"bounds of {title(dates[0].name)}, such as [2024-01-01, 2025-12-31],"
    return QueryRefused(
        f"The values of {key.name} are not public, and this dataset has no δ to show some of them.",
        remedy=f"List them: {key.listed}; or the owner declares {declare} in the policy.",
    )


class _Bounder:
    def __init__(self, query: Query, dataset: Dataset, one_value: frozenset[str] | None) -> None:
        self._query = query
        self._source = query.source
        self._neighbours = dataset.neighbours
        self._left_out_share = dataset.left_out_share
        self._parts: list[Part] = []
        self._bounds = ContributionBounds(
            query=query, gaussian=dataset.delta > 0, selecting=_selecting(query), one_value=one_value
        )

    def bounded(self) -> Bounded:
        query = self._query
        measures = tuple(
            BoundedMeasure(
                measure=measure,
                vectors=tuple(
                    MeasuredVector(vector=part, terms=((self._index(part), Fraction(1)),))
                    for part in AGGREGATES[measure.aggregate].vectors(measure, self._bounds)
                ),
            )
            for measure in query.measures
        )
        selector = self._selector() if query.private_keys else None
        if query.picks is not None:
            self._index(self._scores(query.picks))
        lost = self._left_out() if self._left_out_share and not limits_are_facts(query.source) else []
        parts = (*self._parts, *lost)
        keys = [key.expression for key in query.keys]
        pieces = len(query.sets) * self._pieces() + len(lost)
        check_statements(query.source, keys, pieces, private_keys=query.private_keys)
        check_written(keys, pieces)
        return Bounded(
            query=query,
            neighbours=self._neighbours,
            parts=parts,
            measures=measures,
            selector=selector,
            left_out_share=self._left_out_share if lost else Fraction(0),
            pieces=pieces,
        )

    def _pieces(self) -> int:
        """Sums over rows with the same weights are one piece (`sql.emit`); every other part is one too."""
        rows = [part for part in self._parts if isinstance(part, WeightedSum) and part.unit is Unit.ROWS]
        return len(self._parts) - len(rows) + len({part.weight for part in rows})

    def _index(self, part: Part) -> int:
        if part not in self._parts:
            self._parts.append(part)
        return self._parts.index(part)

    def _left_out(self) -> list[LeftOut]:
        """One vector for each way in which rows, people or values of one person can be too many."""
        found = [left_out_of(part) for part in self._parts]
        few = not self._query.private_keys and group_count(self._query) <= self._source.max_groups
        measured = [
            replace(each, clamped=self._clamped(each))
            for each in dict.fromkeys(each for each in found if each is not None)
            if each.distinct is not None or each.weight.unit is Unit.ROWS or not few
        ]
        return [each for each in measured if each.clamped or not each.only_clamps]

    def _clamped(self, lost: LeftOut) -> tuple[Clamped, ...]:
        """The columns that are summed with the same weights. What is computed from columns has no bins.

        Where everybody has one row, these are the values of people: their bounds follow from limits. Bounds
        of a column are a choice of the owner, who can look.
        """
        values = values_of_people(self._query.source)
        return tuple(
            dict.fromkeys(
                Clamped(value=part.value, condition=part.condition)
                for part in self._parts
                if isinstance(part, WeightedSum)
                and left_out_of(part) == lost
                and isinstance(part.value, Field)
                and can_be_measured(part.value)
                and (part.value.name in values or not lost.only_clamps)
            )
        )

    def _selector(self) -> int:
        """The count that selects the private keys: one that is released anyway, or else that of people."""
        chosen = self._bounds.selecting
        if chosen is None:
            return self._index(count_of_people(None, self._bounds))
        (part,) = AGGREGATES[chosen.aggregate].vectors(chosen, self._bounds)
        return self._index(part)

    def _scores(self, picks: Picks) -> Scores:
        people = AGGREGATES[picks.aggregate].counts is Unit.PEOPLE
        return Scores(
            condition=picks.condition,
            rows=1 if people else self._source.max_rows,
            one_row=self._source.one_row_a_person,
            largest=picks.largest,
        )


def _put_together(bounded: Bounded, *, gaussian: bool) -> Bounded:
    """The same with families in the place of vectors that are better measured together."""
    found: list[MeasuredTogether] = []
    for sums in _that_may_be_together(bounded):
        found += measured_together(sums, bounded.query.source, bounded.neighbours, gaussian=gaussian)
    if not found:
        return bounded
    replaced = {place for family in found for place in family.terms}
    kept = [i for i, part in enumerate(bounded.parts) if i not in replaced and not isinstance(part, LeftOut)]
    parts = [bounded.parts[i] for i in kept]
    terms: dict[int, tuple[tuple[int, Fraction], ...]] = {
        before: ((after, Fraction(1)),) for after, before in enumerate(kept)
    }
    for family in found:
        first = len(parts)
        parts += family.vectors
        for place, each in family.terms.items():
            terms[place] = tuple((first + i, weight) for i, weight in each)
    return replace(
        bounded,
        parts=(*parts, *(part for part in bounded.parts if isinstance(part, LeftOut))),
        measures=tuple(
            replace(
                measure,
                vectors=tuple(replace(each, terms=terms[each.terms[0][0]]) for each in measure.vectors),
            )
            for measure in bounded.measures
        ),
        selector=None if bounded.selector is None else terms[bounded.selector][0][0],
        apart=bounded,
    )


def _that_may_be_together(bounded: Bounded) -> list[list[WantedSum]]:
    """Vectors of rows that are weighed alike. The count that names private keys is seen by them alone."""
    matters, alone = dict[int, float](), {bounded.selector}
    for measure in bounded.measures:
        definition = AGGREGATES[measure.measure.aggregate]
        for each, square in zip(measure.vectors, definition.squares, strict=True):
            ((place, _),) = each.terms
            matters[place] = matters.get(place, 0.0) + square
            alone |= set() if definition.measured_together else {place}
    found: dict[Weight | None, list[WantedSum]] = {}
    for place, square in matters.items():
        part = bounded.parts[place]
        if place in alone or not isinstance(part, WeightedSum) or part.unit is not Unit.ROWS:
            continue
        told = wanted(place, part, square)
        if told is not None:
            found.setdefault(part.weight, []).append(told)
    return list(found.values())


def can_be_measured(value: Field) -> bool:
    """Whether it can be told how far values lie beyond their bounds: there has to be room for them."""
    if value.range is None or value.range.low == value.range.high:
        return False
    return max(abs(value.range.low), abs(value.range.high)) < (
        LARGEST_COUNT if value.type is ValueType.INTEGER else _LARGEST_MEASURED
    )


def limits_are_facts(relation: Relation) -> bool:
    """Whether the owner vouches for all limits of a relation, so that nothing is left out.

    Joins multiply rows, and leave out who has very many: there, limits are choices. To follow a key does
    neither. Of the tables that it leads to, nobody has more than one row if they are `unique`.
    """
    match relation:
        case Scan():
            return relation.table.limits_are_facts
        case FollowKey(child=child):
            others = relation.scans[1:]
            return limits_are_facts(child) and all(
                limits_are_facts(scan) or scan.one_row_a_person for scan in others
            )
        case Filter() | PerPerson():
            return limits_are_facts(relation.source)
    return False


def values_of_people(source: Relation) -> dict[str, int]:
    """The counts and sums of each person that a question is of: to what so many rows come to, they are
    clamped, if nothing else bounds them.
    """
    while isinstance(source, Filter):
        source = source.source
    if not isinstance(source, PerPerson):
        return {}
    added = (PersonAggregate.COUNT, PersonAggregate.SUM)
    return {value.field.name: source.source.max_rows for value in source.values if value.aggregate in added}


def left_out_of(part: Part) -> LeftOut | None:
    """The people of whom something does not count in a vector; None where nobody has too many of anything."""
    match part:
        case WeightedSum(one_each=True, unit=Unit.PEOPLE) | DistinctCount(one_each=True):
            return None
        case WeightedSum(weight=None, unit=Unit.ROWS):
            return LeftOut(weight=Weight.one(Unit.ROWS), distinct=None, condition=None)
        case WeightedSum(weight=Weight() as weight):
            condition = part.condition if weight.unit is Unit.PEOPLE else None  # rows are weighed before
            return LeftOut(weight=weight, distinct=None, condition=condition)
        case Histogram(weight=Weight() as weight):
            return LeftOut(weight=weight, distinct=None, condition=None)
        case DistinctCount(one_row=False):
            weight = Weight(norm=Norm.L1, unit=Unit.PEOPLE, square=part.values**2, bits=0)
            return LeftOut(weight=weight, distinct=part.value, condition=part.condition)
    return None


def without_left_out(bounded: Bounded) -> Bounded:
    """The same question, as it was before what is left out was estimated."""
    parts = tuple(part for part in bounded.parts if not isinstance(part, LeftOut))
    return replace(bounded, parts=parts, left_out_share=Fraction(0))


def _selecting(query: Query) -> Measure | None:
    """The measure that can select the private keys: people if they are asked for, or else rows."""
    plain = [m for m in query.measures if m.argument is None and m.condition is None]
    for unit in (Unit.PEOPLE, Unit.ROWS):
        for measure in plain if query.private_keys else ():
            if AGGREGATES[measure.aggregate].counts is unit:
                return measure
    return None
