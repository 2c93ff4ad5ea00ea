"""The first and the last group of a clamped number: which values they hold beyond their own.

A column with bounds is clamped to them where it is read. So among the groups of such a column, the last holds
all rows at the upper bound and above. The same is true of what grows with the column without an end, such as
floor(cost / 100) * 100. Of other expressions, such as CASE, it cannot be told which group holds what.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from discreet.answers.columns import KeyEnds
from discreet.functions.day_ranges import has_bounds
from discreet.functions.day_values import values_by_day
from discreet.functions.registry import range_of
from discreet.model.expression import Call, DayRange, Expression, Field, Literal, fields_of
from discreet.model.interval_arithmetic import double_above, double_below
from discreet.model.person_value import PersonAggregate
from discreet.model.policy import ValueType
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    GroupKey,
    Lookup,
    PerPerson,
    PersonJoin,
    Query,
    Relation,
    UnionAll,
    key_field,
)

_Beyond: TypeAlias = tuple[bool, bool]
"""Whether the least, and the greatest, value of an expression stands for all beyond it."""

_GROWING = ("floor", "ceil", "round", "cast_integer", "cast_number")
"""They never fall, and have no end."""
_OF_ONE_VALUE = (PersonAggregate.MIN, PersonAggregate.MAX)


def ends_of(key: GroupKey, source: Relation) -> KeyEnds | None:
    """None where no group holds more than its own value, or where it cannot be told."""
    if has_bounds(key.expression):
        return _ends_of_days(key.expression)
    beyond = _Origins(source).beyond(key.expression)
    fields = [field for field in fields_of(key.expression) if field.range is not None]
    if key.expression.type is not ValueType.INTEGER or beyond is None or len(fields) != 1:
        return None
    at_ends = [value_at(key.expression, end) for end in _clamped_to(fields[0])]
    values = sorted(int(value) for value in at_ends if value is not None)
    if len(values) < len(at_ends) or values[0] == values[1] or not any(beyond):
        return None
    low, high = values
    return low if beyond[0] else None, high if beyond[1] else None


def _ends_of_days(expression: Expression) -> KeyEnds | None:
    """Of a date with bounds, or of what grows with it: its year, month or week, and texts that begin so."""
    fields = fields_of(expression)
    if len(fields) != 1 or fields[0].days is None or not _grows_with_days(expression):
        return None
    days = fields[0].days
    ends = [values_by_day(expression, DayRange(low=day, high=day), 1) for day in (days.low, days.high)]
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return None
    return ends[0][0], ends[1][0]


def _grows_with_days(expression: Expression) -> bool:
    match expression:
        case Field():
            return expression.type is ValueType.DATE
        case Call(function="date_trunc" | "date_diff", arguments=(*constants, Field())):
            return not any(fields_of(each) for each in constants)
        case Call(function="year" | "cast_date", arguments=(Field(),)):
            return True
        case Call(function="cast_text", arguments=(inner,)):
            return inner.type is ValueType.DATE and _grows_with_days(inner)
        case Call(function="left", arguments=(inner, _)):
            return isinstance(inner, Call) and inner.function == "cast_text" and _grows_with_days(inner)
    return False


def value_at(expression: Expression, value: int | float) -> int | float | None:
    """What engines compute where the one field has this value; None in doubt, as for halves that are rounded.

    Numbers are doubles, as in every engine: a range is wider than they are, and may end at another key.
    """
    match expression:
        case Field():
            return value
        case Literal():
            constant = _constant(expression)
            whole = expression.type is ValueType.INTEGER
            return None if constant is None else int(constant) if whole else float(constant)
        case Call(function=function, arguments=arguments):
            given = [value_at(argument, value) for argument in arguments]
            known = [each for each in given if each is not None]
            try:
                return _computed(function, known) if len(known) == len(given) else None
            except (OverflowError, ValueError):  # beyond doubles, of which no key can be told
                return None


def _computed(function: str, given: list[int | float]) -> int | float | None:
    match function, given:
        case "floor", [x]:
            return math.floor(x)
        case "ceil", [x]:
            return math.ceil(x)
        case "round" | "cast_integer", [x]:
            return None if abs(x - math.trunc(x)) == 0.5 else round(x)
        case "cast_number", [x]:
            return float(x)
        case "negate", [x]:
            return -x
        case "+", [x, y]:
            return x + y
        case "-", [x, y]:
            return x - y
        case "*", [x, y]:
            return x * y
        case "/", [x, y] if y:
            return x / y
    return None


def _clamped_to(field: Field) -> tuple[int | float, int | float]:
    span = range_of(field)
    low, high = (Fraction(0), Fraction(0)) if span is None else (span.low, span.high)
    if field.type is ValueType.INTEGER:
        return math.ceil(low), math.floor(high)
    return float(double_above(low) or 0), float(double_below(high) or 0)


def ends_by_output(query: Query) -> dict[str, KeyEnds]:
    """For each column of the answer that is such a key."""
    found = {key_field(i): ends_of(key, query.source) for i, key in enumerate(query.keys)}
    columns = {
        output.name: found.get(output.expression.name)
        for output in query.outputs
        if isinstance(output.expression, Field)
    }
    return {name: ends for name, ends in columns.items() if ends is not None}


class _Origins:
    """Where the fields of a relation come from, if not from the column of a table."""

    def __init__(self, source: Relation) -> None:
        self._per_person: dict[str, _Beyond | None] = {}
        for relation in within(source):
            match relation:
                case PerPerson():
                    self._add(relation, _Origins(relation.source))
                case UnionAll():
                    self._per_person |= dict.fromkeys(field.name for field in relation.fields)

    def beyond(self, expression: Expression) -> _Beyond | None:
        match expression:
            case Field(range=None):
                return self._per_person.get(expression.name)
            case Field():
                return self._per_person.get(expression.name, (True, True))
            case Call(function=function, arguments=(inner,)) if function in _GROWING:
                return self.beyond(inner)
            case Call(function="negate", arguments=(inner,)):
                return _turned(self.beyond(inner))
            case Call(function=function, arguments=(left, right)):
                return self._with_constant(function, left, right)
        return None

    def _with_constant(self, function: str, left: Expression, right: Expression) -> _Beyond | None:
        """Of an operator, one side of which is a constant."""
        first, second = _constant(left), _constant(right)
        match function:
            case "+" | "-" if second is not None:
                return self.beyond(left)
            case "+" if first is not None:
                return self.beyond(right)
            case "-" if first is not None:
                return _turned(self.beyond(right))
            case "*" | "/" if second:
                return self._scaled(left, second)
            case "*" if first:
                return self._scaled(right, first)
        return None

    def _scaled(self, inner: Expression, factor: Fraction) -> _Beyond | None:
        return self.beyond(inner) if factor > 0 else _turned(self.beyond(inner))

    def _add(self, relation: PerPerson, below: "_Origins") -> None:
        """Counts are never below 0. They, and sums, are clamped where they are grouped by."""
        for key, expression in relation.keys:
            self._per_person[key.name] = below.beyond(expression)
        for value in relation.values:
            name, argument = value.field.name, value.argument
            if value.aggregate in _OF_ONE_VALUE and argument is not None:
                self._per_person[name] = below.beyond(argument)
            elif value.aggregate is PersonAggregate.AVERAGE:
                self._per_person[name] = None
            else:
                span = range_of(argument) if value.aggregate is PersonAggregate.SUM and argument else None
                self._per_person[name] = (span is not None and span.low < 0, span is None or span.high > 0)


def _constant(expression: Expression) -> Fraction | None:
    match expression:
        case Literal(value=bool()):
            return None
        case Literal(value=int() | Fraction() as value):
            return Fraction(value)
        case Call(function="negate" | "cast_number" as function, arguments=(inner,)):
            found = _constant(inner)
            return -found if found is not None and function == "negate" else found
    return None


def _turned(beyond: _Beyond | None) -> _Beyond | None:
    return None if beyond is None else (beyond[1], beyond[0])


def within(relation: Relation) -> Iterator[Relation]:
    """A relation and those it is made of, down to where rows are put together for each person."""
    yield relation
    match relation:
        case Filter() | Lookup() | FewRows():
            yield from within(relation.source)
        case FollowKey():
            yield from relation.scans
        case PersonJoin():
            yield from within(relation.left)
            yield from within(relation.right)
