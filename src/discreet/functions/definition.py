"""What a function on the allow-list is, and the rules of types and of totality that all of them share."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from discreet.dialects.dialect import EmitScope, Operand
from discreet.errors import QueryRefused
from discreet.model.expression import Call, Expression, Literal
from discreet.model.interval_arithmetic import UNKNOWN, ValueInterval
from discreet.model.policy import ValueType

Arguments: TypeAlias = tuple[Expression, ...]

_WIDEST_FIRST = (
    ValueType.TIMESTAMP,
    ValueType.DATE,
    ValueType.NUMBER,
    ValueType.INTEGER,
    ValueType.TEXT,
    ValueType.BOOLEAN,
)


ArgumentCheck: TypeAlias = Callable[[Arguments], tuple[Arguments, ValueType]]
"""Checks the types of the arguments; gives the arguments, converted where they mix, and the result's type."""
RangeRule: TypeAlias = Callable[[Sequence[Operand]], ValueInterval]
Emit: TypeAlias = Callable[[Sequence[Operand], EmitScope], str]


def no_range(_: Sequence[Operand]) -> ValueInterval:
    return UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One row-wise function: the only place that says what it takes, what it gives and how it is computed.

    The SQL of ``emit`` cannot raise on any row, under any setting of the engine. It gives a 64-bit integer, a
    finite double, a text, a truth value, or a date or timestamp of the years 1 to 9999; or NULL.
    """

    name: str
    usage: str
    """How it is written, for refusals and for the reference."""
    fewest: int
    most: int
    check: ArgumentCheck
    emit: Emit
    range: RangeRule = no_range
    constants: frozenset[int] = frozenset()
    """Positions of constant arguments that ``emit`` writes itself: their SQL is not emitted."""


def refuse_types(usage: str, arguments: Arguments, remedy: str) -> QueryRefused:
    given = " and ".join(argument.type.value for argument in arguments)
    return QueryRefused(f"{usage} does not take {given}.", remedy=remedy)


def is_null_literal(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def as_type(expression: Expression, wanted: ValueType) -> Expression | None:
    """The expression where a type is wanted: NULL adapts, integers become numbers, ISO texts become dates."""
    if expression.type is wanted:
        return expression
    if is_null_literal(expression):
        return Literal(value=None, type=wanted)
    match expression, wanted:
        case Literal(value=bool()), _:
            return None
        case Literal(value=int() as value), ValueType.NUMBER:
            return Literal(value=Fraction(value), type=wanted)
        case Literal(value=str() as text), ValueType.DATE | ValueType.TIMESTAMP:
            return _iso_literal(text, wanted)
    match expression.type, wanted:
        case ValueType.INTEGER, ValueType.NUMBER:
            return Call(function="cast_number", arguments=(expression,), type=wanted)
        case ValueType.DATE, ValueType.TIMESTAMP:
            return Call(function="cast_timestamp", arguments=(expression,), type=wanted)
    return None


def unified(usage: str, arguments: Arguments) -> tuple[Arguments, ValueType]:
    """The arguments in the one type that they have in common."""
    typed = {argument.type for argument in arguments if not is_null_literal(argument)} or {arguments[0].type}
    for wanted in sorted(typed, key=_WIDEST_FIRST.index):
        converted = [as_type(argument, wanted) for argument in arguments]
        found = tuple(argument for argument in converted if argument is not None)
        if len(found) == len(arguments):
            return found, wanted
    raise refuse_types(usage, arguments, "Bring them to one type, such as CAST(x AS INTEGER).")


def taking(usage: str, *types: ValueType) -> Callable[[Arguments], Arguments]:
    """All arguments of exactly these types, one each."""

    def convert(arguments: Arguments) -> Arguments:
        converted = [as_type(argument, wanted) for argument, wanted in zip(arguments, types, strict=True)]
        found = tuple(argument for argument in converted if argument is not None)
        if len(found) != len(types):
            wanted = " and ".join(each.value for each in types)
            raise refuse_types(usage, arguments, f"It takes {wanted}; convert with CAST.")
        return found

    return convert


def fixed(usage: str, types: Sequence[ValueType], result: ValueType) -> ArgumentCheck:
    convert = taking(usage, *types)
    return lambda arguments: (convert(arguments), result)


def literal_integer(usage: str, expression: Expression, low: int, high: int) -> int:
    """An argument that must be a constant, so that it does not depend on rows."""
    if isinstance(expression, Literal) and expression.type is ValueType.INTEGER:
        value = expression.value
        if isinstance(value, int) and low <= value <= high:
            return value
    raise QueryRefused(
        f"{usage} needs a constant integer there.", remedy=f"Write a whole number from {low} to {high}."
    )


def literal_text(usage: str, expression: Expression, longest: int) -> str:
    if isinstance(expression, Literal) and isinstance(expression.value, str):
        if len(expression.value) <= longest:
            return expression.value
        raise QueryRefused(f"A text in {usage} is too long.", remedy=f"Use at most {longest} characters.")
    raise QueryRefused(f"{usage} needs a constant text there.", remedy="Write the text in quotes: 'abc'.")


_PLAIN = {
    ValueType.DATE: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ValueType.TIMESTAMP: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"),
}


def constant_moment(expression: Expression, kind: ValueType) -> Literal | None:
    """What DATE '2024-01-31' is, a text that is cast: no row has to read it. None of any other cast."""
    text = expression.value if isinstance(expression, Literal) else None
    shape = _PLAIN.get(kind)
    if not isinstance(text, str) or shape is None or not shape.fullmatch(text):
        return None
    read = date if kind is ValueType.DATE else datetime
    try:
        return Literal(value=read.fromisoformat(text), type=kind)
    except ValueError:
        return None


def _iso_literal(text: str, wanted: ValueType) -> Literal:
    """`day >= '2024-01-31'` is how everybody writes dates; only the ISO form is read."""
    shape = "2024-01-31" if wanted is ValueType.DATE else "2024-01-31 23:59:00"
    try:
        if wanted is ValueType.DATE and len(text) == len(shape):
            return Literal(value=date.fromisoformat(text), type=wanted)
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if wanted is ValueType.TIMESTAMP and moment is not None and moment.tzinfo is None:
        return Literal(value=moment, type=wanted)
    raise QueryRefused(
        f"A text that is compared with a {wanted.value} is not one.", remedy=f"Write it like '{shape}'."
    )
