"""Functions of dates and timestamps.

Both lie in the years 1 to 9999 wherever they are read or made, and are NULL otherwise: then no part, no
truncation and no difference of them can leave the engine's range. There are no time zones.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta

from discreet.dialects.dialect import EmitScope, Operand
from discreet.errors import QueryRefused
from discreet.functions.day_ranges import bounded_days, days_of, has_bounds
from discreet.functions.definition import (
    Arguments,
    Function,
    as_type,
    fixed,
    literal_integer,
    literal_text,
    refuse_types,
)
from discreet.model.expression import DayRange, Expression, Literal
from discreet.model.interval_arithmetic import ValueInterval, interval
from discreet.model.policy import ValueType

LONGEST_DAYS = (date.max - date.min).days

LONGEST_MONTHS = 12 * 9999
LONGEST_SECONDS = 86_400 * LONGEST_DAYS

_UNITS = ("year", "quarter", "month", "week", "day")
_TIMES = ("hour", "minute", "second")


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
        range=lambda operands: _range_of_part(name, operands[0].expression) or interval(low, high),
    )


def _range_of_part(name: str, moment: Expression) -> ValueInterval | None:
    """By the bounds of a date: of its year, and of what grows within a year or a month."""
    days = bounded_days(moment)
    if days is None:
        return None
    low, high = days.low, days.high
    if name == "year":
        return interval(low.year, high.year)
    if name == "month" and low.year == high.year:
        return interval(low.month, high.month)
    if name == "quarter" and low.year == high.year:
        return interval((low.month + 2) // 3, (high.month + 2) // 3)
    if name == "day" and (low.year, low.month) == (high.year, high.month):
        return interval(low.day, high.day)
    return None


def _time(name: str, high: int) -> Function:
    """hour, minute or second of a timestamp: whole numbers."""
    usage = f"{name}(timestamp)"
    return Function(
        name=name,
        usage=usage,
        fewest=1,
        most=1,
        check=fixed(usage, [ValueType.TIMESTAMP], ValueType.INTEGER),
        emit=lambda operands, scope: scope.dialect.date_part(name, operands[0].sql),
        range=lambda _: interval(0, high),
    )


_TRUNC = "date_trunc('unit', date)"


def _unit(expression: Expression) -> str:
    unit = literal_text(_TRUNC, expression, 20).lower()
    if unit not in (*_UNITS, *_TIMES):
        raise QueryRefused(
            "date_trunc does not know this unit.", remedy=f"Use one of {', '.join((*_UNITS, *_TIMES))}."
        )
    return unit


def _check_trunc(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if _unit(arguments[0]) in _UNITS:
        return (arguments[0], _moment(_TRUNC, arguments[1])), ValueType.DATE
    moments, kind = fixed(_TRUNC, [ValueType.TIMESTAMP], ValueType.TIMESTAMP)(arguments[1:])
    return (arguments[0], *moments), kind


def _trunc(operands: Sequence[Operand], scope: EmitScope) -> str:
    """Weeks begin on Monday, as did the year 1, so that no week begins before the calendar does."""
    unit = _unit(operands[0].expression)
    if unit in _TIMES:
        return scope.dialect.time_trunc(unit, operands[1].sql)
    return scope.dialect.date_trunc(unit, operands[1].sql)


_DIFF = "date_diff('day', start, end)"


def _check_diff(arguments: Arguments) -> tuple[Arguments, ValueType]:
    if literal_text(_DIFF, arguments[0], 20).lower() != "day":
        raise QueryRefused(
            "date_diff does not know this unit.",
            remedy="Use one of year, quarter, month, week, day, hour, minute, second.",
        )
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


_MONTHS, _SECONDS = "add_months(date, months)", "add_seconds(timestamp, seconds)"


def _check_months(arguments: Arguments) -> tuple[Arguments, ValueType]:
    literal_integer(_MONTHS, arguments[1], -LONGEST_MONTHS, LONGEST_MONTHS)
    moment = _moment(_MONTHS, arguments[0])
    return (moment, arguments[1]), moment.type


def _add_months(operands: Sequence[Operand], scope: EmitScope) -> str:
    """A day that the month does not have becomes its last: 31 January plus a month is 28 or 29 February."""
    moment, count = operands
    months = literal_integer(_MONTHS, count.expression, -LONGEST_MONTHS, LONGEST_MONTHS)
    kind = moment.expression.type
    first, last = max(0, -months), min(LONGEST_MONTHS, LONGEST_MONTHS - months)
    if first >= last:
        return f"CAST(NULL AS {scope.dialect.types[kind]})"
    low = date(1 + first // 12, 1 + first % 12, 1)
    high = date.max if last == LONGEST_MONTHS else date(1 + last // 12, 1 + last % 12, 1) - timedelta(1)
    return _moved(moment, low, high, lambda value: scope.dialect.months_after(value, months, kind), scope)


def _check_seconds(arguments: Arguments) -> tuple[Arguments, ValueType]:
    literal_integer(_SECONDS, arguments[1], -LONGEST_SECONDS, LONGEST_SECONDS)
    moments, kind = fixed(_SECONDS, [ValueType.TIMESTAMP], ValueType.TIMESTAMP)(arguments[:1])
    return (*moments, arguments[1]), kind


def _add_seconds(operands: Sequence[Operand], scope: EmitScope) -> str:
    moment, count = operands
    seconds = literal_integer(_SECONDS, count.expression, -LONGEST_SECONDS, LONGEST_SECONDS)
    low = datetime.min + timedelta(seconds=max(0, -seconds))
    high = datetime.max - timedelta(seconds=max(0, seconds))
    return _moved(moment, low, high, lambda value: scope.dialect.seconds_after(value, seconds), scope)


def _moved(moment: Operand, low: date, high: date, move: Callable[[str], str], scope: EmitScope) -> str:
    """What is moved, if it stays within the years 1 to 9999; it does from `low` to the end of `high`."""
    if moment.expression.type is ValueType.TIMESTAMP and not isinstance(low, datetime):
        low, high = datetime.combine(low, time.min), datetime.combine(high, time.max)
    ends = f"{scope.dialect.moment(low)} AND {scope.dialect.moment(high)}"
    return scope.let(moment.sql, lambda value: f"(CASE WHEN {value} BETWEEN {ends} THEN {move(value)} END)")


def _days_range(operands: Sequence[Operand]) -> ValueInterval:
    whole = DayRange(low=date.min, high=date.max)
    if not any(has_bounds(each.expression) for each in operands[1:]):
        return interval(-LONGEST_DAYS, LONGEST_DAYS)
    start, end = (days_of(each.expression) or whole for each in operands[1:])
    return interval((end.low - start.high).days, (end.high - start.low).days)


DATES = (
    _part("year", 1, 9999),
    _part("quarter", 1, 4),
    _part("month", 1, 12),
    _part("day", 1, 31),
    _part("dayofweek", 1, 7, part="isodow"),
    _part("week", 1, 53),
    _part("dayofyear", 1, 366, part="doy"),
    _time("hour", 23),
    _time("minute", 59),
    _time("second", 59),
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
    Function(
        name="add_months",
        usage=_MONTHS,
        fewest=2,
        most=2,
        check=_check_months,
        emit=_add_months,
        constants=frozenset({1}),
    ),
    Function(
        name="add_seconds",
        usage=_SECONDS,
        fewest=2,
        most=2,
        check=_check_seconds,
        emit=_add_seconds,
        constants=frozenset({1}),
    ),
)
