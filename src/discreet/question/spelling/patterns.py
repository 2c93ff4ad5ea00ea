"""ILIKE, SIMILAR TO and regular expressions, as LIKE and comparisons: nothing that tries all ways.

What a pattern means is listed: each of at most 32 alternatives is a row of letters, `%` (any text) and `_`
(any one letter), which LIKE, or a plain comparison, looks for in one pass. Other patterns are refused.
"""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal
from discreet.model.expression import Expression, Literal
from discreet.question.spelling.dates import call

_MOST_ALTERNATIVES = 32
_LONGEST = 256
ANY, ONE = 0, 1
"""Any text, and any one letter."""
Alternative: TypeAlias = tuple[str | int, ...]
"""One alternative: letters, ANY and ONE."""
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_ESCAPED = {"d": "0123456789"}


def ilike(text: Expression, pattern: Expression) -> Expression:
    """LIKE, whatever the case of letters."""
    return call("like", call("lower", text), _lower(_constant(pattern)))


def similar_to(text: Expression, pattern: Expression) -> Expression:
    """Standard SQL: the whole text; % and _ as in LIKE, | and brackets for alternatives."""
    rows = _PatternReader(_constant(pattern), any_text="%", one="_").rows()
    return _matches(text, rows)


def regular_expression(text: Expression, pattern: Expression, *, whole: bool, fold: bool) -> Expression:
    """Found anywhere in the text, unless ^ and $ say where, or it is to match all of it."""
    sought = _constant(pattern)
    if fold:
        text, sought = call("lower", text), _lower(sought)
    rows = _PatternReader(sought, any_text=None, one=".").rows()
    return _matches(text, [row if whole else _anywhere(row) for row in rows])


def _constant(pattern: Expression) -> str:
    value = pattern.value if isinstance(pattern, Literal) else None
    if isinstance(value, str) and len(value) <= _LONGEST:
        return value
    raise QueryRefused(
        "A pattern is a constant text.", remedy=f"Write it in quotes, with at most {_LONGEST} characters."
    )


def _lower(pattern: str) -> str:
    """Letter by letter, as lower(text) is."""
    return "".join(each.lower() if len(each.lower()) == 1 else each for each in pattern)


_BEGIN, _END = "\x02^", "\x03$"
"""Stand for ^ and $ while a pattern is read: no letter has two."""


def _anywhere(row: Alternative) -> Alternative:
    begins, ends = row[:1] == (_BEGIN,), row[-1:] == (_END,)
    inner = row[int(begins) : len(row) - int(ends)]
    return (*(() if begins else (ANY,)), *inner, *(() if ends else (ANY,)))


class _PatternReader:
    """Reads a pattern from left to right into its alternatives."""

    def __init__(self, text: str, *, any_text: str | None, one: str) -> None:
        self._text, self._any, self._one = text, any_text, one
        self._place = 0

    def rows(self) -> list[Alternative]:
        found = self._alternatives()
        if self._place < len(self._text):
            raise _too_much()
        if self._any is None:
            for row in found:
                if any(each == _BEGIN for each in row[1:]) or any(each == _END for each in row[:-1]):
                    raise _too_much()
        return found

    def _alternatives(self) -> list[Alternative]:
        found = self._row()
        while self._peek() == "|":
            self._place += 1
            found += self._row()
        if len(found) > _MOST_ALTERNATIVES:
            raise _too_much()
        return found

    def _row(self) -> list[Alternative]:
        rows: list[Alternative] = [()]
        while self._peek() not in ("", "|", ")"):
            choices = self._atom()
            rows = [(*one, *other) for one, other in product(rows, choices)]
            if len(rows) > _MOST_ALTERNATIVES:
                raise _too_much()
        return rows

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _atom(self) -> Sequence[Alternative]:
        """A letter, a class of letters or a group, with what is said of how often."""
        letter = self._peek()
        self._place += 1
        regular = self._any is None
        if letter == self._any:
            return [(ANY,)]
        if letter == self._one:
            return self._repeated([(ONE,)])
        if letter == "(":
            if self._text[self._place : self._place + 2] == "?:":
                self._place += 2
            inner = self._alternatives()
            if self._peek() != ")":
                raise _too_much()
            self._place += 1
            return self._repeated(inner)
        if letter == "[":
            return self._repeated([(each,) for each in self._class()])
        if regular and letter == "^":
            return [(_BEGIN,)]
        if regular and letter == "$":
            return [(_END,)]
        if letter == "\\" and regular:
            return self._repeated(self._escaped())
        if letter in _SPECIAL and (regular or letter in "\\?*+{}[]"):
            raise _too_much()
        return self._repeated([(letter,)])

    def _escaped(self) -> list[Alternative]:
        letter = self._peek()
        self._place += 1
        if letter in _ESCAPED:
            return [(each,) for each in _ESCAPED[letter]]
        if not letter or letter.isalnum():
            raise _too_much()
        return [(letter,)]

    def _class(self) -> str:
        inner, bracket, _ = self._text[self._place :].partition("]")
        self._place += len(inner) + 1
        if not bracket or not inner or inner[0] == "^" or "\\" in inner or "[" in inner:
            raise _too_much()
        found, place = "", 0
        while place < len(inner):
            if inner[place + 1 : place + 2] == "-" and place + 2 < len(inner):
                low, high = ord(inner[place]), ord(inner[place + 2])
                if not 0 <= high - low < _MOST_ALTERNATIVES:
                    raise _too_much()
                found += "".join(map(chr, range(low, high + 1)))
                place += 3
            else:
                found += inner[place]
                place += 1
        return "".join(dict.fromkeys(found))

    def _repeated(self, choices: list[Alternative]) -> list[Alternative]:
        """? is none or one. * and + are any text only of any letter."""
        sign = self._peek()
        if sign not in ("?", "*", "+", "{") or not sign:
            return choices
        self._place += 1
        if self._peek() in ("?", "+"):
            raise _too_much()
        if sign == "?":
            return [(), *choices]
        if choices == [(ONE,)] and sign in ("*", "+"):
            return [(ANY,) if sign == "*" else (ONE, ANY)]
        raise _too_much()


def _matches(text: Expression, rows: list[Alternative]) -> Expression:
    conditions: list[Expression] = []
    for row in dict.fromkeys(rows):
        found = _condition(text, tuple(each for each in row if each not in (_BEGIN, _END)))
        if found not in conditions:
            conditions.append(found)
    return conditions[0] if len(conditions) == 1 else build_call("or", tuple(conditions))


def _condition(text: Expression, row: Alternative) -> Expression:
    """By LIKE, unless letters of the pattern are % or _, which LIKE cannot look for."""
    inner = row
    starts, ends = inner[:1] == (ANY,), inner[-1:] == (ANY,)
    letters = inner[int(starts) : len(inner) - int(ends) if len(inner) > 1 else len(inner)]
    if all(isinstance(each, str) for each in letters) and set(letters) & {"%", "_"}:
        part = build_literal("".join(map(str, letters)))
        if starts and ends:
            return call("contains", text, part)
        name = "ends_with" if starts else "starts_with" if ends else "="
        return call(name, text, part)
    if set(letters) & {"%", "_"}:
        raise _too_much()
    pattern = "".join("%" if each == ANY else "_" if each == ONE else str(each) for each in row)
    while "%%" in pattern:
        pattern = pattern.replace("%%", "%")
    return call("like", text, pattern)


def _too_much() -> QueryRefused:
    return QueryRefused(
        "This pattern could take a database very long, or has very many alternatives.",
        remedy="Write LIKE '%word%', several of them joined with OR or AND, or a list: x IN ('a', 'b')."
        " Of regular expressions, letters, ., .*, ^, $, | and short [abc] can be asked.",
    )
