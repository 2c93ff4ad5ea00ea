"""Python values as SQL: a question with ? in it, and the values that belong there.

A value becomes one literal, whatever is in it. It cannot become another part of the question.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from discreet.errors import InvalidInput

_PIECES = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\?""")
"""Texts and quoted names, in which a ? is just a sign; and the ? that stand for values."""
_UNCLEAR = re.compile(r"""--|/\*|[{$'"]|\w`""")
"""Comments, quotes without an end, other quotes: a ? in there is hard to tell from one that counts."""


def with_values(sql: str, values: Sequence[object]) -> str:
    """The question with a literal for each ?."""
    if not values:
        return sql
    if _UNCLEAR.search(_PIECES.sub(lambda found: found[0] if found[0] == "?" else "`", sql)):
        raise InvalidInput(
            "A question with parameters has a comment, or a text in quotes other than '…'.",
            remedy="Leave comments out, and write texts as '…'.",
        )
    literals = [literal_of(value) for value in values]
    expected = sum(found[0] == "?" for found in _PIECES.finditer(sql))
    if expected != len(literals):
        raise InvalidInput(
            f"The question has {expected} ?, and {len(literals)} values were given.",
            remedy="Give one value for each ?.",
        )
    return _filled(sql, iter(literals))


def _filled(sql: str, literals: Iterator[str]) -> str:
    return _PIECES.sub(lambda found: next(literals) if found[0] == "?" else found[0], sql)


def literal_of(value: object) -> str:
    """One value as SQL."""
    match value:
        case None:
            return "NULL"
        case bool() | np.bool_():
            return "TRUE" if value else "FALSE"
        case Integral():
            return _number(str(int(value)))
        case Decimal() if value.is_finite():
            return _number(f"{value:f}")
        case Real() if math.isfinite(value):
            return _number(repr(float(value)))
        case str() if "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        case datetime() if value.tzinfo is None:
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date() if not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
    raise InvalidInput(
        f"A {type(value).__name__} such as this cannot be part of a question.",
        remedy="Give text, a finite number, True or False, a date, or a datetime without a time zone.",
    )


def _number(digits: str) -> str:
    """In brackets if negative: “x-?” must not become “x--1”, which is a comment."""
    return f"({digits})" if digits.startswith("-") else digits
