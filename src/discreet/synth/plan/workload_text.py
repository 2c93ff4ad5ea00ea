"""A workload in words: counting questions in SQL, or kinds of questions about all columns.

SELECT count(*) FROM visits WHERE age > 60 AND ward = 'north'
marginals 2       every count by two columns, a table at a time
prefixes 1        how many are at or below each value, on every column
ranges 1          how many are between any two values, on every column
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np

from discreet.errors import QueryRefused
from discreet.model.expression import Expression, size_of
from discreet.model.identity import Facts
from discreet.model.query import Filter, Query, Relation, Scan
from discreet.question.counting import plain_count
from discreet.synth.core.domain import MOST_COUNTED_CELLS, Domain
from discreet.synth.mwem.workload import Workload
from discreet.synth.plan.attributes import Attribute
from discreet.synth.plan.masks import cells_where, readable

_KINDS: dict[str, Callable[[Domain, int], Workload]] = {
    "marginals": Workload.marginals,
    "prefixes": Workload.prefixes,
    "ranges": Workload.ranges,
}
_MOST_COMPUTED = 2**29
"""The most operations on cells, of all questions together: some 3 seconds, which nobody pays for."""


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """All questions of a kind, about so many columns at a time."""

    name: str
    order: int


@dataclass(frozen=True, slots=True)
class CountedCells:
    """One question: the columns that it is about, and which of their cells it counts, a bit for each."""

    attributes: tuple[int, ...]
    bits: bytes


Wanted: TypeAlias = QuestionKind | CountedCells


def wanted_of(
    texts: Sequence[str],
    attributes: Sequence[Attribute],
    source: Relation,
    resolve: Callable[[str], Query],
) -> tuple[Wanted, ...]:
    """What each text asks for. Reads no data."""
    table = _table(source)
    found: list[Wanted] = []
    computed = 0
    for text in texts:
        kind = _kind(text, len(attributes))
        if kind is None:
            condition, chosen, cells = _about(text, resolve(text), attributes, table)
            computed += cells * (1 + size_of(condition).calls)
            if computed > _MOST_COMPUTED:
                raise QueryRefused(
                    "The questions for this synthetic table compute too much together.",
                    remedy="Give fewer or simpler ones, or ones about fewer columns.",
                )
            bits = np.packbits(cells_where(condition, attributes, chosen)).tobytes()
            found.append(CountedCells(chosen, bits))
        else:
            found.append(kind)
    return tuple(found)


def workload_of(wanted: Sequence[Wanted], domain: Domain) -> Workload:
    """All of it; questions about the same columns together."""
    parts = [_KINDS[each.name](domain, each.order) for each in wanted if isinstance(each, QuestionKind)]
    questions = sorted(
        (each for each in wanted if isinstance(each, CountedCells)), key=lambda each: each.attributes
    )
    for chosen, same in groupby(questions, key=lambda each: each.attributes):
        cells = int(np.prod([domain.sizes[i] for i in chosen], dtype=np.int64))
        bits = np.array([np.frombuffer(each.bits, dtype=np.uint8) for each in same])
        parts.append(Workload.masks(domain, np.unpackbits(bits, axis=1, count=cells).astype(bool), chosen))
    families = tuple(family for part in parts for family in part.families)
    return Workload(domain=domain, families=families)


def wanted_facts(wanted: Wanted) -> Facts:
    """What identifies a question of a workload."""
    if isinstance(wanted, QuestionKind):
        return [wanted.name, wanted.order]
    return [list(wanted.attributes), wanted.bits.hex()]


def _kind(text: str, columns: int) -> QuestionKind | None:
    name, _, order = text.strip().partition(" ")
    if name not in _KINDS:
        return None
    if order.strip() not in map(str, range(1, columns + 1)):
        raise QueryRefused(
            f"“{text.strip()[:60]}” does not say about how many columns at a time.",
            remedy=f"Write {name} 1, up to {name} {columns}.",
        )
    return QuestionKind(name, int(order))


def _about(
    text: str, query: Query, attributes: Sequence[Attribute], table: str
) -> tuple[Expression, tuple[int, ...], int]:
    """The condition of a counting question, the attributes that it reads, and how many cells they have."""
    count = plain_count(query)
    if count is None or count.table != table:
        raise QueryRefused(
            f"“{text.strip()[:60]}” is not a counting question about “{table}”.",
            remedy="Ask for count(*) of that table, or write one of: " + ", ".join(_KINDS) + ".",
        )
    chosen = readable(count.condition, attributes)
    if chosen is None:
        raise QueryRefused(
            f"“{text.strip()[:60]}” reads more than the columns of the synthetic table.",
            remedy="Add the columns that it reads, without bins; or leave it out.",
        )
    cells = math.prod(attributes[i].size for i in chosen)
    if cells > MOST_COUNTED_CELLS:
        raise QueryRefused(
            f"“{text.strip()[:60]}” is about too many columns at once.", remedy="Ask about fewer."
        )
    return count.condition, chosen, cells


def _table(source: Relation) -> str:
    while isinstance(source, Filter):
        source = source.source
    if not isinstance(source, Scan):
        raise QueryRefused(
            "Questions can be named for a synthetic table of one table only.",
            remedy="Leave the questions out, or take the columns of one table, without a join.",
        )
    return source.table.name
