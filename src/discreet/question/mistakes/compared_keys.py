"""Names and constants that look like mistyped keys are refused, before anything is charged.

The keys that a policy lists are public. A condition such as ward = 'nort' is true of no row that the policy
knows of. It would be answered with noise around 0, at the full price.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from functools import cached_property

from discreet.errors import QueryRefused
from discreet.model.expression import Call, Expression, Field, Literal, title
from discreet.model.policy import KeyValue
from discreet.question.mistakes.near_names import near_name
from discreet.question.mistakes.syntax_errors import nearest_keyword


class DeclaredKeys:
    """The keys of one column."""

    def __init__(self, keys: tuple[KeyValue, ...]) -> None:
        self.keys = keys

    @cached_property
    def known(self) -> frozenset[object]:
        return frozenset(self.keys)


_COMPARING = ("=", "<>", "in", "is_distinct_from", "is_not_distinct_from")
_CURLY = "“”„‘’‚`´«»"
_SHOWN = 20


def check_compared(expression: Expression, declared: Mapping[str, DeclaredKeys]) -> None:
    """Refuse a comparison of a column that has declared keys with a constant that is none of them."""
    if not isinstance(expression, Call) or expression.function not in _COMPARING:
        return
    fields = [each for each in expression.arguments if isinstance(each, Field) and each.name in declared]
    if len(fields) != 1:
        return
    (field,) = fields
    keys = declared[field.name]
    for each in expression.arguments:
        compared = isinstance(each, Literal) and each.value is not None and each.type is field.type
        if compared and isinstance(each, Literal) and each.value not in keys.known:
            raise _no_key(title(field.name), each, keys.keys)


def unknown_name(name: str, unknown: QueryRefused, declared: Iterable[DeclaredKeys]) -> QueryRefused:
    """The refusal of an unknown column; if it is a text without its quotes, it says how to write that."""
    plain = name.strip(_CURLY)
    texts = list(dict.fromkeys(key for each in declared for key in each.keys if isinstance(key, str)))
    same = next((key for key in texts if key.casefold() == plain.casefold()), None)
    if same is not None:
        return QueryRefused(unknown.problem, remedy=f"For the text, write single quotes: {_written(same)}.")
    if plain != name:
        return QueryRefused(unknown.problem, remedy=f"In SQL, text has straight single quotes: '{plain}'.")
    column = re.search("mean “(.*)”", unknown.remedy)
    keyword, near = nearest_keyword(name), near_name(name, texts, cutoff=0.7)
    if column is not None and (near is None or near_name(name, [near, column[1]]) == column[1]):
        return unknown
    if near is not None:
        return QueryRefused(unknown.problem, remedy=f"Did you mean the text {_written(near)}?")
    if keyword is not None:
        return QueryRefused(unknown.problem, remedy=f"Did you mean {keyword}? {unknown.remedy}")
    return unknown


def _no_key(column: str, constant: Literal, keys: tuple[KeyValue, ...]) -> QueryRefused:
    wrong = _written(constant.value)
    problem = f"{wrong} is none of the values that the policy lists for “{column}”."
    texts = {str(key): key for key in keys}
    near = near_name(str(constant.value), texts) if isinstance(constant.value, str) else None
    if near is not None:
        return QueryRefused(problem, remedy=f"Did you mean {_written(texts[near])}?")
    listed = ", ".join(_written(key) for key in keys[:_SHOWN]) + (", …" if len(keys) > _SHOWN else "")
    other = f" For a value that is not listed, write {column} LIKE {wrong}." if wrong[0] == "'" else ""
    return QueryRefused(problem, remedy=f"There are: {listed}.{other}")


def _written(value: object) -> str:
    """A constant as it is written in SQL."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value[:60].replace("'", "''") + "'"
        case date():
            return f"'{value.isoformat()}'"
        case Fraction():
            return f"{float(value):g}"
    return str(value)
