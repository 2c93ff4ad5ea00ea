"""Dates as people write them, in functions of the allow-list: INTERVAL, differences, parts, names.

Nothing here is new to a database: `last_day(d)` is read as what it means in functions that exist.
"""

import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.definition import as_type, is_null_literal
from discreet.functions.registry import build_call, build_literal
from discreet.model.expression import Expression, Literal
from discreet.model.policy import ValueType

Reader: TypeAlias = Callable[[exp.Expression | None], Expression]
"""Reads what a part of a node means."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DATES = (ValueType.DATE, ValueType.TIMESTAMP)
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_PARTS = {name: name for name in _UNITS} | {f"{name}s": name for name in _UNITS}
_PARTS |= {
    "isodow": "dayofweek",
    "doy": "dayofyear",
    "dayofyear": "dayofyear",
    "weekofyear": "week",
    "isoweek": "week",
    "dayofmonth": "day",
    "yr": "year",
    "mon": "month",
    "min": "minute",
    "sec": "second",
}
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
_SECONDS_OF = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_PIECE = re.compile(r"\s*([+-]?\d{1,9})\s*([a-z]+)\s*,?", re.IGNORECASE)
_LAST_MONTH = date(9999, 12, 1)


def call(name: str, *arguments: Expression | int | str | date) -> Expression:
    """A call, with constants as they are in Python."""
    built = (build_literal(each) if isinstance(each, int | str | date) else each for each in arguments)
    return build_call(name, tuple(built))


def date_part(unit: str, moment: Expression) -> Expression:
    """The part of a date, as extract(unit FROM moment) has it."""
    name = unit.lower()
    if name in _PARTS:
        return call(_PARTS[name], moment)
    match name:
        case "dow" | "weekday":  # Sunday is 0
            return call("%", call("dayofweek", moment), 7)
        case "isoyear":  # the year of the week's Thursday
            return call("year", call("add_days", call("date_trunc", "week", moment), 3))
        case "decade":
            return call("floor", call("/", call("year", moment), 10))
    raise QueryRefused(
        "There is no such part of a date.",
        remedy="Use year, quarter, month, week, day, dow, isodow, doy, isoyear, hour, minute or second.",
    )


def named_day(moment: Expression) -> Expression:
    return _named(call("dayofweek", moment), DAYS)


def named_month(moment: Expression) -> Expression:
    return _named(call("month", moment), MONTHS)


def short_day(moment: Expression) -> Expression:
    return _named(call("dayofweek", moment), tuple(name[:3] for name in DAYS))


def short_month(moment: Expression) -> Expression:
    return _named(call("month", moment), tuple(name[:3] for name in MONTHS))


def _named(number: Expression, names: tuple[str, ...]) -> Expression:
    """The name of a number from 1 on."""
    branches: list[Expression | str] = []
    for place, name in enumerate(names, 1):
        branches += [call("=", number, place), name]
    return call("case", *branches)


def last_day(moment: Expression) -> Expression:
    """31 days after its first, every month is over; only the calendar ends before."""
    first = call("date_trunc", "month", moment)
    following = call("date_trunc", "month", call("add_days", first, 31))
    return call("case", call("=", first, _LAST_MONTH), date.max, call("add_days", following, -1))


def difference(unit: str, start: Expression, end: Expression) -> Expression:
    """How often a unit begins from start to end; of weeks, how many are complete."""
    match _PARTS.get(unit, unit):
        case "day":
            return call("date_diff", "day", start, end)
        case "week":
            return truncated(call("/", call("date_diff", "day", start, end), 7))
        case "year":
            return call("-", call("year", end), call("year", start))
        case "quarter" | "month" as part:
            times = 12 if part == "month" else 4
            ends = (
                call("+", call("*", call("year", each), times), call(part, each)) for each in (end, start)
            )
            return call("-", *ends)
        case "hour" | "minute" | "second" as part:
            return _difference_of_times(part, start, end)
    return call("date_diff", unit, start, end)


def _difference_of_times(unit: str, start: Expression, end: Expression) -> Expression:
    first, last = (_timestamp(each) for each in (start, end))
    total = call("date_diff", "day", first, last)
    for part, times in (("hour", 24), ("minute", 60), ("second", 60)):
        total = call("+", call("*", total, times), call("-", call(part, last), call(part, first)))
        if part == unit:
            break
    return total


def truncated(number: Expression) -> Expression:
    """Towards 0, as a whole number."""
    if number.type is ValueType.INTEGER:
        return number
    return call("case", call("<", number, 0), call("ceil", number), call("floor", number))


def sum_or_difference(node: exp.Add | exp.Sub, read: Reader) -> Expression:
    """x + y and x - y, of numbers or of dates."""
    less = isinstance(node, exp.Sub)
    if isinstance(node.expression, exp.Interval):
        return moved(read(node.this), node.expression, read, less=less)
    if isinstance(node.this, exp.Interval) and not less:
        return moved(read(node.expression), node.this, read, less=False)
    left, right = read(node.this), read(node.expression)
    if not less and right.type is ValueType.DATE and left.type is ValueType.INTEGER:
        left, right = right, left
    if left.type in _DATES and right.type is ValueType.INTEGER and not is_null_literal(right):
        return _days_later(left, call("negate", right) if less else right)
    if less and (left.type in _DATES or right.type in _DATES):
        return _days_between(left, right)
    return _of_constants(left, right, less=less) or call("-" if less else "+", left, right)


def _of_constants(left: Expression, right: Expression, *, less: bool) -> Expression | None:
    """0.06 + 0.01 is 0.07, as decimals are: sums of doubles are a little off."""
    match left, right:
        case Literal(value=Fraction() | int() as a), Literal(value=Fraction() | int() as b) if (
            ValueType.NUMBER in (left.type, right.type)
        ):
            return build_literal(Fraction(a) - Fraction(b) if less else Fraction(a) + Fraction(b))
    return None


def _days_between(end: Expression, start: Expression) -> Expression:
    found = [as_type(each, ValueType.DATE) if isinstance(each, Literal) else each for each in (end, start)]
    if any(each is None or each.type is not ValueType.DATE for each in found):
        raise QueryRefused(
            "The difference of two timestamps is an interval, which is no number.",
            remedy="Write date_diff('hour', start, end), or with day, minute or second.",
        )
    return call("date_diff", "day", *(each for each in reversed(found) if each is not None))


def _days_later(moment: Expression, days: Expression) -> Expression:
    if moment.type is ValueType.DATE:
        match days:
            case Literal(value=int() as count):
                return call("add_days", moment, count)
        return call("add_days", moment, days)
    raise QueryRefused(
        "A timestamp and a whole number do not add up.",
        remedy="Write x + INTERVAL 7 DAY, or CAST(x AS DATE).",
    )


def moved(moment: Expression, interval: exp.Interval, read: Reader, *, less: bool) -> Expression:
    """A date or timestamp, plus or minus an interval."""
    if isinstance(moment, Literal) and moment.type is ValueType.TEXT:
        moment = as_type(moment, ValueType.DATE) or moment
    if moment.type not in _DATES:
        raise QueryRefused(
            "INTERVAL is added to a date or a timestamp.", remedy="Convert with CAST(x AS DATE) first."
        )
    months, seconds = _length(interval, read)
    sign = -1 if less else 1
    if isinstance(seconds, Expression):
        return _days_later(moment, call("*", seconds, sign))
    if months:
        moment = call("add_months", moment, sign * months)
    if seconds % 86_400 == 0 and moment.type is ValueType.DATE:
        return call("add_days", moment, sign * seconds // 86_400) if seconds else moment
    return call("add_seconds", _timestamp(moment), sign * seconds) if seconds else moment


def _timestamp(moment: Expression) -> Expression:
    return moment if moment.type is ValueType.TIMESTAMP else call("cast_timestamp", moment)


def _length(node: exp.Interval, read: Reader) -> tuple[int, int | Expression]:
    """The months of an interval and its seconds, or its days if they are computed from the row."""
    unit = node.args.get("unit")
    name = _PARTS.get(unit.name.lower(), "") if isinstance(unit, exp.Var) else ""
    inner: exp.Expression | None = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    negative = isinstance(inner, exp.Neg)
    if isinstance(inner, exp.Neg):
        inner = inner.this
    if isinstance(inner, exp.Literal):
        sign = -1 if negative else 1
        months, seconds = _constant(str(inner.this), name)
        return sign * months, sign * seconds
    if inner is not None and not negative and name in ("day", "week"):
        days = read(inner)
        return 0, call("*", days, 7) if name == "week" else days
    raise _no_interval()


def _constant(text: str, unit: str) -> tuple[int, int]:
    pieces = _PIECE.findall(text) if not unit else [(text.strip(), unit)]
    if not pieces or (not unit and _PIECE.sub("", text).strip()):
        raise _no_interval()
    months = seconds = 0
    for count, name in pieces:
        part = _PARTS.get(name.lower(), "")
        if not re.fullmatch(r"[+-]?\d{1,9}", count) or part not in (*_MONTHS_OF, *_SECONDS_OF):
            raise _no_interval()
        months += int(count) * _MONTHS_OF.get(part, 0)
        seconds += int(count) * _SECONDS_OF.get(part, 0)
    return months, seconds


def _no_interval() -> QueryRefused:
    return QueryRefused(
        "This INTERVAL cannot be read.",
        remedy="Write whole numbers: INTERVAL 7 DAY, INTERVAL '1 month', INTERVAL '1 year 6 months'.",
    )


def as_moment(expression: Expression) -> Expression:
    """A constant text as the date that it is."""
    if isinstance(expression, Literal) and isinstance(expression.value, str):
        kind = ValueType.DATE if len(expression.value) == len("2024-01-31") else ValueType.TIMESTAMP
        return as_type(expression, kind) or expression
    return expression
