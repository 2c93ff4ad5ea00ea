"""Any sequence of calls, on two handles, agrees with a ledger so simple that it is plainly right."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from discreet.errors import BudgetExceeded, InvalidInput
from discreet.ledger.interface import EntryKind
from discreet.model.privacy import PureLoss

from .places import account, charge, new_places

DATASETS = ("staff", "pupils")
datasets = st.sampled_from(DATASETS)
analysts = st.sampled_from(["ana", "bo", "名"])
keys = st.sampled_from([f"k{i}" for i in range(8)])
amounts = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 10**16), Fraction(5)]),
    st.fractions(min_value=0, max_value=1, max_denominator=10**6),
)


class LedgerMachine(RuleBasedStateMachine):
    """The model: a dict for each thing that a ledger remembers."""

    server = None

    @initialize(cap=st.sampled_from([Fraction(1, 2), Fraction(2)]))
    def start(self, cap):
        self.places = new_places(self.server)
        self.place = self.places.__enter__()()
        self.handles = [self.place.open(), self.place.open()]
        self.budget = dict.fromkeys(DATASETS, Fraction(2))
        self.cap = dict.fromkeys(DATASETS, cap)
        self.version = dict.fromkeys(DATASETS, 1)
        self.spent = dict.fromkeys(DATASETS, Fraction(0))
        self.spent_by, self.charges, self.answers, self.receipts = {}, {}, {}, []
        self.unused, self.resumed = set(), set()
        self.entries = len(DATASETS)
        for dataset in DATASETS:
            self.handles[0].open_account(self.declared(dataset))

    def declared(self, dataset):
        return account(
            dataset, budget=PureLoss(epsilon=self.budget[dataset]), cap=PureLoss(epsilon=self.cap[dataset])
        )

    @rule(handle=st.integers(0, 1), dataset=datasets, analyst=analysts, key=keys, amount=amounts)
    def ask(self, handle, dataset, analyst, key, amount):
        cost = Fraction(ceil(amount * 10**15), 10**15)
        by = self.spent_by.get((dataset, analyst), Fraction(0))
        place = (dataset, self.version[dataset], key)
        earlier = self.charges.get(place)

        def ask():
            return charge(
                self.handles[handle], key, dataset=dataset, analyst=analyst, loss=PureLoss(epsilon=amount)
            )

        if earlier is not None and earlier.charged.epsilon != cost:
            with pytest.raises(InvalidInput):
                ask()
        elif place in self.answers:
            assert ask() == self.answers[place]
        elif earlier is not None and place in self.unused:
            assert ask() == earlier
            self.unused.remove(place)
            self.resumed.add(earlier.number)
            self.entries += 1
        elif self.spent[dataset] + cost > self.budget[dataset] or by + cost > self.cap[dataset]:
            with pytest.raises(BudgetExceeded):
                ask()
        else:
            receipt = ask()
            self.entries += 1
            assert (receipt.number, receipt.charged.epsilon) == (self.entries, cost)
            self.spent[dataset] += cost
            self.spent_by[dataset, analyst] = by + cost
            self.charges[place] = receipt
            self.receipts.append(receipt)

    @rule(handle=st.integers(0, 1), which=st.integers(0, 1000), answer=st.binary(max_size=20))
    def answer(self, handle, which, answer):
        if self.receipts:
            receipt = self.receipts[which % len(self.receipts)]
            place = (receipt.dataset, receipt.version, receipt.key)
            self.entries += place not in self.answers
            _, kept = self.answers.setdefault(place, (receipt, answer))
            assert self.handles[handle].store_answer(receipt, answer) == kept

    @rule(handle=st.integers(0, 1), which=st.integers(0, 1000))
    def nothing_was_drawn(self, handle, which):
        if self.receipts:
            receipt = self.receipts[which % len(self.receipts)]
            place = (receipt.dataset, receipt.version, receipt.key)
            may_be = self.charges[place] == receipt and receipt.number not in self.resumed
            may_be = may_be and place not in self.answers
            assert self.handles[handle].mark_unused(receipt) == may_be
            if may_be and place not in self.unused:
                self.unused.add(place)
                self.entries += 1

    @rule(handle=st.integers(0, 1), dataset=datasets, key=keys)
    def look(self, handle, dataset, key):
        expected = self.answers.get((dataset, self.version[dataset], key))
        assert self.handles[handle].stored_answer(dataset, key) == expected

    @rule(handle=st.integers(0, 1), dataset=datasets)
    def new_data(self, handle, dataset):
        self.version[dataset] += 1
        self.entries += 1
        assert self.handles[handle].refresh(dataset) == self.version[dataset]

    @rule(dataset=datasets, budget=amounts)
    def new_budget(self, dataset, budget):
        loss = PureLoss(epsilon=budget)
        rounded = Fraction(int(budget * 10**15), 10**15)
        by = [spent for (of, _), spent in self.spent_by.items() if of == dataset]
        if rounded < max([self.spent[dataset], *by]) or rounded < Fraction(1, 10**12):
            with pytest.raises(InvalidInput):
                self.handles[0].change_budget(dataset, budget=loss, analyst_cap=loss, reason="less")
        else:
            self.handles[0].change_budget(dataset, budget=loss, analyst_cap=loss, reason="other")
            self.budget[dataset] = self.cap[dataset] = rounded
            self.entries += 1

    @rule(handle=st.integers(0, 1))
    def restart(self, handle):
        self.handles[handle].close()
        self.handles[handle] = self.place.open()
        for dataset in DATASETS:
            self.handles[handle].open_account(self.declared(dataset))

    @invariant()
    def balances_agree(self):
        for handle, dataset in zip(self.handles, DATASETS, strict=True):
            balance = handle.balance(dataset)
            assert balance.spent.epsilon == self.spent[dataset]
            assert balance.left.epsilon == self.budget[dataset] - self.spent[dataset]
            assert balance.version == self.version[dataset]

    def teardown(self):
        if not hasattr(self, "handles"):
            return
        self.handles[1].verify()
        charged = [
            entry.receipt()
            for dataset in DATASETS
            for entry in self.handles[0].entries(dataset)
            if entry.kind is EntryKind.CHARGED
        ]
        assert sorted(receipt.number for receipt in charged) == [r.number for r in self.receipts]
        assert len(list(self.handles[0].export())) == self.entries
        for handle in self.handles:
            handle.close()
        self.places.__exit__(None, None, None)


def test_any_sequence(kind, request):
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    machine = type("Machine", (LedgerMachine,), {"server": server})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30 if server is None else 10,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
