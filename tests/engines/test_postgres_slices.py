"""Statements over slices of the people, at once: one moment, the same sums, and one failure for all."""

import threading
import time

import numpy as np
import pytest

from discreet.dialects import DIALECTS
from discreet.engines.postgres import engine as postgres_engine
from discreet.engines.postgres import session as postgres_session
from discreet.errors import EngineFailed
from tests.engines.conftest import CANARY, everything_in, source

POSTGRES = DIALECTS["postgres"]
SLICES = [POSTGRES.in_slice("p", number) for number in range(POSTGRES.slices)]


@pytest.fixture
def engine(open_postgres, clinic):
    return open_postgres({"visits": source(f"{clinic}#visits")})


def counts(engine, *sqls):
    return [int(each.reveal()["n"][0]) for each in engine.run_each(sqls)]


@pytest.mark.parametrize(
    "values",
    [
        "(1::bigint), (2), (NULL), (-9223372036854775808), (9223372036854775807)",
        "(1.0::numeric), (1.00), (1.000), (2), ('NaN'), (NULL), (1e30), (1.0e30)",
        "(0.0::double precision), (-0.0), ('NaN'), ('-NaN'), (1e-300), (NULL)",
        "('a'::text), ('A'), ('ä'), (''), (NULL)",
        "('2020-01-01'::date), (NULL), ('infinity')",
        "(true), (false), (NULL)",
        "('a'::char(5)), ('a  '), ('b')",
    ],
)
def test_equal_people_are_in_one_slice_and_everybody_is_in_one(engine, values):
    people = f"(SELECT p FROM (VALUES {values}) AS v(p)) AS people"
    within = [f"count(*) FILTER (WHERE {each})" for each in SLICES]
    split = " AND ".join(f"{each} > 0" for each in within)
    sql = f"SELECT count(*) AS n FROM (SELECT {split} AS split FROM {people} GROUP BY p) AS x WHERE split"
    assert counts(engine, sql) == [0]
    everybody, *slices = counts(
        engine,
        f"SELECT count(*) AS n FROM {people}",
        *(f"SELECT count(*) AS n FROM {people} WHERE {each}" for each in SLICES),
    )
    assert sum(slices) == everybody


def test_slices_are_about_as_large_as_each_other(engine):
    """Of 10,000 people; a fair coin is off by 500 once in 10²³ times."""
    people = "(SELECT CAST(generate_series(0, 39998, 4) AS bigint) AS p) AS people"
    first, second = counts(engine, *(f"SELECT count(*) AS n FROM {people} WHERE {each}" for each in SLICES))
    assert abs(first - second) < 1000


def test_all_see_the_data_of_one_moment(engine, changes, monkeypatch):
    """That of the first: a row that comes before the others begin is seen by none."""
    changes(
        "DROP TABLE IF EXISTS moments", "CREATE TABLE moments (x int)", "GRANT SELECT ON moments TO PUBLIC"
    )
    named = postgres_session._snapshot

    def inserting(connection):
        name = named(connection)
        changes("INSERT INTO moments VALUES (0)")
        return name

    monkeypatch.setattr(postgres_session, "_snapshot", inserting)
    with engine._sessions.transactions(3) as connections:
        assert len(connections) == 3
        changes("INSERT INTO moments VALUES (1)")
        seen = [each.execute("SELECT count(*) FROM public.moments").fetchone() for each in connections]
    assert seen == [(0,)] * 3


def test_statements_run_on_connections_of_their_own(engine):
    found = engine.run_each(["SELECT CAST(count(*) AS bigint) AS n FROM pg_stat_activity WHERE pid = 0"] * 2)
    assert len(found) == 2
    with engine._sessions.transactions(2) as connections:
        backends = {each.info.backend_pid for each in connections}
    assert len(backends) == 2


def test_with_no_connection_left_they_run_one_after_the_other(engine, monkeypatch):
    monkeypatch.setattr(engine._sessions, "_places", threading.BoundedSemaphore(1))
    with engine._sessions.transactions(4) as connections:
        assert len(connections) == 1
    assert counts(engine, "SELECT 1 AS n", "SELECT 2 AS n", "SELECT 3 AS n") == [1, 2, 3]


def test_many_threads_with_two_statements_each_do_not_wait_for_each_other_for_ever(engine):
    results = []

    def ask():
        results.append(counts(engine, "SELECT 1 AS n", "SELECT 2 AS n"))

    threads = [threading.Thread(target=ask) for _ in range(3 * postgres_session.MOST_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert results == [[1, 2]] * len(threads)


SLOW = "SELECT count(*) AS n FROM (SELECT generate_series(1, 1000000000000) AS i) AS r"


def test_one_that_fails_stops_others_that_have_not_begun(engine, monkeypatch):
    """A cancel that comes before a statement is lost: it would have gone on to its end, or the time limit."""
    failed, fetch = threading.Event(), postgres_engine.fetch

    def begun_late(connection, statement, forbidden):
        if statement.sql == SLOW:
            assert failed.wait(30)
            time.sleep(0.5)
            return fetch(connection, statement, forbidden)
        try:
            return fetch(connection, statement, forbidden)
        finally:
            failed.set()

    monkeypatch.setattr(postgres_engine, "fetch", begun_late)
    started = time.monotonic()
    with pytest.raises(EngineFailed):
        engine.run_each([SLOW, f"SELECT CAST(note AS integer) AS n FROM {engine.relations['visits']}"])
    assert time.monotonic() - started < 30


def test_one_that_fails_stops_the_others_and_says_nothing(engine):
    started = time.monotonic()
    with pytest.raises(EngineFailed) as caught:
        engine.run_each([SLOW, f"SELECT CAST(note AS integer) AS n FROM {engine.relations['visits']}"])
    assert time.monotonic() - started < 30
    assert CANARY not in everything_in(caught.value)
    assert counts(engine, "SELECT 5 AS n") == [5]


def test_connections_are_given_back(engine):
    for _ in range(3 * postgres_session.MOST_CONNECTIONS):
        assert counts(engine, "SELECT 1 AS n", "SELECT 2 AS n") == [1, 2]
    assert len(engine._sessions._idle) <= 2
    assert np.all([each.info.transaction_status == 0 for each in engine._sessions._idle])
