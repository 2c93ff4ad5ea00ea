"""How much work the rows of one person can cause in a question, from the policy alone.

A join on the person pairs all rows of a person on one side with all of theirs on the other. The running time
would reveal whether somebody has many rows, whatever the noise. So each side is cut before it is joined:
people with far more rows than the policy lets count are left out of it (`FewRows`). Joins may still multiply
the rows of one person, up to a limit. A question that could exceed it is refused before it has a price.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.aggregates.registry import AGGREGATES
from discreet.bounds.passed_on import passed_on
from discreet.bounds.person_work import (
    STEPS_OF_A_ROW,
    rows_of,
    steps_of_keys,
    steps_of_measure,
    work_of,
)
from discreet.bounds.relation_tree import (
    columns_of,
    expressions_of,
    joins_people,
    looked_up,
    matches,
)
from discreet.errors import QueryRefused
from discreet.functions.registry import calls_in, check_size
from discreet.functions.row_cost import check_row, steps_in
from discreet.model.expression import Expression
from discreet.model.policy import MOST_MATCHES, PublicTable
from discreet.model.query import (
    FewRows,
    Filter,
    Lookup,
    PersonJoin,
    Query,
    Relation,
)

MOST_JOINS = 16
MOST_ROWS_OF_A_PERSON = 2**18
"""The most rows of one person that the joins of a question may make: a fraction of a second."""

MOST_PIECES = 400
"""The most sums that a question may consist of. Each of them reads the rows anew."""
MOST_PIECES_OVER_JOINS = 12
"""The same over joins on the person, times the rows that a side has for each row of a table. Each skips to
pass on the rows of one side if nobody has a row on the other: with 300,000 rows on both, ten pieces took
5.6 s with one row of one person, and 2.1 s without it. With a million rows and a union of fifteen, one took
7.4 and 1.4 s; with 300,000 that each met a hundred rows of a public table, 6.0 and 1.2 s."""
MOST_WRITTEN = 10_000
"""The most operations of keys, all together: they are written anew for each of these sums. A database plans
each of them in about a millisecond, before anything is charged."""

MOST_STEPS = 2**26
"""The most steps on all rows of one person, where people with too many rows were left out before. A step
takes about 20 ns, so that is a second or so."""
MOST_STEPS_OF_AN_UNCUT_ROW = 2**19
"""The most steps on the rows that joins and unions make of one row, where a person may have any number of
rows. That is about 10 ms for each."""

MOST_PUBLIC_ROWS = 8_000_000
"""The most rows of public tables that the statements of a question may read, all joins and pieces together. A
database may skip to sort them if nobody has a row that they are joined with. A million take 0.1 to 0.2 s."""

MOST_STEPS_BEFORE_A_JOIN = 256
"""The most steps on each row of everybody before joins on the person, if a text has 64 characters. Some
databases skip them if the other side of a join is empty, so they must be about as fast as reading."""
_SHORT_CELL = 64
_MOST_PIECES_OF_JOINS = 16
"""How many pieces of a question may each take all these steps."""

_TIMES_MAX_ROWS = 4
_ALWAYS_JOINED = 32
"""Nobody with this few rows is left out of a join, however small max_rows is."""


def side_of_join(side: Relation) -> Relation:
    """A side of a join, without the people who have too many rows in it.

    Whether a person is left out depends on their own rows alone, so that a person still affects only those.
    If the side is itself a join on the person, its own sides were cut already.
    """
    if side.one_row_a_person or isinstance(_below_filters(side), PersonJoin):
        return side
    return FewRows(source=side, rows=most_rows_of_side(side))


def rows_to_learn_from(source: Relation) -> Relation:
    """Rows that are read many times: without the people who have too many of them, as in a join."""
    if source.one_row_a_person:
        return source
    return FewRows(source=source, rows=most_rows_of_side(source))


def most_rows_of_side(side: Relation) -> int:
    """People with more rows than this are left out: several times as many as count fully."""
    return max(_ALWAYS_JOINED, _TIMES_MAX_ROWS * side.max_rows) * matches(side)


def check_looked_up(shared: Sequence[Expression]) -> None:
    """Refuse what takes long on each row of public tables, before these are read to plan a question."""
    check_row(shared)
    _check_steps_before_joins(shared)


def check_matches(table: PublicTable, shared: Iterable[Expression], found: int) -> None:
    """Refuse to join a public table on values that too many of its rows share. This is public knowledge."""
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


def check_rows_of_a_person(relation: Relation) -> None:
    """Refuse joins that could make too many rows of those that a person has."""
    together = matches(relation)
    if together > MOST_MATCHES:
        raise QueryRefused(
            f"One row could meet {together:,} rows of public tables through these joins;"
            f" it may meet {MOST_MATCHES:,}.",
            remedy="Join fewer public tables at once, or each on more of its columns.",
        )
    if rows_of(relation) > MOST_ROWS_OF_A_PERSON:
        raise QueryRefused(
            "Joined like this, one person could have too many rows.",
            remedy="Join fewer tables on the person, or first compute one row for each person:"
            " JOIN (SELECT PERSON, count(*) AS n FROM … GROUP BY PERSON) USING (PERSON).",
        )
    made = passed_on(relation)
    if made > MOST_PIECES_OVER_JOINS:
        raise QueryRefused(
            f"One side of these joins could have too many rows: {made:,} for each row of a table.",
            remedy="Join public tables last, after all that is joined on the person; unite fewer tables, and"
            " tables that are not joined; or first compute one row for each person.",
        )


def check_public_rows(relation: Relation, pieces: int = 1) -> None:
    """Refuse to read public tables too often. How many rows they have is public."""
    lookups = looked_up(relation)
    rows = sum(lookup.table_rows for lookup in lookups)
    if pieces * rows <= MOST_PUBLIC_ROWS:
        return
    names = " and ".join(dict.fromkeys(f"“{lookup.table.name}”" for lookup in lookups))
    raise QueryRefused(
        f"The question reads {pieces * rows:,} rows of public tables: {rows:,} rows, {pieces:,} times. It may"
        f" read {MOST_PUBLIC_ROWS:,}.",
        remedy="Join fewer public tables, or ask for fewer different values, quantiles or grouping sets at"
        f" once; or the owner can offer {names} with fewer rows.",
    )


def check_question(query: Query) -> None:
    """One limit for all that a question computes, with names replaced: a name may stand for others."""
    of_rows, more = _computed_of_rows(query)
    check_steps(query.source, of_rows, len(query.sets), more=more)  # each set computes all of it anew
    check_before_joins(query.source, _picked_by(query))
    of_groups = [
        *(output.expression for output in query.outputs),
        *(order.expression for order in query.order),
        *([] if query.having is None else [query.having]),
    ]
    check_row(of_groups)
    check_size(*expressions_of(query.source), *of_rows, *of_groups)


def check_together(queries: Sequence[tuple[Query, int]]) -> None:
    """Refuse queries that take more of a limit together than one question may, each with its pieces.

    They have one price. Asked by themselves, each would have its own.
    """
    shares = [_shares_of_limits(query, pieces) for query, pieces in queries]
    if any(sum(each) > 1 for each in zip(*shares, strict=True)):
        raise QueryRefused(
            "The queries of this question compute too much together.",
            remedy="Ask some of them in a question of their own.",
        )


def _shares_of_limits(query: Query, pieces: int) -> tuple[Fraction, ...]:
    """How much of each limit a query takes: of `check_question` and `check_statements`."""
    source, keys = query.source, [key.expression for key in query.keys]
    of_rows, more = _computed_of_rows(query)
    work = max(
        len(query.sets) * _work(source, of_rows, more),
        pieces * _work(source, keys, steps_of_keys(keys, private=query.private_keys)),
    )
    before = max(
        _steps_before_joins(_before_joins(source, _picked_by(query))),
        pieces * _steps_before_joins(_before_joins(source, keys)),
    )
    return (
        work,
        Fraction(before, MOST_STEPS_BEFORE_A_JOIN * _MOST_PIECES_OF_JOINS),
        Fraction(pieces * sum(each.table_rows for each in looked_up(source)), MOST_PUBLIC_ROWS),
        Fraction(pieces, MOST_PIECES),
        Fraction(pieces * passed_on(source), MOST_PIECES_OVER_JOINS),
        Fraction(pieces * calls_in(expressions_of(source)), MOST_PIECES * 10),
        Fraction(pieces * calls_in(keys), MOST_WRITTEN),
    )


def _computed_of_rows(query: Query) -> tuple[list[Expression], int]:
    """What is computed from each row that is counted, and the steps that a row takes besides."""
    picked_by = None if query.picks is None else query.picks.condition
    of_rows = [
        *(key.expression for key in query.keys),
        *(each for measure in query.measures for each in measure.expressions),
        *([] if picked_by is None else [picked_by]),
    ]
    grouped = steps_of_keys([key.expression for key in query.keys], private=query.private_keys)
    return of_rows, grouped + sum(map(steps_of_measure, query.measures))


def _picked_by(query: Query) -> list[Expression]:
    """What the question groups rows by, and leaves out rows by. A database may compute it before it joins."""
    measures = [m for m in query.measures if not AGGREGATES[m.aggregate].adds_up]
    found = [each for measure in measures for each in measure.expressions]
    if query.picks is not None and query.picks.condition is not None:
        found.append(query.picks.condition)
    return [*(key.expression for key in query.keys), *found]


def check_steps(
    source: Relation, expressions: Sequence[Expression], pieces: int = 1, *, more: int = 0
) -> None:
    """Refuse what could take long for a row, or for the rows of one person, before it has a price.

    Each row takes `more` steps besides those of the expressions.
    """
    check_row([*expressions_of(source), *expressions])
    if pieces * _work(source, expressions, more) > 1:
        raise QueryRefused(
            "The question computes too much from the rows that one person could have in it.",
            remedy="Join or unite less; compute less from texts, above all LIKE with _ after % and replace;"
            " or ask in several questions.",
        )


def _work(source: Relation, expressions: Sequence[Expression], more: int) -> Fraction:
    """The steps on the rows of one person, as a share of the most."""
    work = work_of(source).plus(source, STEPS_OF_A_ROW + more + steps_in(expressions))
    return max(
        Fraction(work.of_a_person, MOST_STEPS), Fraction(work.of_an_uncut_row, MOST_STEPS_OF_AN_UNCUT_ROW)
    )


def check_before_joins(source: Relation, above: Sequence[Expression], pieces: int = 1) -> None:
    """Refuse what takes long on each row of a side of a join.

    A database may compute it, for everybody, only if the other side has a row. The time would reveal that.
    """
    _check_steps_before_joins(_before_joins(source, above), pieces)


def _check_steps_before_joins(expressions: Sequence[Expression], pieces: int = 1) -> None:
    steps = _steps_before_joins(expressions)
    if steps > MOST_STEPS_BEFORE_A_JOIN or steps * pieces > MOST_STEPS_BEFORE_A_JOIN * _MOST_PIECES_OF_JOINS:
        raise QueryRefused(
            "The question computes too much from the rows that it joins.",
            remedy="Join on columns; add no long texts to columns, and use fewer LIKEs, in ON, WHERE,"
            " GROUP BY and subqueries; compute it after the join, in SELECT; or ask without the join.",
        )


def _steps_before_joins(expressions: Sequence[Expression]) -> int:
    return steps_in(expressions, _SHORT_CELL, everywhere=False)


def _before_joins(relation: Relation, above: Sequence[Expression]) -> list[Expression]:
    """All that may be computed before a join; of a public table, what it is joined on."""
    if joins_people(relation):
        return [*expressions_of(relation), *above]
    return [public for lookup in looked_up(relation) for _, public in lookup.pairs]


def check_statements(
    source: Relation, keys: Sequence[Expression], pieces: int, *, private_keys: bool
) -> None:
    """Refuse too many pieces: each reads its rows anew, and computes again what makes and groups them."""
    check_steps(source, keys, pieces, more=steps_of_keys(keys, private=private_keys))
    check_before_joins(source, keys, pieces)
    check_public_rows(source, pieces)
    over_joins = pieces * passed_on(source)
    written = pieces * calls_in(expressions_of(source))
    if pieces > MOST_PIECES or over_joins > MOST_PIECES_OVER_JOINS or written > MOST_PIECES * 10:
        raise _too_many_things()


def check_written(keys: Iterable[Expression], pieces: int) -> None:
    """Refuse long keys of many pieces: each piece has all of them in its statement."""
    if pieces * calls_in(keys) > MOST_WRITTEN:
        raise _too_many_things()


def _too_many_things() -> QueryRefused:
    return QueryRefused(
        "The question asks for too many different things at once.",
        remedy="Ask for fewer quantiles, different values or grouping sets; group by what is simpler;"
        " unite fewer tables before a join; or ask in several questions.",
    )


def _below_filters(relation: Relation) -> Relation:
    while isinstance(relation, Filter | Lookup):
        relation = relation.source
    return relation
