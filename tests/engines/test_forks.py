"""A curator used after a fork: refused before the charge, or right; it does not hang, nor harm its parent.

The children end themselves by `os._exit`, as those of multiprocessing do, and are killed if they hang.
"""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from discreet.engines.postgres.session import MOST_CONNECTIONS
from tests.attacks.ask import Clinic

SECONDS = 60
COUNT = "SELECT count(*) AS n FROM visits WHERE age < 50"


def in_child(work):
    """What the work returned, or the error's words, as text; None if the child hung or crashed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            told = str(work())
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    return told if os.waitpid(child, 0)[1] == 0 else None


def test_item10_a_question_after_a_fork_is_refused_before_the_charge(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    with clinic.open() as curator:
        asked = curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
        before = curator.budget().spent
        told = in_child(lambda: curator.ask(COUNT, epsilon=1))
        assert told is not None, "the child hung or crashed"
        assert told.startswith("PolicyError: ")
        assert "fork" in told
        assert "Open the policy in this process" in told
        assert curator.budget().spent == before
        stored = in_child(lambda: curator.ask("SELECT count(*) AS n FROM visits", epsilon=1).receipt.digest)
        assert stored == asked.receipt.digest  # what was paid for is in the ledger, and needs no database
        curator.ask(COUNT, epsilon=1)


def test_item10_the_remedy_works(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    with clinic.open() as curator:
        curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
        told = in_child(lambda: clinic.open().ask(COUNT, epsilon=1).charged.epsilon)
        assert told == "1"


def test_item10_public_keys_are_not_read_after_a_fork(tmp_path):
    """They are read to plan a question: before the charge, and by the same database."""
    clinic = Clinic(tmp_path / "clinic")
    (tmp_path / "clinic" / "names.csv").write_text("ward,floor\nnorth,first\nsouth,second\n")
    with clinic.policy.open("a") as policy:
        policy.write('\n[tables.names]\nsource = "names.csv"\npublic = true\n')
    with clinic.open() as curator:
        told = in_child(
            lambda: curator.explain(
                "SELECT floor, count(*) FROM visits JOIN names USING (ward) GROUP BY floor", epsilon=1
            )
        )
    assert told is not None, "the child hung or crashed"
    assert told.startswith("PolicyError: ")


def test_item10_a_child_that_closes_leaves_its_parent_alone(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    with clinic.open() as curator:
        spill = curator._engine._remove_spill.peek()[2][0]
        assert in_child(curator.close) == "None"
        assert in_child(curator._engine._remove_spill) == "None"  # as the end of a process does
        assert Path(spill).is_dir()
        curator.ask(COUNT, epsilon=1)
    assert not Path(spill).exists()


@pytest.mark.xdist_group("postgres")
def test_item10_postgres_is_asked_anew_even_if_every_connection_is_in_use(open_postgres):
    engine = open_postgres()

    def asked():
        engine.prepare("SELECT 2 AS a")
        return engine.run("SELECT 2 AS a").reveal()["a"].tolist()

    with ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            stack.enter_context(engine._sessions.transaction())
        with engine._sessions._lock:  # as another thread holds it for a moment
            told = in_child(asked)
    assert told is not None, "the child hung or crashed"
    assert told == "[2]"


@pytest.mark.xdist_group("spark")
def test_item10_spark_is_refused_after_a_fork_and_goes_on_in_the_parent(open_spark):
    engine = open_spark()
    sql = f"SELECT count(*) AS n FROM {engine.relations['visits']}"
    for work in (lambda: engine.prepare(sql), lambda: engine.run(sql), lambda: open_spark()):
        told = in_child(work)
        assert told is not None, "the child hung or crashed"
        assert told.startswith("PolicyError: ")
        assert "fork" in told
    assert in_child(engine.close) == "None"
    engine.prepare(sql)
    assert engine.run(sql).reveal()["n"].tolist() == [1000]
