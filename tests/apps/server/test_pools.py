"""Threads for questions: what they give leaves in steps, so that what came before does not show."""

import asyncio

import pytest

from discreet.apps.server import pools
from discreet.apps.server.calls import Workshop
from discreet.apps.server.pools import WorkPool
from discreet.apps.server.settings import ServerSettings
from discreet.service.service import open_service
from tests.attacks.ask import Clinic

STEP = 0.05


def works():
    return "done"


def fails():
    raise ValueError("it failed")


@pytest.fixture
def waits(monkeypatch):
    """How long is waited, on a clock that stands at 1.013 seconds after the call."""
    found, clock = [], iter([100.0])
    monkeypatch.setattr(pools, "time", type("Clock", (), {"monotonic": lambda: next(clock, 101.013)}))

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr(pools.asyncio, "sleep", sleep)
    return found


def run(action, step):
    pool = WorkPool("test", threads=1, of_one=1, most_waiting=1, step_seconds=step)
    try:
        return asyncio.run(pool.run("ana", action))
    finally:
        pool._executor.shutdown()


def test_what_is_held_back_leaves_at_the_next_step(waits):
    assert run(works, STEP) == "done"
    assert waits == [pytest.approx(1.05 - 1.013)]


def test_so_do_errors(waits):
    with pytest.raises(ValueError, match="it failed"):
        run(fails, STEP)
    assert waits == [pytest.approx(1.05 - 1.013)]


def test_who_hangs_up_while_an_answer_waits_leaves_no_place_taken(monkeypatch):
    """Else a thousand calls that are given up would fill the service for ever."""

    async def gone(_):
        raise asyncio.CancelledError

    monkeypatch.setattr(pools.asyncio, "sleep", gone)
    pool = WorkPool("test", threads=1, of_one=1, most_waiting=1, step_seconds=STEP)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(pool.run("ana", works))
    pool._executor.shutdown()
    assert pool.under_way == 0


def test_without_answer_times_nothing_waits(waits):
    assert run(works, 0.0) == "done"
    assert waits == []


@pytest.mark.parametrize(("answer_times", "waiting"), [("[1]", ["ask"]), ("[]", [])])
def test_questions_leave_in_steps_where_there_are_answer_times(tmp_path, answer_times, waiting):
    clinic = Clinic(tmp_path / "clinic", dataset=f"answer_times = {answer_times}")
    service = open_service([clinic.policy])
    workshop = Workshop(service, ServerSettings())
    try:
        assert [work.value for work, pool in workshop._pools.items() if pool._step_seconds] == waiting
    finally:
        workshop.close()
        service.close()
