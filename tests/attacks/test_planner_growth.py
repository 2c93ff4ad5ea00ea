"""G4: what a database makes of a question while it plans it, counted instead of timed.

Everything that a question can nest or repeat is written once, and twice as often. The plan may get twice as
long. A planner that repeats a value at each level, or derives conditions from pairs of others, makes it four
times as long, or far more: nobody pays for planning, and nothing interrupts it.
"""

import json

import pytest

from discreet.model.request import request_of

from .repeated import REPEATED
from .test_public_tables import wards, with_wards

MOST_GROWTH = 2.8
"""Of the plan of a question that is twice as long."""


DEEP = ("NOT", "CASE", "coalesce", "least", "BETWEEN", "IN a list", "quotients", "subqueries")
TIMES = {
    **dict.fromkeys(DEEP, 5),
    **dict.fromkeys(("EXISTS", "IN", "intersections", "what people are joined on"), 5),
    **dict.fromkeys(("subqueries of people", "texts that are equal", "unions"), 2),
    "casts": 1,
}
"""How often the shorter one has it; if it is not here, 16 times."""
SQUARES = ("grouping sets",)
"""Each set has all keys in its statement, which has a limit of its own."""


def statements_of(curator, sql):
    planning = curator._planning()
    return curator._data.emit(planning.release(planning.plan(sql, request_of(epsilon=1))))


def planned(curator, sql):
    """How much the plans say that DuckDB makes of the statements, against empty tables as before a charge."""
    found = 0
    for statement in statements_of(curator, sql):
        with curator._engine._empty.cursor() as cursor:
            rows = cursor.execute(f"EXPLAIN (FORMAT json) {statement.sql}").fetchall()
        found += sum(len(json.dumps(each["extra_info"])) for each in every(json.loads(rows[0][1])))
    return found


def every(nodes):
    for node in nodes:
        yield node
        yield from every(node["children"])


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with with_wards(tmp_path_factory.mktemp("growth"), wards(north=1)).open() as curator:
        yield curator


@pytest.mark.parametrize("name", sorted(REPEATED.keys() - set(SQUARES)))
def test_g4_a_plan_grows_as_its_question_does(curator, name):
    """36 equalities about a union, in 1.5 kB, took 26 seconds and 4.2 GB; 99 of them filled 24 GB."""
    write, times = REPEATED[name], TIMES.get(name, 16)
    once, twice = (planned(curator, write(number)) for number in (times, 2 * times))
    assert twice < MOST_GROWTH * once


def test_g4_the_size_of_plans_is_seen(curator):
    """Whether the test above can fail: what discreet does not write any more."""

    def size(number):
        values = ", ".join(f"age + {i} AS v{i}" for i in range(number + 1))
        equal = " AND ".join(f"v{i} = v{i + 1}" for i in range(number))
        sql = f"SELECT count(*) FROM (SELECT {values} FROM data.visits) AS t WHERE {equal}"
        with curator._engine._empty.cursor() as cursor:
            rows = cursor.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        return sum(len(json.dumps(each["extra_info"])) for each in every(json.loads(rows[0][1])))

    assert size(32) > MOST_GROWTH * size(16)
