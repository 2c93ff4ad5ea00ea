"""Stage 3: what one person can change at most, as exact integers.

Every measure becomes the vectors of integers that its aggregate says (see `aggregates`), with an entry for
each group, in which each person counts by one weight (see `aggregates.weights`). One person moves the whole
vector of a measure by a known amount, however many groups there are, and nothing is dropped at random.
"""

from dataclasses import dataclass

from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.people import count_of_people
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import Part, Scores, WeightedSum
from discreet.aggregates.weights import Unit
from discreet.bounds.work_limits import check_statements
from discreet.errors import QueryRefused
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Dataset
from discreet.model.query import Measure, Picks, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMeasure:
    """A measure as the vectors that it is computed from."""

    measure: Measure
    parts: tuple[int, ...]
    """Positions among the parts, in the order of its aggregate: such as count, sum, squares."""


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
        self._parts: list[Part] = []
        self._bounds = ContributionBounds(
            query=query, gaussian=dataset.delta > 0, selecting=_selecting(query)
        )

    def bounded(self) -> Bounded:
        query = self._query
        measures = tuple(
            BoundedMeasure(
                measure=measure,
                parts=tuple(
                    self._index(part) for part in AGGREGATES[measure.aggregate].vectors(measure, self._bounds)
                ),
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
        """Sums over rows that are weighed alike are one piece (`sql.emit`); all else is one each."""
        rows = [part for part in self._parts if isinstance(part, WeightedSum) and part.unit is Unit.ROWS]
        return len(self._parts) - len(rows) + len({part.weight for part in rows})

    def _index(self, part: Part) -> int:
        if part not in self._parts:
            self._parts.append(part)
        return self._parts.index(part)

    def _selector(self) -> int:
        """One noisy count both names the private keys and is released."""
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


def _selecting(query: Query) -> Measure | None:
    """The measure that can tell which private keys to name: people if they are asked for, or else rows."""
    plain = [m for m in query.measures if m.argument is None and m.condition is None]
    for unit in (Unit.PEOPLE, Unit.ROWS):
        for measure in plain if query.private_keys else ():
            if AGGREGATES[measure.aggregate].counts is unit:
                return measure
    return None
