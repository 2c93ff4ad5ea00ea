"""Columns of the answer, computed from noisy measures in a database of their own that keeps nothing.

Arithmetic, HAVING, ORDER BY and LIMIT use the question's own functions, on noisy numbers and public keys.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.left_out import NOTHING
from discreet.aggregates.registry import AGGREGATES
from discreet.answers.released import Released
from discreet.arrays import ColumnValues, Floats
from discreet.bounds.calibrate import Plan
from discreet.bounds.min_people import hidden_cells, without_cells
from discreet.dialects.quoting import quote_identifier
from discreet.engines.base.execution import not_accepted
from discreet.engines.duckdb.renewed import OpenDatabase, RenewedDatabase
from discreet.errors import EngineFailed, TookTooLong
from discreet.functions.registry import emit_duckdb
from discreet.model.deadline import Deadline
from discreet.model.expression import Expression, Field, fields_of
from discreet.model.query import Output, Query, key_field
from discreet.question.expressions.grouping import MOST_GROUPS
from discreet.release.estimate import Noisy, estimate, guess, lost_by_measure
from discreet.release.intervals import OutputIntervals
from discreet.release.notes.answer_notes import left_out_notes
from discreet.release.notes.key_ends import ends_by_output

NamedTables: TypeAlias = Mapping[str, Mapping[str, ColumnValues]]
"""By name: columns, each as long as the others."""

_MEMORY = "2GB"
_SECONDS_BETWEEN_INTERRUPTS = 0.2


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
    return NoisyGroups(plan, keys, noisy, groups, deadline).answer(notes)


class NoisyGroups:
    """What was released of the groups of one question, and what is estimated from it."""

    def __init__(
        self, plan: Plan, keys: tuple[ColumnValues, ...], noisy: Noisy, groups: int, deadline: Deadline
    ) -> None:
        self._deadline = deadline
        self.noisy = noisy
        self.plan = plan
        self._query = plan.bounded.query
        self.groups = groups
        self.keys = {key_field(i): column for i, column in enumerate(keys)}
        self.measures = {measure.measure.name: measure for measure in plan.bounded.measures}
        self.within_limits: dict[str, Floats] = {}
        for name, measure in self.measures.items():
            check_time(deadline)
            self.within_limits[name] = estimate(plan, measure, noisy)
        self.lost = lost_by_measure(plan, noisy)
        self.estimates = {
            name: guess(plan, self.measures[name], noisy, values, self.lost.get(name, NOTHING))
            for name, values in self.within_limits.items()
        }
        self.hidden = hidden_cells(plan, self.within_limits)
        self.intervals = OutputIntervals(
            plan, noisy, self.within_limits, groups, self.key_columns(), self._evaluated
        )

    def answer(self, notes: tuple[str, ...]) -> Released:
        kept, computed = self._computed()
        values: dict[str, ColumnValues] = {}
        raw: dict[str, Floats] = {}
        low: dict[str, Floats] = {}
        high: dict[str, Floats] = {}
        noise_low: dict[str, Floats] = {}
        noise_high: dict[str, Floats] = {}
        for output in self._query.outputs:
            name, expression = output.name, output.expression
            if isinstance(expression, Field) and expression.name in self.keys:
                values[name] = plain_column(self.keys[expression.name][kept])
                continue
            if isinstance(expression, Field):
                estimates = self.estimates[expression.name][kept]
            else:
                estimates = computed[name]
            hidden = self.hidden_rows(expression, kept)
            if not self._measured(expression) or estimates.dtype.kind not in "fiu":
                values[name] = plain_column(without_cells(estimates, hidden))
                continue
            found = np.ma.filled(np.ma.asarray(estimates, dtype=np.float64), np.nan)
            values[name] = self.presented(expression, found)
            raw[name] = self.within_limits[expression.name][kept] if isinstance(expression, Field) else found
            check_time(self._deadline)
            low[name], high[name] = self.intervals.of(expression, kept)
            without_limits = self.intervals.without_limits(expression, kept, self.lost)
            if without_limits is not None:
                noise_low[name], noise_high[name] = low[name], high[name]
                low[name], high[name] = without_limits
            for part in (values, raw, low, high, noise_low, noise_high):
                if name in part:
                    part[name] = without_cells(part[name], hidden)
        return Released(
            columns=tuple(output.name for output in self._query.outputs),
            values=values,
            raw=raw,
            low=low,
            high=high,
            confidence=float(self.plan.request.confidence),
            notes=(*notes, *left_out_notes(self.plan, self.lost)),
            noise_low=noise_low,
            noise_high=noise_high,
            ends=ends_by_output(self._query),
        )

    def shown_cells(self, name: str, column: Floats, groups: NDArray[np.int64]) -> ColumnValues:
        """Values of a measure for these groups, without those of too few people."""
        if name not in self.hidden:
            return column
        return np.ma.MaskedArray(column, mask=self.hidden[name][groups])

    def hidden_rows(self, expression: Expression, kept: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where an output is computed from a number of too few people."""
        hidden = np.zeros(len(kept), dtype=np.bool_)
        for field in fields_of(expression):
            if field.name in self.hidden:
                hidden |= self.hidden[field.name][kept]
        return hidden

    def _measured(self, expression: Expression) -> bool:
        return any(field.name in self.measures for field in fields_of(expression))

    # Values

    def _computed(self) -> tuple[NDArray[np.int64], dict[str, ColumnValues]]:
        """Which groups are left, in order, and the outputs that are more than a key or a measure."""
        sql = _outputs_sql(self._query)
        if sql is None:
            return np.arange(self.groups), {}
        columns = {"row_number": np.arange(self.groups), **self.estimates, **self.key_columns()}
        found = _queried(columns, sql, self._deadline)
        derived = _derived(self._query)
        return np.asarray(found["row_number"]), {each.name: found[f"o{i}"] for i, each in enumerate(derived)}

    def key_columns(self) -> dict[str, ColumnValues]:
        """As DuckDB reads them."""
        return {name: _objects(column) for name, column in self.keys.items()}

    def presented(self, expression: Expression, raw: Floats) -> ColumnValues:
        """A measure as its aggregate is shown, such as whole numbers. The raw number is kept too."""
        measure = self.measures.get(expression.name) if isinstance(expression, Field) else None
        if measure is None or np.isnan(raw).any():
            return raw
        return AGGREGATES[measure.measure.aggregate].shown(measure.measure, raw)

    def _evaluated(
        self,
        expression: Expression,
        positive: Sequence[Expression],
        columns: Mapping[str, ColumnValues],
        rows: int,
    ) -> Floats:
        return evaluate(expression, positive, columns, rows, self._deadline)


def evaluate(
    expression: Expression,
    positive: Sequence[Expression],
    columns: Mapping[str, ColumnValues],
    rows: int,
    deadline: Deadline,
) -> Floats:
    """An expression over columns, as floats; NaN for NULL, and where one of the others is not above 0.

    What has to be positive is written side by side: nested, it could be too deep.
    """
    value = f"CAST({_sql(expression)} AS DOUBLE)"
    if positive:
        value = f"CASE WHEN {' AND '.join(f'({_sql(each)}) > 0' for each in positive)} THEN {value} END"
    sql = f"SELECT {value} AS x FROM noisy ORDER BY row_number"
    found = _queried({"row_number": np.arange(rows), **columns}, sql, deadline)["x"]
    filled: Floats = np.ma.filled(np.ma.asarray(found, dtype=np.float64), np.nan)
    return filled


def check_outputs(plan: Plan, deadline: Deadline) -> None:
    """Refuse, before anything is charged, outputs that the database does not accept. No row is read."""
    query = plan.bounded.query
    sql = _outputs_sql(query)
    if sql is None:
        return
    names = [key_field(i) for i in range(len(query.keys))]
    columns: dict[str, ColumnValues] = {"row_number": np.arange(0)}
    columns |= {measure.measure.name: np.empty(0) for measure in plan.bounded.measures}
    columns |= {name: np.empty(0, dtype=object) for name in names}
    if run_tables({"noisy": columns}, sql, deadline) is None:
        raise not_accepted()


def _outputs_sql(query: Query) -> str | None:
    """The outputs that are more than a key or a measure, of the groups that are left, in order; None if there
    is nothing to be computed.
    """
    derived = _derived(query)
    if not derived and query.having is None and not _is_ordered(query) and _cut(query) is None:
        return None
    selected = ["row_number", *(f"{_sql(output.expression)} AS o{i}" for i, output in enumerate(derived))]
    having = "" if query.having is None else f" WHERE ({_sql(query.having)}) IS TRUE"
    cut = _cut(query)
    return (
        f"SELECT {', '.join(selected)} FROM noisy{having} ORDER BY {', '.join(_order(query))}"
        f" LIMIT {MOST_GROUPS if cut is None else cut}"
    )


def _derived(query: Query) -> list[Output]:
    return [output for output in query.outputs if not isinstance(output.expression, Field)]


def _is_ordered(query: Query) -> bool:
    """Whether groups have to be sorted: by ORDER BY, or because keys are private."""
    return bool(query.order) or query.private_keys


def _cut(query: Query) -> int | None:
    """The most groups that are left; groups that were picked are all left."""
    return None if query.picks is not None else query.limit


def _order(query: Query) -> Iterable[str]:
    for order in query.order:
        yield f"{_sql(order.expression)} {'DESC' if order.descending else 'ASC'} NULLS LAST"
    if query.private_keys:
        yield from (f"{quote_identifier(key_field(i))} ASC NULLS LAST" for i in range(len(query.keys)))
    yield "row_number"


def _queried(columns: Mapping[str, ColumnValues], sql: str, deadline: Deadline) -> dict[str, ColumnValues]:
    """The result of a query over these columns as the table noisy.

    No function in it can fail, so the only errors are a lack of memory or of time.
    """
    return queried_tables({"noisy": columns}, sql, deadline)


def queried_tables(tables: NamedTables, sql: str, deadline: Deadline) -> dict[str, ColumnValues]:
    """The result of a query over these tables."""
    found = run_tables(tables, sql, deadline)
    check_time(deadline)
    if found is None:
        raise EngineFailed(
            "The columns of the answer could not be computed, most likely for want of memory."
            " What was charged stays charged.",
            remedy="Ask for fewer groups, or for counts and sums alone, without computing from them.",
        )
    return found


def check_time(deadline: Deadline) -> None:
    """Refuse if time is up. The draw is stored, so outputs can be computed again, with a larger limit."""
    if deadline.is_over:
        raise TookTooLong(
            f"Computing the columns of the answer took longer than {deadline.seconds:g} seconds, the time"
            " limit of this policy. What was charged stays charged.",
            remedy="Ask the same again, which is free. If it takes too long again, ask the owner of the data"
            " for a larger time_limit.",
        )


def run_tables(tables: NamedTables, sql: str, deadline: Deadline) -> dict[str, ColumnValues] | None:
    """None if the database fails. Its own error is not passed on: it may quote what it worked on."""
    with _cursor() as cursor, _stopped_at(deadline, cursor):
        try:
            for name, columns in tables.items():
                cursor.register(name, dict(columns))
            found: dict[str, ColumnValues] = cursor.execute(sql).fetchnumpy()
        except (duckdb.Error, MemoryError):
            return None
        return found


@contextmanager
def _cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose tables no other one sees."""
    with _database(os.getpid()).cursor() as cursor:
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
def _database(process: int) -> RenewedDatabase:  # noqa: ARG001
    """One for each process, as opening takes 20 ms; after a fork another, as its threads are gone."""
    return RenewedDatabase(_connect)


def _connect() -> OpenDatabase:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "enable_external_access": False,
        "memory_limit": _MEMORY,
        "temp_directory": "",  # nothing about an answer is written to a disk
        "lock_configuration": True,
    }
    return OpenDatabase(duckdb.connect(":memory:", config=settings))


def _sql(expression: Expression) -> str:
    return emit_duckdb(expression)


def _objects(column: ColumnValues) -> ColumnValues:
    """As DuckDB reads it from Python: None for NULL."""
    if not isinstance(column, np.ma.MaskedArray):
        return column.astype(object)
    objects = column.data.astype(object)
    objects[np.ma.getmaskarray(column)] = None
    return objects


def plain_column(column: ColumnValues) -> ColumnValues:
    """Masked only where something is missing."""
    if isinstance(column, np.ma.MaskedArray) and not np.ma.getmaskarray(column).any():
        plain: ColumnValues = column.data
        return plain
    return column
