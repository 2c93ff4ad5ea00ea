"""EXISTS (SELECT … WHERE t.PERSON = v.PERSON AND …): for each person, whether there are such rows.

Besides the person, conditions may say that something of the subquery equals something of the row outside:
then there is one row for each person and value, and the join is on both. One condition may compare the two
otherwise: some value is above another exactly if the largest is, so the subquery has the largest of each.

Rows with the same key of a table that says whose they are belong to the same person: that is a condition on
the person, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from sqlglot import exp

from discreet.bounds.relation_tree import type_of_person
from discreet.errors import QueryRefused
from discreet.functions.day_ranges import bounded_days
from discreet.functions.registry import build_call, range_of
from discreet.model.expression import Expression, Field
from discreet.model.person_value import PersonAggregate, PersonValue
from discreet.model.query import (
    Filter,
    Pair,
    PerPerson,
    Relation,
)
from discreet.question.expressions.scope import Scope, predicate
from discreet.question.relations.join_conditions import equated
from discreet.question.relations.per_person import grid_of_value, per_person
from discreet.question.relations.subqueries import Cte

Sides: TypeAlias = tuple[Relation, Scope]
_LARGEST = {exp.GT: ">", exp.GTE: ">="}
_SMALLEST = {exp.LT: "<", exp.LTE: "<="}
_TURNED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


class RelationReader(Protocol):
    """Reads the relations of one question."""

    def derived(self, node: exp.Expression, name: str, ctes: Mapping[str, Cte]) -> Sides:
        """A subquery: its rows, and its columns."""

    def rows(
        self, select: exp.Select, ctes: Mapping[str, Cte]
    ) -> tuple[Relation, Scope, list[exp.Expression]]:
        """The rows of a SELECT, what can be named, and what is left of WHERE."""

    def in_public_table(
        self,
        relation: Relation,
        node: exp.In | exp.Exists,
        scope: Scope,
        ctes: Mapping[str, Cte],
        *,
        keep_unmatched: bool,
    ) -> tuple[Relation, Expression] | None:
        """The relation with what a public table says of each row, and what the condition means then."""

    def new_alias(self) -> str: ...

    def count_join(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who is in a subquery: a row of each person, or of each person and value that is compared."""

    relation: Relation
    person: Field
    pairs: tuple[Pair, ...] = ()
    """What else has to be equal: of the row outside, and of the subquery."""
    compared: Expression | None = None
    """A condition on the row outside and the largest or smallest value of the subquery."""


def exists(node: exp.Exists, outer: Scope, reader: RelationReader, ctes: Mapping[str, Cte]) -> People:
    """Who is in the subquery of EXISTS."""
    select = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(select, exp.Select) or select.args.get("limit") or select.args.get("order"):
        raise no_correlation()
    refuse_aggregates(select)
    relation, scope, conditions = reader.rows(select, ctes)
    told = _Correlation(inner=scope, outer=outer)
    for condition in conditions:
        if not told.reads(condition):
            relation = Filter(source=relation, predicate=_inside(condition, scope))
    if told.person is None and not told.same_owner:
        raise no_correlation()
    if not told.equal and told.compared is None:
        return _grouped(select, relation, scope, told.person, reader)
    if select.args.get("group") or select.args.get("having"):
        raise no_correlation()
    return told.people(relation, reader.new_alias())


def _grouped(
    select: exp.Select, relation: Relation, scope: Scope, person: Expression | None, reader: RelationReader
) -> People:
    """Where nothing but the person is compared, the subquery may have HAVING."""
    if person is None:
        raise no_correlation()
    if select.args.get("group") is None:
        if select.args.get("having"):
            raise no_correlation()
        return one_row_each(relation, person, reader)
    relation, _, above = per_person(select, relation, scope, reader.new_alias())
    (name,) = above.persons
    found = Field(name=name, type=person.type)
    return (
        People(relation=relation, person=found)
        if relation.one_row_a_person
        else one_row_each(relation, found, reader)
    )


class _Correlation:
    """What conditions of EXISTS say of the row outside."""

    def __init__(self, *, inner: Scope, outer: Scope) -> None:
        self._inner, self._outer = inner, outer
        self.person: Expression | None = None
        self.same_owner = False
        """Whether a key that leads to one owner is compared, which is the same person."""
        self.equal: list[Pair] = []
        self.compared: tuple[str, Expression, Expression] | None = None

    def reads(self, node: exp.Expression) -> bool:
        """Whether a condition is about the row outside, too."""
        if not isinstance(node, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            return False
        for here, there, kind in (
            (node.this, node.expression, type(node)),
            (node.expression, node.this, _TURNED.get(type(node), type(node))),
        ):
            mine = _read(here, self._inner)
            theirs = None if self._is_inside(there) else _read(there, self._outer)
            if mine is not None and theirs is not None and not _is_constant(there):
                return self._keep(kind, mine, theirs)
        return False

    def _is_inside(self, node: exp.Expression) -> bool:
        """Whether the subquery knows it, and not by the person's column of another table."""
        if isinstance(node, exp.Column) and not node.args.get("table"):
            own = any(node.name.casefold() in source.unqualified for source in self._inner.sources)
            return own or (_read(node, self._outer) is None and _read(node, self._inner) is not None)
        return _read(node, self._inner) is not None

    def _keep(self, kind: type[exp.Binary], mine: Expression, theirs: Expression) -> bool:
        if kind is exp.EQ:
            if self._inner.is_person(mine) and self._outer.is_person(theirs):
                self.person = mine
                return True
            self.same_owner |= _lead_to_one_owner(mine, self._inner, theirs, self._outer)
            self.equal.append(equated(theirs, mine))
            return True
        if self.compared is not None:
            return False
        self.compared = {**_LARGEST, **_SMALLEST}[kind], mine, theirs
        return True

    def people(self, relation: Relation, alias: str) -> People:
        """One row for each person and each of the values that have to be equal."""
        if self.compared is None:
            return one_row_each_key(relation, self.equal, alias)
        sign, mine, theirs = self.compared
        value = _extreme(f"{alias}.value0", sign, mine)
        found = one_row_each_key(relation, self.equal, alias, value)
        return replace(found, compared=build_call(sign, (value.field, theirs)))


def _extreme(name: str, sign: str, argument: Expression) -> PersonValue:
    """The largest value, of which anything is true that is true of any: x > …; or the smallest."""
    return PersonValue(
        field=Field(name=name, type=argument.type, range=range_of(argument), days=bounded_days(argument)),
        aggregate=PersonAggregate.MAX if sign in _LARGEST.values() else PersonAggregate.MIN,
        argument=argument,
        condition=None,
        grid=grid_of_value(argument),
    )


def _lead_to_one_owner(mine: Expression, inner: Scope, theirs: Expression, outer: Scope) -> bool:
    if not (isinstance(mine, Field) and isinstance(theirs, Field)):
        return False
    owner = inner.owner_keys.get(mine.name)
    return owner is not None and owner == outer.owner_keys.get(theirs.name)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column) is None


def _read(node: exp.Expression, scope: Scope) -> Expression | None:
    try:
        return scope.row_expression(node)
    except QueryRefused:
        return None


def _inside(node: exp.Expression, scope: Scope) -> Expression:
    try:
        return predicate(node, scope, "WHERE")
    except QueryRefused as refused:
        raise QueryRefused(
            f"A condition in EXISTS cannot be read: {refused.problem}",
            remedy="Besides t.PERSON = v.PERSON, compare a value of the subquery with one of the row outside,"
            " as in t.day > v.day. To compare more, JOIN on the person.",
        ) from None


def one_row_each(relation: Relation, person: Expression, reader: RelationReader) -> People:
    """One row for each person of a relation."""
    if relation.one_row_a_person and isinstance(person, Field) and isinstance(_below(relation), PerPerson):
        return People(relation=relation, person=person)
    made = Field(name=f"{reader.new_alias()}.person", type=person.type)
    return People(relation=PerPerson(source=relation, person=made, keys=(), values=()), person=made)


def one_row_each_key(relation: Relation, equal: Sequence[Pair], alias: str, *values: PersonValue) -> People:
    """One row for each person and what has to be equal: of the row outside, and of the subquery."""
    keys = tuple(
        (
            Field(name=f"{alias}.key{i}", type=mine.type, range=range_of(mine), days=bounded_days(mine)),
            mine,
        )
        for i, (_, mine) in enumerate(equal)
    )
    person = Field(name=f"{alias}.person", type=type_of_person(relation))
    return People(
        relation=PerPerson(source=relation, person=person, keys=keys, values=values),
        person=person,
        pairs=tuple((theirs, key) for (theirs, _), (key, _) in zip(equal, keys, strict=True)),
    )


def _below(relation: Relation) -> Relation:
    while isinstance(relation, Filter):
        relation = relation.source
    return relation


def refuse_aggregates(select: exp.Select) -> None:
    """Of EXISTS over a subquery that has one row even if nothing meets its conditions."""
    if not select.args.get("group") and any(item.find(exp.AggFunc) for item in select.expressions):
        raise QueryRefused(
            "An aggregate without GROUP BY has a row in any case, so EXISTS is always true of it.",
            remedy="Write EXISTS (SELECT 1 FROM …), or PERSON IN (SELECT PERSON FROM … GROUP BY PERSON HAVING"
            " count(*) > 3).",
        )


def no_correlation() -> QueryRefused:
    """Of EXISTS about the rows of anybody."""
    return QueryRefused(
        "EXISTS is about the rows of the same person.",
        remedy="Write EXISTS (SELECT 1 FROM t WHERE t.PERSON = v.PERSON AND …), or"
        " v.PERSON IN (SELECT PERSON FROM t WHERE …).",
    )
