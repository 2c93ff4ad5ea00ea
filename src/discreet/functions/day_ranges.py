"""Between which days the values of a date or timestamp lie, if the bounds of its columns say so."""

from datetime import date, datetime, timedelta

from discreet.model.expression import Call, DayRange, Expression, Field, Literal, fields_of
from discreet.model.policy import ValueType

_DATES = (ValueType.DATE, ValueType.TIMESTAMP)
_CHOOSING = ("coalesce", "least", "greatest")


def has_bounds(expression: Expression) -> bool:
    """Whether a date with declared bounds is in it."""
    return any(field.days is not None for field in fields_of(expression))


def bounded_days(expression: Expression) -> DayRange | None:
    """Where all days of an expression lie, if declared bounds are the reason. Constants alone are not: what
    is asked without bounds is the same question as before there were any.
    """
    return days_of(expression) if has_bounds(expression) else None


def days_of(expression: Expression) -> DayRange | None:
    """Where all days of an expression lie, NULL aside; None if nothing bounds them."""
    if expression.type not in _DATES:
        return None
    match expression:
        case Field():
            return expression.days
        case Literal(value=datetime() as moment):
            return DayRange(low=moment.date(), high=moment.date())
        case Literal(value=date() as day):
            return DayRange(low=day, high=day)
        case Call(function="cast_date" | "cast_timestamp", arguments=(Literal(value=str() as text),)):
            return _constant(text)
        case Call(function="cast_date" | "cast_timestamp" | "nullif", arguments=(inner, *_)):
            return days_of(inner)
        case Call(function="date_trunc", arguments=(Literal(value=str() as unit), inner)):
            known = days_of(inner)
            return None if known is None else DayRange(low=first_day(unit, known.low), high=known.high)
        case Call(function="add_days", arguments=(inner, Literal(value=int() as count))):
            return _moved(days_of(inner), count)
        case Call(function="case", arguments=arguments):
            pairs = len(arguments) // 2 * 2
            return _hull(arguments[1:pairs:2] + arguments[pairs:])
        case Call(function=name, arguments=arguments) if name in _CHOOSING:
            return _hull(arguments)
    return None


def first_day(unit: str, day: date) -> date:
    """The first day of its year, quarter, month or week; the day itself for smaller units."""
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    return day


def _constant(text: str) -> DayRange | None:
    """DATE '2024-01-31' and the like."""
    try:
        day = date.fromisoformat(text[: len("2024-01-31")])
    except ValueError:
        return None
    return DayRange(low=day, high=day)


def _moved(known: DayRange | None, count: int) -> DayRange | None:
    try:
        return known and DayRange(low=known.low + timedelta(count), high=known.high + timedelta(count))
    except OverflowError:  # some days leave the calendar, and are NULL
        return None


def _hull(choices: tuple[Expression, ...]) -> DayRange | None:
    known = [days_of(each) for each in choices if not (isinstance(each, Literal) and each.value is None)]
    found = [each for each in known if each is not None]
    if not found or len(found) < len(known):
        return None
    return DayRange(low=min(each.low for each in found), high=max(each.high for each in found))
