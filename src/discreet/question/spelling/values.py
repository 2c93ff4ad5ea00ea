"""Lists of constants, and names of columns behind the name of a query in WITH.

    WITH t (a, b) AS (SELECT x, y …)              WITH t AS (SELECT x AS a, y AS b …)
    JOIN (VALUES ('young', 0.5), ('old', 0.2)) AS s (band, weight) ON s.band = r.band
                                                  WHERE r.band IN ('young', 'old'), and for s.weight
                                                  CASE r.band WHEN 'young' THEN 0.5 WHEN 'old' THEN 0.2 END

A list may be joined with rows and with noisy answers alike. Its first column that is compared has each value
once, so that it multiplies nothing.
"""

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from discreet.errors import QueryRefused

_MOST_ROWS = 100
_MOST_LISTS = 16
"""As many as a question may have joins."""
_MOST_WRITTEN = 20_000
"""Nodes of the tree that lists and mentions of their columns stand for, together. What a list is joined on is
written anew for each of its rows, and may itself stand for another list: so sizes multiply."""
_REMEDY = "Write JOIN (VALUES ('a', 1), ('b', 2)) AS s (name, number) ON s.name = t.name."


def respell_values(tree: exp.Select | exp.Union) -> None:
    """Put conditions and CASE in the place of lists, and names into queries of WITH."""
    lists: dict[str, _Constants] = {}
    for cte in list(tree.find_all(exp.CTE)):
        found = _constants_in(cte.this, cte.args["alias"])
        if found is not None:
            lists[cte.alias.casefold()] = found
            _forget(cte)
        elif cte.args["alias"].args.get("columns"):
            _name_columns(cte)
    written = _Written()
    for select in list(tree.find_all(exp.Select)):
        _replace_lists(select, lists, written)


@dataclass(slots=True)
class _Written:
    """What lists of a question stand for so far."""

    lists: int = 0
    nodes: int = 0

    def add(self, nodes: int) -> None:
        """Refuse before it is written."""
        self.nodes += nodes
        if self.nodes > _MOST_WRITTEN:
            raise QueryRefused(
                "The question mentions long VALUES too often, or joins them on too much.",
                remedy="Use shorter lists, and join them on columns.",
            )

    def add_list(self, nodes: int) -> None:
        self.lists += 1
        if self.lists > _MOST_LISTS:
            raise QueryRefused(f"The question joins more than {_MOST_LISTS} VALUES.", remedy="Join fewer.")
        self.add(nodes)


@dataclass(frozen=True, slots=True)
class _Constants:
    """A list: its columns, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[exp.Expression, ...], ...]


def _constants_in(node: exp.Expression, alias: exp.TableAlias | None) -> _Constants | None:
    """The list that is all of a query, or of an item of FROM."""
    if isinstance(node, exp.Select):
        first = node.args.get("from_")
        plain = {name for name, value in node.args.items() if value} == {"expressions", "from_"}
        is_all = plain and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star)
        node = first.this if is_all and first is not None else node
    if not isinstance(node, exp.Values) or alias is None:
        return None
    columns = tuple(each.name.casefold() for each in alias.args.get("columns") or ())
    rows = tuple(tuple(row.expressions) for row in node.expressions if isinstance(row, exp.Tuple))
    constants = all(isinstance(_unsigned(cell), exp.Literal | exp.Boolean) for row in rows for cell in row)
    sizes = {len(row) for row in rows}
    if not constants or len(rows) != len(node.expressions) or sizes != {len(columns)}:
        raise QueryRefused("VALUES is a list of constants, with a name for each column.", remedy=_REMEDY)
    if len(rows) > _MOST_ROWS:
        raise QueryRefused(f"VALUES has more than {_MOST_ROWS} rows.", remedy="Use a public table.")
    return _Constants(columns, rows)


def _unsigned(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Neg) else node


def _value(node: exp.Expression) -> Decimal | str:
    """What a constant is, however it is written: 1.0 is 1."""
    inner = _unsigned(node)
    if isinstance(inner, exp.Literal) and not inner.is_string:
        with suppress(InvalidOperation):
            number = Decimal(inner.name)
            return number if inner is node else number.copy_negate()
    return node.sql()


def _forget(cte: exp.CTE) -> None:
    """A query of WITH that is a list is put where it is used."""
    clause = cte.parent
    cte.pop()
    if isinstance(clause, exp.With) and not clause.expressions:
        clause.pop()


def _name_columns(cte: exp.CTE) -> None:
    names = cte.args["alias"].args["columns"]
    inner = cte.this
    if not isinstance(inner, exp.Select) or len(inner.expressions) != len(names) or inner.is_star:
        raise QueryRefused(
            "WITH names other columns than its query has.", remedy="Write WITH t AS (SELECT a AS b …)."
        )
    items = [item.this if isinstance(item, exp.Alias) else item for item in inner.expressions]
    named = [exp.Alias(this=item, alias=name.copy()) for item, name in zip(items, names, strict=True)]
    inner.set("expressions", named)
    cte.args["alias"].set("columns", None)


def _replace_lists(select: exp.Select, lists: dict[str, _Constants], written: _Written) -> None:
    """The lists that a SELECT joins, each by a condition."""
    _put_rows_first(select, lists)
    for join in list(select.args.get("joins") or ()):
        found = _list_of(join.this, lists)
        if found is not None:
            _replace(select, join, join.this.alias_or_name, found, written)


def _put_rows_first(select: exp.Select, lists: dict[str, _Constants]) -> None:
    """FROM list JOIN t is FROM t JOIN list."""
    first, joins = select.args.get("from_"), select.args.get("joins") or []
    if first is None or _list_of(first.this, lists) is None:
        return
    if not joins:
        raise QueryRefused("VALUES is public: there is nothing to protect.", remedy=_REMEDY)
    one, other = first.this, joins[0].this
    first.set("this", other)
    joins[0].set("this", one)


def _list_of(node: exp.Expression, lists: dict[str, _Constants]) -> _Constants | None:
    if isinstance(node, exp.Table) and not node.args.get("db"):
        return lists.get(node.name.casefold())
    if isinstance(node, exp.Subquery):
        return _constants_in(node.this, node.args.get("alias"))
    return _constants_in(node, node.args.get("alias")) if isinstance(node, exp.Values) else None


def _replace(select: exp.Select, join: exp.Join, name: str, found: _Constants, written: _Written) -> None:
    other, place = _compared(join, name, found)
    keys = [row[place] for row in found.rows]
    size = sum(1 for _ in other.walk())
    written.add_list(size + len(keys))
    if len(set(map(_value, keys))) < len(keys):
        raise QueryRefused("VALUES has the same value twice in the column it is joined on.", remedy=_REMEDY)
    joins = [each for each in select.args["joins"] if each is not join]
    select.set("joins", joins or None)
    met = exp.In(this=other.copy(), expressions=[key.copy() for key in keys])
    where = select.args.get("where")
    whole = met if where is None else exp.And(this=exp.Paren(this=where.this), expression=met)
    select.set("where", exp.Where(this=whole))
    chosen = {id(column) for item in select.expressions for column in item.find_all(exp.Column)}
    for node in _own_columns(select):
        column = node.name.casefold()
        qualifier = node.table.casefold()
        if column not in found.columns or qualifier not in ("", name.casefold()):
            continue
        if not qualifier and found.columns.index(column) == place:
            continue
        if not qualifier and id(node) not in chosen and _is_alias(node, select):
            continue
        written.add(len(keys) * (1 + size))
        meant = _looked_up(other, keys, [row[found.columns.index(column)] for row in found.rows])
        node.replace(exp.alias_(meant, node.this.copy()) if node.parent is select else meant)


def _own_columns(select: exp.Select) -> list[exp.Column]:
    """The columns that a SELECT names, without those of its subqueries."""
    waiting: list[exp.Expr] = list(select.iter_expressions())
    found: list[exp.Column] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Column):
            found.append(node)
        elif not isinstance(node, exp.Query):
            waiting += node.iter_expressions()
    return found


def _is_alias(node: exp.Column, select: exp.Select) -> bool:
    """Whether a name in ORDER BY or the like is that of a column of the answer."""
    return any(item.alias.casefold() == node.name.casefold() for item in select.expressions)


def _compared(join: exp.Join, name: str, found: _Constants) -> tuple[exp.Expression, int]:
    """What a list is joined on: what is compared, and the column of the list."""
    told = {key for key, value in join.args.items() if value} - {"this", "on", "using", "kind"}
    using: list[exp.Identifier] = list(join.args.get("using") or ())
    if len(using) == 1 and using[0].name.casefold() in found.columns and not told:
        return exp.column(using[0].copy()), found.columns.index(using[0].name.casefold())
    on = join.args.get("on")
    if isinstance(on, exp.EQ) and not told:
        for mine, other in ((on.this, on.expression), (on.expression, on.this)):
            if isinstance(mine, exp.Column) and mine.table.casefold() == name.casefold():
                column = mine.name.casefold()
                if column in found.columns and name.casefold() not in _tables(other):
                    return other, found.columns.index(column)
    raise QueryRefused("VALUES is joined on one of its columns.", remedy=_REMEDY)


def _tables(node: exp.Expression) -> set[str]:
    return {column.table.casefold() for column in node.find_all(exp.Column)}


def _looked_up(
    other: exp.Expression, keys: list[exp.Expression], cells: list[exp.Expression]
) -> exp.Expression:
    branches = [
        exp.If(this=exp.EQ(this=other.copy(), expression=key.copy()), true=cell.copy())
        for key, cell in zip(keys, cells, strict=True)
    ]
    return exp.Case(ifs=branches)
