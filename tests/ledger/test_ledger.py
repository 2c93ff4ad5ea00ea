"""What every ledger promises, whichever database keeps it."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import BudgetExceeded, InvalidInput, LedgerClosed, NotComposable
from discreet.ledger.interface import Account, EntryKind
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss

from .places import ONE, TENTH, account, charge

BAD_TEXTS = [None, 1, b"x", "", "  ", "a\0b", "\ud800", "x" * 1001]
RHO = ConcentratedLoss(rho=Fraction(1, 10), delta=Fraction(1, 10**6))


def test_ten_charges_of_a_tenth_fit_one_exactly_and_nothing_more(ledger):
    for i in range(10):
        charge(ledger, f"k{i}")
    assert ledger.balance("staff").left == PureLoss(epsilon=0)
    with pytest.raises(BudgetExceeded, match="used up"):
        charge(ledger, "one more", loss=PureLoss(epsilon=Fraction(1, 10**15)))
    ledger.verify()


def test_a_receipt_says_what_was_charged(ledger):
    receipt = charge(ledger, "k", loss=PureLoss(epsilon=0.25))
    assert (receipt.number, receipt.dataset, receipt.version, receipt.analyst) == (2, "staff", 1, "ana")
    assert (receipt.question, receipt.key, receipt.charged) == ("SELECT k", "k", PureLoss(epsilon=0.25))
    assert [entry.receipt() for entry in ledger.entries("staff") if entry.kind is EntryKind.CHARGED] == [
        receipt
    ]


def test_a_refusal_changes_nothing(ledger):
    charge(ledger, "k")
    before = ledger.balance("staff"), list(ledger.entries("staff"))
    with pytest.raises(BudgetExceeded, match=r"costs ε = 0\.95, and 0\.9 of 1 is left"):
        charge(ledger, "too much", loss=PureLoss(epsilon=0.95))
    assert (ledger.balance("staff"), list(ledger.entries("staff"))) == before


def test_charges_are_rounded_up_and_budgets_down(ledger):
    third = PureLoss(epsilon=Fraction(1, 3))
    assert charge(ledger, "third", loss=third).charged.epsilon == Fraction(333333333333334, 10**15)
    balance = ledger.open_account(account("pupils", budget=third))
    assert balance.account.budget.epsilon == Fraction(333333333333333, 10**15)
    with pytest.raises(BudgetExceeded):
        charge(ledger, "third", dataset="pupils", loss=third)
    assert ledger.open_account(account("pupils", budget=third)) == balance


def test_an_amount_below_the_unit_costs_one_unit(ledger):
    receipt = charge(ledger, "tiny", loss=PureLoss(epsilon=Fraction(1, 10**30)))
    assert receipt.charged.epsilon == Fraction(1, 10**15)


def test_a_loss_of_nothing_is_an_entry_and_free(ledger):
    assert charge(ledger, "free", loss=PureLoss(epsilon=0)).charged == PureLoss(epsilon=0)


def test_a_huge_loss_is_refused_without_overflow(ledger):
    with pytest.raises(BudgetExceeded):
        charge(ledger, "huge", loss=PureLoss(epsilon=10**12))


def test_the_cap_of_an_analyst_holds_inside_the_budget(place):
    with place.open() as ledger:
        ledger.open_account(account(cap=PureLoss(epsilon=0.3)))
        for i in range(3):
            charge(ledger, f"ana {i}")
        with pytest.raises(BudgetExceeded, match="one analyst"):
            charge(ledger, "ana 3")
        charge(ledger, "bo", analyst="bo")
        balance = ledger.balance("staff")
        assert balance.analysts == {"ana": PureLoss(epsilon=0.3), "bo": TENTH}
        assert balance.spent == PureLoss(epsilon=0.4)
        ledger.verify()


def test_the_budget_holds_over_all_analysts_together(place):
    with place.open() as ledger:
        ledger.open_account(account(cap=PureLoss(epsilon=0.6)))
        charge(ledger, "a", analyst="ana", loss=PureLoss(epsilon=0.6))
        with pytest.raises(BudgetExceeded, match=r"0\.4 of 1 is left") as refused:
            charge(ledger, "b", analyst="bo", loss=PureLoss(epsilon=0.5))
        assert "one analyst" not in refused.value.problem
        assert ledger.balance("staff").spent == PureLoss(epsilon=0.6)


def test_a_concentrated_account_adds_rho_and_delta_and_converts_the_rest(place):
    with place.open() as ledger:
        ledger.open_account(account(budget=RHO))
        converted = charge(ledger, "pure", loss=PureLoss(epsilon=0.2)).charged
        assert converted == ConcentratedLoss(rho=Fraction(2, 100), delta=0)
        charge(ledger, "approx", loss=ApproximateLoss(epsilon=0.2, delta=1e-7))
        charge(ledger, "delta", loss=ConcentratedLoss(rho=0, delta=9e-7))
        with pytest.raises(BudgetExceeded, match="δ"):
            charge(ledger, "more delta", loss=ConcentratedLoss(rho=0, delta=1e-18))
        assert ledger.balance("staff").left == ConcentratedLoss(rho=Fraction(6, 100), delta=0)
        ledger.verify()


def test_a_pure_account_pays_no_concentrated_loss(ledger):
    for loss in (RHO, ApproximateLoss(epsilon=0.1, delta=1e-9)):
        with pytest.raises(NotComposable):
            charge(ledger, "k", loss=loss)


def test_the_same_question_is_charged_once(ledger):
    first = charge(ledger, "k")
    assert ledger.store_answer(first, b"42") == b"42"
    assert charge(ledger, "k", analyst="bo") == (first, b"42")
    assert ledger.balance("staff").spent == TENTH
    ledger.verify()


def test_g1_a_charge_that_has_no_answer_is_charged_anew(ledger):
    """Nobody knows whether something was drawn for it."""
    first, second = charge(ledger, "k"), charge(ledger, "k", analyst="bo")
    assert (first.number, second.number) == (2, 3)
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)
    assert ledger.store_answer(second, b"second") == b"second"
    assert ledger.store_answer(first, b"first") == b"second"
    assert charge(ledger, "k") == (second, b"second")
    ledger.verify()


def test_g1_a_charge_for_which_nothing_was_drawn_is_used_once_more(ledger):
    first = charge(ledger, "k")
    assert ledger.mark_unused(first)
    assert ledger.mark_unused(first)  # said again, as whoever lost the outcome does: nothing changes
    assert charge(ledger, "k", analyst="bo") == first
    assert not ledger.mark_unused(first)  # each try can be watched: two for one charge, and no more
    assert ledger.balance("staff").spent == TENTH
    second = charge(ledger, "k")
    assert second != first
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)
    assert not ledger.mark_unused(first)  # another try was charged since, so that this says nothing
    assert charge(ledger, "k") not in (first, second)
    kinds = [str(entry.kind) for entry in ledger.entries("staff")]
    assert kinds == ["opened", "charged", "unused", "resumed", "charged", "charged"]
    ledger.verify()


def test_g1_what_was_answered_is_not_unused_any_more(ledger):
    receipt = charge(ledger, "k")
    ledger.store_answer(receipt, b"42")
    assert not ledger.mark_unused(receipt)
    assert charge(ledger, "k") == (receipt, b"42")
    for forged in (replace(receipt, number=3), replace(receipt, key="other"), "receipt"):
        with pytest.raises(InvalidInput):
            ledger.mark_unused(forged)
    ledger.verify()


def test_the_same_key_at_another_price_is_refused(ledger):
    charge(ledger, "k")
    with pytest.raises(InvalidInput, match="another price"):
        charge(ledger, "k", loss=PureLoss(epsilon=0.2))


def test_the_first_answer_stays(ledger):
    receipt = charge(ledger, "k")
    assert ledger.stored_answer("staff", "k") is None
    assert ledger.store_answer(receipt, b"first") == b"first"
    assert ledger.store_answer(receipt, b"second") == b"first"
    assert ledger.stored_answer("staff", "k") == (receipt, b"first")
    ledger.verify()


def test_answers_are_found_by_the_beginning_of_their_keys(ledger):
    """Of the present version of the data, and only what was answered."""
    for key in ("a at 1", "a at 2", "a as", "a au", "b at 1", "a at 3"):
        receipt = charge(ledger, key=key)
        if key != "a at 3":
            ledger.store_answer(receipt, key.encode())
    assert [answer for _, answer in ledger.stored_answers("staff", "a at ")] == [b"a at 1", b"a at 2"]
    ledger.refresh("staff")
    assert ledger.stored_answers("staff", "a at ") == []


def test_keys_that_were_answered_are_found_by_their_order(ledger):
    """The last ones first; of the present version of the data, and only what was answered."""
    for key in ("a:3", "a:1", "a:2", "b:1", "a:4"):
        receipt = charge(ledger, key=key)
        if key != "a:4":
            ledger.store_answer(receipt, key.encode())
    assert ledger.stored_keys("staff", "a:2", "a;", most=5) == ["a:3", "a:2"]
    assert ledger.stored_keys("staff", "a:1", "a;", most=2) == ["a:3", "a:2"]
    assert ledger.stored_keys("staff", "a:1", "a:3", most=5) == ["a:2", "a:1"]
    ledger.refresh("staff")
    assert ledger.stored_keys("staff", "a:1", "a;", most=5) == []


def test_an_empty_answer_is_an_answer(ledger):
    receipt = charge(ledger, "k")
    assert ledger.store_answer(receipt, b"") == b""
    assert ledger.store_answer(receipt, b"x") == b""


def test_only_a_receipt_of_this_ledger_stores_an_answer(ledger):
    receipt = charge(ledger, "k")
    for forged in (
        replace(receipt, number=3),
        replace(receipt, key="other"),
        replace(receipt, charged=PureLoss(epsilon=0)),
        replace(receipt, digest="0" * 64),
        replace(receipt, dataset="unknown"),
        replace(receipt, version=2**70),
        replace(receipt, key="\ud800"),
    ):
        with pytest.raises(InvalidInput, match=r"no such receipt|none that a ledger can hold"):
            ledger.store_answer(forged, b"x")
    for not_bytes in ("text", None, bytearray(b"x")):
        with pytest.raises(InvalidInput):
            ledger.store_answer(receipt, not_bytes)
    with pytest.raises(InvalidInput):
        ledger.store_answer("receipt", b"x")


def test_new_data_is_a_new_version_and_the_budget_goes_on(ledger):
    old = charge(ledger, "k")
    ledger.store_answer(old, b"old")
    assert ledger.refresh("staff") == 2
    assert ledger.stored_answer("staff", "k") is None
    new = charge(ledger, "k")
    assert (new.version, new.number > old.number) == (2, True)
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.2)
    ledger.verify()


def test_an_answer_that_comes_after_the_data_changed_is_kept_with_its_own_version(ledger):
    receipt = charge(ledger, "k")
    ledger.refresh("staff")
    assert ledger.store_answer(receipt, b"late") == b"late"
    assert ledger.stored_answer("staff", "k") is None
    ledger.verify()


def test_accounts_and_answers_outlive_the_handle(place):
    with place.open() as ledger:
        ledger.open_account(account())
        ledger.store_answer(charge(ledger, "k"), b"42")
    with place.open() as ledger:
        assert ledger.open_account(account()).spent == TENTH
        assert ledger.stored_answer("staff", "k")[1] == b"42"


def test_two_policies_on_one_account_close_it(ledger):
    with pytest.raises(LedgerClosed, match="change_budget"):
        ledger.open_account(account(budget=PureLoss(epsilon=2)))
    with pytest.raises(LedgerClosed, match="change_budget"):
        ledger.open_account(account(cap=TENTH))
    with pytest.raises(LedgerClosed, match="other people"):
        ledger.open_account(account(fingerprint="another source"))


def test_the_same_people_have_one_account(ledger):
    with pytest.raises(LedgerClosed, match="'staff'"):
        ledger.open_account(account("staff again", fingerprint="of staff"))


def test_accounts_do_not_touch_each_other(ledger):
    ledger.open_account(account("pupils", budget=RHO))
    charge(ledger, "k")
    charge(ledger, "k", dataset="pupils", loss=RHO)
    assert ledger.balance("staff").spent == TENTH
    assert ledger.balance("pupils").left == ConcentratedLoss(rho=0, delta=0)
    assert [entry.number for entry in ledger.entries("pupils")] == [2, 4]
    ledger.verify()


def test_a_budget_is_changed_by_its_owner_but_never_below_what_is_spent(ledger):
    for i in range(5):
        charge(ledger, f"k{i}")
    for less in (PureLoss(epsilon=0.4), RHO):
        with pytest.raises(InvalidInput, match="spent"):
            ledger.change_budget("staff", budget=less, analyst_cap=less, reason="a mistake")
    with pytest.raises(InvalidInput, match="spent"):
        ledger.change_budget("staff", budget=ONE, analyst_cap=TENTH, reason="a mistake")
    half = PureLoss(epsilon=0.5)
    assert (
        ledger.change_budget("staff", budget=half, analyst_cap=half, reason="it is enough").left.epsilon == 0
    )
    with pytest.raises(BudgetExceeded):
        charge(ledger, "more")
    two = PureLoss(epsilon=2)
    ledger.change_budget("staff", budget=two, analyst_cap=two, reason="approved by the board")
    charge(ledger, "more", loss=ONE)
    assert ledger.open_account(account(budget=two)).spent == PureLoss(epsilon=1.5)
    ledger.verify()


def test_writing_off_takes_from_the_budget_and_starts_a_version(ledger):
    ledger.open_account(account("pupils"))
    charge(ledger, "k")
    ledger.rebase(write_off={"staff": PureLoss(epsilon=0.2)}, reason="as the log says")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.3)
    assert ledger.balance("staff").version == 2
    assert ledger.balance("pupils").left == PureLoss(epsilon=0)  # not named: everything
    ledger.rebase(write_off="everything", reason="to be sure")
    assert ledger.balance("staff").left == PureLoss(epsilon=0)
    ledger.verify()


def test_a_receipt_from_before_a_rebase_is_not_used_again(ledger):
    receipt = charge(ledger, "k")
    ledger.rebase(write_off={"staff": PureLoss(epsilon=0)}, reason="nothing was lost")
    with pytest.raises(LedgerClosed, match="re-based"):
        ledger.store_answer(receipt, b"maybe the second draw")
    assert charge(ledger, "k").number != receipt.number


def test_nothing_is_written_off_from_accounts_that_are_not_there(ledger):
    for write_off in ({"unknown": ONE}, "nothing", None, 5, ["staff"]):
        with pytest.raises(InvalidInput):
            ledger.rebase(write_off=write_off, reason="a mistake")
    with pytest.raises(NotComposable):
        ledger.rebase(write_off={"staff": RHO}, reason="a mistake")
    assert ledger.balance("staff").version == 1


def test_an_empty_ledger_cannot_be_rebased(place):
    with place.open() as ledger, pytest.raises(LedgerClosed, match="no account"):
        ledger.rebase(write_off="everything", reason="the file was lost")


@pytest.mark.parametrize("bad", BAD_TEXTS, ids=lambda bad: repr(bad)[:12])
def test_bad_texts_are_refused(ledger, bad):
    good = {"analyst": "ana", "question": "q", "key": "k", "loss": TENTH}
    for name in ("analyst", "key"):
        with pytest.raises(InvalidInput):
            ledger.charge("staff", **{**good, name: bad})
    with pytest.raises(InvalidInput):
        ledger.charge(bad, **good)
    for ask in (
        lambda: ledger.stored_answer("staff", bad),
        lambda: ledger.balance(bad),
        lambda: ledger.refresh(bad),
        lambda: account(bad),
        lambda: Account(dataset="d", budget=ONE, analyst_cap=ONE, fingerprint=bad),
        lambda: ledger.change_budget(bad, budget=ONE, analyst_cap=ONE, reason="r"),
    ):
        with pytest.raises(InvalidInput):
            ask()
    assert ledger.balance("staff").spent == PureLoss(epsilon=0)


@pytest.mark.parametrize("bad", [None, 0.1, "0.1", Fraction(1, 10), True])
def test_what_is_no_loss_is_refused(ledger, bad):
    with pytest.raises(InvalidInput):
        charge(ledger, "k", loss=bad)
    with pytest.raises(InvalidInput):
        Account(dataset="d", budget=bad, analyst_cap=ONE, fingerprint="f")


@pytest.mark.parametrize(
    ("budget", "cap"),
    [
        (PureLoss(epsilon=1001), ONE),
        (ConcentratedLoss(rho=10**9, delta=0), ConcentratedLoss(rho=1, delta=0)),
        (PureLoss(epsilon=0), PureLoss(epsilon=0)),
        (PureLoss(epsilon=Fraction(1, 10**16)), PureLoss(epsilon=Fraction(1, 10**16))),
        (ONE, PureLoss(epsilon=2)),
        (ONE, RHO),
        (RHO, ConcentratedLoss(rho=Fraction(1, 10), delta=1e-5)),
    ],
)
def test_budgets_that_cannot_be_are_refused(budget, cap):
    with pytest.raises(InvalidInput):
        Account(dataset="d", budget=budget, analyst_cap=cap, fingerprint="f")


def test_an_unknown_dataset_is_refused(ledger):
    for ask in (
        lambda: charge(ledger, "k", dataset="unknown"),
        lambda: ledger.balance("unknown"),
        lambda: list(ledger.entries("unknown")),
        lambda: ledger.refresh("unknown"),
        lambda: ledger.stored_answer("unknown", "k"),
        lambda: ledger.change_budget("unknown", budget=ONE, analyst_cap=ONE, reason="r"),
    ):
        with pytest.raises(InvalidInput, match="open_account"):
            ask()
    with pytest.raises(InvalidInput):
        ledger.open_account("staff")


def test_names_and_questions_may_be_in_any_script(ledger):
    name, question = "Ωmega '; DROP TABLE entries; -- \U0001f98a", "SELECT 'naïve' \n\t 数"
    ledger.open_account(account(name))
    receipt = ledger.charge(name, analyst="Zoë \u202e", question=question, key="ключ", loss=TENTH)
    assert receipt.question == question
    assert ledger.balance(name).analysts == {"Zoë \u202e": TENTH}
    ledger.store_answer(receipt, b"42")
    assert ledger.charge(name, analyst="x", question="?", key="ключ", loss=TENTH) == (receipt, b"42")
    ledger.verify()


def test_the_longest_names_fit(place):
    """Random, so that no database can make them shorter."""
    longest = [os.urandom(500).hex() for _ in range(4)]
    with place.open() as ledger:
        ledger.open_account(account(longest[0], fingerprint=longest[1]))
        receipt = charge(ledger, longest[2], dataset=longest[0], analyst=longest[3])
        ledger.store_answer(receipt, b"42")
        ledger.rebase(write_off="everything", reason="to be sure")
        ledger.verify()
        with pytest.raises(InvalidInput, match="bytes in UTF-8"):
            charge(ledger, "é" * 501, dataset=longest[0])


def test_threads_share_one_budget(ledger):
    def attempt(i):
        try:
            return charge(ledger, f"k{i}").number
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(16) as threads:
        numbers = [number for number in threads.map(attempt, range(64)) if number]
    assert sorted(numbers) == list(range(2, 12))
    ledger.verify()


def test_threads_that_ask_the_same_show_the_same(ledger):
    def ask(i):
        with ledger.asking("staff", "k"):
            charged = charge(ledger, "k", analyst=f"a{i}")
            return charged[1] if isinstance(charged, tuple) else ledger.store_answer(charged, b"draw %d" % i)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(ask, range(24)))) == 1
    assert ledger.balance("staff").spent == TENTH


def test_a_reader_halfway_is_not_disturbed_by_a_writer(ledger):
    charge(ledger, "k1")
    reader = ledger.entries("staff")
    assert next(reader).kind is EntryKind.OPENED
    charge(ledger, "k2")
    assert [entry.key for entry in reader][:1] == ["k1"]


def test_an_export_can_be_checked_by_anybody(ledger):
    ledger.store_answer(charge(ledger, "k"), b"42")
    ledger.refresh("staff")
    previous = "0" * 64
    for number, line in enumerate(ledger.export(), start=1):
        fields = json.loads(line)
        digest = fields.pop("digest")
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        assert (fields["number"], fields["previous"]) == (number, previous)
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        previous = digest
    assert number == 4


def test_a_closed_handle_says_so_and_can_be_closed_twice(place):
    ledger = place.open()
    ledger.open_account(account())
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerClosed, match="Open it again"):
        ledger.balance("staff")


def test_handles_on_one_ledger_see_each_other(place, ledger):
    with place.open() as other:
        charge(other, "k")
        assert ledger.balance("staff").spent == TENTH
        charge(ledger, "k2")
        assert other.balance("staff").spent == PureLoss(epsilon=0.2)


@pytest.mark.parametrize(("cap", "more"), [(1, 0.06), (0.95, 0.01)], ids=["budget", "cap"])
def test_the_sums_refuse_even_if_the_code_does_not(place, monkeypatch, cap, more):
    """The conditional update is a wall of its own: take the filter away."""
    monkeypatch.setattr(
        "discreet.ledger.charges.admitted", lambda balance, _, cost, __: balance.spent_units.plus(cost)
    )
    with place.open() as ledger:
        ledger.open_account(account(cap=PureLoss(epsilon=cap)))
        charge(ledger, "k", loss=PureLoss(epsilon=0.95))
        with pytest.raises(LedgerClosed, match="refuse"):
            charge(ledger, "k2", loss=PureLoss(epsilon=more))
        assert ledger.balance("staff").spent == PureLoss(epsilon=0.95)
        ledger.verify()
