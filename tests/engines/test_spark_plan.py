"""How Spark computes a question about people with several rows, by its own physical plan.

It has no window, no sort of all rows, no product of tables, and no task that has all rows of a busy person.
"""

import re
from contextlib import closing
from fractions import Fraction
from itertools import pairwise

import duckdb
import pytest

from discreet.dialects import DIALECTS
from discreet.sql.emit import emit_sql
from tests.engines.everywhere import TABLES, open_spark
from tests.question.clinic import clinic, planned

pytestmark = pytest.mark.xdist_group("spark")

BY_NOTE = "SELECT note, count(*), sum(cost) FROM visits GROUP BY note"
BY_WARD = "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward"
DELTA = Fraction(1, 10**6)
QUESTIONS = {
    "ℓ₁, public keys": (BY_WARD, 0),
    "ℓ₂, public keys": (BY_WARD, DELTA),
    "ℓ₂, private keys": (BY_NOTE, DELTA),
}
OPERATORS = {
    "AdaptiveSparkPlan",
    "BroadcastExchange",  # of the few rows beyond bounds
    "BroadcastHashJoin",
    "Exchange",
    "FileScan",
    "Filter",
    "HashAggregate",
    "Project",
    "ShuffledHashJoin",
    "Union",
}
BUSY = """
SELECT CASE WHEN range % 10 < 9 THEN 7 ELSE range END AS patient,
       'north' AS ward, (hash(range) % 1000003) / 7 AS cost, 'n' || range % 50 AS note FROM range(5000)
"""
SMALL = {
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4kb",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.2",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1kb",
    "spark.sql.shuffle.partitions": "8",
}
"""What Spark takes for a large partition, small enough for a test."""


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    """Nine of ten rows are of one person, in files that are read by several tasks."""
    folder = tmp_path_factory.mktemp("busy_clinic")
    (folder / "visits.parquet").mkdir()
    with duckdb.connect() as connection:
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
        for part in range(8):
            connection.execute(f"DELETE FROM visits; INSERT INTO visits BY NAME {BUSY}")
            connection.execute(f"COPY visits TO '{folder}/visits.parquet/{part}.parquet'")
        for name in ("labs", "wards"):
            connection.execute(f"COPY {name} TO '{folder}/{name}.parquet'")
    with closing(open_spark(spark, folder)) as engine:
        yield engine


def frames(engine, question):
    sql, delta = QUESTIONS[question]
    plan = planned(sql, clinic(delta=delta, max_rows=2, max_groups=2))
    statements = emit_sql(plan, engine.relations, DIALECTS["spark"])
    return [engine._session.frames.sql(statement.sql) for statement in statements]


def physical(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def operators(text):
    return set(re.findall(r"^[\s:+\-*()\d]*([A-Z]\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_sorts_all_rows_or_looks_at_them_through_a_window(engine, question):
    for frame in frames(engine, question):
        assert operators(physical(frame)) <= OPERATORS


@pytest.mark.parametrize("question", QUESTIONS)
def test_rows_are_counted_and_added_up_where_they_are_before_they_travel(engine, question):
    for frame in frames(engine, question):
        lines = physical(frame).splitlines()
        for line, below in pairwise(lines):
            if (
                "Exchange" in line and "coalesce(p#" not in line
            ):  # which is that of rows that meet their weight
                assert "HashAggregate" in below


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_rows_of_a_busy_person_are_split(engine, question):
    settings = engine._session.frames.conf
    before = {name: settings.get(name) for name in SMALL}
    for name, value in SMALL.items():
        settings.set(name, value)
    weighed = 0
    try:
        for frame in frames(engine, question):
            frame.toArrow()
            joins = [line for line in physical(frame).splitlines() if "ShuffledHashJoin" in line]
            if joins:  # what limits leave out is found without one
                weighed += 1
                assert any("skew=true" in line for line in joins)
        assert weighed
    finally:
        for name, value in before.items():
            settings.set(name, value)
