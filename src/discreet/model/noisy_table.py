"""What is computed from the noisy answers of private questions: tables of released numbers, and so free.

AfterNoise
├── leaves            private questions: the only ones that read people
└── table: NoisyTable      LeafAnswer | SelectFrom | Grouped | Joined | Stacked

A table has columns, which are fields with names of our own that no other column of the question has. Nothing
below a `LeafAnswer` can be reached from above it: what is computed sees released numbers alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from discreet.model.expression import Expression, Field
from discreet.model.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafAnswer:
    """The answer of a private question, with a row for each of its groups."""

    number: int
    """Of the table: each of a question has another. So has each use of the same answer."""
    leaf: int
    keys: tuple[Field, ...]
    measures: tuple[tuple[Field, str], ...]
    """What the leaf calls each of them."""
    unique: bool
    """Whether no two groups have the same keys."""
    most_rows: int

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*self.keys, *(field for field, _ in self.measures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    expression: Expression
    descending: bool
    nulls_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFrame:
    """ROWS or RANGE BETWEEN start AND end: rows before the current one are negative, None is all of them."""

    rows: bool
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyWindow:
    """A function over the rows around each row."""

    field: Field
    function: str
    arguments: tuple[Expression, ...]
    condition: Expression | None
    """FILTER (WHERE …)."""
    partition: tuple[Expression, ...]
    order: tuple[Sorting, ...]
    frame: WindowFrame | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyAggregate:
    """A function over the rows of each group of a table."""

    field: Field
    function: str
    arguments: tuple[Expression, ...]
    condition: Expression | None
    distinct: bool


NamedColumn: TypeAlias = tuple[Field, Expression]
"""A column of a table, and what it is in those of its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectFrom:
    """Columns that are computed from each row, and from windows around it."""

    number: int
    source: "NoisyTable"
    where: Expression | None
    windows: tuple[NoisyWindow, ...]
    qualify: Expression | None
    named: tuple[NamedColumn, ...]
    distinct: bool
    order: tuple[Sorting, ...]
    limit: int | None
    offset: int
    most_rows: int

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(field for field, _ in self.named)

    @property
    def cuts(self) -> bool:
        """Whether ORDER BY decides which rows are left."""
        return self.limit is not None or self.offset > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """One row for each group of rows; a single one if there are no keys."""

    number: int
    source: "NoisyTable"
    where: Expression | None
    keys: tuple[NamedColumn, ...]
    aggregates: tuple[NoisyAggregate, ...]
    most_rows: int

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*(field for field, _ in self.keys), *(each.field for each in self.aggregates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Rows of two tables side by side."""

    number: int
    left: "NoisyTable"
    right: "NoisyTable"
    kind: str
    """inner, left, right, full."""
    on: Expression | None
    """None: all pairs of rows."""
    most_rows: int

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*self.left.columns, *self.right.columns)

    def rows(self, left: int, right: int) -> int:
        """The most rows, if the sides have so many: fewer than all pairs where one is unique in what it is
        joined on.
        """
        sides = self.left.most_rows, self.right.most_rows
        if self.most_rows <= max(sides):
            return max(left, right)
        return left + right if self.most_rows <= sum(sides) else left * right + left + right


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked:
    """UNION ALL: the rows of several tables, column by column."""

    number: int
    branches: "tuple[NoisyTable, ...]"
    columns: tuple[Field, ...]
    converted: tuple[tuple[Expression, ...], ...]
    """For each branch, what it has for each column."""
    most_rows: int


NoisyTable: TypeAlias = LeafAnswer | SelectFrom | Grouped | Joined | Stacked


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterNoise:
    """A question whose answer is computed from those of private questions."""

    leaves: tuple[Query, ...]
    table: NoisyTable
    names: tuple[str, ...]
    """What the answer calls the columns of the table."""


def sources_of(table: NoisyTable) -> tuple[NoisyTable, ...]:
    match table:
        case LeafAnswer():
            return ()
        case SelectFrom() | Grouped():
            return (table.source,)
        case Joined():
            return table.left, table.right
        case Stacked():
            return table.branches


def tables_within(table: NoisyTable) -> Iterator[NoisyTable]:
    """A table and those it is made of, those first. What is used twice comes twice."""
    for source in sources_of(table):
        yield from tables_within(source)
    yield table


def expressions_in(table: NoisyTable) -> Iterator[Expression]:
    """What one table computes itself."""
    match table:
        case SelectFrom():
            yield from (each for each in (table.where, table.qualify) if each is not None)
            yield from (expression for _, expression in table.named)
            yield from (each.expression for each in table.order)
            for window in table.windows:
                yield from (*window.arguments, *window.partition)
                yield from (each.expression for each in window.order)
                yield from (each for each in (window.condition,) if each is not None)
        case Grouped():
            yield from (each for each in (table.where,) if each is not None)
            yield from (expression for _, expression in table.keys)
            for aggregate in table.aggregates:
                yield from aggregate.arguments
                yield from (each for each in (aggregate.condition,) if each is not None)
        case Joined(on=on) if on is not None:
            yield on
        case Stacked():
            for columns in table.converted:
                yield from columns
