"""Outputs are computed in one database that threads share and that a fork replaces."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pytest

from discreet.errors import EngineFailed
from discreet.model.deadline import Deadline
from discreet.release import outputs

IN_TIME = Deadline.after(3600)


def doubled(number):
    found = outputs._queried({"x": np.full(1000, number)}, "SELECT x + x AS y FROM noisy", IN_TIME)
    return set(found["y"].tolist())


def test_threads_see_their_own_columns_alone():
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(doubled, range(200))) == [{2 * number} for number in range(200)]


def test_a_process_that_is_forked_while_another_thread_is_at_work_computes_too(monkeypatch):
    used, open_database = [], outputs._database
    monkeypatch.setattr(outputs, "_database", lambda process: used.append(open_database(process)) or used[-1])
    assert doubled(1) == {2}
    with used[-1]._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that waits for a thread it does not have
            os._exit(0 if doubled(2) == {4} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("sql", ["SELECT * FROM '/etc/passwd'", "SET threads = 1", "SELECT * FROM doubled"])
def test_the_database_reaches_nothing_else(sql):
    with outputs._cursor() as cursor, pytest.raises(duckdb.Error, match=r"disabled|locked|does not exist"):
        cursor.execute(sql)
    with pytest.raises(EngineFailed):
        outputs._queried({"x": np.arange(2)}, sql, IN_TIME)
