"""What is written in which order, what the anchor notices, and how handles are kept."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.database import Way
from discreet.ledger.sqlite.ledger import SqliteLedger

from .places import TENTH, account, charge


@pytest.fixture
def kind():
    return "sqlite"


# Durability: what is written, in which order.


def test_the_order_is_commit_then_anchor(ledger, monkeypatch):
    done = []

    def noted(name, function):
        def wrapper(*args, **kwargs):
            if name != "execute" or args[1] in ("COMMIT", "BEGIN IMMEDIATE"):
                done.append(args[1] if name == "execute" else name)
            return function(*args, **kwargs)

        return wrapper

    class Connection(sqlite3.Connection):
        execute = noted("execute", sqlite3.Connection.execute)

    connect = sqlite3.connect
    for way in Way:
        ledger._database.disconnect(way)
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Connection}))
    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    monkeypatch.setattr(os, "pwrite", noted("pwrite", os.pwrite))
    receipt = charge(ledger, "k")
    assert done == ["pwrite", "BEGIN IMMEDIATE", "COMMIT", "pwrite"]
    done.clear()
    ledger.store_answer(receipt, b"42")
    assert done == ["pwrite", "BEGIN IMMEDIATE", "COMMIT", "pwrite"]
    done.clear()
    ledger.balance("staff")
    assert done == []


def test_every_connection_writes_through_and_checks_foreign_keys(ledger):
    with ledger._database.transaction() as transaction:
        settings = [
            transaction.rows(f"PRAGMA {name}")[0][name]
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
        ]
    assert settings == ["wal", 2, 1, 0]


# The anchor.


def test_a_backup_that_is_restored_under_an_open_handle_is_noticed(used, path):
    shutil.copy(path, f"{path}.backup")
    with used.open() as ledger:
        charge(ledger, "k2")
        Path(f"{path}.backup").rename(path)
        for leftover in ("-wal", "-shm"):
            Path(f"{path}{leftover}").unlink()
        with pytest.raises(LedgerClosed, match="not the one it was"):
            charge(ledger, "k3")


def test_the_anchor_may_be_kept_elsewhere(path, tmp_path):
    elsewhere = tmp_path / "anchor"
    with SqliteLedger(path, anchor=elsewhere) as ledger:
        ledger.open_account(account())
    assert elsewhere.exists()
    with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="missing"):
        ledger.balance("staff")


# Growth: what is read for a question does not grow with the ledger.


def steps_of(action, connection):
    """How many times a hundred instructions SQLite takes for an action."""
    taken = []
    connection.set_progress_handler(lambda: taken.append(1) and None, 100)
    action()
    connection.set_progress_handler(None, 0)
    return len(taken)


def test_a_question_takes_no_longer_after_many_charges_without_an_answer(ledger, place):
    """To see whether some answers have older keys, all charges before the first answer were read."""
    for number in range(3):
        charge(ledger, f"before {number}")
    database = ledger._database

    def look():
        ledger.stored_or_payable("staff", analyst="ana", key="new", loss=TENTH)

    look()
    few = steps_of(look, database._reader)
    with closing(sqlite3.connect(place.address)) as connection:
        connection.execute("DROP TRIGGER entries_have_no_gaps")
        copied = "kind, dataset, version, analyst, question, key || x.i, currency, amount, delta"
        connection.execute(
            "WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < 5000)"
            f" INSERT INTO entries SELECT -x.i, {copied}, spent, spent_delta, note, at, digest || x.i"
            " FROM entries, x WHERE key = 'before 0'"
        )
        connection.commit()
    assert steps_of(look, database._reader) < 3 * few + 10
