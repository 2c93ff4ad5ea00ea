"""Row-wise expressions: what a question computes from one row.

A closed tree of three kinds of node. Every function in it is on the allow-list of `functions.registry`, where
it has one meaning on all engines and cannot fail on any row.

Names stand for trees, so that trees share parts: a few names that each stand for the one before, twice, make
a tree of thousands of nodes out of a few. So what is computed from a call is kept with it, and is computed
once for each node that there is.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from discreet.model.policy import ValueType

Constant: TypeAlias = int | Fraction | str | bool | date | datetime | None
Parameter: TypeAlias = str | date | tuple[str | date | None, ...]
"""What goes to a database beside the SQL: a text, a date, a timestamp, or a list of one kind of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Where all values of a numeric expression lie, NULL aside."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRange:
    """Between which days all values of a date or timestamp lie, NULL aside; both are among them."""

    low: date
    high: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column of the relation below, by name."""

    name: str
    type: ValueType
    range: Range | None = None
    """Known for a column with bounds: it is clamped to them where it is read."""
    unit: Fraction | None = None
    """The grid that its values are rounded to where they are summed, if one was declared."""
    format: str | None = field(default=None, repr=False)
    """How the texts of its column write dates, if a format was declared."""
    per_person: bool = field(default=False, repr=False)
    """Whether the smallest value of each person is read, because a person has one (`per_person = true`)."""
    days: DayRange | None = field(default=None, repr=False)
    """Known for a date or timestamp with bounds: it is clamped to them where it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A constant; None is NULL."""

    value: Constant
    type: ValueType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """An allow-listed function or operator of its arguments.

    Two are equal if they have the same digest, which each node computes once. To compare trees part by part
    takes their whole size, for each two keys, values or measures of a question.
    """

    function: str
    arguments: "tuple[Expression, ...]"
    type: ValueType
    size: "Size" = field(init=False, repr=False, compare=False)
    """What it is once it is written out, where a part that is used twice counts twice."""
    known: "dict[str, object]" = field(init=False, repr=False, compare=False, default_factory=dict)
    """What was computed from it, by a name for each: it never changes."""

    def __post_init__(self) -> None:
        sizes = [size_of(argument) for argument in self.arguments]
        size = Size(
            nodes=1 + sum(size.nodes for size in sizes),
            calls=1 + sum(size.calls for size in sizes),
            levels=1 + max((size.levels for size in sizes), default=0),
        )
        object.__setattr__(self, "size", size)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Call):
            return self is other
        alike = self.function == other.function and self.size == other.size
        return alike and _digest(self) == _digest(other)

    def __hash__(self) -> int:
        return hash(_digest(self))


Expression: TypeAlias = Field | Literal | Call


@dataclass(frozen=True, slots=True)
class Size:
    """How large a tree is: all its nodes, the calls among them, and how deep they are nested."""

    nodes: int
    calls: int
    levels: int


_LEAF = Size(nodes=1, calls=0, levels=1)


def size_of(expression: Expression) -> Size:
    return expression.size if isinstance(expression, Call) else _LEAF


def _digest(call: Call) -> bytes:
    """The same for equal calls only: SHA-256 of what they are, by the digests of their arguments."""
    known = call.known.get("digest")
    if not isinstance(known, bytes):
        told = (call.function, call.type.value, *map(_told, call.arguments))
        known = call.known["digest"] = hashlib.sha256(repr(told).encode(errors="surrogatepass")).digest()
    return known


def _told(part: Expression) -> object:
    """All of an argument, in types whose repr tells different ones apart."""
    match part:
        case Call():
            return _digest(part)
        case Literal(value=value, type=kind):
            number = isinstance(value, int | Fraction) and not isinstance(value, bool)
            return kind.value, Fraction(value) if number else value  # type: ignore[arg-type]
    span = None if part.range is None else (Fraction(part.range.low), Fraction(part.range.high))
    days = None if part.days is None else (part.days.low, part.days.high)
    unit = None if part.unit is None else Fraction(part.unit)
    return part.name, part.type.value, span, unit, part.format, part.per_person, days


def fields_of(expression: Expression) -> tuple[Field, ...]:
    """Every column that the expression reads, once, in the order in which they are met."""
    match expression:
        case Field():
            return (expression,)
        case Call():
            known = expression.known.get("fields")
            if not isinstance(known, tuple):
                found = (each for argument in expression.arguments for each in fields_of(argument))
                known = expression.known["fields"] = tuple(dict.fromkeys(found))
            return known
    return ()


def title(name: str) -> str:
    """A field as the owner knows it, without the alias of its relation."""
    return name.partition(".")[2] or name


def owners(expression: Expression) -> set[str]:
    """The aliases of the relations whose fields an expression reads."""
    return {each.name.partition(".")[0] for each in fields_of(expression)}


def conditions_in(predicate: Expression) -> tuple[Expression, ...]:
    """The conditions that all have to hold."""
    if isinstance(predicate, Call) and predicate.function == "and":
        return predicate.arguments
    return (predicate,)
