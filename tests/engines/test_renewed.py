"""A database that is opened anew after many statements: nobody notices, and no notes of blocks pile up."""

import threading

import duckdb
import numpy as np
import pandas as pd
import pytest

from discreet.engines.duckdb import renewed
from discreet.errors import EngineFailed
from discreet.model.deadline import Deadline
from discreet.release import outputs
from tests.engines.conftest import source

EVERY = 10
JOIN = (
    "WITH rows AS MATERIALIZED (SELECT cost FROM data.visits)"
    " SELECT count(*) AS n FROM rows AS a JOIN rows AS b ON a.cost = b.cost"
)
NOTES = "SELECT sum(approximate_size) FROM duckdb_eviction_queues()"
SETTINGS = "SELECT name, value FROM duckdb_settings() ORDER BY name"


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(renewed, "_STATEMENTS_OF_ONE", EVERY)


def opened(database):
    """The database that is in use, after the next one was opened if it was time."""
    database._opener.submit(lambda: None).result()
    return database.connection


def ask(engine, times, sql=JOIN):
    for _ in range(times):
        engine.prepare(sql)
        found = engine.run(sql).reveal()["n"].tolist()
        opened(engine._database)
        opened(engine._empty._database)
    return found


def told(database, sql):
    return database.connection.cursor().execute(sql).fetchall()


def test_notes_of_blocks_that_are_gone_do_not_pile_up(open_engine):
    engine = open_engine()
    ask(engine, 1)
    databases = (engine._database, engine._empty._database)
    of_one = [told(database, NOTES)[0][0] for database in databases]
    assert all(of_one)
    ask(engine, 5 * EVERY)
    for database, notes in zip(databases, of_one, strict=True):
        assert told(database, NOTES)[0][0] <= EVERY * notes


def test_outputs_are_computed_in_a_database_that_is_opened_anew(monkeypatch):
    database = renewed.RenewedDatabase(outputs._connect)
    monkeypatch.setattr(outputs, "_database", lambda _: database)
    first = opened(database)
    for number in range(EVERY):
        found = outputs._queried(
            {"x": np.array([number])}, "SELECT x + x AS y FROM noisy", Deadline.after(60)
        )
        assert found["y"].tolist() == [2 * number]
    assert opened(database) is not first
    database.close()


def settings(database):
    found = told(database, SETTINGS)
    spill = dict(found)["temp_directory"]
    return spill, [
        (name, value if value is None else value.replace(spill, "the spill")) for name, value in found
    ]


def test_every_wall_and_every_limit_is_that_of_the_one_before(open_engine):
    engine = open_engine(memory_limit="300MB")
    databases = (engine._database, engine._empty._database)
    before = [settings(database) for database in databases]
    ask(engine, EVERY)
    after = [settings(database) for database in databases]
    assert [walls for _, walls in after] == [walls for _, walls in before]
    assert len({spill for spill, _ in (*before, *after)}) == 4
    with pytest.raises(duckdb.Error, match="locked"):
        opened(engine._database).cursor().execute("SET threads = 1")
    with pytest.raises(EngineFailed):
        engine.run("SELECT count(*) AS n FROM '/etc/passwd'")


def test_all_kinds_of_sources_are_there(open_engine):
    frame = pd.DataFrame({"patient_id": range(7)})
    names = {"a": "clinic.duckdb#visits", "b": "visits.csv", "c": "part-*.parquet", "d": "a frame"}
    engine = open_engine({name: source(place) for name, place in names.items()}, frames={"d": frame})
    parts = [f"(SELECT count(*) AS n FROM data.{name})" for name in names]
    first = opened(engine._database)
    assert ask(engine, 3 * EVERY, " UNION ALL ".join(parts)) == [1000, 1000, 2000, 7]
    assert opened(engine._database) is not first
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        first.execute("SELECT 1")


def test_one_memory_limit_holds_for_all_so_a_statement_that_runs_is_waited_for(open_engine):
    engine = open_engine()
    first = opened(engine._database)
    with engine._database.cursor() as cursor:
        ask(engine, 2 * EVERY)
        assert opened(engine._database) is first
        assert cursor.execute("SELECT count(*) FROM data.visits").fetchall() == [(1000,)]
    assert opened(engine._database) is not first


def test_one_that_cannot_be_opened_anew_stays(open_engine, monkeypatch):
    engine = open_engine()
    first, tried = opened(engine._database), []
    monkeypatch.setattr(engine._database, "_connect", lambda: tried.append(1) or 1 / 0)
    assert ask(engine, 3 * EVERY) == ask(engine, 1)
    assert opened(engine._database) is first
    assert len(tried) == 3


def test_a_statement_that_is_watched_tells_its_progress(open_engine):
    engine = open_engine()
    ask(engine, EVERY)
    seen = []
    slow = "SELECT count(*) AS n FROM range(9999) AS a(i), range(9999) AS b(i) WHERE a.i * b.i % 7 = 1"
    engine.run(slow, seen.append)
    assert any(share is not None and 0 < share <= 1 for share in seen)


def test_threads_share_databases_that_come_and_go(open_engine):
    engine = open_engine()
    found = []
    threads = [threading.Thread(target=lambda: found.extend(ask(engine, 2 * EVERY))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ask(engine, 1) * 8


def test_what_is_closed_is_not_opened_again(open_engine):
    engine = open_engine()
    opening, go_on = threading.Event(), threading.Event()
    connect = engine._database._connect
    made = []

    def slowly():
        opening.set()
        go_on.wait(30)
        made.append(connect())
        return made[0]

    engine._database._connect = slowly
    for _ in range(EVERY):
        engine.run(JOIN)
    assert opening.wait(30)
    threading.Timer(0.2, go_on.set).start()
    engine.close()
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        made[0].connection.execute("SELECT 1")
