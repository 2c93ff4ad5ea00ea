"""Conditions on the person: PERSON IN (SELECT PERSON …) and EXISTS (SELECT … WHERE t.PERSON = v.PERSON).

Whether a person is in a subquery depends on their own rows alone. So such a condition is a join on the person
with one row for each person of the subquery: a plain one where it has to be true, and else a LEFT JOIN whose
right side is missing where it is false.

A row without a person is in no such subquery: IN is NULL of it, and EXISTS is false. What else is NULL in the
subquery of NOT IN is ignored: by standard SQL nobody would be left if one person had no id.
"""

from collections import deque
from collections.abc import Iterator, Mapping

from sqlglot import exp

from discreet.bounds.work_limits import check_rows_of_a_person, side_of_join
from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, build_literal
from discreet.model.expression import Expression, Field
from discreet.model.query import Filter, PersonJoin, Relation
from discreet.question.expressions.scope import Scope
from discreet.question.relations.exists import (
    People,
    RelationReader,
    exists,
    one_row_each,
    one_row_each_key,
)
from discreet.question.relations.join_conditions import equated
from discreet.question.relations.subqueries import Cte


def person_conditions(
    select: exp.Select, conditions: list[exp.Expression]
) -> list[tuple[exp.In | exp.Exists, bool]]:
    """All conditions on the person of a SELECT, and whether each has to be true of every row."""
    return [(node, any(node is each for each in conditions)) for node in _chosen_by(select)]


def _chosen_by(select: exp.Select) -> Iterator[exp.In | exp.Exists]:
    """Those of a SELECT itself, and not of its subqueries."""
    waiting = deque[exp.Expression](select.iter_expressions())
    while waiting:
        node = waiting.popleft()
        if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            yield node
            waiting.append(node.this)
        elif not isinstance(node, exp.Query):
            waiting.extend(node.iter_expressions())


def joined(
    relation: Relation,
    scope: Scope,
    found: list[tuple[exp.In | exp.Exists, bool]],
    reader: RelationReader,
    ctes: Mapping[str, Cte],
) -> Relation:
    """The relation with a row of each subquery, where the person is in it; `scope` learns what each means."""
    for node, must_be_true in found:
        public = reader.in_public_table(relation, node, scope, ctes, keep_unmatched=not must_be_true)
        if public is not None:
            relation, meaning = public
            scope.know(node, meaning)
            if must_be_true:
                relation = Filter(source=relation, predicate=meaning)
            continue
        if isinstance(node, exp.In):
            person, people = _in(node, scope, reader, ctes)
        else:
            person, people = None, exists(node, scope, reader, ctes)
        reader.count_join()
        relation = PersonJoin(
            left=side_of_join(relation),
            right=side_of_join(people.relation) if people.pairs else people.relation,
            pairs=people.pairs,
            keep_unmatched=not must_be_true,
        )
        check_rows_of_a_person(relation)
        meaning = build_call("is_not_null", (people.person,))
        if people.compared is not None:
            meaning = build_call("coalesce", (people.compared, build_literal(False)))
            if must_be_true:
                relation = Filter(source=relation, predicate=meaning)
        if person is not None:
            meaning = build_call("case", (build_call("is_not_null", (person,)), meaning))
        scope.know(node, meaning)
    return relation


def _in(
    node: exp.In, outer: Scope, reader: RelationReader, ctes: Mapping[str, Cte]
) -> tuple[Expression, People]:
    """What stands before IN, and who is in the subquery: the person, or a key that leads to one owner."""
    found = outer.row_expression(node.this)
    owner = outer.owner_keys.get(found.name) if isinstance(found, Field) else None
    if not outer.is_person(found) and owner is None:
        raise QueryRefused(
            "IN (SELECT …) chooses people, and so it is about the person column.",
            remedy="Write PERSON IN (SELECT PERSON FROM …), list constants, or JOIN a public table.",
        )
    query = node.args["query"]
    inner = query.this if isinstance(query, exp.Subquery) else query
    relation, scope = reader.derived(inner, "people", ctes)
    columns = list(scope.sources[0].columns.values())
    if len(columns) == 1:
        (column,) = columns
        if outer.is_person(found) and scope.is_person(column):
            return found, one_row_each(relation, column, reader)
        if owner is not None and isinstance(column, Field) and scope.owner_keys.get(column.name) == owner:
            return found, one_row_each_key(relation, (equated(found, column),), reader.new_alias())
    raise QueryRefused(
        "The subquery after IN selects one column, the person.",
        remedy="Write PERSON IN (SELECT PERSON FROM … WHERE …).",
    )
