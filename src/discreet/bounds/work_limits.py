"""How much work one person can make of a question, from the policy alone.

A join on the person pairs all rows of a person on one side with all of theirs on the other. How long that
takes would tell whether somebody has many of them, whatever the noise. So each side is cut before it is
joined: people with far more rows than the policy lets count are left out of it (`FewRows`). What is left of
one person can be multiplied only so often; a question that could go beyond is refused before it has a price.
"""

from collections.abc import Iterable, Sequence

from discreet.aggregates.registry import AGGREGATES
from discreet.errors import QueryRefused
from discreet.functions.registry import calls_in, check_size
from discreet.functions.row_cost import check_row, steps_in
from discreet.model.expression import Call, Expression, fields_of, owners, title
from discreet.model.policy import MOST_MATCHES, PublicTable
from discreet.model.query import (
    FewRows,
    Filter,
    Lookup,
    Pair,
    PerPerson,
    PersonJoin,
    Query,
    Relation,
    Scan,
    UnionAll,
)

MOST_JOINS = 16
MOST_ROWS_OF_A_PERSON = 2**20
"""The rows that the joins of a question can make of one person: a fraction of a second for a database."""

MOST_PIECES = 400
"""The sums that a question is put together from, each of which reads the rows anew."""

MOST_STEPS = 2**26
"""What is computed from the rows that joins and unions make of one row of a person, in about 20 ns: a second
or so."""

MOST_STEPS_BEFORE_A_JOIN = 256
"""What is computed from each row of everybody before joins on the person, where a text has 64 characters.
Some databases leave it out if the other side of a join is empty: it has to be about as fast as reading."""
_SHORT_CELL = 64
_MOST_PIECES_OF_JOINS = 16
"""So many pieces of a question may each compute all that."""

_STEPS_OF_A_ROW = 8
"""What a row takes that nothing is computed from: to be joined, weighed and added up."""

_TIMES_MAX_ROWS = 4
_ALWAYS_JOINED = 32
"""Nobody with this few rows is left out of a join, however small max_rows is."""


def side_of_join(side: Relation) -> Relation:
    """A side as it is joined: without the people who have too many rows there.

    Who is left out follows from that person's own rows, so that a person still takes along exactly their own.
    The sides of a join below were cut already.
    """
    if side.one_row_a_person or isinstance(_below_filters(side), PersonJoin):
        return side
    return FewRows(source=side, rows=most_rows_of_side(side))


def rows_to_learn_from(source: Relation) -> Relation:
    """Rows that are gone over again and again: without the people who have too many, as in a join."""
    if source.one_row_a_person:
        return source
    return FewRows(source=source, rows=most_rows_of_side(source))


def most_rows_of_side(side: Relation) -> int:
    """Who has more rows than this is left out: several times as many as count fully."""
    return max(_ALWAYS_JOINED, _TIMES_MAX_ROWS * side.max_rows) * matches(side)


def check_matches(table: PublicTable, shared: Iterable[Expression], found: int) -> None:
    """Refuse to join a public table on what too many of its rows share, which anybody may know."""
    if found <= table.max_matches:
        return
    columns = columns_of(shared)
    owner = (
        f"the owner can declare max_matches = {found} for “{table.name}”"
        if found <= MOST_MATCHES
        else f"the owner can offer a table with fewer rows for each {columns}"
    )
    raise QueryRefused(
        f"As many as {found:,} rows of “{table.name}” share one value of {columns};"
        f" a row may meet {table.max_matches:,} of them.",
        remedy=f"Join on more of its columns; or {owner}.",
    )


def columns_of(shared: Iterable[Expression]) -> str:
    """What a public table is joined on, in words."""
    return " and ".join(dict.fromkeys(title(field.name) for each in shared for field in fields_of(each)))


def check_rows_of_a_person(relation: Relation) -> None:
    """Refuse what could make too many rows of those that a person has."""
    together = matches(relation)
    if together > MOST_MATCHES:
        raise QueryRefused(
            f"One row could meet {together:,} rows of public tables through these joins;"
            f" it may meet {MOST_MATCHES:,}.",
            remedy="Join fewer public tables at once, or each on more of its columns.",
        )
    if _rows(relation) > MOST_ROWS_OF_A_PERSON:
        raise QueryRefused(
            "Joined like this, one person could have too many rows.",
            remedy="Join fewer tables on the person, or first compute one row for each person:"
            " JOIN (SELECT PERSON, count(*) AS n FROM … GROUP BY PERSON) USING (PERSON).",
        )


def check_question(query: Query) -> None:
    """One limit for all that a question computes, after names are put in: a name may stand for others.

    What groups are picked by is a measure that was read before, and is checked by itself.
    """
    of_rows = [
        *(key.expression for key in query.keys),
        *(e for measure in query.measures for e in (measure.argument, measure.condition) if e is not None),
    ]
    check_steps(query.source, of_rows)
    check_before_joins(query.source, _picked_by(query))
    of_groups = [
        *(output.expression for output in query.outputs),
        *(order.expression for order in query.order),
        *([] if query.having is None else [query.having]),
    ]
    check_row(of_groups)
    check_size(
        *expressions_of(query.source),
        *of_rows,
        *of_groups,
    )


def _picked_by(query: Query) -> list[Expression]:
    """What rows are left out by above their relation, which a database may do before it joins."""
    conditions = [m.condition for m in query.measures if AGGREGATES[m.aggregate].filters_first]
    if query.picks is not None:
        conditions.append(query.picks.condition)
    return [*(key.expression for key in query.keys), *(e for e in conditions if e is not None)]


def check_steps(
    source: Relation, expressions: Sequence[Expression], pieces: int = 1, *, more: int = 0
) -> None:
    """Refuse what could take long for a row, or for the rows of one person, before it has a price.

    `more` steps are made of each row, beside those of the expressions.
    """
    check_row([*expressions_of(source), *expressions])
    above = _rows(source) * (_STEPS_OF_A_ROW + more + steps_in(expressions))
    if pieces * (_work(source) + above) > MOST_STEPS:
        raise QueryRefused(
            "The question computes too much from the rows that one person could have in it.",
            remedy="Join or unite less; compute less from texts, above all LIKE with _ after % and replace;"
            " or ask in several questions.",
        )


def check_before_joins(source: Relation, above: Sequence[Expression], pieces: int = 1) -> None:
    """Refuse what takes long on each row of a side of a join: whether the other side has a row would decide
    whether it is computed, for everybody.
    """
    steps = steps_in(_before_joins(source, above), _SHORT_CELL, everywhere=False)
    if steps > MOST_STEPS_BEFORE_A_JOIN or steps * pieces > MOST_STEPS_BEFORE_A_JOIN * _MOST_PIECES_OF_JOINS:
        raise QueryRefused(
            "The question computes too much from the rows that it joins.",
            remedy="Join on columns; add no long texts to columns, and use fewer LIKEs, in ON, WHERE,"
            " GROUP BY and subqueries; compute it after the join, in SELECT; or ask without the join.",
        )


def _before_joins(relation: Relation, above: Sequence[Expression]) -> list[Expression]:
    """All that may be computed before a join; of a public table, what it is joined on."""
    if joins_people(relation):
        return [*expressions_of(relation), *above]
    return [public for lookup in looked_up(relation) for _, public in lookup.pairs]


def joins_people(relation: Relation) -> bool:
    match relation:
        case Scan():
            return False
        case PersonJoin():
            return True
        case FewRows() | Filter() | Lookup() | PerPerson():
            return joins_people(relation.source)
        case UnionAll():
            return any(joins_people(branch.source) for branch in relation.branches)


def check_statements(source: Relation, keys: Sequence[Expression], pieces: int) -> None:
    """Every piece of a question reads its rows anew, and computes again what they are made and grouped by."""
    check_steps(source, keys, pieces)
    check_before_joins(source, keys, pieces)
    if pieces > MOST_PIECES or pieces * calls_in(expressions_of(source)) > MOST_PIECES * 10:
        raise QueryRefused(
            "The question asks for too many different things at once.",
            remedy="Ask for fewer quantiles, different values or grouping sets; or in several questions.",
        )


def expressions_of(relation: Relation) -> list[Expression]:
    """All that a relation computes from rows."""
    match relation:
        case Scan():
            return []
        case FewRows():
            return expressions_of(relation.source)
        case Filter():
            return [relation.predicate, *expressions_of(relation.source)]
        case Lookup():
            return [*_sides(relation.pairs), *expressions_of(relation.source)]
        case PersonJoin():
            below = [*expressions_of(relation.left), *expressions_of(relation.right)]
            return [*_sides(relation.pairs), *below]
        case PerPerson():
            values = [e for v in relation.values for e in (v.argument, v.condition) if e is not None]
            return [*(key for _, key in relation.keys), *values, *expressions_of(relation.source)]
        case UnionAll():
            return [
                e for branch in relation.branches for e in (*branch.columns, *expressions_of(branch.source))
            ]


def _sides(pairs: Iterable[Pair]) -> list[Expression]:
    return [side for pair in pairs for side in pair]


def matches(relation: Relation) -> int:
    """How many rows lookups make of one row, also where they are then grouped by what was looked up."""
    match relation:
        case Scan():
            return 1
        case Filter() | FewRows():
            return matches(relation.source)
        case Lookup():
            return matches(relation.source) * relation.matches
        case PersonJoin():
            return matches(relation.left) * matches(relation.right)
        case PerPerson():
            return matches(relation.source) if relation.keys else 1
        case UnionAll():
            return max(matches(branch.source) for branch in relation.branches)


def _rows(relation: Relation) -> int:
    """The most rows of one person, where rows that are not multiplied count as one."""
    match relation:
        case Scan():
            return 1
        case FewRows():
            return relation.rows
        case Filter():
            return _rows(relation.source)
        case Lookup():
            return _rows(relation.source) * relation.matches
        case PersonJoin():
            return _rows(relation.left) * _rows(relation.right)
        case PerPerson():
            return _rows(relation.source) if relation.keys else 1
        case UnionAll():
            return sum(_rows(branch.source) for branch in relation.branches)


def _work(relation: Relation) -> int:
    """What a relation computes, each of it as often as there are rows where it is computed: a subquery that
    leaves one row of a person, or few, has read as many as it is made from.
    """
    match relation:
        case Scan():
            return 0
        case FewRows():
            return _work(relation.source)
        case Filter():
            picked = sum(
                _rows_picked(each, relation) * steps_in([each]) for each in _parts(relation.predicate)
            )
            return picked + _work(relation.source)
        case Lookup():
            sides = steps_in(_sides(relation.pairs))
            return _rows(relation) * (_STEPS_OF_A_ROW + sides) + _work(relation.source)
        case PersonJoin():
            sides = steps_in(_sides(relation.pairs))
            below = _work(relation.left) + _work(relation.right)
            return _rows(relation) * (_STEPS_OF_A_ROW + sides) + below
        case PerPerson():
            values = [e for v in relation.values for e in (v.argument, v.condition) if e is not None]
            own = steps_in([*(key for _, key in relation.keys), *values])
            return _rows(relation.source) * (_STEPS_OF_A_ROW + own) + _work(relation.source)
        case UnionAll():
            return sum(
                _rows(branch.source) * steps_in(branch.columns) + _work(branch.source)
                for branch in relation.branches
            )


def _parts(predicate: Expression) -> tuple[Expression, ...]:
    if isinstance(predicate, Call) and predicate.function == "and":
        return predicate.arguments
    return (predicate,)


def _rows_picked(condition: Expression, relation: Relation) -> int:
    """The rows that a condition is computed from: those of the side that it is about, before it is joined."""
    match relation:
        case Filter():
            return _rows_picked(condition, relation.source)
        case Lookup() if owners(condition) <= _aliases(relation.source):
            return _rows_picked(condition, relation.source)
        case PersonJoin() if owners(condition) <= _aliases(relation.left):
            return _rows_picked(condition, relation.left)
        case PersonJoin(keep_unmatched=False) if owners(condition) <= _aliases(relation.right):
            return _rows_picked(condition, relation.right)
    return _rows(relation)


def _aliases(relation: Relation) -> set[str]:
    """What the names of a relation's fields begin with."""
    match relation:
        case Scan():
            return {relation.alias}
        case FewRows() | Filter():
            return _aliases(relation.source)
        case Lookup():
            return {relation.alias, *_aliases(relation.source)}
        case PersonJoin():
            return _aliases(relation.left) | _aliases(relation.right)
        case PerPerson():
            return owners(relation.person)
        case UnionAll():
            return {alias for each in relation.fields for alias in owners(each)}


def looked_up(relation: Relation) -> list[Lookup]:
    """All joins with public tables."""
    match relation:
        case Scan():
            return []
        case Lookup():
            return [relation, *looked_up(relation.source)]
        case Filter() | FewRows() | PerPerson():
            return looked_up(relation.source)
        case PersonJoin():
            return [*looked_up(relation.left), *looked_up(relation.right)]
        case UnionAll():
            return [lookup for branch in relation.branches for lookup in looked_up(branch.source)]


def _below_filters(relation: Relation) -> Relation:
    while isinstance(relation, Filter | Lookup):
        relation = relation.source
    return relation


def sides_cut(relation: Relation) -> list[FewRows]:
    """All sides of joins from which people with many rows are left out, for those who ask."""
    match relation:
        case Scan():
            return []
        case FewRows():
            return [relation, *sides_cut(relation.source)]
        case Filter() | Lookup() | PerPerson():
            return sides_cut(relation.source)
        case PersonJoin():
            return [*sides_cut(relation.left), *sides_cut(relation.right)]
        case UnionAll():
            return [few for branch in relation.branches for few in sides_cut(branch.source)]


def tables_of(relation: Relation) -> list[str]:
    """The tables about people that a relation reads, by their names."""
    match relation:
        case Scan():
            return [relation.table.name]
        case FewRows() | Filter() | Lookup() | PerPerson():
            return tables_of(relation.source)
        case PersonJoin():
            return list(dict.fromkeys([*tables_of(relation.left), *tables_of(relation.right)]))
        case UnionAll():
            return list(dict.fromkeys(n for branch in relation.branches for n in tables_of(branch.source)))
