"""Clauses and aggregates that are another way to write something, put into that other way.

    count_if(a)                       count(*) FILTER (WHERE a)
    quantile(x, [0.25, 0.75]) AS q    quantile(x, 0.25) AS q_25, quantile(x, 0.75) AS q_75
    GROUP BY ALL                      GROUP BY all columns of SELECT that are no aggregates
    FETCH FIRST 10 ROWS ONLY          LIMIT 10

Only the tree of the syntax changes: what it means is found out afterwards, as of any other question.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from sqlglot import exp

from discreet.errors import QueryRefused

_SHARES: dict[type[exp.Expression], str] = {
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
}
_MOST_SHARES = 100
Tree = TypeVar("Tree", bound=exp.Select | exp.Union)


def respell(tree: Tree) -> Tree:
    """The same tree, with the ways of writing above replaced."""
    for node in list(tree.find_all(exp.CountIf)):
        node.replace(_counted(node))
    for select in list(tree.find_all(exp.Select)):
        select.set("expressions", [each for item in select.expressions for each in _items(item)])
        _group_by_all(select)
        _fetch(select)
    return tree


def drop_needless_distinct(tree: exp.Select | exp.Union) -> None:
    """Whether somebody is in a list does not depend on how often: IN (SELECT DISTINCT …)."""
    for node in tree.find_all(exp.In, exp.Exists):
        inner = node.args.get("query") if isinstance(node, exp.In) else node.this
        select = inner.this if isinstance(inner, exp.Subquery) else inner
        if not isinstance(select, exp.Select) or not select.args.get("distinct"):
            continue
        if not select.args["distinct"].args.get("on"):
            select.set("distinct", None)


def _counted(node: exp.CountIf) -> exp.Expression:
    if isinstance(node.parent, exp.Filter):
        return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))]))
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=node.this))


def _items(item: exp.Expression) -> Iterator[exp.Expression]:
    """An array of quantiles as columns; anything else as it is."""
    inner = item.this if isinstance(item, exp.Alias) else item
    filtered = inner.this if isinstance(inner, exp.Filter) else inner
    shares = _shares(filtered)
    if shares is None:
        yield item
        return
    if not 1 <= len(shares.expressions) <= _MOST_SHARES:
        raise QueryRefused(
            f"An array of quantiles has 1 to {_MOST_SHARES} of them.",
            remedy="Write quantile(x, [0.25, 0.75]).",
        )
    for share in shares.expressions:
        made = inner.copy()
        found = _shares(made.this if isinstance(made, exp.Filter) else made)
        if found is not None:
            found.replace(share.copy())
        name = item.alias if isinstance(item, exp.Alias) else "quantile"
        yield exp.Alias(this=made, alias=exp.to_identifier(f"{name}_{_percent(share)}", quoted=True))


def _shares(node: exp.Expression) -> exp.Array | None:
    if isinstance(node, exp.WithinGroup):
        found = node.this.this
    else:
        found = node.args.get(_SHARES.get(type(node), ""))
    return found if isinstance(found, exp.Array) else None


def _percent(share: exp.Expression) -> str:
    """25 of 0.25, as part of a name."""
    try:
        return f"{(Decimal(share.name) * 100).normalize():f}"
    except InvalidOperation:
        raise QueryRefused(
            "A quantile is a number from 0 to 1.", remedy="Write quantile(x, [0.25, 0.5, 0.75])."
        ) from None


def _group_by_all(select: exp.Select) -> None:
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    positions = [
        exp.Literal.number(place)
        for place, item in enumerate(select.expressions, 1)
        if not item.find(exp.AggFunc, exp.Window) and item.find(exp.Column)
    ]
    select.set("group", exp.Group(expressions=positions) if positions else None)


def _fetch(select: exp.Select) -> None:
    fetch = select.args.get("limit")
    if not isinstance(fetch, exp.Fetch):
        return
    options = fetch.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise QueryRefused("FETCH takes a number of rows.", remedy="Write FETCH FIRST 10 ROWS ONLY.")
    select.set("limit", exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))
