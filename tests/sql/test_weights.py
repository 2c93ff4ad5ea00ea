"""People by what they lose: the same integers in the pass that adds up and in a pass of their own."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.aggregates.vectors import LeftOut
from discreet.dialects import DIALECTS
from discreet.dialects.duckdb import DUCKDB
from discreet.release.exact_vectors import exact_vectors
from discreet.sql.emit import emit_sql
from tests.question.clinic import Database, clinic, planned

TABLES = {"visits": "visits", "labs": "labs", "wards": "wards"}
QUESTIONS = {
    "sum": "SELECT sum(cost) FROM visits",
    "two columns": "SELECT sum(cost), sum(age), count(*) FROM visits",
    "some rows": "SELECT sum(cost) FILTER (WHERE age > 50) FROM visits WHERE note IS NULL",
    "by ward": "SELECT ward, sum(cost), avg(age) FROM visits GROUP BY ward",
    "rollup": "SELECT ward, sum(cost) FROM visits GROUP BY ROLLUP (ward)",
    "public table": "SELECT region, sum(cost) FROM visits JOIN wards USING (ward) GROUP BY region",
    "median": "SELECT ward, median(age), sum(cost) FROM visits GROUP BY ward",
}


class _InWindows(type(DUCKDB)):
    """It weighs as PostgreSQL does, and counts who loses what in a statement of its own."""

    weighs_in_windows = True
    sums_pairs = False


def hostile_rows(chance):
    people = [None, -(2**63), *range(40)]
    wards = ["north", "south", "east", None]
    costs = [None, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 4.0, -2.0, 4.001, -2.3]
    for _ in range(600):
        cost = chance.choice([*costs, *(chance.uniform(-8, 12) for _ in costs)])
        age = chance.choice([None, 0, 99, 100, -1, 2**63 - 1, -(2**63), chance.randint(-50, 400)])
        yield min(chance.choice(people) or 0, 35), chance.choice(wards), cost, age


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("rows", [False, True])
def test_people_are_in_the_same_bins_in_one_pass_or_two(question, delta, rows, monkeypatch):
    database = Database()
    database.fill(list(hostile_rows(random.Random(16))))  # noqa: S311
    plan = planned(QUESTIONS[question], clinic(delta=delta, max_rows=6, max_groups=2, rows=rows))
    lost = [i for i, part in enumerate(plan.bounded.parts) if isinstance(part, LeftOut)]
    found, sums = [], []
    for dialect in (DUCKDB, _InWindows()):
        monkeypatch.setattr("tests.question.clinic.DUCKDB", dialect)
        exact = exact_vectors(plan, database.results(plan))
        found.append([exact.left_out[i].tolist() for i in lost])
        sums.append({i: list(integers) for i, integers in exact.sums.items()})
    assert found[0] == found[1]
    assert sums[0] == sums[1]
    clamped = [i for i in lost if plan.bounded.parts[i].clamped]
    assert clamped or rows
    for i in clamped:
        assert sum(found[0][lost.index(i)][plan.bounded.parts[i].first_beyond :]) > 0


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(
    ("question", "times"), [("sum", 1), ("some rows", 1), ("two columns", 2), ("by ward", 2)]
)
def test_one_sum_of_all_rows_reads_them_once(question, times, delta):
    """It is added up by person, together with what clamping takes off. Several sums would be slow to keep."""
    plan = planned(QUESTIONS[question], clinic(delta=delta, max_rows=6, max_groups=2))
    (statement,) = emit_sql(plan, TABLES, DUCKDB)
    assert statement.left_out is not None
    assert statement.sql.count(" FROM visits") == times
    assert (" JOIN " in statement.sql) == (times > 1)


def test_one_sum_of_all_rows_reads_them_twice_without_what_is_left_out():
    plan = planned(QUESTIONS["sum"], replace(clinic(max_rows=6, max_groups=2), left_out_share=Fraction(0)))
    (statement,) = emit_sql(plan, TABLES, DUCKDB)
    assert statement.left_out is None
    assert "rows AS NOT MATERIALIZED" in statement.sql
    assert " JOIN " in statement.sql


def test_rows_that_are_numbered_are_numbered_once():
    """Where each row is a person, a number tells them apart. A second reading could number them otherwise."""
    plan = planned(QUESTIONS["public table"], clinic(rows=True))
    (part,) = [part for part in plan.bounded.parts if isinstance(part, LeftOut)]
    assert part.clamped
    for dialect in DIALECTS.values():
        for statement in emit_sql(plan, TABLES, dialect):
            assert statement.sql.count(dialect.row_ids()) == 1
