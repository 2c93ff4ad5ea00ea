"""How a column is read: as its declared type, clamped to its bounds, NULL where it is nothing of the kind."""

import math
from datetime import date, datetime, time
from fractions import Fraction

from discreet.dialects.dialect import EmitScope
from discreet.errors import QueryRefused
from discreet.functions.dates import in_calendar
from discreet.model.expression import DayRange, Field, Literal, Range
from discreet.model.interval_arithmetic import (
    LARGEST_INTEGER,
    SMALLEST_INTEGER,
    UNKNOWN,
    ValueInterval,
    double_above,
    double_below,
    interval,
)
from discreet.model.policy import ValueType


def field_sql(field: Field, column: str, scope: EmitScope) -> str:
    """NaN and ±∞ are NULL before clamping, so that they are not counted as the largest value."""
    dialect = scope.dialect
    value = dialect.read(column, field.type)
    match field.type:
        case ValueType.INTEGER:
            if field.range is None:
                return value
            low, high = _integer_ends(field.range)
            return (
                f"(CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END)"
            )
        case ValueType.NUMBER:
            clamped = ""
            if field.range is not None:
                lowest, highest = (dialect.double(float(end)) for end in _double_ends(field.range))
                clamped = f"WHEN {value} < {lowest} THEN {lowest} WHEN {value} > {highest} THEN {highest} "
            return f"(CASE WHEN NOT {dialect.is_finite(value)} THEN NULL {clamped}ELSE {value} END)"
        case ValueType.DATE | ValueType.TIMESTAMP:
            inside = in_calendar(value, field.type, scope)
            return inside if field.days is None else _within_days(inside, field.type, field.days, scope)
    return value


def _within_days(sql: str, kind: ValueType, days: DayRange, scope: EmitScope) -> str:
    """Clamped to these days, of a timestamp from the beginning of the first to the end of the last."""
    ends: tuple[date, date] = days.low, days.high
    if kind is ValueType.TIMESTAMP:
        ends = datetime.combine(days.low, time.min), datetime.combine(days.high, time.max)
    low, high = (scope.dialect.literal(Literal(value=end, type=kind)) for end in ends)
    return scope.let(
        sql,
        lambda value: (
            f"(CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END)"
        ),
    )


def field_interval(field: Field) -> ValueInterval:
    if field.range is None:
        return UNKNOWN
    if field.type is ValueType.INTEGER:
        return interval(*_integer_ends(field.range))
    _double_ends(field.range)
    return interval(field.range.low, field.range.high)


def _integer_ends(bounds: Range) -> tuple[int, int]:
    low, high = math.ceil(bounds.low), math.floor(bounds.high)
    if not SMALLEST_INTEGER <= low <= high <= LARGEST_INTEGER:
        raise _nothing_between()
    return low, high


def _double_ends(bounds: Range) -> tuple[Fraction, Fraction]:
    """The outermost doubles inside of the bounds. 0.1 is no double, and the nearest one may lie outside."""
    low, high = double_above(bounds.low), double_below(bounds.high)
    if low is None or high is None or low > high:
        raise _nothing_between()
    return low, high


def _nothing_between() -> QueryRefused:
    return QueryRefused(
        "There is no value between the bounds of a column that the question uses.",
        remedy="Ask the owner to widen its bounds in the policy.",
    )
