"""Months, weeks and days as public keys, by the bounds of a date and by what WHERE leaves of it."""

from datetime import date, datetime, time, timedelta

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.day_ranges import has_bounds
from discreet.functions.day_values import constant_of, values_by_day
from discreet.functions.public_values import integer_values
from discreet.model.expression import Call, DayRange, Expression, Field, fields_of
from discreet.model.policy import KeyValue, ValueType
from discreet.question.expressions.scope import Scope, row_expression

_DATES = (ValueType.DATE, ValueType.TIMESTAMP)
_FEW = 366
"""Parts of a date with no more values than this, such as month(day), show all of them if the policy says
nothing of the date."""
_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "="}


def day_keys(
    expression: Expression, conditions: list[exp.Expression], scope: Scope, limit: int
) -> tuple[KeyValue, ...] | None:
    """All values of a key that is computed from one date whose days are public; None if they are not."""
    fields = fields_of(expression)
    if len(fields) != 1 or fields[0].type not in _DATES:
        return None
    if not has_bounds(expression) and integer_values(expression, _FEW) is not None:
        return None
    days = _narrowed(fields[0], conditions, scope)
    return None if days is None else values_by_day(expression, days, limit, scope.listing)


def _narrowed(field: Field, conditions: list[exp.Expression], scope: Scope) -> DayRange | None:
    """The days that a field can have on rows that meet all conditions."""
    low, high = (None, None) if field.days is None else (field.days.low, field.days.high)
    for node in conditions:
        try:
            condition = row_expression(node, scope)
        except QueryRefused:
            continue
        for least, most in _days_left(condition, field):
            low = least if low is None else max(low, least or low)
            high = most if high is None else min(high, most or high)
    return None if low is None or high is None or low > high else DayRange(low=low, high=high)


def _days_left(condition: Expression, field: Field) -> list[tuple[date | None, date | None]]:
    """The first and the last day that a condition leaves of the field, one pair for each comparison in it."""
    match condition:
        case Call(function="between", arguments=(inner, low, high)):
            return [*_compared(">=", inner, low, field), *_compared("<=", inner, high, field)]
        case Call(function=name, arguments=(left, right)) if name in _TURNED:
            return [*_compared(name, left, right, field), *_compared(_TURNED[name], right, left, field)]
        case Call(function="in", arguments=(inner, *members)) if _year_of(inner) == field:
            years = [value for each in members if isinstance(value := constant_of(each), int)]
            if years and len(years) == len(members):
                return [
                    *_compared(">=", inner, members[years.index(min(years))], field),
                    *_compared("<=", inner, members[years.index(max(years))], field),
                ]
    return []


def _compared(
    symbol: str, inner: Expression, constant: Expression, field: Field
) -> list[tuple[date | None, date | None]]:
    """What is left of the field if `inner`, which is the field or its year, compares so with a constant."""
    value = constant_of(constant)
    if _year_of(inner) == field and isinstance(value, int) and 1 < value < 9999:
        years = value + 1 if symbol == ">" else value, value - 1 if symbol == "<" else value
        return [_left(symbol, date(years[0], 1, 1), date(years[1], 12, 31))]
    if _plain(inner) != field or not isinstance(value, date):
        return []
    moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
    day = first = last = moment.date()
    try:
        if symbol == ">" and field.type is ValueType.DATE:  # a timestamp may be later on the same day
            first = day + timedelta(1)
        if symbol == "<" and moment.time() == time.min:
            last = day - timedelta(1)
    except OverflowError:
        return []
    return [_left(symbol, first, last)]


def _left(symbol: str, first: date, last: date) -> tuple[date | None, date | None]:
    return None if symbol in ("<", "<=") else first, None if symbol in (">", ">=") else last


def _plain(expression: Expression) -> Expression:
    """A date that is compared with a timestamp is cast to one, and keeps its order."""
    match expression:
        case Call(function="cast_timestamp" | "cast_date", arguments=(Field() as inner,)):
            return inner
    return expression


def _year_of(expression: Expression) -> Expression | None:
    match expression:
        case Call(function="year", arguments=(Field() as inner,)):
            return inner
    return None
