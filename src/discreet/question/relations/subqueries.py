"""Queries within queries: those of WITH, and what every one of them is checked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryRefused

MOST_SOURCES = 32


@dataclass(frozen=True, slots=True)
class Cte:
    """A query of WITH, together with those before it, which it may name."""

    query: exp.Expression
    before: "Mapping[str, Cte]" = field(repr=False)  # each would double the length of a repr


def with_queries(select: exp.Expression, ctes: Mapping[str, Cte]) -> Mapping[str, Cte]:
    """What can be named in a query: the queries of its own WITH too."""
    clause = select.args.get("with_")
    if clause is None:
        return ctes
    if clause.args.get("recursive"):
        raise QueryRefused("WITH RECURSIVE cannot be asked.", remedy="Write plain WITH.")
    if len(ctes) + len(clause.expressions) > MOST_SOURCES:
        raise QueryRefused(f"WITH has more than {MOST_SOURCES} queries.", remedy="Ask a simpler one.")
    found = dict(ctes)
    for cte in clause.expressions:
        if cte.args["alias"].args.get("columns"):
            raise QueryRefused("WITH names its columns inside.", remedy="Write WITH t AS (SELECT a AS b …).")
        found[cte.alias.casefold()] = Cte(cte.this, dict(found))
    return found


def check_alias(node: exp.Expression) -> None:
    """Refuse a name of a table that names its columns too."""
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise QueryRefused(
            "A table's name names no columns.", remedy="Write FROM (SELECT a AS b …) AS t, and t.b."
        )


def unwrapped(node: exp.Expression) -> exp.Expression:
    """A query without the brackets around it."""
    return node.this if isinstance(node, exp.Subquery) and not node.alias else node


def plain_from() -> QueryRefused:
    """What else stands after FROM."""
    return QueryRefused(
        "A question is about tables of the policy, or subqueries of them.",
        remedy="Write SELECT … FROM TABLE.",
    )
