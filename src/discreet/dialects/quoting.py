"""Names and constants: what can be one, and how standard SQL writes names and texts.

All are written by us, never copied from what an analyst typed. A text is its characters between single
quotes, each quote doubled, and nothing else is special. A name is always quoted. The dialects write the rest.
"""

import math
import re
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.errors import QueryRefused
from discreet.model.expression import Literal
from discreet.model.interval_arithmetic import LARGEST_INTEGER, SMALLEST_INTEGER
from discreet.model.policy import ValueType

LONGEST_TEXT_LITERAL = 10_000
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def build_literal(value: object) -> Literal:
    """A constant and its type; None is NULL, of a type that adapts to where it stands."""
    match value:
        case None:
            literal = Literal(value=None, type=ValueType.BOOLEAN)
        case bool():
            literal = Literal(value=value, type=ValueType.BOOLEAN)
        case int():
            literal = Literal(value=value, type=ValueType.INTEGER)
        case float() | Decimal():
            literal = Literal(value=_exact(value), type=ValueType.NUMBER)
        case Fraction():
            literal = Literal(value=value, type=ValueType.NUMBER)
        case str():
            literal = Literal(value=value, type=ValueType.TEXT)
        case datetime():
            literal = Literal(value=value, type=ValueType.TIMESTAMP)
        case date():
            literal = Literal(value=value, type=ValueType.DATE)
        case _:
            raise QueryRefused(
                f"A value of type {type(value).__name__} cannot stand in a question.",
                remedy="Write a number, a text, a date, a timestamp, true, false or NULL.",
            )
    check_literal(literal)
    return literal


def check_literal(literal: Literal) -> None:
    """Refuse a constant that cannot be written, or that is not of the type it says."""
    match literal.type, literal.value:
        case _, None:
            return
        case ValueType.BOOLEAN, bool():
            return
        case ValueType.INTEGER, int() if not isinstance(literal.value, bool):
            if not SMALLEST_INTEGER <= literal.value <= LARGEST_INTEGER:
                raise QueryRefused(
                    "An integer in the question does not fit 64 bits.",
                    remedy="Write it as a decimal number, such as 1e20.",
                )
        case ValueType.NUMBER, Fraction():
            as_double(literal.value)
        case ValueType.TEXT, str():
            check_text(literal.value)
        case ValueType.TIMESTAMP, datetime():
            if literal.value.tzinfo is not None:
                raise QueryRefused(
                    "A timestamp in the question has a time zone.",
                    remedy="Write it without one, in the time zone of the data.",
                )
        case ValueType.DATE, date() if not isinstance(literal.value, datetime):
            return
        case _:
            raise QueryRefused(
                f"A constant is not of the type {literal.type.value} that it is given as.",
                remedy="Build constants with build_literal.",
            )


def number_of(literal: Literal) -> Fraction:
    """The number that is computed with: for a NUMBER the nearest double."""
    if literal.type is ValueType.INTEGER and isinstance(literal.value, int):
        return Fraction(literal.value)
    if isinstance(literal.value, Fraction):
        return Fraction(as_double(literal.value))
    raise TypeError("not a number")


def text_sql(value: str) -> str:
    check_text(value)
    return "'" + value.replace("'", "''") + "'"


def quote_identifier(name: str) -> str:
    """A name in double quotes, each quote in it doubled."""
    if not name:
        raise QueryRefused("A column has an empty name.", remedy="Name the column.")
    check_text(name)
    return '"' + name.replace('"', '""') + '"'


def as_typed(name: str) -> str:
    """A name as somebody types it: in quotes only where it needs them."""
    return name if _PLAIN_NAME.fullmatch(name) else quote_identifier(name)


def check_text(value: str) -> None:
    """Refuse a text that no database stores, or that is too long."""
    if len(value) > LONGEST_TEXT_LITERAL:
        raise QueryRefused(
            f"A text in the question is longer than {LONGEST_TEXT_LITERAL} characters.",
            remedy="Shorten it.",
        )
    if "\0" in value or not _is_unicode(value):
        raise QueryRefused(
            "A text in the question holds a character that no database stores.",
            remedy="Remove NUL characters and lone surrogates from it.",
        )


def _is_unicode(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _exact(value: float | Decimal) -> Fraction:
    if not math.isfinite(value) or (isinstance(value, Decimal) and not -400 < value.adjusted() < 400):
        raise _too_large()
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def as_double(value: Fraction) -> float:
    """The nearest double."""
    try:
        return float(value)
    except OverflowError:
        raise _too_large() from None


def _too_large() -> QueryRefused:
    return QueryRefused(
        "A number in the question is not an ordinary finite number.",
        remedy="Write a number between -1.7e308 and 1.7e308.",
    )
