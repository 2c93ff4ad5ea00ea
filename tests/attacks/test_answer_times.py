"""Attacks G3, continued: reading the clock. With answer times, outcomes leave when the policy says."""

from types import SimpleNamespace

import pytest

from discreet import EngineFailed, TookTooLong
from discreet.curator import answer_times
from discreet.curator.answer_times import AnswerTimes
from discreet.engines.duckdb import engine
from discreet.errors import PolicyError
from discreet.policy.reader import read_policy

from .ask import Clinic
from .test_deadlines import WAYS, Clock
from .test_prices_and_time import COUNT


class WaitingClock(Clock):
    """Moves on when somebody sleeps; a sleep may be stopped in its midst, once."""

    stopped = False

    def sleep(self, seconds):
        if self.stopped:
            self.stopped = False
            self.now += seconds / 2
            raise KeyboardInterrupt
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = WaitingClock()
    module = SimpleNamespace(monotonic=clock.monotonic, sleep=clock.sleep)
    monkeypatch.setattr("discreet.model.deadline.time", module)
    monkeypatch.setattr(answer_times, "time", module)
    return clock


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path / "timed", dataset="answer_times = [2, 10, 60]")


def read_slowly(monkeypatch, clock, seconds):
    monkeypatch.setattr(engine.DuckDBEngine, "run_each", clock.slow(engine.DuckDBEngine.run_each, seconds))


@pytest.mark.parametrize("way", [*WAYS, "profile"])
@pytest.mark.parametrize(("took", "leaves"), [(0.1, 2), (0.4, 2), (2.5, 10), (9.5, 10)])
def test_g3_an_answer_leaves_at_the_next_answer_time(clinic, clock, monkeypatch, way, took, leaves):
    ways = {**WAYS, "profile": lambda curator: curator.profile("visits", epsilon=1)}
    with clinic.open() as curator:
        statements = []
        run_each = engine.DuckDBEngine.run_each

        def run(*arguments, **options):
            clock.now += took if not statements else 0
            statements.append(arguments)
            return run_each(*arguments, **options)

        monkeypatch.setattr(engine.DuckDBEngine, "run_each", run)
        begun = clock.now
        ways[way](curator)
    assert clock.now - begun == pytest.approx(leaves)


def test_g3_a_failure_leaves_at_the_same_times(clinic, clock, monkeypatch):
    def fail(*_, **__):
        clock.now += 0.3
        raise EngineFailed("The database failed.", remedy="Ask again.")

    monkeypatch.setattr(engine.DuckDBEngine, "run_each", fail)
    begun = clock.now
    with clinic.open() as curator, pytest.raises(EngineFailed):
        curator.ask(COUNT, epsilon=1)
    assert clock.now - begun == pytest.approx(2)


def test_g3_the_last_answer_time_is_the_time_limit(clinic, clock, monkeypatch):
    read_slowly(monkeypatch, clock, 61)
    begun = clock.now
    with clinic.open() as curator, pytest.raises(TookTooLong, match="60 seconds"):
        curator.ask(COUNT, epsilon=1)
    assert clock.now - begun == pytest.approx(120)
    assert clinic.spent().epsilon == 1


@pytest.mark.parametrize("state", ["working", "held"])
def test_g3_whoever_stops_a_question_cannot_tell_whether_the_work_was_done(clinic, clock, monkeypatch, state):
    """Not by when it ends, not by its traceback, not by what the next try costs: nothing was stored."""
    if state == "held":
        clock.stopped = True
    else:

        def stop(*_, **__):
            clock.now += 1
            raise KeyboardInterrupt

        monkeypatch.setattr(engine.DuckDBEngine, "run_each", stop)
    begun = clock.now
    with clinic.open() as curator:
        with pytest.raises(KeyboardInterrupt) as stopped:
            curator.ask(COUNT, epsilon=1)
        assert clock.now - begun == pytest.approx(2)
        assert [entry.name for entry in stopped.traceback][-1] == "hold_back"
        assert stopped.traceback[-1].frame.f_locals["result"] == []
        assert stopped.value.__context__ is None
        monkeypatch.undo()
        assert not curator.ask(COUNT, epsilon=1).repeated
    assert clinic.spent().epsilon == 2


def test_g3_a_repeated_question_is_not_held_back(clinic, clock):
    with clinic.open() as curator:
        curator.ask(COUNT, epsilon=1)
        begun = clock.now
        assert curator.ask(COUNT, epsilon=1).repeated
    assert clock.now == begun


@pytest.mark.usefixtures("clock")
def test_g3_nobody_watches_a_question_that_has_answer_times(clinic):
    seen = []
    with clinic.open() as curator:
        curator.watch = seen.append
        curator.ask(COUNT, epsilon=1)
    assert seen == []


@pytest.mark.parametrize(
    ("elapsed", "leaves"), [(0.0, 2), (2.0, 2), (2.1, 10), (60.0, 60), (60.1, 120), (121, 180)]
)
def test_answer_times_go_on_at_multiples_of_the_last(elapsed, leaves):
    assert AnswerTimes(seconds=(2, 10, 60)).next_after(elapsed) == leaves


def test_without_answer_times_an_answer_leaves_at_once():
    assert AnswerTimes().next_after(0.123) == 0.123
    assert AnswerTimes().limit(600) == 600


@pytest.mark.parametrize(
    "written", ["[0]", "[5, 5]", "[5, 2]", "[-1]", "5", '["5"]', "[true]", "[601]", "[nan]"]
)
def test_answer_times_that_are_none_are_refused(tmp_path, written):
    clinic = Clinic(tmp_path / "clinic", dataset=f"answer_times = {written}")
    with pytest.raises(PolicyError, match="answer_times"):
        read_policy(clinic.policy)


def test_answer_times_may_be_parts_of_seconds(tmp_path):
    clinic = Clinic(tmp_path / "clinic", dataset="answer_times = [0.25, 1]")
    assert read_policy(clinic.policy).answer_times == (0.25, 1.0)


def test_answer_times_may_be_none_on_purpose(tmp_path):
    """A service has answer times unless the policy says that it has none."""
    assert read_policy(Clinic(tmp_path / "a", dataset="answer_times = []").policy).answer_times == ()
    assert read_policy(Clinic(tmp_path / "b").policy).answer_times is None
