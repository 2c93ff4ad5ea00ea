"""What is computed from the rows that one person can have in a question, in steps of about 20 ns.

They are counted as the slowest database takes them (`functions.row_cost`), from the policy alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.aggregates.registry import AGGREGATES
from discreet.bounds.relation_tree import aliases_of, sides_of
from discreet.functions.row_cost import steps_in
from discreet.model.expression import Expression, conditions_in, owners
from discreet.model.person_value import PersonAggregate, PersonValue
from discreet.model.policy import ValueType
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    Lookup,
    Measure,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)

STEPS_OF_A_ROW = 8
"""The steps of a row from which nothing is computed: it is joined, weighed and added up."""

_STEPS_OF_A_VALUE = 160
"""Of a double that is summed or put into a bin: it is clamped, and rounded to a grid. 3 µs on PostgreSQL. And
of a text of which different ones are counted."""
_SLOW = (ValueType.NUMBER, ValueType.TEXT)

_STEPS_OF_AN_INTEGER = 48
_STEPS_OF_A_GROUP = 100
"""Of a row that may be a group of its own, and of each text that it is grouped by."""


def steps_of_measure(measure: Measure) -> int:
    """Of the values of a measure, for each vector that they go into besides the count.

    PostgreSQL computes them anew for each vector. The first time counts with what a question computes.
    """
    if measure.argument is None:
        return 0
    vectors = len(AGGREGATES[measure.aggregate].squares)
    again = (vectors - 1) * steps_in(measure.expressions)
    if measure.argument.type in _SLOW:
        return _STEPS_OF_A_VALUE * max(1, vectors - 1) + again
    return _STEPS_OF_AN_INTEGER * vectors + again


def steps_of_keys(keys: Sequence[Expression], *, private: bool) -> int:
    """Of what rows are grouped by: each row may be a group of its own, unless groups are known."""
    if not private:
        return 0
    return _STEPS_OF_A_GROUP + sum(_STEPS_OF_A_GROUP for key in keys if key.type is ValueType.TEXT)


def rows_of(relation: Relation) -> int:
    """The most rows of one person, where rows that are not multiplied count as one."""
    match relation:
        case Scan() | FollowKey():
            return 1
        case FewRows():
            return relation.rows
        case Filter():
            return rows_of(relation.source)
        case Lookup():
            return rows_of(relation.source) * relation.matches
        case PersonJoin():
            return rows_of(relation.left) * (1 if relation.meets_one else rows_of(relation.right))
        case PerPerson():
            return rows_of(relation.source) if relation.keys else 1
        case UnionAll():
            return sum(rows_of(branch.source) for branch in relation.branches)


def _is_cut(relation: Relation) -> bool:
    """Whether nobody has more of its rows than `rows_of` says. Else it says so for each row of a table."""
    if relation.one_row_a_person:
        return True
    match relation:
        case Scan() | FollowKey():
            return False
        case FewRows() | PersonJoin():
            return True
        case Filter() | Lookup() | PerPerson():
            return _is_cut(relation.source)
        case UnionAll():
            return all(_is_cut(branch.source) for branch in relation.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Steps, each as often as there are rows where it is taken."""

    of_a_person: int = 0
    """On rows of which nobody has more than so many."""
    of_an_uncut_row: int = 0
    """On the rows that come from one row of a table, of which a person may have any number."""

    def __add__(self, other: "Work") -> "Work":
        return Work(
            of_a_person=self.of_a_person + other.of_a_person,
            of_an_uncut_row=self.of_an_uncut_row + other.of_an_uncut_row,
        )

    def plus(self, relation: Relation, steps: int) -> "Work":
        """With so many steps on each row of a relation."""
        steps *= rows_of(relation)
        return self + (Work(of_a_person=steps) if _is_cut(relation) else Work(of_an_uncut_row=steps))


def work_of(relation: Relation, tree: Relation | None = None) -> Work:
    """The steps of a relation, which is in a tree of joins.

    A subquery that leaves few rows of a person has still read all the rows that it is made from.
    """
    tree = tree or relation
    match relation:
        case Scan() | FollowKey():
            return Work()
        case FewRows():
            return work_of(relation.source)
        case Filter():
            work = work_of(relation.source, tree)
            for each in conditions_in(relation.predicate):
                work = work.plus(_computed_on(each, relation, tree), steps_in([each]))
            return work
        case Lookup():
            sides = steps_in(sides_of(relation.pairs))
            return work_of(relation.source, tree).plus(relation, STEPS_OF_A_ROW + sides)
        case PersonJoin():
            sides = steps_in(sides_of(relation.pairs))
            below = work_of(relation.left, tree) + work_of(relation.right, tree)
            return below.plus(relation, STEPS_OF_A_ROW + sides)
        case PerPerson():
            values = [e for v in relation.values for e in (v.argument, v.condition) if e is not None]
            keys = [key for _, key in relation.keys]
            own = steps_in([*keys, *values]) + sum(map(_steps_of_person_value, relation.values))
            own += steps_of_keys(keys, private=bool(keys))
            return work_of(relation.source).plus(relation.source, STEPS_OF_A_ROW + own)
        case UnionAll():
            work = Work()
            for branch in relation.branches:
                work += work_of(branch.source).plus(branch.source, steps_in(branch.columns))
            return work


def _steps_of_person_value(value: PersonValue) -> int:
    """Sums of doubles are rounded to a grid; different values are sorted, and texts compared."""
    if value.argument is None:
        return 0
    slow = value.argument.type in _SLOW
    return _STEPS_OF_A_VALUE if slow or value.aggregate is PersonAggregate.DISTINCT else _STEPS_OF_AN_INTEGER


def _computed_on(condition: Expression, relation: Relation, tree: Relation) -> Relation:
    """The rows that a condition is computed on: those of the first side of joins, if it is about that alone.

    Databases change the order of joins. So one about another side, or about several, may be computed when all
    are joined.
    """
    match relation:
        case Filter():
            return _computed_on(condition, relation.source, tree)
        case Lookup() if owners(condition) <= aliases_of(relation.source):
            return _computed_on(condition, relation.source, tree)
        case PersonJoin() if owners(condition) <= aliases_of(relation.left):
            return _computed_on(condition, relation.left, tree)
        case Lookup() | PersonJoin():
            return tree
    return relation
