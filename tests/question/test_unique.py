"""Where the owner vouches for one row a person, rows without an id are left out: there may be many."""

from fractions import Fraction
from itertools import product

import pytest

from discreet.dialects.duckdb import DUCKDB
from discreet.model.expression import Field
from discreet.model.neighbours import Neighbours
from discreet.model.policy import ValueType
from discreet.model.query import Scan
from discreet.sql.plain_rows import Code, emit_rows
from tests.bounds.test_one_person import DELTAS, PRIVATE, QUESTIONS, RELATIONS, ROWS, TESTS, compare
from tests.question.clinic import Database, clinic, planned
from tests.sql.test_plain_rows import run

OTHERS = [(1, *ROWS[0]), (2, *ROWS[1])]
"""Two people with one row each, as it was vouched for."""
WITHOUT_ID = [[], *([row] for row in ROWS), [ROWS[0]] * 5, [ROWS[1]] * 2 + [ROWS[0]] * 3]
"""All rows without an id that there may be: none, one, many."""


@pytest.fixture(scope="module")
def database():
    return Database()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_g8_rows_without_an_id_move_nothing_further_than_claimed(database, question, delta):
    """Every set of such rows against every other: together they are one person, who comes, goes or changes.

    Their tests, in a table that is not unique, come and go with them.
    """
    added, replaced = (
        planned(question, clinic(relation=relation, delta=delta, unique=True)) for relation in RELATIONS
    )
    exact, other_exact = [], []
    for rows, tests in zip(WITHOUT_ID, [*TESTS, []] * len(WITHOUT_ID), strict=False):
        nobody = [(None, *row) for row in rows]
        database.fill(OTHERS + nobody, [(1, "x", 2), *((None, *test) for test in (tests if rows else []))])
        exact.append(database.exact(added))
        other_exact.append(database.exact(replaced))
    for one in exact:
        compare(added, one, exact[0])
    for one, another in product(other_exact, other_exact):
        compare(replaced, one, another)


@pytest.mark.parametrize("question", [question for question in PRIVATE if "labs" not in question])
def test_g8_rows_without_an_id_have_no_private_key(database, question):
    plan = planned(question, clinic(delta="1e-6", unique=True))
    database.fill(OTHERS)
    without = database.by_key(plan)
    database.fill(OTHERS + [(None, "north", 1.0, 3, "of nobody")] * 9)
    assert database.by_key(plan) == without


@pytest.mark.parametrize("unique", [True, False])
def test_g8_a_count_of_rows_without_an_id(database, unique):
    """Not unique, they are one person who is weighed: five rows count as two."""
    plan = planned("SELECT count(*) FROM visits", clinic(unique=unique))
    database.fill(OTHERS + [(None, *ROWS[0])] * 5)
    counted = Fraction(int(database.exact(plan)[0][0]), plan.bounded.parts[0].weighing.whole)
    assert counted == 2 if unique else 3.9 < counted <= 4


def test_g8_models_are_not_learnt_from_rows_without_an_id():
    age = Field(name="t0.age", type=ValueType.INTEGER)
    code = Code(value=age, offset=Fraction(0), grid=Fraction(1), low=0, high=9)
    table = clinic(unique=True, relation=Neighbours.ADD_REMOVE).tables["visits"]
    statement = emit_rows(Scan(table=table, alias="t0"), [code], {"visits": "visits"}, DUCKDB)
    assert run(statement, [(None, 1, 0.0), (None, 2, 0.0), (7, 3, 0.0)]) == {"c0": [3]}
