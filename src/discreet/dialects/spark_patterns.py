"""LIKE for Spark, as conditions that each look at a text once. Spark's own may take seconds for one row.

What stands before the first % begins the text, what stands after the last one ends it. What stands between
is looked for from left to right, each part where the one before it ends; the first place where it is found is
the best. A part with _ must be the only one between: a regular expression of fixed length looks for it.
"""

from collections.abc import Callable, Iterator
from itertools import groupby

from discreet.errors import QueryRefused

_NOWHERE = 2**30 - 1
"""A place beyond all texts, which -1 becomes when its other bits are dropped."""


def like_conditions(text: str, pattern: str, quoted: Callable[[str], str]) -> list[str]:
    """All of these are true if the text matches, and NULL if it is NULL. Places count from 1."""
    first, *others = pattern.split("%")
    if not others:
        return [f"length({text}) = {len(first)}", *_runs(text, first, 1, quoted)]
    *between, last = others
    between = [part for part in between if part]
    shortest = len(first) + len(last) + sum(map(len, between))
    ends = [*_runs(text, first, 1, quoted), *_runs(text, last, -len(last), quoted)]
    conditions = [f"length({text}) >= {shortest}", *ends]
    if not any("_" in part for part in between):
        return [*conditions, *_in_turn(text, between, len(first), len(last), quoted)]
    if len(between) > 1:
        raise QueryRefused(
            "On Spark a pattern with _ between two of % has no third.",
            remedy="Write several conditions: x LIKE '%a_b%' AND x LIKE '%c%'.",
        )
    inner = f"substring({text}, {len(first) + 1}, length({text}) - {len(first) + len(last)})"
    return [*conditions, f"{inner} RLIKE {quoted(_expression(between[0]))}"]


def _runs(text: str, part: str, place: int, quoted: Callable[[str], str]) -> Iterator[str]:
    """The letters of a part that are not _, at their places; a negative place counts from the end."""
    for wild, letters in groupby(part, key="_".__eq__):
        run = "".join(letters)
        if not wild:
            yield f"substring({text}, {place}, {len(run)}) = {quoted(run)}"
        place += len(run)


def _in_turn(
    text: str, parts: list[str], before: int, after: int, quoted: Callable[[str], str]
) -> Iterator[str]:
    place = str(before + 1)
    for part in parts:
        place = f"(((locate({quoted(part)}, {text}, {place}) - 1) & {_NOWHERE}) + {len(part) + 1})"
    if parts:
        yield f"{place} <= length({text}) - {after} + 1"


def _expression(part: str) -> str:
    return "(?s)" + "".join("." if each == "_" else f"\\x{{{ord(each):x}}}" for each in part)
