"""Row-wise expressions: what a question computes from one row.

A closed tree of three kinds of node. Every function in it is on the allow-list of `functions.registry`, where
it has one meaning on all engines and cannot fail on any row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
class Field:
    """A column of the relation below, by name."""

    name: str
    type: ValueType
    range: Range | None = None
    """Known for a column with bounds: it is clamped to them where it is read."""
    unit: Fraction | None = None
    """The grid that its values are rounded to where they are summed, if one was declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A constant; None is NULL."""

    value: Constant
    type: ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An allow-listed function or operator of its arguments."""

    function: str
    arguments: "tuple[Expression, ...]"
    type: ValueType


Expression: TypeAlias = Field | Literal | Call


def fields_of(expression: Expression) -> Iterator[Field]:
    """Every column that the expression reads."""
    match expression:
        case Field():
            yield expression
        case Call():
            for argument in expression.arguments:
                yield from fields_of(argument)


def title(name: str) -> str:
    """A field as the owner knows it, without the alias of its relation."""
    return name.partition(".")[2] or name


def owners(expression: Expression) -> set[str]:
    """The aliases of the relations whose fields an expression reads."""
    return {name.partition(".")[0] for name in (field.name for field in fields_of(expression))}
