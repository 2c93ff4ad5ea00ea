"""Where the ledger under test is kept. Another database joins the suite by adding its place here."""

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.ledger import Account
from discreet.ledger.sqlite import SqliteLedger
from discreet.model.privacy import PureLoss

TENTH = PureLoss(epsilon=Fraction(1, 10))
ONE = PureLoss(epsilon=1)


@dataclass(frozen=True)
class Place:
    """Names one ledger, also for other processes; each `open` is another handle on it."""

    address: str

    def open(self):
        return SqliteLedger(self.address)


@contextmanager
def new_places():
    """In memory where the system has it, because these tests write through to the disk thousands of times."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield lambda name="ledger.db": Place(address=str(Path(directory) / name))


def account(dataset="staff", *, budget=ONE, cap=None, fingerprint=None):
    return Account(
        dataset=dataset, budget=budget, analyst_cap=cap or budget, fingerprint=fingerprint or f"of {dataset}"
    )


def charge(ledger, key, *, dataset="staff", analyst="ana", loss=TENTH):
    return ledger.charge(dataset, analyst=analyst, question=f"SELECT {key}", key=key, loss=loss)


def closed_at_every_call(place, match):
    """No call gets through, whichever is first."""
    for call in (
        lambda ledger: ledger.open_account(account()),
        lambda ledger: charge(ledger, "new"),
        lambda ledger: ledger.stored_answer("staff", "k"),
        lambda ledger: ledger.balance("staff"),
        lambda ledger: list(ledger.entries("staff")),
        lambda ledger: ledger.refresh("staff"),
        lambda ledger: ledger.verify(),
    ):
        with place.open() as ledger, pytest.raises(LedgerClosed, match=match) as refused:
            call(ledger)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__ or refused.value.__context__ is None
