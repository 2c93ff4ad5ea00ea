"""What is written in which order, what the anchor notices, and how handles are kept."""

import os
import pathlib
import shutil
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger import sqlite_file
from discreet.ledger.sqlite import SqliteLedger
from discreet.model.privacy import PureLoss

from .places import ONE, TENTH, account, charge, closed_at_every_call

# Durability: what is written, in which order.


def test_the_order_is_prepare_sync_commit_publish_sync(ledger, monkeypatch):
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
    ledger._file.disconnect()
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Connection}))
    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    monkeypatch.setattr(pathlib.Path, "replace", noted("replace", pathlib.Path.replace))
    receipt = charge(ledger, "k")
    assert done == ["BEGIN IMMEDIATE", "fsync", "COMMIT", "replace", "fsync"]
    done.clear()
    ledger.store_answer(receipt, b"42")
    assert done == ["BEGIN IMMEDIATE", "fsync", "COMMIT", "replace", "fsync"]
    done.clear()
    ledger.balance("staff")
    assert done == ["BEGIN IMMEDIATE"]


def test_every_connection_writes_through_and_checks_foreign_keys(ledger):
    with ledger._file.transaction() as connection:
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
        ]
    assert settings == ["wal", 2, 1, 0]


def test_what_is_committed_but_not_anchored_is_taken_over(place, ledger, anchor, monkeypatch):
    before = anchor.read_bytes()

    def power_cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pathlib.Path, "replace", power_cut)
        with pytest.raises(KeyboardInterrupt):
            charge(ledger, "k")
    assert anchor.read_bytes() == before
    with place.open() as other:
        assert other.balance("staff").spent == TENTH
    assert anchor.read_bytes() != before
    charge(ledger, "k")
    assert ledger.balance("staff").spent == TENTH


def test_an_anchor_that_cannot_be_published_is_told_and_the_charge_is_not_made_twice(ledger, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(pathlib.Path, "replace", full)
        with pytest.raises(LedgerClosed, match="cannot be anchored"):
            charge(ledger, "k")
    charge(ledger, "k")
    assert ledger.balance("staff").spent == TENTH
    ledger.verify()


# The anchor.


def test_a_restored_backup_is_noticed_and_rebased(used, path):
    shutil.copy(path, f"{path}.backup")
    with used.open() as ledger:
        charge(ledger, "lost")
        ledger.open_account(account("pupils"))
    shutil.copy(f"{path}.backup", path)
    closed_at_every_call(used, "it is not the one it was")
    with used.open() as ledger:
        assert len(list(ledger.export())) == 3  # the owner may still look
        ledger.rebase(write_off={"staff": PureLoss(epsilon=0.5)}, reason="restored after a fire")
        assert ledger.balance("staff").spent == PureLoss(epsilon=0.6)
        assert ledger.stored_answer("staff", "k") is None
        with pytest.raises(LedgerClosed, match="lost with a restored backup"):
            ledger.open_account(account("pupils"))
        ledger.verify()


def test_a_backup_from_between_charge_and_answer_is_noticed(place, path):
    """Else the charge would look unused, and a second draw of its noise would be free."""
    with place.open() as ledger:
        ledger.open_account(account())
        receipt = charge(ledger, "k")
    shutil.copy(path, f"{path}.backup")
    with place.open() as ledger:
        ledger.store_answer(receipt, b"first draw, shown")
    shutil.copy(f"{path}.backup", path)
    with place.open() as ledger, pytest.raises(LedgerClosed):
        ledger.store_answer(receipt, b"second draw")


def test_a_backup_that_is_restored_under_an_open_handle_is_noticed(used, path):
    shutil.copy(path, f"{path}.backup")
    with used.open() as ledger:
        charge(ledger, "k2")
        Path(f"{path}.backup").rename(path)
        for leftover in ("-wal", "-shm"):
            Path(f"{path}{leftover}").unlink()
        with pytest.raises(LedgerClosed, match="not the one it was"):
            charge(ledger, "k3")


def test_a_missing_anchor_closes_the_ledger_until_its_owner_decides(used, anchor):
    anchor.unlink()
    closed_at_every_call(used, "anchor of this ledger is missing")
    with used.open() as ledger:
        ledger.rebase(write_off="everything", reason="nobody knows")
        assert ledger.balance("staff").left == PureLoss(epsilon=0)
        ledger.verify()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"number": "3", "digest": "x", "datasets": []}',
        '{"number": -1, "digest": "x", "datasets": []}',
        '{"number": true, "digest": "x", "datasets": []}',
        '{"number": 3, "digest": 3, "datasets": []}',
        '{"number": 3, "digest": "x", "datasets": [1]}',
        '{"number": 3, "digest": "x"',
        b"\xff\xfe",
    ],
)
def test_an_anchor_that_is_not_one_closes_the_ledger(used, anchor, text):
    anchor.write_bytes(text if isinstance(text, bytes) else text.encode())
    closed_at_every_call(used, "anchor .* cannot be read")
    with used.open() as ledger:
        ledger.rebase(write_off="everything", reason="the anchor was damaged")
        ledger.verify()


def test_an_anchor_that_was_edited_closes_the_ledger(used, anchor):
    text = anchor.read_text()
    for edited in (text.replace('"number": 3', '"number": 4'), text.replace('"number": 3', '"number": 2')):
        assert edited != text
        anchor.write_text(edited)
        closed_at_every_call(used, "not the one it was")
    anchor.write_text(text.replace('"number": 3', f'"number": {2**70}'))
    closed_at_every_call(used, "not the one it was")


def test_a_lost_database_is_not_started_anew(used, path):
    for lost in (path.unlink, lambda: path.write_bytes(b"")):
        lost()
        closed_at_every_call(used, "not the one it was")
    with used.open() as ledger, pytest.raises(LedgerClosed, match="no account"):
        ledger.rebase(write_off="everything", reason="the file is gone")


def test_a_crash_before_the_first_anchor_is_no_harm(place, anchor):
    with place.open() as ledger:
        with pytest.raises(InvalidInput):
            ledger.balance("staff")  # makes the tables and the first anchor
        anchor.unlink()
        ledger.open_account(account())
        ledger.verify()


def test_the_anchor_may_be_kept_elsewhere(path, tmp_path):
    elsewhere = tmp_path / "anchor"
    with SqliteLedger(path, anchor=elsewhere) as ledger:
        ledger.open_account(account())
    assert elsewhere.exists()
    with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="missing"):
        ledger.balance("staff")


# Handles.


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files in /proc")
def test_no_file_stays_open(used):
    before = open_files()
    for _ in range(5):
        with used.open() as ledger:
            ledger.balance("staff")
            list(ledger.export())
        with used.open() as ledger, pytest.raises(LedgerClosed):
            ledger.open_account(account(budget=PureLoss(epsilon=2)))
    assert open_files() == before


def test_a_handle_is_usable_from_a_thread_that_did_not_open_it(ledger):
    results = []
    thread = threading.Thread(target=lambda: results.append(charge(ledger, "k")))
    thread.start()
    thread.join()
    assert charge(ledger, "k") == results[0]


def test_no_connection_lives_through_a_fork(ledger):
    """SQLite's state must not be inherited: what a fork calls first closes it, and keeps everybody out."""
    ledger.balance("staff")
    sqlite_file._FORK._hold()
    try:
        assert ledger._file._connection is None
        with ThreadPoolExecutor(1) as other_thread:
            waiting = other_thread.submit(ledger.balance, "staff")
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.1)
            sqlite_file._FORK._release()
            assert waiting.result().spent == PureLoss(epsilon=0)
    finally:
        if sqlite_file._FORK.registering.locked():
            sqlite_file._FORK._release()


def test_a_signal_handler_inside_the_ledger_does_not_wait_for_itself(ledger, monkeypatch):
    from discreet.ledger import sqlite

    admitted = sqlite._admitted

    def interrupted(*args):
        with pytest.raises(LedgerClosed, match="inside the ledger already"):
            ledger.balance("staff")
        return admitted(*args)

    monkeypatch.setattr(sqlite, "_admitted", interrupted)
    charge(ledger, "k", loss=ONE)
    ledger.verify()
