"""What a database is asked to run, and what its result means."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from discreet.bounds.bound import Bounded
from discreet.errors import QueryRefused
from discreet.model.expression import Parameter

MOST_WRITTEN_SQL = 600_000
"""The most characters of all statements of a question, constants aside. DuckDB reads and plans 100,000 of
them in half a second of processor time, whatever they say, and cannot be interrupted meanwhile."""
_CONSTANT = re.compile(r"'(?:[^']|'')*'")


class Planned(Protocol):
    """Whatever knows what is to be summed."""

    @property
    def bounded(self) -> Bounded: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One pass over the data. Its result has columns k0, k1, … for keys, and s0, s1, … or leaf and s0, …"""

    sql: str
    grouping_set: int
    keys: tuple[int, ...]
    """Which keys of the question the columns k0, k1, … are, by their positions."""
    coded: frozenset[int] = frozenset()
    """Of which keys these columns have not the values, but the places of these among the public ones."""
    parts: tuple[int, ...]
    """Which parts of the plan the columns s0, s1, … are."""
    by_leaf: bool
    """Whether there is a row for each key and bin, as for a histogram."""
    left_out: int | None = None
    """The part that is `LeftOut` and is counted in the same pass: in rows that have a bin, as column bin."""
    slices: tuple[str, ...] = ()
    """Statements for a part of the people each, to be run at once: their results add up to those of `sql`.
    Empty where the database gains nothing by it."""
    leaf: int = 0
    """Which of the plans of a question it is of, if there are several."""
    parameters: tuple[Parameter, ...] = ()
    """What $1, $2, … stand for, in all statements of the question; none where constants are quoted."""

    spelled_out: int = 0
    """How many characters it has if a database writes out the names of subqueries (`sql.spelled_out`)."""

    @property
    def runs(self) -> tuple[str, ...]:
        """What is run."""
        return self.slices or (self.sql,)


def check_written_size(sqls: Iterable[str], written: int = 0) -> int:
    """Refuse what a database would plan for too long, before anything is charged.

    How much is written, after `written` characters.
    """
    written += sum(len(_CONSTANT.sub("", sql)) for sql in sqls)
    if written > MOST_WRITTEN_SQL:
        raise QueryRefused(
            f"The question takes {written:,} characters of SQL or more once it is written out, and a database"
            f" plans {MOST_WRITTEN_SQL:,} in a few seconds.",
            remedy="Ask for fewer quantiles, different values or grouping sets; join less; group by what is"
            " simpler; or ask in several questions.",
        )
    return written
