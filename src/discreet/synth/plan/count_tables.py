"""The tables of counts that a synthetic table is made from, computed where the data lives.

Every person has one weight w = ⌊2^s · min(1, B/rows)⌋ in all tables (`aggregates.weights`, ℓ₁): adding cells
together never adds more than B·2^s of one person. So the cells of all attributes at once, or pairs of them,
can be added up to any coarser table, and each such table has the same sensitivity.

A small domain is counted in one statement, by all attributes; a wide one by each pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import WeightedSum
from discreet.aggregates.weights import Norm, Weight
from discreet.bounds.bound import Bounded
from discreet.bounds.work_limits import check_statements, check_written
from discreet.model.policy import Dataset
from discreet.model.query import GroupingSets, Query
from discreet.model.sensitivity import Sensitivity
from discreet.question.plain_rows import RowQuery
from discreet.release.exact_vectors import Results, places_of, small_integers_of
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.plan.attributes import Attribute

_PART = 0


def sets_of(attributes: int, *, wide: bool) -> GroupingSets:
    """By which attributes rows are counted for a synthetic table: by all, or by every one and two of them."""
    every = tuple(range(attributes))
    return tuple(chosen for order in (1, 2) for chosen in combinations(every, order)) if wide else (every,)


def counting(
    rows: RowQuery, attributes: Sequence[Attribute], dataset: Dataset, *, sets: GroupingSets
) -> Bounded:
    """Rows, counted by these sets of attributes. Each row is in one cell of every set."""
    source = rows.source
    weight = None if source.one_row_a_person else Weight.for_rows(source.max_rows, Norm.L1)
    part = WeightedSum(
        weight=weight,
        value=None,
        condition=None,
        not_null=None,
        offset=Fraction(0),
        grid=Fraction(1),
        power=1,
        largest=1,
        signed=False,
        sets=tuple(False for _ in sets),
    )
    keys = tuple(attribute.key() for attribute in attributes)
    check_statements(source, [key.expression for key in keys], len(sets), private_keys=False)
    check_written([column.expression for column in rows.columns], len(sets))
    query = Query(
        source=source,
        keys=keys,
        sets=sets,
        measures=(),
        picks=None,
        outputs=(),
        having=None,
        order=(),
        limit=None,
    )
    return Bounded(query=query, neighbours=dataset.neighbours, parts=(part,), measures=(), selector=None)


def unit_of(bounded: Bounded) -> int:
    """The integer that one row of a person who counts fully adds to a count."""
    return _part(bounded).weighing.whole


def table_sensitivity(bounded: Bounded) -> Sensitivity:
    """The sensitivity of one table, whichever and however coarse."""
    return _part(bounded).weighing.sensitivity(bounded.neighbours, largest=1, signed=False, one_group=False)


def _part(bounded: Bounded) -> WeightedSum:
    (part,) = bounded.parts
    if not isinstance(part, WeightedSum):
        raise TypeError("Rows are counted here.")
    return part


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellCounts:
    """Exact counts by some attributes: the codes of the cells that are not empty, and their integers."""

    codes: Mapping[int, NDArray[np.int64]]
    integers: NDArray[Any]

    def table(self, marginal: Marginal) -> NDArray[np.int64]:
        """The counts, added up to one table."""
        place = np.zeros(len(self.integers), dtype=np.int64)
        known = np.ones(len(place), dtype=np.bool_)
        for attribute, code, size in zip(marginal.attributes, marginal.codes, marginal.shape, strict=True):
            values = self.codes[attribute]
            known &= values < len(code)  # one that was dropped is in no cell
            place = place * size + code[np.minimum(values, len(code) - 1)]
        table = np.zeros(marginal.cells, dtype=np.int64)
        np.add.at(table, place[known], self.integers[known])
        return table


class Counted:
    """All exact counts of one plan. They are secret, and only leave in tables that get noise at once."""

    def __init__(self, domain: Domain, bounded: Bounded, results: Results) -> None:
        pieces: dict[tuple[int, ...], list[CellCounts]] = {}
        for statement, table in results:
            places = places_of(bounded.query, statement, table)
            known = places >= 0  # others belong to no group, and an error about them would name them
            sizes = tuple(domain.sizes[i] for i in statement.keys)
            codes = np.unravel_index(places[known], sizes) if sizes else ()
            counts = CellCounts(
                codes=dict(zip(statement.keys, codes, strict=True)),
                integers=small_integers_of(table[f"s{_PART}"])[known],
            )
            pieces.setdefault(statement.keys, []).append(counts)
        self._pieces = pieces

    def __call__(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        return [self._table(marginal) for marginal in marginals]

    def _table(self, marginal: Marginal) -> NDArray[np.int64]:
        wanted = set(marginal.attributes)
        smallest = min((held for held in self._pieces if wanted <= set(held)), key=len)
        tables = [counts.table(marginal) for counts in self._pieces[smallest]]
        total: NDArray[np.int64] = np.sum(tables, axis=0, dtype=np.int64)
        return total
