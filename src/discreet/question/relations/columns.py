"""Columns: fields of a table, and what a subquery computes from each row."""

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.model.expression import DayRange, Expression, Field, Range
from discreet.model.policy import Column, Dataset, PrivateTable, Table
from discreet.question.expressions.scope import Scope, row_expression
from discreet.question.mistakes.instead import plain_sql


def owner_keys(table: PrivateTable, alias: str, dataset: Dataset) -> dict[str, tuple[str, str]]:
    """The fields of a table by which it says whose the rows of others are, or they whose its own are."""
    others = (other.through for other in dataset.tables.values() if isinstance(other, PrivateTable))
    told = {each.other for each in others if each is not None and each.table == table.name}
    found = {f"{alias}.{key}": (table.name, key) for key in told}
    if table.through is not None:
        found[f"{alias}.{table.through.key}"] = (table.through.table, table.through.other)
    return found


def field_of(alias: str, column: Column, table: Table) -> Field:
    """A column, as a field of a relation."""
    span = None if column.bounds is None else Range(low=column.bounds.low, high=column.bounds.high)
    name = f"{alias}.{column.name}"
    return Field(
        name=name,
        type=column.type,
        range=span,
        unit=column.unit,
        format=column.format,
        per_person=isinstance(table, PrivateTable) and column.name in table.per_person,
        days=None if column.days is None else DayRange(low=column.days.low, high=column.days.high),
    )


def projected(select: exp.Select, scope: Scope) -> dict[str, Expression]:
    """The columns of a subquery that computes from each row."""
    columns: dict[str, Expression] = {}
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if item.args.get("except_") or item.args.get("replace") or item.args.get("rename"):
                raise QueryRefused("* stands for all columns.", remedy="Name the columns, one by one.")
            wanted = item.table if isinstance(item, exp.Column) else ""
            found = [s for s in scope.sources if not wanted or s.name.casefold() == wanted.casefold()]
            for source in found:
                columns |= {name: column for name, column in source.columns.items() if name not in columns}
            continue
        inner = item.this if isinstance(item, exp.Alias) else item
        columns[item.alias_or_name or plain_sql(inner).lower()] = row_expression(inner, scope)
    return columns


def refuse_windows(select: exp.Select) -> None:
    """Of a subquery over rows."""
    if any(item.find(exp.Window) for item in select.expressions):
        raise QueryRefused(
            "A window over rows looks at other rows.",
            remedy="To compare rows of a person, JOIN on the person: FROM t a JOIN t b ON"
            " a.PERSON = b.PERSON AND b.day > a.day. The first is min(day), with GROUP BY PERSON.",
        )
