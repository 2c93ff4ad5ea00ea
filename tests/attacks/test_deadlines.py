"""Attacks G3, continued: many statements, a slow draw or slow outputs, to go on for long after a charge."""

from types import SimpleNamespace

import numpy as np
import pytest

from discreet import QueryRefused, TookTooLong
from discreet.curator import models
from discreet.engines.duckdb import engine
from discreet.learn import LogisticRegression
from discreet.learn.descent.gradient import ClippedGradient
from discreet.model.deadline import Deadline
from discreet.noise.quantile import NoisyTree
from discreet.release import intervals, outputs
from discreet.release import question_release as path

from .ask import Clinic, stored_bytes
from .test_prices_and_time import COUNT, ENDLESS

MANY = "SELECT ward, median(cost) AS m, median(age) AS a, quantile(cost + age, 0.9) AS q FROM visits"
MANY += " GROUP BY ROLLUP (ward)"
FITTED = "SELECT cost, age > 40 AS old FROM visits"
DESCENT = LogisticRegression(solver="descent", steps=50)
WAYS = {
    "ask": lambda curator: curator.ask(MANY, epsilon=1),
    "synthesize": lambda curator: curator.synthesize("SELECT ward, age, cost FROM visits", epsilon=1, bins=4),
    "fit": lambda curator: curator.fit(DESCENT, FITTED, epsilon=1),
}


class Clock:
    """Stands still, but for what is said to take time."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def slow(self, function, seconds):
        """The function, after which so much time has passed."""

        def slowed(*arguments, **options):
            try:
                return function(*arguments, **options)
            finally:
                self.calls += 1
                self.now += seconds

        self.calls = 0
        return slowed


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("discreet.model.deadline.time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.fixture
def slow_clinic(tmp_path):
    return Clinic(tmp_path / "slow", dataset="time_limit = 7")


def test_g3_the_statements_of_a_question_share_one_time_limit(slow_clinic, clock, monkeypatch):
    """Each of eight takes less than the limit; the third of them ends after it, and no other begins."""
    monkeypatch.setattr(engine.DuckDBEngine, "_fetch", clock.slow(engine.DuckDBEngine._fetch, 3))
    with pytest.raises(TookTooLong):
        slow_clinic.ask(MANY, epsilon=1)
    assert clock.calls == 3
    assert slow_clinic.spent().epsilon == 1


@pytest.mark.parametrize("way", WAYS)
def test_g3_no_draw_begins_when_time_is_up(slow_clinic, clock, monkeypatch, way):
    """The last statement ends in time, and what comes between it and the draw does not."""
    monkeypatch.setattr(engine.DuckDBEngine, "run_each", clock.slow(engine.DuckDBEngine.run_each, 7))
    drawn = []
    monkeypatch.setattr(path, "draw_noise", lambda *_: drawn.append("question"))
    monkeypatch.setattr(
        "discreet.synth.plan.synthesis_plan.measure_tables", lambda *_, **__: drawn.append("table")
    )
    monkeypatch.setattr("discreet.learn.plan.fit_plan.FitPlan.draw_noise", lambda *_: drawn.append("model"))
    curator = slow_clinic.open()
    with pytest.raises(TookTooLong):
        WAYS[way](curator)
    assert drawn == []
    assert slow_clinic.spent().epsilon == 1
    with pytest.raises(TookTooLong):
        WAYS[way](curator)
    assert slow_clinic.spent().epsilon == 2  # a time that is looked at again is paid for again


def test_g3_descent_makes_no_step_when_time_is_up(slow_clinic, clock, monkeypatch):
    curator = slow_clinic.open()
    plan = curator.plan_fit(DESCENT, FITTED, epsilon=1)  # rehearsed before the clock counts
    monkeypatch.setattr(models.Models, "plan", lambda *_, **__: plan)
    monkeypatch.setattr(ClippedGradient, "sum", clock.slow(ClippedGradient.sum, 2))
    with pytest.raises(TookTooLong):
        curator.fit(DESCENT, FITTED, epsilon=1)
    assert clock.calls == 4
    assert slow_clinic.spent().epsilon == 1


OUTPUTS = "SELECT ward, count(*) * 2 / 3 AS n FROM visits GROUP BY ward HAVING count(*) > 1 ORDER BY n"


def test_g3_outputs_have_the_limit_and_are_free_to_compute_again(slow_clinic, clock, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "run_tables", clock.slow(outputs.run_tables, 8))
        with pytest.raises(TookTooLong, match="columns of the answer") as late:
            slow_clinic.ask(OUTPUTS)
    assert "free" in late.value.remedy
    answer = slow_clinic.ask(OUTPUTS)
    assert answer.repeated
    assert slow_clinic.spent().epsilon == 1
    assert stored_bytes(answer) == stored_bytes(slow_clinic.ask(OUTPUTS))


def test_g3_simulated_intervals_have_the_limit(slow_clinic, clock, monkeypatch):
    many = "SELECT floor(cost) AS c, " + ", ".join(f"avg(age) / {i} AS m{i}" for i in range(2, 9))
    monkeypatch.setattr(intervals, "draw_sums", clock.slow(intervals.draw_sums, 3))
    with pytest.raises(TookTooLong, match="columns of the answer"):
        slow_clinic.ask(f"{many} FROM visits GROUP BY c")
    assert clock.calls == 3


def test_g3_a_statement_of_outputs_is_stopped():
    noisy = {"noisy": {"n": np.arange(3)}}
    assert outputs.run_tables(noisy, "SELECT n FROM noisy", Deadline.after(600))["n"].tolist() == [0, 1, 2]
    assert outputs.run_tables(noisy, ENDLESS, Deadline.after(0.2)) is None


def test_g3_in_time_all_is_as_before(slow_clinic, clock, monkeypatch):
    monkeypatch.setattr(engine.DuckDBEngine, "_fetch", clock.slow(engine.DuckDBEngine._fetch, 3.4))
    slow_clinic.ask(COUNT)
    assert clock.calls == 1  # the count, with what limits leave out of it


QUANTILES = ", ".join(f"quantile(age, 0.{i:03d}) AS q{i}" for i in range(1, 20))


def test_g3_estimates_look_at_the_time_for_each_measure(slow_clinic, clock, monkeypatch):
    monkeypatch.setattr(outputs, "estimate", clock.slow(outputs.estimate, 3))
    with pytest.raises(TookTooLong, match="columns of the answer"):
        slow_clinic.ask(f"SELECT {QUANTILES} FROM visits")
    assert clock.calls < 5


@pytest.mark.parametrize("method", ["__post_init__", "quantile", "interval"])
def test_g3_trees_look_at_the_time_every_few_hundred(slow_clinic, clock, monkeypatch, method):
    monkeypatch.setattr(NoisyTree, method, clock.slow(getattr(NoisyTree, method), 0.05))
    with pytest.raises(TookTooLong, match="columns of the answer"):
        slow_clinic.ask("SELECT age AS a, floor(cost / 20) AS c, median(age) AS m FROM visits GROUP BY a, c")
    assert clock.calls < 1_000


def test_g3_a_rehearsal_has_the_time_limit(slow_clinic, clock, monkeypatch):
    monkeypatch.setattr(ClippedGradient, "sum", clock.slow(ClippedGradient.sum, 3))
    with pytest.raises(QueryRefused, match="made-up rows"):
        slow_clinic.open().fit(DESCENT, FITTED, epsilon=1)
    assert clock.calls < 5
    assert slow_clinic.spent().epsilon == 0
