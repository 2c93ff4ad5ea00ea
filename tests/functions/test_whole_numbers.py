"""Whole numbers are summed as they are, the same as rounded to the grid; rows without a key weigh nothing."""

import pytest

from discreet.sql import row_columns
from tests.question.clinic import Database, clinic, planned

EXTREMES = (None, -(2**63), -1, 0, 1, 49, 50, 98, 99, 100, 2**53 + 1, 2**63 - 1)
ROWS = [(i // 2, ("north", "south", "west", None)[i % 4], 1.5, age) for i, age in enumerate(EXTREMES * 3)]


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize(
    "measure",
    [
        "sum(age)",
        "avg(age)",
        "variance(age)",
        "sum(age) FILTER (WHERE cost > 2)",
        "sum(age - 1000)",
        "sum(age * 3)",
    ],
)
def test_both_ways_give_the_same_integers(measure, unique, delta, monkeypatch):
    database = Database()
    database.fill(ROWS)
    plan = planned(
        f"SELECT ward, {measure} AS x FROM visits GROUP BY ward", clinic(unique=unique, delta=delta)
    )
    direct, statements = database.exact(plan), database.results(plan)
    monkeypatch.setattr(row_columns, "_is_whole", lambda *_: False)
    assert [s.sql for s, _ in database.results(plan)] != [s.sql for s, _ in statements]
    assert [vector.tolist() for vector in database.exact(plan)] == [vector.tolist() for vector in direct]


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_rows_without_a_key_use_up_no_weight(delta):
    database = Database()
    database.fill(
        [(1, "north", 1.0, 5), (1, "north", 1.0, 5), (1, "north", 1.0, None), (1, "north", 1.0, None)]
    )
    plan = planned("SELECT age, count(*) AS n FROM visits GROUP BY age", clinic(max_rows=2, delta=delta))
    counts, _ = database.exact(plan)
    assert sum(counts) == 2 * plan.bounded.parts[0].weighing.whole
