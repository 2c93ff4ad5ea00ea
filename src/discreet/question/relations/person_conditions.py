"""Conditions on the person: PERSON IN (SELECT PERSON …) and EXISTS (SELECT … WHERE t.PERSON = v.PERSON).

Whether a person is in a subquery depends on their own rows alone. So such a condition is a join on the person
with one row for each person of the subquery: a plain one where it has to be true, and else a LEFT JOIN whose
right side is missing where it is false.

A row without a person is in no such subquery: IN is NULL of it, and EXISTS is false. What else is NULL in the
subquery of NOT IN is ignored: by standard SQL nobody would be left if one person had no id.
"""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from sqlglot import exp

from discreet.bounds.work_limits import check_rows_of_a_person, side_of_join
from discreet.errors import QueryRefused
from discreet.functions.registry import build_call
from discreet.model.expression import Expression, Field
from discreet.model.query import Filter, PerPerson, PersonJoin, Relation
from discreet.question.expressions.scope import Scope, predicate
from discreet.question.relations.per_person import per_person
from discreet.question.relations.subqueries import Cte

Sides: TypeAlias = tuple[Relation, Scope]


class RelationReader(Protocol):
    """Reads the relations of one question."""

    def derived(self, node: exp.Expression, name: str, ctes: Mapping[str, Cte]) -> Sides:
        """A subquery: its rows, and its columns."""

    def rows(
        self, select: exp.Select, ctes: Mapping[str, Cte]
    ) -> tuple[Relation, Scope, list[exp.Expression]]:
        """The rows of a SELECT, what can be named, and what is left of WHERE."""

    def new_alias(self) -> str: ...

    def count_join(self) -> None: ...


def person_conditions(
    select: exp.Select, conditions: list[exp.Expression]
) -> list[tuple[exp.In | exp.Exists, bool]]:
    """All conditions on the person of a SELECT, and whether each has to be true of every row."""
    found = [
        node
        for node in select.find_all(exp.In, exp.Exists)
        if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query"))
    ]
    found = [node for node in found if node.parent_select is select]
    return [(node, any(node is each for each in conditions)) for node in found]


def joined(
    relation: Relation,
    scope: Scope,
    found: list[tuple[exp.In | exp.Exists, bool]],
    reader: RelationReader,
    ctes: Mapping[str, Cte],
) -> Relation:
    """The relation with a row of each subquery, where the person is in it; `scope` learns what each means."""
    for node, must_be_true in found:
        if isinstance(node, exp.In):
            person = _person_of(node, scope)
            people, other = _in(node, reader, ctes)
        else:
            person = None
            people, other = _exists(node, scope, reader, ctes)
        reader.count_join()
        relation = PersonJoin(
            left=side_of_join(relation), right=people, pairs=(), keep_unmatched=not must_be_true
        )
        check_rows_of_a_person(relation)
        meaning: Expression = build_call("is_not_null", (other,))
        if person is not None:
            meaning = build_call("case", (build_call("is_not_null", (person,)), meaning))
        scope.know(node, meaning)
    return relation


def _person_of(node: exp.In, scope: Scope) -> Expression:
    """What stands before IN. Rows are chosen by no other subquery."""
    found = scope.row_expression(node.this)
    if not scope.is_person(found):
        raise QueryRefused(
            "IN (SELECT …) chooses people, and so it is about the person column.",
            remedy="Write PERSON IN (SELECT PERSON FROM …), list constants, or JOIN a public table.",
        )
    return found


def _in(node: exp.In, reader: RelationReader, ctes: Mapping[str, Cte]) -> tuple[Relation, Field]:
    query = node.args["query"]
    inner = query.this if isinstance(query, exp.Subquery) else query
    relation, scope = reader.derived(inner, "people", ctes)
    columns = list(scope.sources[0].columns.values())
    if len(columns) != 1 or not scope.is_person(columns[0]):
        raise QueryRefused(
            "The subquery after IN selects one column, the person.",
            remedy="Write PERSON IN (SELECT PERSON FROM … WHERE …).",
        )
    return _one_row_each(relation, columns[0], reader)


def _exists(
    node: exp.Exists, outer: Scope, reader: RelationReader, ctes: Mapping[str, Cte]
) -> tuple[Relation, Field]:
    select = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(select, exp.Select) or select.args.get("limit") or select.args.get("order"):
        raise _no_correlation()
    relation, scope, conditions = reader.rows(select, ctes)
    person: Expression | None = None
    for condition in conditions:
        same = _same_person(condition, scope, outer)
        if same is None:
            relation = Filter(source=relation, predicate=_inside(condition, scope))
        person = same or person
    if person is None:
        raise _no_correlation()
    if select.args.get("group") is None:
        if select.args.get("having"):
            raise _no_correlation()
        return _one_row_each(relation, person, reader)
    relation, _, above = per_person(select, relation, scope, reader.new_alias())
    (name,) = above.persons
    if not relation.one_row_a_person:
        return _one_row_each(relation, Field(name=name, type=person.type), reader)
    return relation, Field(name=name, type=person.type)


def _same_person(node: exp.Expression, inner: Scope, outer: Scope) -> Expression | None:
    """The person of the subquery, if a condition says that it is the one outside."""
    if not isinstance(node, exp.EQ):
        return None
    for here, there in ((node.this, node.expression), (node.expression, node.this)):
        mine, theirs = _person_in(here, inner), _person_in(there, outer)
        if mine is not None and theirs is not None and not _known(there, inner):
            return mine
    return None


def _person_in(node: exp.Expression, scope: Scope) -> Expression | None:
    found = _read(node, scope) if isinstance(node, exp.Column) else None
    return found if found is not None and scope.is_person(found) else None


def _known(node: exp.Expression, scope: Scope) -> bool:
    return _read(node, scope) is not None


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
            f"A condition in EXISTS cannot be read by itself: {refused.problem}",
            remedy="Besides t.PERSON = v.PERSON, it is about the tables of the subquery only. To compare with"
            " the row outside, JOIN on the person.",
        ) from None


def _one_row_each(relation: Relation, person: Expression, reader: RelationReader) -> tuple[Relation, Field]:
    """One row for each person of a relation, and the field that holds the id."""
    if relation.one_row_a_person and isinstance(person, Field) and isinstance(_below(relation), PerPerson):
        return relation, person
    made = Field(name=f"{reader.new_alias()}.person", type=person.type)
    return PerPerson(source=relation, person=made, keys=(), values=()), made


def _below(relation: Relation) -> Relation:
    while isinstance(relation, Filter):
        relation = relation.source
    return relation


def _no_correlation() -> QueryRefused:
    return QueryRefused(
        "EXISTS is about the rows of the same person.",
        remedy="Write EXISTS (SELECT 1 FROM t WHERE t.PERSON = v.PERSON AND …), or"
        " v.PERSON IN (SELECT PERSON FROM t WHERE …).",
    )
