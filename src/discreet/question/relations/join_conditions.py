"""What tables are joined on: the conditions of ON, USING and WHERE that make both sides equal."""

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from discreet.bounds.relation_tree import aliases_of
from discreet.bounds.work_limits import side_of_join
from discreet.errors import QueryRefused
from discreet.functions.registry import build_call
from discreet.model.expression import Call, Expression, owners
from discreet.model.query import Filter, Pair, PersonJoin, Relation
from discreet.question.expressions.scope import Scope, conjuncts, predicate


def side_of(join: exp.Join) -> str:
    """LEFT or RIGHT, if rows of that side are kept; nothing of a plain join."""
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    known = {"this", "on", "using", "side", "kind"} | ({"method"} if is_natural(join) else set())
    extra = {name for name, value in join.args.items() if value} - known
    if side not in ("", "LEFT", "RIGHT") or kind not in ("", "INNER", "OUTER", "CROSS") or extra:
        raise QueryRefused(
            "Only JOIN, LEFT JOIN and RIGHT JOIN can be asked.", remedy="Write FROM a JOIN b ON a.x = b.x."
        )
    return side


def is_natural(join: exp.Join) -> bool:
    return (join.args.get("method") or "").upper() == "NATURAL"


def shared_columns(left: Scope, right: Scope) -> list[exp.Identifier]:
    """What a NATURAL JOIN is on: all columns that both sides have."""
    mine = {name for source in left.sources for name in source.unqualified}
    theirs = {name: None for source in right.sources for name in source.columns}
    found = [exp.to_identifier(name, quoted=True) for name in theirs if name.casefold() in mine]
    if not found:
        raise no_condition()
    return found


def no_condition() -> QueryRefused:
    return QueryRefused("Tables are joined without saying on what.", remedy="Write JOIN … ON a.x = b.x.")


class WhatJoins:
    """The conditions of WHERE that may say what tables after commas are joined on.

    They are read once, with the names of all tables. To read them again for every two tables took seconds.
    """

    def __init__(self, conditions: Sequence[exp.Expression], scopes: Sequence[Scope]) -> None:
        """The first scope is what the tables are joined to."""
        all_tables = reduce(Scope.joined, scopes)
        self._aliases = {id(scope): _aliases(scope) for scope in scopes}
        self._joined = self._aliases[id(scopes[0])]
        self._sides: list[tuple[exp.Expression, set[str], set[str]]] = []
        """Each condition that two things are equal, and the aliases of what each of them reads."""
        for node in conditions if len(scopes) > 1 else ():
            match _read(node, all_tables):
                case Call(function="=", arguments=(one, other)):
                    self._sides.append((node, owners(one), owners(other)))

    def take(self, right: Scope) -> list[exp.Expression]:
        """Those that make something of this table equal to something of what is joined. If there are any, it
        is joined, too.
        """
        left, theirs = self._joined, self._aliases[id(right)]
        found = [
            node
            for node, one, other in self._sides
            if one and other and ((one <= left and other <= theirs) or (one <= theirs and other <= left))
        ]
        if found:
            taken = set(map(id, found))
            self._sides = [each for each in self._sides if id(each[0]) not in taken]
            self._joined = left | theirs
        return found


def _read(node: exp.Expression, scope: Scope) -> Expression | None:
    if not isinstance(node, exp.EQ):
        return None
    try:
        return predicate(node, scope, "WHERE")
    except QueryRefused:  # it is refused when WHERE is read
        return None


def together(conditions: list[exp.Expression]) -> exp.Expression | None:
    """All of these conditions, as one; their nodes stay as they are."""
    whole: exp.Expression | None = None
    for each in conditions:
        whole = each if whole is None else exp.And(this=whole, expression=each)
    return whole


def join_conditions(
    join: exp.Join, using: Sequence[exp.Identifier], left: Scope, right: Scope, both: Scope
) -> list[Expression]:
    if using:
        return [
            build_call("=", (left.expression(exp.column(key)), right.expression(exp.column(key))))
            for key in (identifier.copy() for identifier in using)
        ]
    if join.args.get("on") is None:
        raise no_condition()
    return [predicate(node, both, "ON") for node in conjuncts(join.args["on"])]


def equated(one: Expression, other: Expression) -> Pair:
    """Both, of types that can be compared: else a database would cast them, which fails on some rows."""
    first, second = build_call("=", (one, other)).arguments
    return first, second


def equal_pairs(
    conditions: list[Expression], left: Scope, right: Scope
) -> tuple[list[Pair], list[Expression]]:
    """The conditions that an expression of the left equals one of the right, and all others."""
    on_left, on_right = _aliases(left), _aliases(right)
    pairs: list[Pair] = []
    rest: list[Expression] = []
    for condition in conditions:
        match condition:
            case Call(function="=", arguments=(a, b)) if _of(a, on_left) and _of(b, on_right):
                pairs.append((a, b))
            case Call(function="=", arguments=(a, b)) if _of(a, on_right) and _of(b, on_left):
                pairs.append((b, a))
            case _:
                rest.append(condition)
    return pairs, rest


def _of(expression: Expression, aliases: set[str]) -> bool:
    """Whether it reads fields, and only of these relations."""
    read = owners(expression)
    return bool(read) and read <= aliases


def _aliases(scope: Scope) -> set[str]:
    return {
        alias for source in scope.sources for column in source.columns.values() for alias in owners(column)
    }


def person_join(
    left: Relation, right: Relation, pairs: list[Pair], scope: Scope, *, outer: bool
) -> PersonJoin:
    """Both sides, where the person is the same: what else is compared is compared as well.

    Rows with the same key of a table that says whose they are belong to the same person.
    """
    others = [pair for pair in pairs if not (scope.is_person(pair[0]) and scope.is_person(pair[1]))]
    if len(others) == len(pairs) and not any(map(scope.leads_to_one_owner, pairs)):
        raise QueryRefused(
            "Two tables about people are joined only on the person, so that no row holds two people.",
            remedy="Write JOIN … ON a.PERSON = b.PERSON.",
        )
    return PersonJoin(
        left=side_of_join(left), right=side_of_join(right), pairs=tuple(others), keep_unmatched=outer
    )


def met_before(right: Relation | None, conditions: list[Expression]) -> Relation:
    """The right side of a LEFT JOIN, with the rows that meet what ON says of them. None is a public table."""
    if right is None or any(not owners(each) <= aliases_of(right) for each in conditions):
        raise QueryRefused(
            "LEFT JOIN takes conditions that make both sides equal, or are about a right side with people.",
            remedy="Write ON a.x = b.x AND b.y > 0, and the rest in WHERE.",
        )
    for each in conditions:
        right = Filter(source=right, predicate=each)
    return right


def met_by_people(
    right: Relation, conditions: list[Expression], public: str
) -> tuple[Relation, list[Expression]]:
    """FROM public LEFT JOIN people: what ON says of people leaves rows of the public table without a match.

    So it is met before, and is no condition of WHERE, which would leave these rows out. The rest is about the
    public table alone.
    """
    of_people = [each for each in conditions if not owners(each) <= {public}]
    return met_before(right, of_people), [each for each in conditions if each not in of_people]
