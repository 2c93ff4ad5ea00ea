"""SELECT of plain rows: what a synthetic table or a model is made from. No row of it is ever shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.bounds.relation_tree import expressions_of
from discreet.bounds.work_limits import check_before_joins, check_public_rows, check_steps
from discreet.errors import QueryRefused
from discreet.functions.registry import check_size
from discreet.model.expression import Expression
from discreet.model.policy import Dataset, KeyValue
from discreet.model.query import Relation
from discreet.question.expressions.grouping import public_values
from discreet.question.expressions.scope import PublicKeys, ReadFanOut, Scope, as_declared, row_expression
from discreet.question.mistakes.instead import plain_sql
from discreet.question.relations.from_clause import Relations

MOST_COLUMNS = 200
_OF_GROUPS = ("group", "having", "order", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumn:
    """A column, or what is computed from columns of one row."""

    name: str
    expression: Expression
    values: tuple[KeyValue | None, ...] | None
    """All values, if they are public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery:
    """Rows that each belong to one person."""

    source: Relation
    columns: tuple[RowColumn, ...]


def resolve_rows(
    select: exp.Select, dataset: Dataset, public_keys: PublicKeys, fan_out: ReadFanOut = as_declared
) -> RowQuery:
    """The rows of SELECT columns FROM … WHERE …; `public_keys` lists the values of public tables."""
    for clause in _OF_GROUPS:
        if select.args.get(clause):
            raise QueryRefused(
                f"{clause.upper()} has no place where rows are learnt from.",
                remedy="Write SELECT columns FROM table WHERE …",
            )
    source, scope = Relations(dataset, public_keys, fan_out).read(select, {})
    if len(select.expressions) > MOST_COLUMNS:
        raise QueryRefused(f"At most {MOST_COLUMNS} columns can be learnt from.", remedy="Choose fewer.")
    columns = tuple(_column(item, select, scope) for item in select.expressions)
    names = [column.name.casefold() for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise QueryRefused(
                f"Two columns are called “{name}”.", remedy=f"Name one of them: … AS {name}_2."
            )
    check_size(*expressions_of(source), *(column.expression for column in columns))
    check_steps(source, [column.expression for column in columns])
    check_before_joins(source, [column.expression for column in columns])
    check_public_rows(source)
    return RowQuery(source=source, columns=columns)


def _column(item: exp.Expression, select: exp.Select, scope: Scope) -> RowColumn:
    if isinstance(item, exp.Star):
        raise QueryRefused("* is more than was meant to be learnt.", remedy="Name the columns, one by one.")
    inner = item.this if isinstance(item, exp.Alias) else item
    name = item.alias_or_name or plain_sql(inner).lower()
    expression = row_expression(inner, scope)
    if scope.is_person(expression):
        raise QueryRefused(
            f"“{name}” says who a person is, which is not to be learnt.", remedy="Leave it out."
        )
    values = public_values(expression, select, scope)
    if values is None:
        expression = scope.clamped(expression)
        values = public_values(expression, select, scope)
    return RowColumn(name=name, expression=expression, values=values)


def select_of(columns: Sequence[str], table: str, where: str | None = None) -> str:
    """The rows of a table, as SQL."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    quoted = '"' + table.replace('"', '""') + '"'
    return f"SELECT {names} FROM {quoted}" + (f" WHERE {where}" if where else "")  # noqa: S608  parsed again
