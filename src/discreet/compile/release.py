"""The last stage: noise, then whatever the question computes from noisy numbers, which is free.

Estimates are made from noisy sums alone: an average is a noisy sum over a noisy count. Arithmetic, HAVING,
ORDER BY and LIMIT are run on the noisy table by a database of its own that holds nothing else. An interval is
the exact tail of the noise where an output is a count or a sum; elsewhere the known noise is drawn many times
more and taken off the noisy sums, and the middle of what comes out is the interval.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.compile.bound import BoundedMeasure, Unit
from discreet.compile.calibrate import Plan
from discreet.compile.functions import emit_duckdb, range_of
from discreet.compile.quoting import quote_identifier
from discreet.model.answer import Cell, Reach, Released
from discreet.model.expression import Expression, Field
from discreet.model.policy import KeyValue
from discreet.model.query import Aggregate, Output

Floats = NDArray[np.float64]

_MOST_DRAWS, _LEAST_DRAWS, _DRAWS_IN_ALL = 2_000, 200, 2_000_000


def groups_of(plan: Plan) -> list[tuple[KeyValue | None, ...]]:
    """Every group of the answer, in the order of its keys: they are public."""
    return list(product(*(key.values or () for key in plan.bounded.query.keys)))


def release(plan: Plan, exact: list[NDArray[np.int64]]) -> Released:
    """Add noise to the exact vectors, one for each sum of the plan, and compute the answer."""
    groups = groups_of(plan)
    noisy = [
        mechanism.release(vector).astype(np.float64) * float(part.scale)
        for mechanism, vector, part in zip(plan.mechanisms, exact, plan.bounded.sums, strict=True)
    ]
    table = _NoisyTable(plan, groups, noisy)
    try:
        return table.answer()
    finally:
        table.close()


def estimate(plan: Plan, measure: BoundedMeasure, sums: list[Floats]) -> Floats:
    """A measure from its sums; NaN where a noisy count is too small to divide by."""
    parts = [sums[i] for i in measure.parts]
    match measure.measure.aggregate:
        case Aggregate.COUNT | Aggregate.PEOPLE | Aggregate.SUM:
            return parts[0]
        case Aggregate.AVERAGE:
            count, total = parts
            mean = _ratio(total, count) + float(plan.bounded.sums[measure.parts[1]].offset)
            return _clamped(mean, measure)
        case Aggregate.VARIANCE:
            count, total, squares = parts
            return np.maximum(_ratio(squares, count) - _ratio(total, count) ** 2, 0.0)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator >= 0.5)


def _clamped(mean: Floats, measure: BoundedMeasure) -> Floats:
    """An average lies within the bounds: cutting off what does not is free, and never makes it worse."""
    span = None if measure.measure.argument is None else range_of(measure.measure.argument)
    return mean if span is None else np.clip(mean, float(span.low), float(span.high))


class _NoisyTable:
    """The noisy groups in a database of their own, to compute outputs with the question's own functions."""

    def __init__(self, plan: Plan, groups: list[tuple[KeyValue | None, ...]], noisy: list[Floats]) -> None:
        self._plan = plan
        self._groups = groups
        self._noisy = noisy
        self._query = plan.bounded.query
        self._connection = duckdb.connect(":memory:")

    def close(self) -> None:
        self._connection.close()

    def answer(self) -> Released:
        columns = self._key_columns(np.arange(len(self._groups)))
        for measure in self._plan.bounded.measures:
            columns[measure.measure.name] = estimate(self._plan, measure, self._noisy)
        self._register("noisy", columns)
        names = [output.name for output in self._query.outputs]
        selected = ", ".join(
            f"{self._sql(output.expression)} AS {quote_identifier(output.name)}"
            for output in self._query.outputs
        )
        rows = self._connection.execute(
            f"SELECT row_number, {selected} FROM noisy{self._having()}{self._order()}{self._limit()}"
        ).fetchall()
        kept = [row[0] for row in rows]
        return Released(
            columns=tuple(names),
            values={name: [_cell(row[i + 1]) for row in rows] for i, name in enumerate(names)},
            intervals={
                output.name: self._intervals(output, [row[i + 1] for row in rows], kept)
                for i, output in enumerate(self._query.outputs)
            },
            confidence=float(self._plan.request.confidence),
            notes=notes_of(self._plan),
        )

    def _intervals(self, output: Output, values: list[Cell], kept: list[int]) -> list[Reach]:
        expression = output.expression
        if isinstance(expression, Field):
            if any(key.name == expression.name for key in self._query.keys):
                return [None] * len(kept)
            measure = next(m for m in self._plan.bounded.measures if m.measure.name == expression.name)
            if measure.measure.aggregate in (Aggregate.COUNT, Aggregate.PEOPLE, Aggregate.SUM):
                reach = float(self._plan.error(measure).high)
                return [(float(v) - reach, float(v) + reach) for v in values if isinstance(v, int | float)]
        return self._simulated(expression, kept)

    def _simulated(self, expression: Expression, kept: list[int]) -> list[Reach]:
        if not kept:
            return []
        draws = int(np.clip(_DRAWS_IN_ALL // len(kept), _LEAST_DRAWS, _MOST_DRAWS))
        at = np.repeat(np.array(kept), draws)
        sums = [
            self._noisy[i][at]
            - mechanism.release(np.zeros(len(at), dtype=np.int64)).astype(np.float64) * float(part.scale)
            for i, (mechanism, part) in enumerate(
                zip(self._plan.mechanisms, self._plan.bounded.sums, strict=True)
            )
        ]
        columns = self._key_columns(at)
        for measure in self._plan.bounded.measures:
            columns[measure.measure.name] = estimate(self._plan, measure, sums)
        self._register("drawn", columns)
        miss = (1 - float(self._plan.request.confidence)) / 2
        rows = self._connection.execute(
            f"SELECT row_number, quantile_cont(x, {miss!r}), quantile_cont(x, {1 - miss!r})"
            f" FROM (SELECT row_number, CAST({self._sql(expression)} AS DOUBLE) AS x FROM drawn) AS d"
            " GROUP BY row_number"
        ).fetchall()
        found = {row[0]: (row[1], row[2]) for row in rows}
        return [found.get(i) if found.get(i, (None,))[0] is not None else None for i in kept]

    def _key_columns(self, at: NDArray[np.int64]) -> dict[str, NDArray[np.generic]]:
        columns: dict[str, NDArray[np.generic]] = {"row_number": at}
        for i, key in enumerate(self._query.keys):
            values = np.array([group[i] for group in self._groups], dtype=object)
            columns[key.name] = values[at]
        return columns

    def _register(self, name: str, columns: Mapping[str, NDArray[np.generic]]) -> None:
        self._connection.register(name, dict(columns))

    def _sql(self, expression: Expression) -> str:
        return emit_duckdb(expression)

    def _having(self) -> str:
        having = self._query.having
        return "" if having is None else f" WHERE ({self._sql(having)}) IS TRUE"

    def _order(self) -> str:
        parts = [
            f"{self._sql(order.expression)} {'DESC' if order.descending else 'ASC'} NULLS LAST"
            for order in self._query.order
        ]
        return f" ORDER BY {', '.join([*parts, 'row_number'])}"

    def _limit(self) -> str:
        return "" if self._query.limit is None else f" LIMIT {self._query.limit}"


def _cell(value: Any) -> Cell:
    """A value as the database gives it; what is no number is missing."""
    cell: Cell = None if isinstance(value, float) and not np.isfinite(value) else value
    return cell


def notes_of(plan: Plan) -> tuple[str, ...]:
    table = plan.bounded.query.table
    notes = []
    if not table.one_row_a_person:
        if any(part.unit is Unit.ROWS for part in plan.bounded.sums):
            notes.append(f"A person with more than {table.max_rows} rows counts as {table.max_rows} in all.")
        if any(part.unit is Unit.PEOPLE and part.rows > 1 for part in plan.bounded.sums):
            notes.append(
                f"A person in more than {table.max_groups} groups counts as {table.max_groups} in all."
            )
    for measure in plan.bounded.measures:
        span = None if measure.measure.argument is None else range_of(measure.measure.argument)
        if span is not None and measure.measure.aggregate is not Aggregate.COUNT:
            function = measure.measure.aggregate.value
            notes.append(f"{function}: values are taken within {float(span.low):g} … {float(span.high):g}.")
    return tuple(dict.fromkeys(notes))
