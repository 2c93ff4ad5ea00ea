"""Joins on the key by which one table says whose the rows of the other are: each row meets one, if any.

    FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON o_orderkey = l_orderkey

In whichever order they are joined, the rows are those of lineitem, with the columns of the others beside.
What a side is filtered by, or looked up for, is done after the join. What else it compares is a condition.
"""

from collections.abc import Sequence
from dataclasses import replace

from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Field
from discreet.model.query import Filter, FollowKey, Lookup, Pair, Relation, Scan
from discreet.question.expressions.scope import Scope
from discreet.question.relations.join_conditions import person_join

_Layers = list[Filter | Lookup]


def private_join(
    left: Relation, right: Relation, pairs: list[Pair], scope: Scope, *, outer: bool, follows: bool
) -> Relation:
    """Two sides with people. `follows` is whether a join along a key is told from others on the person."""
    found = _follow_key(left, right, pairs, scope) if follows and not outer else None
    return found or person_join(left, right, pairs, scope, outer=outer)


def _follow_key(left: Relation, right: Relation, pairs: Sequence[Pair], scope: Scope) -> Relation | None:
    """Both sides as one way from row to row; None if they are joined on anything else."""
    (over_left, first), (over_right, second) = _taken_apart(left), _taken_apart(right)
    for one, other in pairs:
        found = _followed(first, one, second, other) or _followed(second, other, first, one)
        if found is None:
            continue
        relation: Relation = found
        for layer in reversed([*over_left, *over_right]):
            relation = replace(layer, source=relation)
        for pair in pairs:
            same = pair == (one, other) or (scope.is_person(pair[0]) and scope.is_person(pair[1]))
            if not same:
                relation = Filter(source=relation, predicate=build_call("=", pair))
        return relation
    return None


def _taken_apart(relation: Relation) -> tuple[_Layers, Relation]:
    """What is done with the rows of a relation one by one, the last of it first; and that relation."""
    layers: _Layers = []
    while isinstance(relation, Filter | Lookup):
        layers.append(relation)
        relation = relation.source
    return layers, relation


def _followed(child: Relation, key: Expression, parent: Relation, other: Expression) -> FollowKey | None:
    """The way of the child, which ends here, and goes on with that of the parent."""
    if not isinstance(child, Scan | FollowKey) or not isinstance(parent, Scan | FollowKey):
        return None
    last, first = _scans(child)[-1], _scans(parent)[0]
    through = last.table.through
    if through is None or through.table != first.table.name:
        return None
    keys = {through.key} | ({through.person} if through.other == through.person else set())
    if not _is_one_of(key, last, keys) or not _is_one_of(other, first, {through.other}):
        return None
    way: Scan | FollowKey = parent
    for scan in reversed(_scans(child)):
        way = FollowKey(child=scan, parent=way)
    return way if isinstance(way, FollowKey) else None


def _scans(relation: Scan | FollowKey) -> tuple[Scan, ...]:
    return relation.scans if isinstance(relation, FollowKey) else (relation,)


def _is_one_of(expression: Expression, scan: Scan, columns: set[str]) -> bool:
    return isinstance(expression, Field) and expression.name in {f"{scan.alias}.{each}" for each in columns}
