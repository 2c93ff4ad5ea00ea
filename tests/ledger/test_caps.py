"""Caps of one analyst and of several together, which hold besides the budget, whoever asks at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet import BudgetExceeded, PureLoss
from discreet.ledger.interface import Cap

from .places import charge


def cap(most, *analysts):
    return Cap(name="project sepsis", analysts=frozenset(analysts), most=PureLoss(epsilon=most))


def test_several_analysts_share_a_cap(ledger):
    shared = cap(0.25, "ana", "bo")
    charge(ledger, "k1", analyst="ana", caps=[shared])
    charge(ledger, "k2", analyst="bo", caps=[shared])
    with pytest.raises(BudgetExceeded, match="what project sepsis may spend"):
        charge(ledger, "k3", analyst="ana", caps=[shared])
    charge(ledger, "k3", analyst="eve")
    assert ledger.balance("staff").left_for("ana", [shared]) == PureLoss(epsilon=0.05)
    assert ledger.balance("staff").left_for("eve") == PureLoss(epsilon=0.7)


def test_what_could_not_be_charged_is_refused_before_any_work(ledger):
    terms = {"analyst": "ana", "key": "k", "loss": PureLoss(epsilon=0.1)}
    with pytest.raises(BudgetExceeded, match="project sepsis"):
        ledger.stored_or_payable("staff", **terms, caps=[cap(0.05, "ana")])
    assert ledger.stored_or_payable("staff", **terms, caps=[cap(0.1, "ana")]) is None


def test_a_cap_that_was_lowered_below_what_is_spent_lets_nothing_through(ledger):
    charge(ledger, "k1")
    with pytest.raises(BudgetExceeded, match="More is spent already"):
        charge(ledger, "k2", caps=[cap(0.05, "ana")])
    assert ledger.balance("staff").left_for("ana", [cap(0.05, "ana")]) == PureLoss(epsilon=0)


def test_those_who_ask_at_once_do_not_exceed_a_cap(place, ledger):
    """Four handles race for three tenths: the cap is looked at inside the turn that spends."""
    shared = cap(0.3, *(f"a{i}" for i in range(8)))

    def ask(i):
        with place.open() as other:
            try:
                charge(other, f"k{i}", analyst=f"a{i}", caps=[shared])
            except BudgetExceeded:
                return 0
            return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(8))) == 3
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.3)
