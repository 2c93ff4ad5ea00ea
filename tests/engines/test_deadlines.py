"""Attacks G3 on every engine: a statement has what is left of a question's time, and none begins after it."""

import threading
import time
from contextlib import ExitStack

import pytest

from discreet.engines.base.execution import run_to_end
from discreet.engines.postgres.session import MOST_CONNECTIONS
from discreet.errors import TookTooLong
from discreet.model.deadline import Deadline

ENGINES = [
    "open_engine",
    pytest.param("open_postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("open_spark", marks=pytest.mark.xdist_group("spark")),
]


@pytest.mark.parametrize("opening", ENGINES)
def test_g3_nothing_begins_when_time_is_up(request, opening, monkeypatch):
    engine = request.getfixturevalue(opening)(time_limit=600)
    over = Deadline.after(0)
    begun = []
    monkeypatch.setattr("threading.Thread.start", begun.append)
    for late in (engine.run, lambda sql, **when: engine.run_each([sql, sql], **when)):
        with pytest.raises(TookTooLong, match="0 seconds"):
            late("SELECT 1 AS one", deadline=over)
    assert begun == []


@pytest.mark.parametrize("opening", ENGINES)
def test_g3_statements_that_run_together_have_one_time_limit(request, opening, monkeypatch):
    """What is left goes down from one to the next, also where nobody gave a deadline."""
    module = {"open_engine": "duckdb", "open_postgres": "postgres", "open_spark": "spark"}[opening]
    engine = request.getfixturevalue(opening)(time_limit=600)
    seen = []

    def run_to_end(*_, deadline, **__):
        seen.append(deadline)
        return [None, None, None]

    monkeypatch.setattr(f"discreet.engines.{module}.engine.run_to_end", run_to_end)
    engine.run_each(["SELECT 1 AS one"] * 3)
    assert len(set(seen)) == 1
    assert seen[0].seconds == 600


@pytest.mark.xdist_group("postgres")
def test_g3_the_server_is_told_what_is_left(open_postgres):
    """So that it ends a statement whose asker is gone, and not after the limit of a whole question."""
    engine = open_postgres(time_limit=600)
    setting = "SELECT setting::int AS ms FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'"
    (left,) = engine.run(setting, deadline=Deadline.after(60)).reveal()["ms"].tolist()
    assert 55_000 < left <= 65_000
    (whole,) = engine.run(setting).reveal()["ms"].tolist()
    assert 600_000 < whole <= 605_000


@pytest.mark.xdist_group("postgres")
def test_g3_waiting_for_a_connection_is_part_of_the_time(open_postgres):
    engine = open_postgres(time_limit=600)
    with ExitStack() as busy:
        for _ in range(MOST_CONNECTIONS):
            busy.enter_context(engine._sessions.transaction())
        with pytest.raises(TookTooLong):
            engine.run("SELECT 1 AS one", deadline=Deadline.after(0.05))
    assert engine.run("SELECT 1 AS one").reveal()["one"].tolist() == [1]


@pytest.mark.parametrize("begins", ["before", "after"])
def test_ctrl_c_while_a_statement_is_about_to_begin_leaves_none_running(begins, monkeypatch):
    """The thread of the statement begins before, or only after its caller has left."""
    start, late = threading.Thread.start, []

    def interrupted(thread):
        if begins == "before":
            start(thread)
            time.sleep(0.2)
        else:
            late.append(thread)
        raise KeyboardInterrupt

    ran, stop = [], threading.Event()

    def statement():
        ran.append(True)
        return stop.wait(60)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(statement, interrupt=stop.set, deadline=Deadline.after(60))
    monkeypatch.undo()
    for thread in late:
        start(thread)
        thread.join()
    assert stop.is_set() == bool(ran) == (begins == "before")
