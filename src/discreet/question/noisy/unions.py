"""UNION ALL and UNION of noisy answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Field
from discreet.model.noisy_table import NoisyTable, SelectFrom, Sorting, Stacked
from discreet.question.expressions.convert import convert
from discreet.question.expressions.scope import Scope, position_of
from discreet.question.noisy.joins import checked_rows
from discreet.question.resolve import limit_of, offset_of

_CLAUSES = {"this", "expression", "distinct", "with_", "order", "limit", "offset"}


class NamedTable(NamedTuple):
    """A noisy table, and what a question calls its columns."""

    table: NoisyTable
    names: tuple[str, ...]


def stacked_tables(node: exp.Union, left: NamedTable, right: NamedTable, number: int) -> Stacked:
    """The rows of both sides. Columns are matched by position, and have one type."""
    if {name for name, value in node.args.items() if value} - _CLAUSES:
        raise QueryRefused("This UNION cannot be asked.", remedy="Write UNION ALL.")
    if len(left.names) != len(right.names):
        raise QueryRefused(
            "The sides of a UNION have different numbers of columns.",
            remedy="Give them the same ones, in the same order.",
        )
    pairs = [
        build_call("coalesce", pair).arguments
        for pair in zip(left.table.columns, right.table.columns, strict=True)
    ]
    return Stacked(
        number=number,
        branches=(left.table, right.table),
        columns=tuple(Field(name=f"t{number}_c{i}", type=pair[0].type) for i, pair in enumerate(pairs)),
        converted=tuple(zip(*pairs, strict=True)),
        most_rows=checked_rows(left.table.most_rows + right.table.most_rows),
    )


def sorted_union(
    node: exp.Union, table: Stacked, names: Sequence[str], number: Callable[[], int]
) -> NoisyTable:
    """With its ORDER BY and LIMIT; UNION without ALL keeps each row once."""
    limit, offset, order = limit_of(node), offset_of(node), node.args.get("order")
    distinct = bool(node.args.get("distinct"))
    if not distinct and order is None and limit is None and not offset:
        return table
    made = number()
    return SelectFrom(
        number=made,
        source=table,
        where=None,
        windows=(),
        qualify=None,
        named=tuple(
            (Field(name=f"t{made}_c{i}", type=each.type), each) for i, each in enumerate(table.columns)
        ),
        distinct=distinct,
        order=tuple(_sorting(item, table, names) for item in (order.expressions if order else ())),
        limit=limit,
        offset=offset,
        most_rows=table.most_rows if limit is None else min(limit, table.most_rows),
    )


def _sorting(item: exp.Expression, table: Stacked, names: Sequence[str]) -> Sorting:
    scope = Scope().named("union", dict(zip(names, table.columns, strict=True)))

    def column(node: exp.Expression) -> Expression | None:
        return scope.expression(node) if isinstance(node, exp.Column) else None

    position = position_of(item.this)
    by = table.columns[position - 1] if 1 <= position <= len(names) else convert(item.this, column)
    return Sorting(
        expression=by,
        descending=bool(item.args.get("desc")),
        nulls_first=bool(item.args.get("nulls_first")),
    )
