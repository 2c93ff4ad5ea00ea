"""Functions of dates and timestamps.

Both lie in the years 1 to 9999 wherever they are read or made, and are NULL otherwise: then no part, no
truncation and no difference of them can leave the engine's range. There are no time zones.
"""

from collections.abc import Sequence
from datetime import date, datetime

from discreet.dialects.dialect import EmitScope, Operand
from discreet.errors import QueryRefused
from discreet.functions.definition import (
    Arguments,
    Function,
    as_type,
    fixed,
    literal_text,
    refuse_types,
)
from discreet.model.expression import Expression, Literal
from discreet.model.interval_arithmetic import ValueInterval, interval
from discreet.model.policy import ValueType

LONGEST_DAYS = (date.max - date.min).days

_UNITS = ("year", "quarter", "month", "week", "day")


def in_calendar(sql: str, kind: ValueType, scope: EmitScope) -> str:
    """A DATE or TIMESTAMP of the years 1 to 9999, else NULL; ±infinity is outside too."""
    ends = (date.min, date.max) if kind is ValueType.DATE else (datetime.min, datetime.max)
    low, high = (scope.dialect.moment(end) for end in ends)
    return scope.let(sql, lambda value: f"(CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} END)")


def _moment(usage: str, expression: Expression) -> Expression:
    """A DATE or a TIMESTAMP."""
    if expression.type in (ValueType.DATE, ValueType.TIMESTAMP):
        return expression
    converted = as_type(expression, ValueType.DATE) if isinstance(expression, Literal) else None
    if converted is None:
        raise refuse_types(
            usage, (expression,), "It takes a date or a timestamp; convert with CAST(x AS DATE)."
        )
    return converted


def _part(name: str, low: int, high: int, part: str | None = None) -> Function:
    usage = f"{name}(date)"
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=lambda arguments: ((_moment(usage, arguments[0]),), ValueType.INTEGER),
        emit=lambda operands, scope: scope.dialect.date_part(part or name, operands[0].sql),
        range=lambda _: interval(low, high),
    )


def _hour(operands: Sequence[Operand], scope: EmitScope) -> str:
    return scope.dialect.date_part("hour", operands[0].sql)


_TRUNC = "date_trunc('unit', date)"


def _unit(expression: Expression) -> str:
    unit = literal_text(_TRUNC, expression, 20).lower()
    if unit not in _UNITS:
        raise QueryRefused("date_trunc does not know this unit.", remedy=f"Use one of {', '.join(_UNITS)}.")
    return unit


def _check_trunc(arguments: Arguments) -> tuple[Arguments, ValueType]:
    _unit(arguments[0])
    return (arguments[0], _moment(_TRUNC, arguments[1])), ValueType.DATE


def _trunc(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Weeks begin on Monday, as did the year 1, so that no week begins before the calendar does."""
    return scope.dialect.date_trunc(_unit(operands[0].expression), operands[1].sql)


_DIFF = "date_diff('day', start, end)"


def _check_diff(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if literal_text(_DIFF, arguments[0], 20).lower() != "day":
        raise QueryRefused("date_diff counts days only.", remedy=f"Write {_DIFF} and divide.")
    start, end = (_moment(_DIFF, argument) for argument in arguments[1:])
    return (arguments[0], start, end), ValueType.INTEGER


def _diff(operands: Sequence[Operand], scope: EmitScope) -> str:
    """The midnights between the two."""
    return scope.dialect.days_between(operands[1].sql, operands[2].sql)


_ADD = "add_days(date, days)"


def _add_days(operands: Sequence[Operand], scope: EmitScope) -> str:
    """More days than the calendar has are NULL first, so that the sum cannot overflow."""
    day, count = operands
    few = scope.let(
        count.sql,
        lambda value: f"(CASE WHEN {value} BETWEEN {-LONGEST_DAYS} AND {LONGEST_DAYS} THEN {value} END)",
    )
    return in_calendar(scope.dialect.days_after(day.sql, few), ValueType.DATE, scope)


def _days_range(_: Sequence[Operand]) -> ValueInterval:
    return interval(-LONGEST_DAYS, LONGEST_DAYS)


DATES = (
    _part("year", 1, 9999),
    _part("quarter", 1, 4),
    _part("month", 1, 12),
    _part("day", 1, 31),
    _part("dayofweek", 1, 7, part="isodow"),
    Function(
        name="hour",
        usage="hour(timestamp)",
        fewest=1,
        most=1,
        check=fixed("hour(timestamp)", [ValueType.TIMESTAMP], ValueType.INTEGER),
        emit=_hour,
        range=lambda _: interval(0, 23),
    ),
    Function(
        name="date_trunc",
        usage=_TRUNC,
        fewest=2,
        most=2,
        check=_check_trunc,
        emit=_trunc,
        constants=frozenset({0}),
    ),
    Function(
        name="date_diff",
        usage=_DIFF,
        fewest=3,
        most=3,
        check=_check_diff,
        emit=_diff,
        range=_days_range,
        constants=frozenset({0}),
    ),
    Function(
        name="add_days",
        usage=_ADD,
        fewest=2,
        most=2,
        check=fixed(_ADD, [ValueType.DATE, ValueType.INTEGER], ValueType.DATE),
        emit=_add_days,
    ),
)
