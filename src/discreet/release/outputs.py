"""Columns of the answer, computed from noisy measures in a database of their own that keeps nothing.

Arithmetic, HAVING, ORDER BY and LIMIT use the question's own functions, on noisy numbers and public keys.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.registry import AGGREGATES
from discreet.answers.released import Released
from discreet.arrays import ColumnValues, Floats
from discreet.bounds.calibrate import Plan
from discreet.dialects.quoting import quote_identifier
from discreet.errors import EngineFailed, TookTooLong
from discreet.functions.registry import emit_duckdb
from discreet.model.deadline import Deadline
from discreet.model.expression import Expression, Field, fields_of
from discreet.model.query import key_field
from discreet.question.grouping import MOST_GROUPS
from discreet.release.estimate import Noisy, draw, draw_sums, estimate, reach

_MEMORY = "2GB"
_SECONDS_BETWEEN_INTERRUPTS = 0.2
_MOST_DRAWS, _LEAST_DRAWS, _DRAWS_AT_ONCE = 2_000, 200, 2_000_000


def compute_outputs(
    plan: Plan,
    keys: tuple[ColumnValues, ...],
    noisy: Noisy,
    groups: int,
    notes: tuple[str, ...],
    deadline: Deadline,
) -> Released:
    """The answer, from the groups that are shown.

    All of it comes from noisy numbers: how long it takes tells nothing that was not paid for.
    """
    return _NoisyTable(plan, keys, noisy, groups, deadline).answer(notes)


class _NoisyTable:
    def __init__(
        self, plan: Plan, keys: tuple[ColumnValues, ...], noisy: Noisy, groups: int, deadline: Deadline
    ) -> None:
        self._deadline = deadline
        self._plan = plan
        self._query = plan.bounded.query
        self._noisy = noisy
        self._groups = groups
        self._keys = {key_field(i): column for i, column in enumerate(keys)}
        self._measures = {measure.measure.name: measure for measure in plan.bounded.measures}
        self._estimates = {name: estimate(plan, m, noisy) for name, m in self._measures.items()}
        self._generator = np.random.default_rng(noisy.seed)

    def answer(self, notes: tuple[str, ...]) -> Released:
        kept, computed = self._computed()
        values: dict[str, ColumnValues] = {}
        raw: dict[str, Floats] = {}
        low: dict[str, Floats] = {}
        high: dict[str, Floats] = {}
        for output in self._query.outputs:
            name, expression = output.name, output.expression
            if isinstance(expression, Field) and expression.name in self._keys:
                values[name] = _plain(self._keys[expression.name][kept])
                continue
            if isinstance(expression, Field):
                estimates = self._estimates[expression.name][kept]
            else:
                estimates = computed[name]
            if not self._measured(expression) or estimates.dtype.kind not in "fiu":
                values[name] = _plain(estimates)
                continue
            raw[name] = np.ma.filled(np.ma.asarray(estimates, dtype=np.float64), np.nan)
            values[name] = self._presented(expression, raw[name])
            _check(self._deadline)
            low[name], high[name] = self._intervals(expression, kept)
        return Released(
            columns=tuple(output.name for output in self._query.outputs),
            values=values,
            raw=raw,
            low=low,
            high=high,
            confidence=float(self._plan.request.confidence),
            notes=notes,
        )

    def _measured(self, expression: Expression) -> bool:
        return any(field.name in self._measures for field in fields_of(expression))

    # Values

    def _computed(self) -> tuple[NDArray[np.int64], dict[str, ColumnValues]]:
        """Which groups are left, in order, and the outputs that are more than a key or a measure."""
        derived = [o for o in self._query.outputs if not isinstance(o.expression, Field)]
        if not derived and self._query.having is None and not self._ordered and self._cut is None:
            return np.arange(self._groups), {}
        columns = {"row_number": np.arange(self._groups), **self._estimates, **self._used_keys()}
        selected = ", ".join(
            ["row_number", *(f"{_sql(output.expression)} AS o{i}" for i, output in enumerate(derived))]
        )
        rest = f"{self._having()}{self._order()}{self._limit()}"
        found = _queried(columns, f"SELECT {selected} FROM noisy{rest}", self._deadline)
        return np.asarray(found["row_number"]), {
            output.name: found[f"o{i}"] for i, output in enumerate(derived)
        }

    @property
    def _ordered(self) -> bool:
        """Whether the order of groups is more than the declared one: private keys are sorted."""
        return bool(self._query.order) or self._query.private_keys

    @property
    def _cut(self) -> int | None:
        """How many groups are left at most; of those that were picked, all are."""
        return None if self._query.picks is not None else self._query.limit

    def _used_keys(self) -> dict[str, ColumnValues]:
        return {name: _objects(column) for name, column in self._keys.items()}

    def _having(self) -> str:
        having = self._query.having
        return "" if having is None else f" WHERE ({_sql(having)}) IS TRUE"

    def _order(self) -> str:
        parts = [
            f"{_sql(order.expression)} {'DESC' if order.descending else 'ASC'} NULLS LAST"
            for order in self._query.order
        ]
        if self._query.private_keys:
            parts += [f"{quote_identifier(name)} ASC NULLS LAST" for name in self._keys]
        return f" ORDER BY {', '.join([*parts, 'row_number'])}"

    def _limit(self) -> str:
        return f" LIMIT {MOST_GROUPS if self._cut is None else self._cut}"

    def _presented(self, expression: Expression, raw: Floats) -> ColumnValues:
        """A measure as its aggregate is shown, such as whole numbers; the raw number stays beside."""
        measure = self._measures.get(expression.name) if isinstance(expression, Field) else None
        if measure is None or np.isnan(raw).any():
            return raw
        return AGGREGATES[measure.measure.aggregate].shown(measure.measure, raw)

    # Intervals

    def _intervals(self, expression: Expression, kept: NDArray[np.int64]) -> tuple[Floats, Floats]:
        if isinstance(expression, Field):
            measure = self._measures[expression.name]
            known = reach(self._plan, measure, self._estimates[expression.name], self._noisy)
            if known is not None:
                return known[0][kept], known[1][kept]
        draws = int(np.clip(_DRAWS_AT_ONCE // max(1, len(kept)), _LEAST_DRAWS, _MOST_DRAWS))
        at_once = _DRAWS_AT_ONCE // draws
        pieces = [
            self._simulated(expression, kept[start : start + at_once], draws)
            for start in range(0, len(kept), at_once)
        ]
        if not pieces:
            return np.empty(0), np.empty(0)
        return np.concatenate([low for low, _ in pieces]), np.concatenate([high for _, high in pieces])

    def _simulated(
        self, expression: Expression, kept: NDArray[np.int64], draws: int
    ) -> tuple[Floats, Floats]:
        _check(self._deadline)
        at = np.repeat(kept, draws)
        sums = draw_sums(self._plan, self._noisy, at, self._generator)
        used = {field.name for field in fields_of(expression)}
        drawn = {
            name: draw(self._plan, measure, self._noisy, at, sums, self._generator)
            for name, measure in self._measures.items()
            if name in used
        }
        if isinstance(expression, Field):
            values = drawn[expression.name]
        else:
            keys = {name: column[at] for name, column in self._used_keys().items() if name in used}
            values = self._evaluated(expression, {"row_number": np.arange(len(at)), **drawn, **keys})
        miss = (1 - float(self._plan.request.confidence)) / 2
        return _quantile_pair(values.reshape(len(kept), draws), miss)

    def _evaluated(self, expression: Expression, columns: Mapping[str, ColumnValues]) -> Floats:
        value = f"CAST({_sql(expression)} AS DOUBLE) AS x"
        sql = f"SELECT {value} FROM noisy ORDER BY row_number"
        found = _queried(columns, sql, self._deadline)["x"]
        filled: Floats = np.ma.filled(np.ma.asarray(found, dtype=np.float64), np.nan)
        return filled


def _quantile_pair(values: Floats, miss: float) -> tuple[Floats, Floats]:
    """The ends of the middle of each row, whatever is missing left out."""
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=1)  # what is missing comes last
    there = np.count_nonzero(~np.isnan(ordered), axis=1)
    return _quantile(ordered, there, miss), _quantile(ordered, there, 1 - miss)


def _quantile(ordered: Floats, there: NDArray[np.int64], share: float) -> Floats:
    """Of the first values of each row, as many as are there: between two of them, on the line."""
    place = share * np.maximum(there - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(there - 1, 0))
    rows = np.arange(len(ordered))
    low, high = ordered[rows, below], ordered[rows, above]
    found: Floats = low + (high - low) * (place - below)
    return found


def _queried(columns: Mapping[str, ColumnValues], sql: str, deadline: Deadline) -> dict[str, ColumnValues]:
    """The result of a query over these columns as the table noisy.

    No function in it can fail, so that only memory and time are left to run out.
    """
    found = _run(columns, sql, deadline)
    _check(deadline)
    if found is None:
        raise EngineFailed(
            "The columns of the answer could not be computed, most likely for want of memory."
            " What was charged stays charged.",
            remedy="Ask for fewer groups, or for counts and sums alone, without computing from them.",
        )
    return found


def _check(deadline: Deadline) -> None:
    """Outputs are computed from what is stored, again if need be, and with a larger limit if it is set."""
    if deadline.is_over:
        raise TookTooLong(
            f"Computing the columns of the answer took longer than {deadline.seconds:g} seconds, the time"
            " limit of this policy. What was charged stays charged.",
            remedy="Ask the same again, which is free. If it takes too long again, ask the owner of the data"
            " for a larger time_limit.",
        )


def _run(columns: Mapping[str, ColumnValues], sql: str, deadline: Deadline) -> dict[str, ColumnValues] | None:
    """None if the database fails: its own error, which holds what it worked on, ends here."""
    with _cursor() as cursor, _stopped_at(deadline, cursor):
        try:
            cursor.register("noisy", dict(columns))
            found: dict[str, ColumnValues] = cursor.execute(sql).fetchnumpy()
        except (duckdb.Error, MemoryError):
            return None
        return found


@contextmanager
def _cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose tables no other one sees."""
    database, opening = _database(os.getpid())
    with opening:
        cursor = database.cursor()
    try:
        yield cursor
    finally:
        cursor.close()


@contextmanager
def _stopped_at(deadline: Deadline, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupts what runs when time is up, and again until it has ended: it may just be about to begin."""
    ended = threading.Event()

    def stop() -> None:
        pause = deadline.left
        while not ended.wait(pause):
            cursor.interrupt()
            pause = _SECONDS_BETWEEN_INTERRUPTS

    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    try:
        yield
    finally:
        ended.set()
        stopping.join()


@cache
def _database(process: int) -> tuple[duckdb.DuckDBPyConnection, threading.Lock]:  # noqa: ARG001
    """One for each process, as opening takes 20 ms; after a fork another, as its threads are gone."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "enable_external_access": False,
        "memory_limit": _MEMORY,
        "temp_directory": "",  # nothing about an answer is written to a disk
        "lock_configuration": True,
    }
    return duckdb.connect(":memory:", config=settings), threading.Lock()


def _sql(expression: Expression) -> str:
    return emit_duckdb(expression)


def _objects(column: ColumnValues) -> ColumnValues:
    """As DuckDB reads it from Python: None for NULL."""
    if not isinstance(column, np.ma.MaskedArray):
        return column.astype(object)
    objects = column.data.astype(object)
    objects[np.ma.getmaskarray(column)] = None
    return objects


def _plain(column: ColumnValues) -> ColumnValues:
    """Masked only where something is missing."""
    if isinstance(column, np.ma.MaskedArray) and not np.ma.getmaskarray(column).any():
        plain: ColumnValues = column.data
        return plain
    return column
