"""INTERSECT, EXCEPT and SELECT DISTINCT over rows, put into conditions and GROUP BY.

    SELECT x FROM a INTERSECT SELECT x FROM b     SELECT x FROM a WHERE x IN (SELECT x FROM b) GROUP BY x
    SELECT x FROM a EXCEPT SELECT x FROM b        SELECT x FROM a WHERE x NOT IN (SELECT x FROM b) GROUP BY x
    SELECT DISTINCT x, y FROM a                   SELECT x, y FROM a GROUP BY x, y

So x has to be the person, or private keys are selected, as anywhere else.
"""

from sqlglot import exp

from discreet.errors import QueryRefused


def respell_sets(tree: exp.Select | exp.Union) -> None:
    """Replace what the tree has of these. What reads subqueries may be over noisy answers, and stays."""
    for node in reversed(list(tree.find_all(exp.Intersect, exp.Except))):
        if isinstance(node, exp.Intersect | exp.Except):
            node.replace(_as_condition(node))
    names = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    for select in list(tree.find_all(exp.Select)):
        if _is_of_rows(select, names):
            _group_instead(select)


def _as_condition(node: exp.Intersect | exp.Except) -> exp.Select:
    """The left side, where it is in the right one, or is not."""
    left, right = (_unwrapped(side) for side in (node.this, node.expression))
    extra = {name for name, value in node.args.items() if value} - {"this", "expression", "distinct"}
    if (
        not isinstance(left, exp.Select)
        or not isinstance(right, exp.Select)
        or not node.args.get("distinct")
        or extra
        or len(left.expressions) != 1
        or left.args.get("group")
    ):
        raise QueryRefused(
            f"{node.key.upper()} is about people: one column, the person, on both sides.",
            remedy="Write WHERE PERSON IN (SELECT PERSON FROM …), or NOT IN.",
        )
    (item,) = left.expressions
    column = item.this if isinstance(item, exp.Alias) else item
    met: exp.Expression = exp.In(this=column.copy(), query=exp.Subquery(this=right.copy()))
    if isinstance(node, exp.Except):
        met = exp.Not(this=met)
    made: exp.Select = left.copy().where(met, copy=False)
    made.set("distinct", None)
    made.set("group", exp.Group(expressions=[column.copy()]))
    return made


def _unwrapped(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Subquery) and not node.alias else node


def _is_of_rows(select: exp.Select, ctes: set[str]) -> bool:
    """Whether a SELECT DISTINCT chooses columns of rows of tables, and nothing else."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") or select.args.get("group") or select.args.get("having"):
        return False
    first = select.args.get("from_")
    items = [] if first is None else [first.this, *(join.this for join in select.args.get("joins") or ())]
    tables = all(isinstance(item, exp.Table) and item.name.casefold() not in ctes for item in items)
    computed = any(item.find(exp.AggFunc, exp.Window, exp.Star) for item in select.expressions)
    return bool(items) and tables and not computed


def _group_instead(select: exp.Select) -> None:
    select.set("distinct", None)
    positions = [
        exp.Literal.number(place) for place, item in enumerate(select.expressions, 1) if item.find(exp.Column)
    ]
    select.set("group", exp.Group(expressions=positions) if positions else None)
