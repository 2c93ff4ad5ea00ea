"""The Python front-end: the same question as in SQL, by the same path."""

import duckdb
import pytest

from discreet.curator.open_policy import open_curator
from discreet.errors import QueryRefused
from discreet.question.frame import Frame

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 100, delta = 1e-6 }

[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.visits.columns.age]
type = "integer"
bounds = [0, 99]

[tables.visits.columns.ward]
keys = ["north", "south"]

[tables.wards]
source = "wards.csv"
public = true
"""


@pytest.fixture
def curator(tmp_path):
    rows = (
        "SELECT range AS patient, ['north', 'south'][1 + range % 2] AS ward, 7.0 AS cost, range % 90 AS age"
    )
    duckdb.sql(f"COPY ({rows} FROM range(1000)) TO '{tmp_path}/visits.parquet'")
    (tmp_path / "wards.csv").write_text("ward,region\nnorth,up\nsouth,down\n")
    (tmp_path / "clinic.toml").write_text(POLICY)
    return open_curator(tmp_path / "clinic.toml", analyst="ann")


def sql_of(curator, frame):
    return curator.plan(frame.sql, epsilon=1)


@pytest.mark.parametrize(
    ("build", "sql"),
    [
        (
            lambda visits: visits.where("age > 65").group_by("ward").mean("cost"),
            'SELECT ward, avg(cost) AS "cost_mean" FROM visits WHERE age > 65 GROUP BY ward',
        ),
        (
            lambda visits: visits.count().sum("cost").variance("cost").std("age").median("cost"),
            "SELECT count(*) AS count, sum(cost) AS cost_sum, variance(cost) AS cost_variance,"
            " stddev(age) AS age_std, median(cost) AS cost_median FROM visits",
        ),
        (
            lambda visits: visits.group_by("floor(age / 10) * 10 AS decade").count_distinct("patient", "n")
            .having("n > 5").order_by("n DESC").limit(2),
            "SELECT floor(age / 10) * 10 AS decade, count(DISTINCT patient) AS n FROM visits GROUP BY decade"
            " HAVING n > 5 ORDER BY n DESC LIMIT 2",
        ),
        (
            lambda visits: visits.join("wards", on="ward").group_by("region").quantile("cost", 0.9, "high"),
            "SELECT region, quantile(cost, 0.9) AS high FROM visits JOIN wards USING (ward) GROUP BY region",
        ),
        (
            lambda visits: visits.join("wards", on="visits.ward = wards.ward").where("age > 1", "age < 9")
            .measure(share="avg(CASE WHEN cost > 5 THEN 1 ELSE 0 END)"),
            "SELECT avg(CASE WHEN cost > 5 THEN 1 ELSE 0 END) AS share FROM visits"
            " JOIN wards ON visits.ward = wards.ward WHERE age > 1 AND age < 9",
        ),
    ],
)  # fmt: skip
def test_a_frame_is_the_question_in_sql(curator, build, sql):
    assert curator.plan(build(curator.table("visits")).sql, epsilon=1) == curator.plan(sql, epsilon=1)


def test_a_frame_is_asked_and_explained(curator):
    frame = curator.table("visits").group_by("ward").count("n")
    assert frame.explain(epsilon=1).groups == 2
    answer = frame.ask(epsilon=50)
    assert answer["n"].tolist() == pytest.approx([500, 500], abs=20)
    assert str(frame) == frame.sql


@pytest.mark.parametrize(
    "step", ["1; DROP TABLE visits", "a, b", "1) FROM visits --", "x FROM y", "(SELECT 1", 5]
)
def test_a_step_is_one_expression(curator, step):
    with pytest.raises(QueryRefused) as refusal:
        curator.ask(curator.table("visits").where(step).count().sql, epsilon=1)
    assert refusal.value.remedy


def test_steps_leave_the_frame_as_it_is(curator):
    visits = curator.table("visits")
    visits.where("age > 65").count()
    assert visits == Frame("visits", curator.ask, curator.explain)


def test_a_table_that_is_not_there_is_helped_with(curator):
    with pytest.raises(QueryRefused, match="Did you mean “visits”"):
        curator.table("visit")


def test_steps_take_lists(curator):
    table = curator.table("visits")
    one = table.group_by("ward", "age").count().order_by("ward", "count DESC")
    assert table.group_by(["ward", "age"]).count().order_by(["ward", "count DESC"]).sql == one.sql
    assert table.group_by("ward").group_by(("age",)).sql == table.group_by("ward", "age").sql
