"""Where the truth of each column of a question over noisy answers lies, at the stated confidence.

What is computed from one group of one leaf has the interval that it has in a question of its own
(`release.intervals`). All else is cut into its largest parts that are affine in the noise, or quotients of
such (`release.shape`). The noise of all leaves is drawn many times more, taken off, and these parts are
computed for each draw (`release.noisy.draw_sql`). The middle of what comes out is where a part lies, and
interval arithmetic puts the parts together.

What limits leave out of a measure is known from one end to another, in each draw. So each part has two ends
in each draw, and the truth is between the outer ones: for the unknown numbers that are left out, a part is
affine in the noise as ever, and in each draw it lies between its ends.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.shape import Shape
from discreet.arrays import ColumnValues, Floats
from discreet.errors import QueryRefused
from discreet.model.deadline import Deadline
from discreet.model.expression import Call, Expression, Field, fields_of, size_of
from discreet.model.noisy_table import NoisyTable, tables_within
from discreet.model.policy import ValueType
from discreet.release.box import Box, BoxOrTruth, Truth, push
from discreet.release.intervals import Ends, lost_something
from discreet.release.noisy.draw_sql import ENDS, DrawSql
from discreet.release.noisy.leaf_draws import LeafDraws
from discreet.release.noisy.shape import Shapes
from discreet.release.noisy.sql import Ids, leaf_name, row_name
from discreet.release.outputs import NoisyGroups, queried_tables
from discreet.release.shape import largest_parts

_LEAST_BEYOND = 5
"""Draws that are left out on either side, at least."""
_MOST_DRAWS, _ROWS_AT_ONCE, _MOST_ROWS = 2_000, 1_000_000, 40_000_000
"""Of all draws, groups, columns and parts of them: 160 MB. What is more has wider intervals."""
_MOST_WORK, _MOST_WORK_BEFOREHAND = 10**11, 5 * 10**9
"""Of rows times characters of the statements that compute them, in all draws and columns: half a minute or
so, and a second or two of what nobody paid for. A character takes a row 0.1 to 0.4 ns."""
_MOST_CALLS, _MOST_CALLS_BEFOREHAND = 10_000, 1_000
"""The same where one group is enough: operations of all columns, once their names are put in. Each takes 1 to
2 ms. A question without steps has as many as `functions.registry` lets it have."""
_ROWS_OF_PLANNING = 30_000
"""So many take as long as planning does: 5 to 10 µs a character."""
_CHARACTERS_OF_A_WINDOW = 1_000
"""So many take as long as a window does."""
_PASSES = 2
"""Each column is computed with limits, and without them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundEnds:
    """Where the truth lies: with limits, and without them if they leave something out."""

    noise: Ends
    plain: Ends | None


class NoisyIntervals:
    """Of the rows of one answer."""

    def __init__(
        self,
        table: NoisyTable,
        shapes: Shapes,
        leaves: Sequence[NoisyGroups],
        answers: Mapping[int, int],
        rows: Mapping[str, ColumnValues],
        deadline: Deadline,
        *,
        beforehand: bool,
    ) -> None:
        """Beforehand, what would take long has no interval."""
        self._table = table
        self._shapes = shapes
        self._leaves = leaves
        self._answers = answers
        self._rows = rows
        self._deadline = deadline
        self._shape = shapes.tables[table.number]
        questions = max(leaf.noisy.questions for leaf in leaves)
        columns = questions * max(1, len(table.columns))
        self._beforehand = beforehand
        self._most_rows = _MOST_ROWS // columns
        self._most_work = (_MOST_WORK_BEFOREHAND if beforehand else _MOST_WORK) // (_PASSES * columns)
        self._calls_left = (_MOST_CALLS_BEFOREHAND if beforehand else _MOST_CALLS) // questions
        self._count = len(rows["id"])
        self._ids = Ids([leaf.groups for leaf in leaves])
        self.over_rows = False
        """Whether anything was computed over several groups."""

    def of(self, definition: Expression) -> FoundEnds | None:
        """The ends for each row; None if there are none."""
        noisy = [(each, atom) for each, atom in self._shapes.atoms_of(definition) if self._is_noisy(each)]
        if any(atom.shape is Shape.BENT and atom.measure is None for _, atom in noisy):
            self.over_rows = True
            return None
        read = {atom.table for _, atom in self._shapes.atoms_of(definition)}
        if len(read) == 1 and -1 not in read:
            self._calls_left -= size_of(definition).calls
            return self._of_one_leaf(definition, read.pop()) if self._calls_left >= 0 else None
        self.over_rows = True
        if self._shape.broken or self._ids.numbered(self._table):
            return None
        if not self._count:
            return FoundEnds(noise=(np.empty(0), np.empty(0)), plain=None)
        try:
            return self._simulated(definition)
        except QueryRefused:  # its ends are too long to be written
            return None

    def _is_noisy(self, atom: Field) -> bool:
        return self._shapes.atoms[atom.name].shape is not Shape.CONSTANT

    # From one leaf

    def _of_one_leaf(self, definition: Expression, table: int, *, together: int = 1) -> FoundEnds:
        leaf = self._leaves[self._answers[table]]
        own = self._own(definition)
        places = np.ma.asarray(self._rows[row_name(table)])
        there = ~np.ma.getmaskarray(places)
        kept = np.asarray(places[there], dtype=np.int64)
        together *= max(1, leaf.groups) if self._shape.selected else 1
        noise = leaf.intervals.of(own, kept, together=together)
        plain = leaf.intervals.without_limits(own, kept, leaf.lost, together=together)
        hidden = leaf.hidden_rows(own, kept)

        def spread(ends: Ends) -> Ends:
            low, high = (_spread(np.where(hidden, np.nan, end), there) for end in ends)
            return low, high

        return FoundEnds(noise=spread(noise), plain=None if plain is None else spread(plain))

    def _own(self, expression: Expression) -> Expression:
        """A definition with the names that the leaf has for its keys and measures."""
        names = {}
        for each, atom in self._shapes.atoms_of(expression):
            names[each.name] = atom.measure or each.name.rpartition("_")[2]
        return _renamed(expression, names)

    # From several rows, or leaves

    def _simulated(self, definition: Expression) -> FoundEnds | None:
        parts = list(dict.fromkeys(largest_parts(definition, self._shapes.shape)))
        fixed = list(dict.fromkeys(self._fixed(definition)))
        noise = self._boxes(parts, fixed, with_lost=False)
        if noise is None:
            return None
        plain = None
        if any(lost_something(found) for leaf in self._leaves for found in leaf.lost.values()):
            without_limits = self._boxes(parts, fixed, with_lost=True)
            if without_limits is None:
                return None
            plain = self._pushed(definition, without_limits)
        return FoundEnds(noise=self._pushed(definition, noise), plain=plain)

    def _fixed(self, expression: Expression) -> Iterator[Expression]:
        """The largest parts that no noise moves and that interval arithmetic may meet."""
        if not self._shapes.is_noisy(expression):
            if expression.type.numeric or expression.type is ValueType.BOOLEAN:
                yield expression
        elif isinstance(expression, Call):
            for each in expression.arguments:
                yield from self._fixed(each)

    def _boxes(
        self, parts: Sequence[Expression], fixed: Sequence[Expression], *, with_lost: bool
    ) -> dict[Expression, BoxOrTruth] | None:
        """Where parts lie, all of them at once."""
        boxes: dict[Expression, BoxOrTruth] = {}
        together = max(1, len(parts))
        at_once = self._ids.rows_of(self._table) if self._shape.selected else 1
        for part in parts:
            if self._shapes.shape(part) is Shape.BENT:  # a quantile of a leaf
                table = self._shapes.atoms[fields_of(part)[0].name].table
                found = self._of_one_leaf(part, table, together=together)
                low, high = (found.plain or found.noise) if with_lost else found.noise
                boxes[part] = Box(low, high, np.isnan(low))
        drawn = [part for part in parts if part not in boxes]
        miss = (1 - self._leaves[0].plan.request.confidence) / (together * at_once)
        found_ends = self._drawn(drawn, fixed, miss, with_lost=with_lost)
        return None if found_ends is None else boxes | found_ends

    def _drawn(
        self, parts: Sequence[Expression], fixed: Sequence[Expression], miss: Fraction, *, with_lost: bool
    ) -> dict[Expression, BoxOrTruth] | None:
        """All but the outermost draws of each part, and what is fixed in all of them."""
        inputs = [
            LeafDraws(leaf, [leaf.noisy.seed, 2, i], miss / 2, with_lost=with_lost)
            for i, leaf in enumerate(self._leaves)
        ]
        near = any(each.near.any() for each in inputs)
        side = float(miss / (2 if near else 1)) / 2
        rows = max(self._ids.rows_of(each) for each in tables_within(self._table))
        kept_ends = len(ENDS) * max(1, len(parts) + len(fixed))  # they are in memory all at once
        sided = with_lost or near
        sql = DrawSql(self._shapes, self._ids, sided).statement(self._table, [*parts, *fixed])
        draws = _draws(rows, side, min(self._most_rows // kept_ends, self._rows_in_time(sql)))
        by_tails = draws is None
        if by_tails and not sided:
            sided = True
            sql = DrawSql(self._shapes, self._ids, sided).statement(self._table, [*parts, *fixed])
        if by_tails and (self._beforehand or rows > self._rows_in_time(sql)):
            return None
        draws = 1 if draws is None else draws
        at_once = max(1, _ROWS_AT_ONCE // rows)
        cells = max(1, sum(leaf.groups * len(leaf.measures) for leaf in self._leaves))
        kept: NDArray[np.int64] | None = None
        found: dict[str, list[Floats]] = {}
        for start in range(0, draws, at_once):
            some = min(at_once, draws - start)
            tables = {
                leaf_name(i): each.tails(miss / cells) if by_tails else each.columns(some, sided=sided)
                for i, each in enumerate(inputs)
            }
            result = queried_tables(tables, sql, self._deadline)
            ids = np.asarray(result.pop("id"), dtype=np.int64)
            kept = ids[::some] if kept is None else kept
            if not np.array_equal(np.repeat(kept, some), ids):
                return None
            for name, column in result.items():
                numbers = np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)
                found.setdefault(name, []).append(numbers.reshape(-1, some))
        places = self._places(kept)
        if places is None:
            return None
        boxes: dict[Expression, BoxOrTruth] = {}
        for i, part in enumerate([*parts, *fixed]):
            ends = [np.concatenate(found[f"x{i}_{end}"], axis=1)[places] for end in ENDS[: 1 + sided]]
            if i < len(parts):
                boxes[part] = _middle(ends[0], ends[-1], 0.5 if by_tails else side)
            else:
                truth = part.type is ValueType.BOOLEAN
                boxes[part] = Truth.points(ends[0][:, 0]) if truth else Box.points(ends[0][:, 0])
        return boxes

    def _rows_in_time(self, sql: str) -> int:
        """How many rows a statement may have: each of its tables has at most as many."""
        characters = len(sql) + _CHARACTERS_OF_A_WINDOW * sql.count(" OVER (")
        return self._most_work // characters - _ROWS_OF_PLANNING

    def _places(self, ids: NDArray[np.int64] | None) -> NDArray[np.intp] | None:
        """Where each row of the answer is among those that were drawn."""
        wanted = np.asarray(self._rows["id"], dtype=np.int64)
        if ids is None or not len(ids):
            return None
        places = np.searchsorted(ids, wanted)
        places = np.minimum(places, len(ids) - 1)
        return places if np.array_equal(ids[places], wanted) else None

    # What is put together from parts

    def _pushed(self, definition: Expression, boxes: Mapping[Expression, BoxOrTruth]) -> Ends:
        found = push(definition, boxes.get, self._count)
        if not isinstance(found, Box):
            raise TypeError("A condition has no interval.")
        return found.low, found.high


def _middle(lows: Floats, highs: Floats, side: float) -> Box:
    """See `release.intervals`: what is NULL may be anything, and so counts on both sides."""
    draws = lows.shape[1]
    beyond = floor(side * (draws + 1))
    null = np.isnan(lows) | np.isnan(highs)
    low = np.partition(np.where(null, -np.inf, lows), beyond - 1, axis=1)[:, beyond - 1]
    high = np.partition(np.where(null, np.inf, highs), draws - beyond, axis=1)[:, draws - beyond]
    nothing = np.all(null, axis=1)
    return Box(np.where(nothing, np.nan, low), np.where(nothing, np.nan, high), np.any(null, axis=1))


def _renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    match expression:
        case Field():
            return replace(expression, name=names[expression.name])
        case Call():
            arguments = tuple(_renamed(each, names) for each in expression.arguments)
            return replace(expression, arguments=arguments)
    return expression


def _spread(values: Floats, there: NDArray[np.bool_]) -> Floats:
    """The values of some rows; NaN for the others."""
    found = np.full(len(there), np.nan)
    found[there] = values
    return found


def _draws(rows: int, side: float, most_rows: int) -> int | None:
    """How many times the noise is drawn; None if that would take too long.

    Then each measure lies within the tails of its noise, for all groups at once.
    """
    least = ceil(_LEAST_BEYOND / side)
    if least * rows > most_rows:
        return None
    return max(least, min(_MOST_DRAWS, _ROWS_AT_ONCE // rows, most_rows // rows))
