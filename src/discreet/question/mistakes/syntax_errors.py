"""Where a question is no SQL, shown in its own line, and what was probably meant.

A guess is a small change beside the place at which the parser stopped: another keyword, a comma, a bracket.
It is offered only if the question can be read with it. So what is offered works.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from discreet.errors import QueryRefused

KEYWORDS = (
    *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "JOIN", "LEFT", "ON"),
    *("USING", "WITH", "AS", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "CASE", "WHEN"),
    *("THEN", "ELSE", "END", "UNION", "ALL", "FILTER", "ASC", "DESC", "ROLLUP", "CUBE", "TRUE", "FALSE"),
)
_LONGEST, _MOST_TRIES = 4_000, 24
"""Longer questions are not tried again: each try reads all of it."""
_WIDEST = 100
"""Characters of a line that are shown."""
_SWAPPED = {"=>": ">=", "=<": "<=", "!<": ">=", "!>": "<="}
_LONGER = {"DESCENDING": "DESC", "ASCENDING": "ASC"}
_BACK = 3
"""How many tokens before the place a mistake is looked for."""


class Word(NamedTuple):
    """A token: its text, and where it begins and ends."""

    text: str
    start: int
    end: int
    """Behind its last character."""


class Repair(NamedTuple):
    """The question as it was probably meant, what was changed, and where."""

    text: str
    remedy: str
    at: Word


Reached = Callable[[str], int | None]
"""The index of the token at which a text cannot be read any further; None if all of it is one SELECT."""


def syntax_refusal(text: str, words: Sequence[Word], place: int, reached: Reached) -> QueryRefused:
    """The refusal of a text that cannot be read at the token with this index, or at its end."""
    if _begins_another(text, words, place, reached):
        word = words[place]
        return QueryRefused(
            f"Another question begins at “{word.text}”, {position(text, word.start)}",
            remedy="In a report, write a semicolon before it. Else ask it by itself.",
        )
    guess = _verified(text, words, place, reached)
    if guess is not None:
        word, remedy = guess.at, guess.remedy
    elif place < len(words):
        word, remedy = words[place], _between(words, place)
    else:
        end = len(text.rstrip())
        last = f" after “{words[-1].text[:40]}”" if words else ""
        return QueryRefused(
            f"The question ends too early, {position(text, end)}", remedy=f"Something is missing{last}."
        )
    return QueryRefused(
        f"This is not SQL that discreet can read at “{word.text[:40]}”, {position(text, word.start)}",
        remedy=remedy,
    )


def _begins_another(text: str, words: Sequence[Word], place: int, reached: Reached) -> bool:
    """Whether what is before this token is a whole question."""
    if not 0 < place < len(words) or words[place].text.upper() not in ("SELECT", "WITH"):
        return False
    before = words[:place]
    if sum(word.text == "(" for word in before) != sum(word.text == ")" for word in before):
        return False
    return len(text) > _LONGEST or reached(text[: words[place].start]) is None


def unclosed_refusal(text: str) -> QueryRefused:
    """The refusal of a text in which a quotation mark, or a comment, is not closed."""
    at = _unclosed(text)
    if at is None:
        return QueryRefused(
            "This is not SQL that discreet can read.", remedy="Check quotes: texts are written 'so'."
        )
    mark = text[at]
    remedy = {
        "'": "Close the text with a single quote; write a quote inside of it twice: 'o''clock'.",
        '"': "Close the name with a double quote. Texts have single quotes: 'north'.",
    }.get(mark, "Close the comment with */.")
    return QueryRefused(f"What begins here is not closed, {position(text, at)}", remedy=remedy)


def position(text: str, at: int) -> str:
    """Line and column in words, then the line itself with a mark below the place."""
    before = text[:at]
    number, start = before.count("\n") + 1, before.rfind("\n") + 1
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    column = at - start
    first = max(0, column - _WIDEST // 2) if len(line) > _WIDEST else 0
    head, tail = (_plain(part) for part in (line[first:column], line[column : first + _WIDEST]))
    dots = "… " if first else ""
    shown = f"{dots}{head}{tail}"
    return f"line {number}, column {column + 1}:\n  {shown}\n  {' ' * (len(dots) + len(head))}^"


def nearest_keyword(word: str) -> str | None:
    """The keyword that a word was probably meant to be."""
    found = difflib.get_close_matches(word.upper()[:20], KEYWORDS, n=1, cutoff=0.7)
    return found[0] if found and found[0] != word.upper() else None


def _plain(text: str) -> str:
    """Each character one column wide, as errors show it."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _between(words: Sequence[Word], place: int) -> str:
    """What to check where no guess is right."""
    if place and not words[place - 1].text[-1].isalnum() and words[place - 1].text[-1] not in ")'\"":
        return f"Something is missing between “{words[place - 1].text[:40]}” and “{words[place].text[:40]}”."
    return "Check commas, quotes and parentheses there."


def _verified(text: str, words: Sequence[Word], place: int, reached: Reached) -> Repair | None:
    """The first change after which the question can be read; else the keyword that leads furthest."""
    if len(text) > _LONGEST:
        return None
    best, furthest = None, place
    for tries, guess in enumerate(_guesses(text, words, place)):
        if tries >= _MOST_TRIES:
            break
        found = reached(guess.text)
        if found is None:
            return guess
        if found > furthest and guess.remedy.startswith("Did you mean"):
            best, furthest = guess, found
    return best


def _guesses(text: str, words: Sequence[Word], place: int) -> Iterator[Repair]:
    near = [words[i] for i in range(min(place, len(words) - 1), max(-1, place - _BACK - 1), -1)]
    for word in near:
        if word.text in _SWAPPED:
            right = _SWAPPED[word.text]
            yield Repair(_replaced(text, word, right), f"Write {right} instead of {word.text}.", word)
        for keyword in _meant(word.text):
            remedy = f"Did you mean {keyword} instead of “{word.text}”?"
            yield Repair(_replaced(text, word, keyword), remedy, word)
    yield from _elsewhere(text, words, near)
    yield from _missing(text, near)
    if words:
        yield Repair(f"SELECT {text}", "A question begins with SELECT.", words[0])


def _meant(word: str) -> list[str]:
    """The keywords that a word may have been meant to be."""
    if word.upper() in KEYWORDS or not word.isalpha():
        return []
    if word.upper() in _LONGER:
        return [_LONGER[word.upper()]]
    return difflib.get_close_matches(word.upper()[:20], KEYWORDS, n=2, cutoff=0.6)


def _elsewhere(text: str, words: Sequence[Word], near: Sequence[Word]) -> Iterator[Repair]:
    """What other dialects write otherwise."""
    for word, after in pairwise(words[:20]):
        if word.text.upper() == "TOP" and after.text.isdigit():
            rest = f"{text[: word.start]}{text[after.end :]} LIMIT {after.text}"
            yield Repair(rest, f"Leave TOP out, and write LIMIT {after.text} at the end.", word)
    for word in near:
        if word.text.upper() in ("GROUP", "ORDER"):
            yield Repair(_after(text, word, " BY"), f"Write {word.text} BY.", word)
        if word.text.upper() == "AS":
            yield Repair(_replaced(text, word, " "), "A name is missing after AS; or leave AS out.", word)


def _missing(text: str, near: Sequence[Word]) -> Iterator[Repair]:
    """What is missing, or too much."""
    cases, ends = (len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) for word in ("case", "end"))
    for word in near:
        if word.text in (",", ")", "("):
            yield Repair(_replaced(text, word, " "), f"Leave the “{word.text}” out.", word)
    for word in near:
        name = word.text[:40]
        if cases > ends:
            yield Repair(_after(text, word, " END"), f"CASE ends with END: write it after “{name}”.", word)
        if word.text[0].isalpha() and word.text.upper() not in KEYWORDS:
            yield Repair(_before(text, word, ", "), f"A comma is missing before “{name}”.", word)
        yield Repair(_before(text, word, ") "), f"A “)” is missing before “{name}”.", word)
    if near:
        ended = f"{text.rstrip().removesuffix(';')})"
        yield Repair(ended, "A “)” is missing at the end.", near[0])


def _replaced(text: str, word: Word, by: str) -> str:
    return f"{text[: word.start]}{by}{text[word.end :]}"


def _before(text: str, word: Word, added: str) -> str:
    return f"{text[: word.start]}{added}{text[word.start :]}"


def _after(text: str, word: Word, added: str) -> str:
    return f"{text[: word.end]}{added}{text[word.end :]}"


def _unclosed(text: str) -> int | None:
    """Where a quotation mark or a comment begins that is not closed; None if all are."""
    at = 0
    while at < len(text):
        ends = {"'": "'", '"': '"', "--": "\n", "/*": "*/"}
        begins = next((mark for mark in ends if text.startswith(mark, at)), None)
        if begins is None:
            at += 1
            continue
        end = text.find(ends[begins], at + len(begins))
        if end < 0:
            return None if begins == "--" else at
        at = end + len(ends[begins])
    return None
