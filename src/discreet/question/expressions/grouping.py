"""GROUP BY: what rows are grouped by, in which sets, and whether the values are public."""

from datetime import date
from itertools import combinations, product
from math import prod

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.functions.public_values import integer_values, possible_values
from discreet.functions.registry import build_call, build_literal
from discreet.model.expression import Call, Expression, Field, Literal
from discreet.model.policy import KeyValue, ValueType
from discreet.model.query import GroupingSets, GroupKey
from discreet.question.expressions.day_keys import day_keys
from discreet.question.expressions.scope import Scope, conjuncts, position_of, row_expression
from discreet.question.mistakes.instead import plain_sql

MOST_GROUPS = 1_000_000
MOST_KEYS = 100
MOST_INTEGER_KEYS = 100_000
"""A range with more values than this is too wide to show all of them."""
_MOST_SETS = 64
_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)


def group_by(select: exp.Select, scope: Scope) -> tuple[tuple[GroupKey, ...], GroupingSets]:
    """The keys of a question, and the positions of those in each grouping set."""
    group = select.args.get("group")
    if group is None:
        return (), ((),)
    if {name for name, value in group.args.items() if value} - {"expressions"}:
        raise QueryRefused("This GROUP BY cannot be asked.", remedy="Name what to group by.")
    keys: list[GroupKey] = []
    choices = [_alternatives(node, select, scope, keys) for node in group.expressions]
    if prod(len(choice) for choice in choices) > _MOST_SETS:
        raise _too_many_sets()
    sets = tuple(tuple(dict.fromkeys(sum(parts, ()))) for parts in product(*choices))
    _check(keys, sets)
    return tuple(keys), sets


def _alternatives(
    node: exp.Expression, select: exp.Select, scope: Scope, keys: list[GroupKey]
) -> list[tuple[int, ...]]:
    """The sets that one item of GROUP BY stands for: a plain one stands for itself."""

    def positions(items: list[exp.Expression]) -> list[tuple[int, ...]]:
        if any(isinstance(item, _SETS) for item in items):
            raise QueryRefused(
                "CUBE, ROLLUP and GROUPING SETS cannot stand within each other.",
                remedy="Write the sets one by one: GROUPING SETS ((ward, age), (ward), ()).",
            )
        return [tuple(_position(part, select, scope, keys) for part in _parts(item)) for item in items]

    few = len(node.expressions) if isinstance(node, _SETS) else 1
    if (2 ** min(few, 32) if isinstance(node, exp.Cube) else few) > _MOST_SETS:
        raise _too_many_sets()
    match node:
        case exp.GroupingSets():
            return positions(node.expressions)
        case exp.Rollup():
            levels = positions(node.expressions)
            return [sum(levels[:size], ()) for size in range(len(levels), -1, -1)]
        case exp.Cube():
            levels = positions(node.expressions)
            return [
                sum(chosen, ())
                for size in range(len(levels), -1, -1)
                for chosen in combinations(levels, size)
            ]
    return positions([node])


def _too_many_sets() -> QueryRefused:
    return QueryRefused(f"That is more than {_MOST_SETS} grouping sets.", remedy="Ask for fewer at once.")


def _parts(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def _position(node: exp.Expression, select: exp.Select, scope: Scope, keys: list[GroupKey]) -> int:
    """Where a key is among those that are known; a new one is added."""
    chosen, name = _selected(node, select)
    expression = row_expression(chosen, scope)
    if scope.is_person(expression):
        raise QueryRefused(
            "Grouping by person would show single people.", remedy="Group by something that many share."
        )
    owned = isinstance(expression, Field) and expression.name in scope.owner_keys
    if owned and public_values(expression, select, scope) is None:
        raise QueryRefused(
            f"Grouping by {name} would show single people: what it names belongs to one of them.",
            remedy=f"Group by something that many share; or put GROUP BY {name} into a subquery, and ask"
            " for averages or counts of its rows.",
        )
    per_one = _units_in_one(expression)
    if expression.type is ValueType.NUMBER and not per_one:
        raise QueryRefused(
            f"{name} is a number with fractions, which has too many values to group by.",
            remedy=f"Group by floor({name}), or by CASE WHEN {name} < … THEN …",
        )
    expression = in_units(expression, per_one) if per_one else expression
    for i, key in enumerate(keys):
        if key.expression == expression:
            return i
    if len(keys) == MOST_KEYS:
        raise too_many_keys()
    values = public_values(expression, select, scope)
    if values is None:
        clamped = scope.clamped(expression)
        values = None if clamped == expression else public_values(clamped, select, scope)
        expression = expression if values is None else clamped
    listed = f"WHERE … IN (…), with what {name} stands for before the IN"  # WHERE knows no names of SELECT
    if isinstance(chosen, exp.Column):
        listed = f"WHERE {plain_sql(chosen)} IN (…)"
    keys.append(GroupKey(name=name, expression=expression, values=values, per_one=per_one, listed=listed))
    return len(keys) - 1


def _units_in_one(expression: Expression) -> int:
    """Of a number with bounds and a unit such as 0.01: how many of these make 1, if its values are few."""
    if not isinstance(expression, Field) or expression.type is not ValueType.NUMBER:
        return 0
    span, unit = expression.range, expression.unit
    if span is None or unit is None or unit.numerator != 1:
        return 0
    return unit.denominator if (span.high - span.low) / unit < MOST_INTEGER_KEYS else 0


def in_units(expression: Expression, per_one: int) -> Expression:
    """A number as a whole number of units; anything else as it is."""
    if expression.type is not ValueType.NUMBER:
        return expression
    return build_call("cast_integer", (build_call("*", (expression, build_literal(per_one))),))


def too_many_keys() -> QueryRefused:
    return QueryRefused(
        f"At most {MOST_KEYS} things can be grouped by.", remedy="Group by fewer, or ask in two questions."
    )


def _selected(node: exp.Expression, select: exp.Select) -> tuple[exp.Expression, str]:
    """A GROUP BY item may be a position or an alias of the SELECT list."""
    items = select.expressions
    if isinstance(node, exp.Literal) and not node.is_string:
        position = position_of(node)
        if not 1 <= position <= len(items):
            raise QueryRefused("GROUP BY has no such position.", remedy="Name what to group by.")
        node = items[position - 1]
    for item in items:
        if isinstance(item, exp.Alias) and (item.this == node or is_name(node, item.alias)):
            return item.this, item.alias
    inner = node.this if isinstance(node, exp.Alias) else node
    return inner, node.alias_or_name or plain_sql(inner)


def is_name(node: exp.Expression, name: str) -> bool:
    """Whether a node is this name, unqualified."""
    return (
        isinstance(node, exp.Column)
        and not node.args.get("table")
        and node.name.casefold() == name.casefold()
    )


def public_values(
    expression: Expression, select: exp.Select, scope: Scope
) -> tuple[KeyValue | None, ...] | None:
    """All values of a key, if they are public: listed, declared, or computed from bounds."""
    where = select.args.get("where")
    conditions = conjuncts(where.this if where is not None else None)
    for node in conditions:
        if not isinstance(node, exp.In | exp.EQ):
            continue
        match row_expression(node, scope):  # constants in the type of what they are compared with
            case Call(function="in" | "=", arguments=(compared, *listed)) if compared == expression:
                values = [item.value for item in listed if isinstance(item, Literal)]
                if len(values) == len(listed):
                    return tuple(dict.fromkeys(v for v in values if isinstance(v, str | int | bool | date)))
    values_of = possible_values(expression, scope.keys_of, scope.listing)
    if values_of is None:
        values_of = day_keys(expression, conditions, scope, MOST_INTEGER_KEYS)
    if values_of is not None:
        return values_of
    numbers = integer_values(expression, MOST_INTEGER_KEYS, scope.listing)
    return None if numbers is None else tuple(numbers)


def _check(keys: list[GroupKey], sets: GroupingSets) -> None:
    if any(key.values is None for key in keys):
        if len(sets) > 1:
            private = next(key for key in keys if key.values is None)
            raise QueryRefused(
                f"The values of {private.name} are not public, and grouping sets need public ones.",
                remedy=f"List them: {private.listed}; or ask for each grouping on its own.",
            )
        return
    total = sum(prod(len(keys[i].values or ()) for i in chosen) for chosen in sets)
    if total > MOST_GROUPS:
        raise QueryRefused(
            f"That is {total:,} groups; at most {MOST_GROUPS:,} can be asked for.",
            remedy="Group by fewer things, or by coarser ones.",
        )
