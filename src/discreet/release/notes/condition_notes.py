"""Conditions on a clamped number that cannot be what they say, in words that go with the answer.

A column with bounds 0 … 20000 is clamped wherever it is read, also in WHERE. So `cost > 20000` is true of no
row, and `cost = 20000` of every row at 20000 and above. `cost > 15000` is as in plain SQL, and needs no word.
"""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction

from discreet.functions.day_ranges import bounded_days
from discreet.functions.day_values import constant_of
from discreet.functions.registry import range_of
from discreet.model.expression import Call, Expression, Field, Range, fields_of, title
from discreet.model.query import (
    FewRows,
    Filter,
    Lookup,
    PerPerson,
    PersonJoin,
    Query,
    Relation,
    UnionAll,
)

_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_EQUAL = ("=", "<>", "in", "is_distinct_from", "is_not_distinct_from")


def condition_notes(query: Query) -> list[str]:
    """One sentence for each column that is compared with something at its bounds or beyond them."""
    notes = {}
    for expression in (*_conditions(query.source), *_of_measures(query)):
        for compared in _undecided(expression):
            for field in fields_of(compared):
                if field.range is not None or field.days is not None:
                    span = _span(field)
                    taken = f"{title(field.name)} is taken within {span} in conditions too"
                    notes[field.name] = f"{taken}: what lies beyond counts as the bound."
    return list(notes.values())


def _span(field: Field) -> str:
    if field.days is not None:
        return f"{field.days.low} … {field.days.high}"
    return (
        "its bounds" if field.range is None else f"{float(field.range.low):g} … {float(field.range.high):g}"
    )


def _of_measures(query: Query) -> Iterator[Expression]:
    """Conditions of FILTER, and those inside of what is summed."""
    yield from (each for measure in query.measures for each in measure.expressions)
    if query.picks is not None and query.picks.condition is not None:
        yield query.picks.condition


def _conditions(relation: Relation) -> Iterator[Expression]:
    """All WHERE and FILTER of a relation and of those it is made of."""
    match relation:
        case Filter():
            yield relation.predicate
            yield from _conditions(relation.source)
        case Lookup() | FewRows():
            yield from _conditions(relation.source)
        case PerPerson():
            yield from (value.condition for value in relation.values if value.condition is not None)
            yield from _conditions(relation.source)
        case PersonJoin():
            yield from _conditions(relation.left)
            yield from _conditions(relation.right)
        case UnionAll():
            for branch in relation.branches:
                yield from _conditions(branch.source)


def _undecided(expression: Expression) -> Iterator[Expression]:
    """What is compared with a constant, where clamped values and others may give another truth."""
    if not isinstance(expression, Call):
        return
    for compared, symbol, constant in _comparisons(expression):
        span = _values_of(compared)
        if span is not None and not _is_same(symbol, constant, span):
            yield compared
    for argument in expression.arguments:
        yield from _undecided(argument)


def _comparisons(call: Call) -> Iterator[tuple[Expression, str, Fraction]]:
    """What is compared, how, and with which constant; whichever side of the sign that stands on."""
    first, *others = call.arguments
    if call.function == "between":
        pairs = [(first, ">=", others[0]), (first, "<=", others[1])]
    elif call.function in _EQUAL:
        pairs = [(first, "=", other) for other in others] + [(other, "=", first) for other in others]
    elif call.function in _TURNED:
        pairs = [(first, call.function, others[0]), (others[0], _TURNED[call.function], first)]
    else:
        return
    for compared, symbol, other in pairs:
        if any(fields_of(other)) or not any(fields_of(compared)):
            continue
        day, span = constant_of(other), range_of(other)
        if isinstance(day, date):
            yield compared, symbol, Fraction(day.toordinal())
        elif span is not None and span.low == span.high:
            yield compared, symbol, span.low


def _values_of(compared: Expression) -> Range | None:
    """Where it lies, if bounds say so; dates as numbers of days."""
    if compared.type.numeric:
        return range_of(compared)
    days = bounded_days(compared)
    if days is None:
        return None
    return Range(low=Fraction(days.low.toordinal()), high=Fraction(days.high.toordinal()))


def _is_same(symbol: str, constant: Fraction, span: Range) -> bool:
    """Whether a comparison is true of a value exactly if it is of the value clamped to its bounds."""
    match symbol:
        case ">" | "<=":
            return span.low <= constant < span.high
        case ">=" | "<":
            return span.low < constant <= span.high
    return span.low < constant < span.high
