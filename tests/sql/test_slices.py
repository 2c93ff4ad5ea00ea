"""Vectors that come in slices of the people are those that come at once; and which questions are cut."""

import random

import numpy as np
import pytest

from discreet.dialects import DIALECTS
from discreet.release.exact_vectors import exact_vectors
from discreet.sql.emit import emit_sql
from tests.question.clinic import Database, clinic, planned

TABLES = {"visits": "visits", "labs": "labs", "wards": "wards"}
CUT = [
    "SELECT count(*), sum(cost), avg(age) FROM visits",
    "SELECT ward, count(*), sum(cost) FROM visits WHERE ward IN ('north', 'south') GROUP BY ward",
    "SELECT ward, median(age) FROM visits WHERE ward IN ('north', 'south') GROUP BY ward",
    "SELECT ward, count(DISTINCT patient), sum(age) FROM visits WHERE ward IN ('north', 'south')"
    " GROUP BY ROLLUP (ward)",
]


def cut_in_two(results, chance):
    """Every integer as the sum of two, at random."""
    halves = []
    for statement, table in results:
        first, second = dict(table), dict(table)
        for name in (name for name in table if name.startswith("s")):
            whole = [int(value or 0) for value in np.ma.filled(table[name], 0)]
            taken = [chance.randint(0, abs(value)) for value in whole]
            first[name] = np.array(taken, dtype=object)
            second[name] = np.array([a - b for a, b in zip(whole, taken, strict=True)], dtype=object)
        halves += [(statement, first), (statement, second)]
    return halves


@pytest.mark.parametrize("sql", CUT)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_slices_add_up(sql, delta):
    database, chance = Database(), random.Random(7)  # noqa: S311
    people, wards = [None, *range(30)], ["icu", "er", None, "other"]
    database.fill(
        (chance.choice(people), chance.choice(wards), chance.uniform(-5, 500), chance.randint(0, 99))
        for _ in range(400)
    )
    plan = planned(sql, clinic(delta=delta, max_groups=2))
    results = database.results(plan)
    whole, cut = exact_vectors(plan, results), exact_vectors(plan, cut_in_two(results, chance))
    for part, vector in whole.sums.items():
        assert [int(x) for x in vector] == [int(x) for x in cut.sums[part]]
    for part in whole.bins:
        leaves = plan.bounded.parts[part].leaves
        for group in range(len(whole)):
            assert list(whole.histogram(part, group, leaves)) == list(cut.histogram(part, group, leaves))


@pytest.mark.parametrize("sql", CUT)
def test_only_postgres_has_slices_and_they_hold_everybody_once(sql):
    plan = planned(sql, clinic(max_groups=2))
    for name, dialect in DIALECTS.items():
        for statement in emit_sql(plan, TABLES, dialect):
            assert len(statement.slices) == (2 if name == "postgres" else 0)
            assert statement.runs == (statement.slices or (statement.sql,))
            for number, each in enumerate(statement.slices):
                assert f"= {number}" in each


@pytest.mark.parametrize(
    ("sql", "policy"),
    [
        ("SELECT note, count(*) FROM visits GROUP BY note", {"delta": 1e-6}),
        ("SELECT count(DISTINCT note) FROM visits", {}),
        ("SELECT count(*), sum(cost) FROM visits", {"unique": True}),
        ("SELECT count(*), sum(cost) FROM visits", {"rows": True}),
    ],
)
def test_what_does_not_add_up_over_people_is_not_cut(sql, policy):
    plan = planned(sql, clinic(**policy))
    assert not any(statement.slices for statement in emit_sql(plan, TABLES, DIALECTS["postgres"]))
