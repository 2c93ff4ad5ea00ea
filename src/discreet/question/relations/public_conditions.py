"""Conditions on rows by a public table: x IN (SELECT y FROM public WHERE …), and EXISTS.

The values of a public table are known, so rows may be chosen by them. Each row is looked up in the table; the
condition is true where it has a row there, and that meets the conditions of the subquery.
"""

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.model.expression import Expression
from discreet.model.query import Pair
from discreet.question.expressions.scope import Scope, predicate
from discreet.question.relations.exists import refuse_aggregates
from discreet.question.relations.join_conditions import equated


def semi_join(
    node: exp.In | exp.Exists,
    select: exp.Select,
    outer: Scope,
    inner: Scope,
    conditions: list[exp.Expression],
) -> tuple[list[Pair], list[Expression]]:
    """What has to be equal, of the row and of the public table, and what else the latter has to meet."""
    pairs: list[Pair] = []
    rest: list[Expression] = []
    if isinstance(node, exp.In):
        if len(select.expressions) != 1:
            raise QueryRefused(
                "The subquery after IN selects one column.", remedy="Write x IN (SELECT y FROM …)."
            )
        (item,) = select.expressions
        chosen = item.this if isinstance(item, exp.Alias) else item
        pairs.append(equated(outer.row_expression(node.this), inner.row_expression(chosen)))
    else:
        refuse_aggregates(select)
    for condition in conditions:
        pair = _pair(condition, outer, inner)
        if pair is None:
            rest.append(predicate(condition, inner, "WHERE"))
        else:
            pairs.append(pair)
    if not pairs:
        raise QueryRefused(
            "EXISTS over a public table is the same for all rows.",
            remedy="Say what of a row is looked up: WHERE public.x = t.x.",
        )
    return pairs, rest


def _pair(condition: exp.Expression, outer: Scope, inner: Scope) -> Pair | None:
    """Something of the row outside, and something of the public table that equals it."""
    if not isinstance(condition, exp.EQ):
        return None
    for here, there in ((condition.this, condition.expression), (condition.expression, condition.this)):
        mine, theirs = _read(here, inner), _read(there, outer)
        if mine is not None and theirs is not None and _read(there, inner) is None:
            return equated(theirs, mine)
    return None


def _read(node: exp.Expression, scope: Scope) -> Expression | None:
    if node.find(exp.Column) is None:
        return None
    try:
        return scope.row_expression(node)
    except QueryRefused:
        return None
