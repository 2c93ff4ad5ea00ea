"""The values that a key takes on each day of a range: public keys, if the range is public.

A second meaning of a few functions, in plain Python, on one day. Tests compare it with what databases
compute. What is not here has no public keys by its days.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.functions.day_ranges import first_day
from discreet.functions.listing import Listing
from discreet.model.expression import Call, DayRange, Expression, Field, fields_of, size_of
from discreet.model.policy import KeyValue, ValueType

MOST_DAYS = 100_000
_MOST_STEPS = 3_000_000
_LARGEST = 2**53
"""Numbers up to here are the same as doubles and as integers."""


@dataclass(frozen=True, slots=True)
class _Sometime:
    """A timestamp of a day, of which only the day is known."""

    day: date


@dataclass(frozen=True, slots=True)
class _At:
    """A day on which something is computed."""

    day: date
    listing: Listing


Value: TypeAlias = str | int | float | bool | date | _Sometime | None


class _NotKnown(Exception):
    """This function is not known here, or its value depends on more than the day."""


def constant_of(expression: Expression) -> Value:
    """The value of a call of constants, such as DATE '2024-01-31' + INTERVAL 1 MONTH; None if unknown."""
    if fields_of(expression):
        return None
    try:
        return _value(expression, _At(date.min, Listing()))
    except _NotKnown:
        return None


def values_by_day(
    expression: Expression, days: DayRange, limit: int, listing: Listing | None = None
) -> tuple[KeyValue, ...] | None:
    """All values of a key that is computed from one date, NULL aside; None if they cannot be listed.

    Numbers and dates in their order, texts in the order of the days.
    """
    count = (days.high - days.low).days + 1
    if not 0 < count <= MOST_DAYS or count * size_of(expression).nodes > _MOST_STEPS:
        return None
    found: dict[KeyValue, None] = {}
    listing = listing or Listing()
    try:
        for place in range(count):
            value = _value(expression, _At(days.low + timedelta(place), listing))
            if isinstance(value, _Sometime | float):
                return None
            if value is not None:
                found[value] = None
    except _NotKnown:
        return None
    if len(found) > limit:
        return None
    return tuple(found) if expression.type is ValueType.TEXT else tuple(sorted(found))


def _value(expression: Expression, at: _At) -> Value:
    """On this day: all fields are of the one column."""
    if isinstance(expression, Call):
        at.listing.take(1)
        return _computed(expression.function, expression.arguments, at)
    if isinstance(expression, Field):
        if expression.type is ValueType.DATE:
            return at.day
        if expression.type is ValueType.TIMESTAMP:
            return _Sometime(at.day)
        raise _NotKnown
    value = expression.value
    return float(value) if isinstance(value, Fraction) else value


def _computed(name: str, arguments: tuple[Expression, ...], at: _At) -> Value:
    if name == "case":
        return _case(arguments, at)
    if name == "coalesce":
        return next((found for each in arguments if (found := _value(each, at)) is not None), None)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise _NotKnown
    given = [_value(each, at) for each in arguments]
    if None in given:
        return None
    try:
        return _kept(function(*given))
    except (TypeError, ValueError, OverflowError, AttributeError, ZeroDivisionError):
        raise _NotKnown from None


def _case(arguments: tuple[Expression, ...], at: _At) -> Value:
    pairs = len(arguments) // 2 * 2
    for place in range(0, pairs, 2):
        if _value(arguments[place], at) is True:
            return _value(arguments[place + 1], at)
    return _value(arguments[pairs], at) if pairs < len(arguments) else None


def _kept(value: Value) -> Value:
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        raise _NotKnown
    return value


def _day(moment: object) -> date:
    match moment:
        case _Sometime():
            return moment.day
        case datetime():
            return moment.date()
        case date():
            return moment
    raise _NotKnown


def _cast_date(value: object) -> date:
    return date.fromisoformat(value) if isinstance(value, str) and len(value) == 10 else _day(value)


def _cast_timestamp(value: object) -> date | _Sometime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return value if isinstance(value, _Sometime | datetime) else datetime.combine(_day(value), time.min)


def _cast_text(value: object) -> str:
    if isinstance(value, bool | datetime | float | _Sometime):
        raise _NotKnown
    return value.isoformat() if isinstance(value, date) else str(value)


def _date_trunc(unit: str, moment: object) -> date:
    if unit not in ("year", "quarter", "month", "week", "day"):
        raise _NotKnown
    return first_day(unit, _day(moment))


def _date_diff(_: str, start: object, end: object) -> int:
    return (_day(end) - _day(start)).days


def _add_days(moment: object, days: int) -> date | None:
    try:
        return _day(moment) + timedelta(days)
    except OverflowError:
        return None


def _add_months(moment: object, months: int) -> date | None:
    if isinstance(moment, _Sometime | datetime):
        raise _NotKnown
    start = _day(moment)
    place = start.year * 12 + start.month - 1 + months
    if not 12 <= place < 120_000:
        return None
    first = date(place // 12, place % 12 + 1, 1)
    following = date.max if first == date(9999, 12, 1) else first_day("month", first + timedelta(31))
    last = 31 if following == date.max else (following - timedelta(1)).day
    return first.replace(day=min(start.day, last))


def _substring(text: str, start: int, length: int = 4096) -> str:
    first = max(start, 1)
    return text[first - 1 : max(first - 1, start - 1 + length)]


def _remainder(left: int, right: int) -> int | None:
    if not isinstance(left, int) or not isinstance(right, int):
        raise _NotKnown
    return None if right == 0 else int(math.copysign(1, left)) * (abs(left) % abs(right))


def _of_kind(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    """Comparisons of two of a kind."""

    def compared(left: object, right: object) -> bool:
        if isinstance(left, _Sometime) or isinstance(right, _Sometime) or type(left) is not type(right):
            raise _NotKnown
        return compare(left, right)

    return compared


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "year": lambda moment: _day(moment).year,
    "quarter": lambda moment: (_day(moment).month + 2) // 3,
    "month": lambda moment: _day(moment).month,
    "week": lambda moment: _day(moment).isocalendar().week,
    "day": lambda moment: _day(moment).day,
    "dayofweek": lambda moment: _day(moment).isoweekday(),
    "dayofyear": lambda moment: _day(moment).timetuple().tm_yday,
    "date_trunc": _date_trunc,
    "date_diff": _date_diff,
    "add_days": _add_days,
    "add_months": _add_months,
    "cast_date": _cast_date,
    "cast_timestamp": _cast_timestamp,
    "cast_text": _cast_text,
    "cast_integer": lambda value: int(value) if isinstance(value, int) else _cast_text(None),
    "cast_number": lambda value: float(value) if isinstance(value, int) else _cast_text(None),
    "left": lambda text, count: text[:count],
    "right": lambda text, count: text[len(text) - min(count, len(text)) :],
    "substring": _substring,
    "concat": lambda *parts: "".join(parts)[:4096],
    "length": len,
    "negate": lambda x: -x,
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "%": _remainder,
    "/": lambda x, y: None if y == 0 else x / y,
    "floor": math.floor,
    "ceil": math.ceil,
    "=": _of_kind(operator.eq),
    "<>": _of_kind(operator.ne),
    "<": _of_kind(operator.lt),
    "<=": _of_kind(operator.le),
    ">": _of_kind(operator.gt),
    ">=": _of_kind(operator.ge),
    "between": lambda x, y, z: _of_kind(operator.le)(y, x) and _of_kind(operator.le)(x, z),
    "least": lambda *values: min(values),
    "greatest": lambda *values: max(values),
    "not": lambda x: not x,
}
"""All are NULL if anything in them is."""
