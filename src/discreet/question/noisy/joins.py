"""Joins of noisy answers, and how many rows they can make: known before anything is charged."""

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call
from discreet.model.expression import Call, Expression, Field
from discreet.model.noisy_table import Grouped, Joined, LeafAnswer, NoisyTable, SelectFrom
from discreet.question.expressions.convert import convert
from discreet.question.expressions.grouping import MOST_GROUPS
from discreet.question.expressions.scope import NamedSource, Scope
from discreet.question.noisy.grouping import checked_condition

_KINDS = {("", ""): "inner", ("", "INNER"): "inner", ("", "CROSS"): "cross"}
_SIDES = ("LEFT", "RIGHT", "FULL")
TableSide = tuple[NoisyTable, Scope]


def joined(join: exp.Join, left: TableSide, right: TableSide, number: int) -> TableSide:
    """Two noisy tables side by side, and what can be named in them."""
    kind = _kind(join)
    merged = [identifier.name for identifier in join.args.get("using") or ()]
    both = left[1].joined(right[1], merged)
    if merged:
        pairs = [
            (left[1].expression(exp.column(name)), right[1].expression(exp.column(name))) for name in merged
        ]
        conditions: list[Expression] = [build_call("=", pair) for pair in pairs]
        both = _with_merged(both, merged, pairs, kind)
    elif join.args.get("on") is not None:
        leaf = lambda node: both.expression(node) if isinstance(node, exp.Column) else None  # noqa: E731
        conditions = [checked_condition(convert(join.args["on"], leaf), "ON")]
    else:
        conditions = []
        if kind not in ("inner", "cross"):
            raise QueryRefused("Tables are joined without saying on what.", remedy="Write … ON a.x = b.x.")
    on = (
        conditions[0]
        if len(conditions) == 1
        else build_call("and", tuple(conditions))
        if conditions
        else None
    )
    table = Joined(
        number=number,
        left=left[0],
        right=right[0],
        kind="inner" if kind == "cross" else kind,
        on=on,
        most_rows=checked_rows(_most_rows(left[0], right[0], kind, on)),
    )
    return table, both


def checked_rows(rows: int) -> int:
    """Refuse what could make too many rows."""
    if rows > MOST_GROUPS:
        raise QueryRefused(
            f"Joining these answers could make {rows:,} rows; at most {MOST_GROUPS:,} can be asked for.",
            remedy="Join them on what they are grouped by: JOIN … USING (…).",
        )
    return rows


def columns_of(item: exp.Expression, scope: Scope) -> dict[str, Expression]:
    """What * stands for, or a.*"""
    if item.args.get("except_") or item.args.get("replace") or item.args.get("rename"):
        raise QueryRefused("* stands for all columns.", remedy="Name the columns, one by one.")
    wanted = item.args.get("table") if isinstance(item, exp.Column) else None
    found: dict[str, Expression] = {}
    for source in scope.sources:
        if wanted is None or source.name.casefold() == wanted.name.casefold():
            hidden = {name.casefold() for name in source.merged}
            shown = (
                source.columns
                if wanted is not None
                else {
                    name: column for name, column in source.columns.items() if name.casefold() not in hidden
                }
            )
            found |= {name if name not in found else f"{name}_": column for name, column in shown.items()}
    if not found:
        raise QueryRefused("There is no such table in FROM.", remedy="Write SELECT *.")
    return found


def _kind(join: exp.Join) -> str:
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    extra = {name for name, value in join.args.items() if value} - {"this", "on", "using", "side", "kind"}
    if side in _SIDES and kind in ("", "OUTER") and not extra:
        return side.lower()
    if (side, kind) not in _KINDS or extra:
        raise QueryRefused(
            "Noisy answers are joined by JOIN, LEFT, RIGHT, FULL or CROSS JOIN alone.",
            remedy="Write FROM a JOIN b USING (…).",
        )
    return _KINDS[side, kind]


def _with_merged(
    scope: Scope, merged: list[str], pairs: list[tuple[Expression, Expression]], kind: str
) -> Scope:
    """Where a row may come from the right side alone, a merged column has the value of either side."""
    if kind not in ("right", "full"):
        return scope
    names = {name.casefold() for name in merged}
    values = {name.casefold(): build_call("coalesce", pair) for name, pair in zip(merged, pairs, strict=True)}
    sources = [
        NamedSource(
            source.name,
            {
                name: values[name.casefold()]
                if name.casefold() in names and name.casefold() in source.unqualified
                else column
                for name, column in source.columns.items()
            },
            source.merged,
        )
        for source in scope.sources
    ]
    return Scope(sources=sources, persons=scope.persons, limits=scope.limits, keys=scope.keys)


def _most_rows(left: NoisyTable, right: NoisyTable, kind: str, on: Expression | None) -> int:
    """Where each row of a side meets one of the other at most, those of the other may all be left over."""
    equal = set(_equal_fields(on, _names(left), _names(right)))
    one_right = any(keys <= equal for keys in _unique(right))
    one_left = any(keys <= equal for keys in _unique(left))
    every = left.most_rows + right.most_rows
    if kind == "full":
        return every if one_right or one_left else left.most_rows * right.most_rows + every
    if one_right and kind != "right":
        return left.most_rows
    if one_left and kind != "left":
        return right.most_rows
    if one_right or one_left:
        return every
    return max(left.most_rows * right.most_rows, left.most_rows, right.most_rows)


def _names(table: NoisyTable) -> set[str]:
    return {column.name for column in table.columns}


def _equal_fields(on: Expression | None, left: set[str], right: set[str]) -> list[str]:
    """The columns that equal one of the other side in every row. Those of one side say nothing of another."""
    match on:
        case Call(function="and", arguments=parts):
            return [name for part in parts for name in _equal_fields(part, left, right)]
        case Call(function="=", arguments=(Field(name=one), Field(name=other))):
            across = (one in left and other in right) or (one in right and other in left)
            return [one, other] if across else []
    return []


def _unique(table: NoisyTable) -> list[frozenset[str]]:
    """Sets of columns that no two rows of a table agree in."""
    match table:
        case LeafAnswer(unique=True):
            return [frozenset(key.name for key in table.keys)]
        case Grouped():
            return [frozenset(key.name for key, _ in table.keys)]
        case SelectFrom():
            shown = {each.name: made.name for made, each in table.named if isinstance(each, Field)}
            below = [keys for keys in _unique(table.source) if keys <= set(shown)]
            return [frozenset(shown[name] for name in keys) for keys in below]
        case Joined(on=None, right=right) if right.most_rows <= 1:
            return _unique(table.left)
    return []
