"""What is written in which order, what the anchor notices, and how handles are kept."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.database import Way
from discreet.ledger.sqlite.ledger import SqliteLedger

from .places import account, charge


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
