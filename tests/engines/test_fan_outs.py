"""How many rows of a public table match: the same on every engine, and as many as a join really makes."""

import re

import duckdb
import pytest

import discreet
from discreet.errors import QueryRefused
from tests.engines.databases import execute

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 900, delta = 0 }}

[tables.visits]
source = "{visits}"
person = "patient"
max_rows = 40

[tables.odd]
source = "{odd}"
public = true
max_matches = 5
"""
VISITS = "SELECT i AS patient, i AS number, i * 1.0 AS share, 'a' AS word FROM range(100) AS r(i)"
"""Everybody has one visit, and each number and share once."""
ODD = [
    *[(0, 0.0, "a")] * 2,
    *[(0, -0.0, "A")] * 3,
    (0, float("nan"), "a "),
    *[(None, None, None)] * 30,
    *[(None, float("inf"), None)] * 7,
    *[(2**53, 1.0, None)] * 4,
    *[(2**53 + 1, 1.5, None)] * 4,
]
"""As numbers, zero with either sign is one value, and so are two large integers; letters are not folded."""
JOINS = {
    "v.number = o.number": 6,
    "v.share = o.share": 5,
    "v.word = o.word": 3,
    "v.word = lower(o.word)": 5,
    "v.word = trim(lower(o.word))": 6,
    "v.share = o.number": 8,
    "v.word = o.word AND v.share = o.share": 3,
    "v.number = coalesce(o.number, -5)": 37,
    "v.word = coalesce(o.word, 'nobody')": 45,
    "v.share = coalesce(o.share, 0.5)": 38,
}


@pytest.fixture(scope="module")
def places(request, tmp_path_factory):
    """The policy's sources on an engine."""
    folder = tmp_path_factory.mktemp("odd")

    def tables(connection):
        connection.execute(f"CREATE TABLE visits AS {VISITS}")
        connection.execute("CREATE TABLE odd (number BIGINT, share DOUBLE, word VARCHAR)")
        connection.executemany("INSERT INTO odd VALUES (?, ?, ?)", ODD)
        for name in ("visits", "odd"):
            connection.execute(f"COPY {name} TO '{folder}/{name}.parquet'")

    with duckdb.connect() as connection:
        tables(connection)

    def of(engine):
        if engine == "duckdb":
            return {name: f"{folder}/{name}.parquet" for name in ("visits", "odd")}
        if engine == "spark":
            session = request.getfixturevalue("spark")
            for name in ("visits", "odd"):
                session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(f"fan_out_{name}")
            return {name: f"spark://session#fan_out_{name}" for name in ("visits", "odd")}
        import psycopg

        url = request.getfixturevalue("postgres_server").url
        visits = VISITS.replace("range(100)", "generate_series(0, 99)").replace("i * 1.0", "i::float8")
        execute(
            url,
            "DROP SCHEMA IF EXISTS fan_out CASCADE",
            "CREATE SCHEMA fan_out",
            f"CREATE TABLE fan_out.visits AS {visits}",
            "CREATE TABLE fan_out.odd (number bigint, share float8, word text)",
        )
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO fan_out.odd VALUES (%s, %s, %s)", ODD)
        return {name: f"{url}#fan_out.{name}" for name in ("visits", "odd")}

    return of


def matches_on(curator, on):
    """As many as the plan rests on, or those that it is refused for."""
    try:
        query = curator.plan(f"SELECT count(*) AS n FROM visits AS v JOIN odd AS o ON {on}", epsilon=1)
    except QueryRefused as refused:
        return int(re.fullmatch(r"As many as (\d+) rows of “odd” share one value .*", refused.problem)[1])
    return query.bounded.query.source.matches


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=pytest.mark.xdist_group("spark")),
    ],
)
def test_g3_what_is_counted_is_what_a_join_makes(engine, places, request, tmp_path):
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(**places(engine)))
    session = {"spark": request.getfixturevalue("spark")} if engine == "spark" else {}
    found = {}
    with discreet.open(policy, **session) as curator:
        for on in JOINS:
            found[on] = matches_on(curator, on)
    assert found == JOINS
