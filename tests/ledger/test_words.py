"""What is said about the ledger when a disk or a server fails is true, at every step of a question."""

import errno
import os
import pathlib
import sqlite3

import psycopg
import pytest

from discreet.errors import LedgerClosed
from discreet.model.privacy import PureLoss

from .places import account, charge

_MOST_STEPS = 200


class Failing:
    """The n-th thing that the ledger does with the disk or the server fails, and all later ones work."""

    def __init__(self, steps):
        self.left = steps

    def around(self, function, error):
        def counted(*args, **kwargs):
            self.left -= 1
            if self.left == -1:
                raise error()
            return function(*args, **kwargs)

        return counted

    def install(self, patched):
        class Connection(sqlite3.Connection):
            execute = self.around(sqlite3.Connection.execute, _broken_sqlite)

        connect = sqlite3.connect
        patched.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Connection}))
        patched.setattr(psycopg.Cursor, "execute", self.around(psycopg.Cursor.execute, _lost_server))
        patched.setattr(os, "fsync", self.around(os.fsync, _broken_disk))
        patched.setattr(os, "open", self.around(os.open, _broken_disk))
        patched.setattr(pathlib.Path, "replace", self.around(pathlib.Path.replace, _broken_disk))


def _broken_disk():
    return OSError(errno.EIO, "Input/output error")


def _broken_sqlite():
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_WRITE"
    return error


def _lost_server():
    return psycopg.OperationalError("the connection is lost")


@pytest.mark.parametrize("step", ["charge", "store"])
def test_item11_what_is_said_about_the_ledger_is_true(used, monkeypatch, step):
    """A question is charged by one step and stored by another: no step may speak of what others spent."""
    said = set()
    for steps in range(_MOST_STEPS):
        key = f"k{steps}"
        if step == "store":
            with used.open() as ledger:
                receipt = charge(ledger, key, dataset="many")
        before = number_of_entries(used)
        failing = Failing(steps)
        with monkeypatch.context() as patched, used.open() as ledger:
            failing.install(patched)
            try:
                if step == "charge":
                    charge(ledger, key, dataset="many")
                else:
                    ledger.store_answer(receipt, b"1")
            except LedgerClosed as error:
                patched.undo()
                said.add(claim_of(error, number_of_entries(used) - before))
        if failing.left >= 0:
            break
    assert steps < _MOST_STEPS - 1
    assert said == {"added nothing", "in the ledger", "may have been made"}


def claim_of(error, added):
    text = str(error)
    assert "nothing was spent" not in text
    if "added nothing" in text:
        assert added == 0
        return "added nothing"
    if "is in the ledger" in text:
        assert added == 1
        return "in the ledger"
    assert "may have been made or not" in text
    return "may have been made"


def number_of_entries(place):
    with place.open() as ledger:
        return len(list(ledger.export()))


@pytest.fixture
def used(place):
    with place.open() as ledger:
        ledger.open_account(account("many", budget=PureLoss(epsilon=1000)))
    return place
