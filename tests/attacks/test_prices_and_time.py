"""Attacks G3, continued: on what a question costs at least, and how long it may take."""

import re
import threading
import time
from fractions import Fraction

import pytest

from discreet import EngineFailed, QueryRefused, TookTooLong
from discreet.engines.base.execution import run_to_end
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.model.deadline import Deadline
from discreet.model.privacy import amount_of

from .ask import Clinic, high, low

COUNT = "SELECT count(*) AS n FROM visits"
BUDGETS = [{"epsilon": 3, "delta": 0}, {"epsilon": 3, "delta": "1e-6"}]


# A price has a floor.


@pytest.mark.parametrize("budget", BUDGETS)
def test_g3_nothing_is_nearly_free(tmp_path, budget):
    """By any way of paying; and what the refusal says to pay instead is enough."""
    clinic = Clinic(tmp_path / "clinic", **budget)
    curator = clinic.open()
    prices = [{"epsilon": 1e-5}, *([{"rho": 1e-8}] if budget["delta"] else [])]
    for price in prices:
        for asked in (
            lambda price=price: curator.ask(COUNT, **price),
            lambda price=price: curator.explain(COUNT, **price),
            lambda price=price: curator.synthesize("SELECT ward FROM visits", **price),
        ):
            with pytest.raises(QueryRefused, match="at least") as refusal:
                asked()
        (least,) = re.findall(r"epsilon=([0-9.e-]+)", refusal.value.remedy)
        curator.plan(COUNT, epsilon=float(least))
        with pytest.raises(QueryRefused):
            curator.plan(COUNT, epsilon=float(least) / 2)
    assert amount_of(clinic.spent()) == 0


@pytest.mark.parametrize("budget", BUDGETS)
def test_g3_a_modest_accuracy_pays_the_floor_and_is_more_accurate(tmp_path, budget):
    clinic = Clinic(tmp_path / "clinic", **budget)
    answer = clinic.ask(COUNT, within=10**7)
    whole = amount_of(clinic.open().budget().account.budget)
    assert amount_of(clinic.spent()) == pytest.approx(float(whole) / 10_000, rel=1e-3)
    assert high(answer, "n") - low(answer, "n") < 10**7  # usually a tenth of it: what is left out is a guess


def test_g3_the_owner_sets_the_floor(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=10, dataset="least_price = 0.01")
    with pytest.raises(QueryRefused, match=re.escape("ε = 0.1 ")):
        clinic.ask(COUNT, epsilon=0.099)
    clinic.ask(COUNT, epsilon=0.1)
    assert clinic.spent().epsilon == Fraction(1, 10)


# A statement has a time limit.

ENDLESS = "SELECT sum(a.range * b.range) AS s FROM range(10000000) AS a, range(10000000) AS b"


def test_g3_a_statement_is_stopped_and_says_so(tmp_path):
    engine = DuckDBEngine({}, tmp_path, time_limit=0.2)
    with pytest.raises(TookTooLong) as stopped:
        engine.run(ENDLESS)
    assert isinstance(stopped.value, EngineFailed)
    assert "time_limit" in stopped.value.remedy
    assert engine.run("SELECT 1 AS one").reveal()["one"].tolist() == [1]


def test_g3_a_charge_stays_when_time_is_up(tmp_path, monkeypatch):
    clinic = Clinic(tmp_path / "clinic", dataset="time_limit = 7")
    limits = []

    def stopped(_, **options):
        limits.append(options["deadline"].seconds)
        return run_to_end(lambda: time.sleep(0.3), interrupt=lambda: None, deadline=Deadline.after(0.1))

    monkeypatch.setattr("discreet.engines.duckdb.engine.run_to_end", stopped)
    with pytest.raises(TookTooLong):
        clinic.ask(COUNT, epsilon=1)
    assert limits == [7]
    assert clinic.spent().epsilon == 1


def test_g3_an_interrupt_that_comes_too_early_is_repeated():
    """A statement that has not begun yet does not notice the first one."""
    begun, ended = threading.Event(), threading.Event()

    def work():
        time.sleep(0.3)
        begun.set()
        ended.wait()

    with pytest.raises(TookTooLong):
        run_to_end(work, interrupt=lambda: begun.is_set() and ended.set(), deadline=Deadline.after(0.05))
