"""From the engine's results to one vector of exact integers for each part: secret, and never shown.

With public keys there is an entry for every group, 0 where there is no row; with private ones, an entry for
every group that occurs, and `draw_noise` decides which of them are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import LeftOut, WeightedSum
from discreet.aggregates.weights import MOST_BITS
from discreet.arrays import ColumnValues, Integers
from discreet.bounds.calibrate import Plan
from discreet.model.policy import KeyValue, ValueType
from discreet.model.query import GroupKey, Query
from discreet.sql.statement import Statement

_SMALL = 2**MOST_BITS
"""A count adds no more than this for each row: 2⁴² rows would fill 62 bits."""

Results: TypeAlias = Sequence[tuple[Statement, Mapping[str, ColumnValues]]]

_DTYPES: dict[ValueType, str] = {
    ValueType.INTEGER: "int64",
    ValueType.BOOLEAN: "bool",
    ValueType.TEXT: "object",
    ValueType.DATE: "datetime64[D]",
    ValueType.TIMESTAMP: "datetime64[us]",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactVectors:
    """The groups, by column, and the exact integers of each part."""

    keys: tuple[ColumnValues, ...]
    """One for each key of the question; masked where it is NULL, or not in the grouping set."""
    sums: Mapping[int, ColumnValues]
    """By part: one integer for each group."""
    bins: Mapping[int, tuple[ColumnValues, ColumnValues, ColumnValues]]
    """By part that is a histogram: group, bin and integer of those that are not 0, sorted by group. A bin may
    occur for several slices of the people."""
    left_out: Mapping[int, Integers]
    """By part that is `LeftOut`: how many people are in each of its bins."""

    def __len__(self) -> int:
        return len(self.keys[0]) if self.keys else 1

    def histogram(self, part: int, group: int, leaves: int) -> ColumnValues:
        """All bins of one group."""
        groups, bins, integers = self.bins[part]
        here = slice(*np.searchsorted(groups, [group, group + 1]))
        counts = np.zeros(leaves, dtype=integers.dtype)
        np.add.at(counts, bins[here], integers[here])
        return counts


def exact_vectors(plan: Plan, results: Results) -> ExactVectors:
    """The results of all statements of a plan, in the order of its groups."""
    bins = {
        part: np.zeros(each.all_bins, dtype=np.int64)
        for part, each in enumerate(plan.bounded.parts)
        if isinstance(each, LeftOut)
    }
    measured = []
    for statement, table in results:
        if statement.left_out is None:
            measured.append((statement, table))
            continue
        people = ~np.ma.getmaskarray(table["bin"])
        places = small_integers_of(table["bin"][people])
        counts = small_integers_of(table[f"s{statement.left_out}"][people])
        people_by_bin = bins[statement.left_out]
        np.add.at(people_by_bin, np.minimum(places, len(people_by_bin) - 1), counts)  # no row makes it fail
        if statement.parts:
            measured.append((statement, {name: column[~people] for name, column in table.items()}))
    found = _occurring if plan.bounded.query.private_keys else _enumerated
    return replace(found(plan, measured), left_out=bins)


def _enumerated(plan: Plan, results: Results) -> ExactVectors:
    query = plan.bounded.query
    sizes = [prod(len(query.keys[i].values or ()) for i in chosen) for chosen in query.sets]
    starts = np.cumsum([0, *sizes])
    sums: dict[int, ColumnValues] = {}
    bins: dict[int, list[tuple[ColumnValues, ColumnValues, ColumnValues]]] = {}
    for statement, table in results:
        places = places_of(query, statement, table)
        # A group that is not public is not in the answer, and an error about it would name it.
        known = places >= 0
        at = places[known] + starts[statement.grouping_set]
        for part in statement.parts:
            integers = _integers(plan, part, table[f"s{part}"][known])
            if statement.by_leaf:
                bins.setdefault(part, []).append((at, small_integers_of(table["leaf"])[known], integers))
                continue
            if part not in sums:
                sums[part] = np.zeros(starts[-1], dtype=np.int64)
            if integers.dtype == object:
                sums[part] = sums[part].astype(object)
            sums[part][at] += integers  # slices of people add up
    return ExactVectors(
        keys=public_keys(query),
        sums=sums,
        bins={part: _sorted(pieces) for part, pieces in bins.items()},
        left_out={},
    )


def _occurring(plan: Plan, results: Results) -> ExactVectors:
    query = plan.bounded.query
    _, table = next((s, t) for s, t in results if not s.by_leaf)
    keys = tuple(np.ma.asarray(table[f"k{i}"]) for i in range(len(query.keys)))
    summed = [part for statement, _ in results if not statement.by_leaf for part in statement.parts]
    sums = {part: _integers(plan, part, table[f"s{part}"]) for part in summed}
    binned = [(statement, found) for statement, found in results if statement.by_leaf]
    groups = zip(*(key.tolist() for key in keys), strict=True) if binned else ()
    known = {group: i for i, group in enumerate(groups)}
    bins: dict[int, tuple[ColumnValues, ColumnValues, ColumnValues]] = {}
    for statement, found in binned:
        columns = [np.ma.asarray(found[f"k{i}"]).tolist() for i in range(len(keys))]
        places = np.array([known.get(group, -1) for group in zip(*columns, strict=True)], dtype=np.int64)
        for part in statement.parts:
            leaves = small_integers_of(found["leaf"])
            bins[part] = _sorted([(places, leaves, _integers(plan, part, found[f"s{part}"]))])
    return ExactVectors(keys=keys, sums=sums, bins=bins, left_out={})


def places_of(query: Query, statement: Statement, table: Mapping[str, ColumnValues]) -> NDArray[np.int64]:
    """The number of each row's group within its grouping set; −1 where a key is not public."""
    rows = len(next(iter(table.values())))
    places = np.zeros(rows, dtype=np.int64)
    for i, position in enumerate(statement.keys):
        values = query.keys[position].values or ()
        known = range(len(values)) if position in statement.coded else values
        codes = {value: code for code, value in enumerate(known)}
        column = np.ma.asarray(table[f"k{i}"]).tolist()
        found = np.array([codes.get(value, -1) for value in column], dtype=np.int64)
        places = np.where((places < 0) | (found < 0), -1, places * len(values) + found)
    return places


def public_keys(query: Query) -> tuple[ColumnValues, ...]:
    """Every key over all groups, set by set, where all of them are public."""
    return tuple(_key_column(query, i) for i in range(len(query.keys)))


def _key_column(query: Query, position: int) -> ColumnValues:
    """The values of a key over all groups, set by set."""
    key = query.keys[position]
    values = _typed(key)
    pieces = []
    for chosen in query.sets:
        sizes = [len(query.keys[i].values or ()) for i in chosen]
        if position not in chosen:
            absent = np.empty(prod(sizes), dtype=values.dtype)
            pieces.append(np.ma.MaskedArray(absent, mask=True))
            continue
        place = chosen.index(position)
        inner, outer = prod(sizes[place + 1 :]), prod(sizes[:place])
        pieces.append(np.ma.asarray(np.tile(np.repeat(values, inner), outer)))
    data = np.concatenate([piece.data for piece in pieces])
    mask = np.concatenate([np.ma.getmaskarray(piece) for piece in pieces])
    return np.ma.MaskedArray(data, mask=mask)


def _typed(key: GroupKey) -> ColumnValues:
    values: list[KeyValue | None] = list(key.values or ())
    dtype = _DTYPES[key.expression.type]
    if dtype == "object":
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column
    return np.array(values, dtype=dtype)


def _integers(plan: Plan, part: int, column: ColumnValues) -> ColumnValues:
    """64-bit where what one row adds is so small that no number of rows fills them: the plan decides."""
    vector = plan.bounded.parts[part]
    wide = isinstance(vector, WeightedSum) and vector.weighing.whole * vector.largest > _SMALL
    return integers_of(column) if wide else small_integers_of(column)


def integers_of(column: ColumnValues) -> ColumnValues:
    """64-bit if the SQL type is, else Python's own; an aggregate over no rows is 0.

    The kind follows from the type alone. If values could choose it, noise would saturate for some of them and
    not for others, and a million numbers would take longer: both would tell whether a sum is large.
    """
    filled = column.filled(0) if isinstance(column, np.ma.MaskedArray) else column
    return filled if filled.dtype == object else filled.astype(np.int64)


def small_integers_of(column: ColumnValues) -> NDArray[np.int64]:
    """Integers that the statement keeps small, such as the number of a bin: 64-bit, whatever their type."""
    return integers_of(column).astype(np.int64)


def _sorted(
    pieces: list[tuple[ColumnValues, ColumnValues, ColumnValues]],
) -> tuple[ColumnValues, ColumnValues, ColumnValues]:
    groups, leaves, integers = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.argsort(groups, kind="stable")
    return groups[order], leaves[order], integers[order]
