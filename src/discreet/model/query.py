"""What was asked: a relation whose rows belong to people, and what is to be released of it.

Query
├── source: Relation      Scan | Filter, rows that each belong to one person
├── keys                  what rows are grouped by, and who knows the values
├── measures              weighted sums over each group: the only things that meet noise
└── outputs, having, order, limit     computed from noisy measures alone: free
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from discreet.model.expression import Expression
from discreet.model.policy import KeyValue, PrivateTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """All rows of a private table."""

    table: PrivateTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The rows on which the predicate is true."""

    source: "Relation"
    predicate: Expression


Relation: TypeAlias = Scan | Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """What rows are grouped by."""

    name: str
    expression: Expression
    values: tuple[KeyValue | None, ...] | None
    """All values, if they are public: each has a row in the answer, empty or not. None: private keys."""


class Aggregate(Enum):
    """What is released of a group."""

    COUNT = "count"
    """Rows on which the argument is not NULL; without an argument, all rows."""
    PEOPLE = "people"
    """People with at least one row."""
    SUM = "sum"
    AVERAGE = "avg"
    VARIANCE = "variance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One aggregate over the rows of each group."""

    name: str
    aggregate: Aggregate
    argument: Expression | None
    condition: Expression | None
    """FILTER (WHERE …): rows on which it is not true do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the answer: a key, a measure, or arithmetic over measures and constants."""

    name: str
    expression: Expression
    """Its fields are the names of keys and measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question."""

    source: Relation
    keys: tuple[GroupKey, ...]
    measures: tuple[Measure, ...]
    outputs: tuple[Output, ...]
    having: Expression | None
    order: tuple[Order, ...]
    limit: int | None

    @property
    def table(self) -> PrivateTable:
        relation = self.source
        while isinstance(relation, Filter):
            relation = relation.source
        return relation.table
