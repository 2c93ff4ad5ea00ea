"""Edits by hand, damage, missing rights, full disks: told in plain words, and nothing is spent."""

import os
import resource
import sqlite3
import stat
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.database import Way
from discreet.ledger.sqlite import file as sqlite_file
from discreet.ledger.sqlite.ledger import SqliteLedger

from .places import TENTH, account, charge, closed_at_every_call


@pytest.fixture
def kind():
    return "sqlite"


def raw(path, *statements):
    """What a careless or malicious hand does with a database tool."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


# Edits by hand.


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET question = 'x' WHERE number = 2",
        "DELETE FROM entries WHERE number = 3",
        "INSERT INTO entries SELECT 9, kind, dataset, 9, analyst, question, key, currency, amount, delta, "
        "spent, spent_delta, note, at, 'd' FROM entries WHERE number = 2",
        "UPDATE answers SET answer = x'00'",
        "DELETE FROM answers",
        "UPDATE accounts SET spent = 0",
        "UPDATE accounts SET spent = budget + 1",
        "UPDATE accounts SET spent = -1",
        "UPDATE accounts SET budget = 0",
        "UPDATE accounts SET budget = 1.5",
        "UPDATE accounts SET budget = 9000000000000000000",
        "UPDATE accounts SET version = 0",
        "DELETE FROM accounts",
        "UPDATE analysts SET spent = 0",
        "DELETE FROM analysts",
    ],
)
def test_the_tables_refuse_what_must_not_be(used, path, statement):
    with pytest.raises(sqlite3.IntegrityError):
        raw(path, statement)
    with used.open() as ledger:
        ledger.verify()


def raw_past_the_triggers(path, statement):
    """Take the triggers away, edit, and put them back."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    assert len(triggers) == 11
    raw(path, *(f"DROP TRIGGER {name}" for name, _ in triggers), statement, *(sql for _, sql in triggers))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET question = 'x' WHERE number = 2",
        "UPDATE entries SET amount = 1 WHERE number = 2",
        "UPDATE entries SET analyst = 'bo' WHERE number = 2",
        "UPDATE entries SET at = '2020-01-01T00:00:00.000000+00:00' WHERE number = 1",
        "UPDATE entries SET at = 'yesterday' WHERE number = 2",
        "UPDATE entries SET kind = 'stolen' WHERE number = 2",
        "UPDATE entries SET kind = 'refreshed' WHERE number = 2",
        "DELETE FROM entries WHERE number = 1",
        "UPDATE accounts SET spent = 0",
        "UPDATE accounts SET budget = budget + 1",
        "UPDATE accounts SET cap = 0",
        "UPDATE accounts SET version = 7",
        "UPDATE accounts SET fingerprint = 'other'",
        "UPDATE accounts SET dataset = ''",
        "UPDATE analysts SET spent = 0",
        "DELETE FROM analysts",
        "DELETE FROM accounts",
        "UPDATE answers SET answer = x'00'",
        "DELETE FROM answers",
    ],
)
def test_an_edit_past_the_triggers_is_found_by_verify(used, path, statement):
    raw_past_the_triggers(path, statement)
    with used.open() as ledger, pytest.raises(LedgerClosed):
        ledger.verify()
    with used.open() as ledger, pytest.raises(LedgerClosed):
        ledger.rebase(write_off="everything", reason="a broken chain cannot be rebased")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET spent = 0",
        "UPDATE entries SET note = 'x' WHERE number = 3",
        "DELETE FROM entries WHERE number = 3",
    ],
)
def test_the_next_charge_finds_an_edit_of_the_sum_or_of_the_last_entry(used, path, statement):
    raw_past_the_triggers(path, statement)
    with used.open() as ledger, pytest.raises(LedgerClosed):
        charge(ledger, "k2")
    with used.open() as ledger:
        assert len(list(ledger.export())) >= 2  # the owner may still look


def test_a_trigger_that_was_removed_is_missed(used, path):
    with used.open() as ledger:
        ledger.balance("staff")
        raw(path, "DROP TRIGGER entries_stay")
        with pytest.raises(LedgerClosed, match="triggers were changed"):
            ledger.verify()
    closed_at_every_call(used, "triggers were changed")


# Damage, rights, space, other programs.


def test_damage_anywhere_is_found_by_verify_or_changes_nothing(used, path):
    whole = path.read_bytes()
    with used.open() as ledger:
        before = list(ledger.export()), ledger.balance("staff"), ledger.stored_answer("staff", "k")
    found = []
    for start in range(0, len(whole), 61):
        if not any(whole[start : start + 16]):
            continue  # nothing is there to damage
        path.write_bytes(whole[:start] + b"\xa5" * 16 + whole[start + 16 :])
        with used.open() as ledger:
            try:
                ledger.verify()
            except LedgerClosed:
                found.append(True)
            else:
                found.append(False)
                after = list(ledger.export()), ledger.balance("staff"), ledger.stored_answer("staff", "k")
                assert after == before
        for leftover in ("-wal", "-shm"):
            Path(f"{path}{leftover}").unlink(missing_ok=True)
    assert len(found) > 80
    assert sum(found) > 0.9 * len(found)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_told(used, path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with used.open() as ledger, pytest.raises(LedgerClosed):
        ledger.verify()


def test_what_is_not_a_ledger_is_left_alone(path):
    text = b"dear diary " * 1000
    path.write_bytes(text)
    with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="not a database"):
        ledger.open_account(account())
    assert path.read_bytes() == text
    path.unlink()
    raw(path, "CREATE TABLE mine (x)")
    with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="not a ledger"):
        ledger.open_account(account())


@pytest.mark.parametrize("bad", [None, 5, "missing/ledger.db", "\0", "."])
def test_paths_that_cannot_be_are_refused(bad, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        SqliteLedger(bad)


@pytest.mark.parametrize(
    "bad", ["ledger.db", "ledger.db.lock", "ledger.db-wal", "ledger", "missing/anchor", 7]
)
def test_anchors_that_cannot_be_are_refused(bad, tmp_path):
    with pytest.raises(InvalidInput):
        SqliteLedger(
            tmp_path / ("ledger.new" if bad == "ledger" else "ledger.db"),
            anchor=bad if bad == 7 else tmp_path / bad,
        )


def test_a_program_that_keeps_the_database_locked_is_told(ledger, path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE_MILLISECONDS", 50)
    ledger._database.disconnect(Way.TURN)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerClosed, match="locked by another program"):
            charge(ledger, "k")
    charge(ledger, "k")
    ledger.verify()


def test_a_full_disk_spends_nothing(ledger, path):
    """The kernel refuses to let any file grow: the charge fails whole, and works when there is space."""
    charge(ledger, "before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    failed = 0
    try:
        for size in (0, 4096, 20_000, Path(f"{path}-wal").stat().st_size + 2000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            with pytest.raises(LedgerClosed) as refused:
                ledger.charge("staff", analyst="a", question="x" * 100_000, key=f"k{size}", loss=TENTH)
            failed += 1
            assert "INSERT" not in str(refused.value)
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert ledger.balance("staff").spent == TENTH
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    charge(ledger, "after")
    ledger.verify()
    assert failed == 4


@pytest.fixture
def unprivileged():
    """Run as somebody without rights; root can write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.usefixtures("unprivileged")
def test_a_directory_without_the_right_to_write_is_told():
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o500)
        with (
            SqliteLedger(Path(directory) / "ledger.db") as ledger,
            pytest.raises(LedgerClosed, match="denied"),
        ):
            ledger.open_account(account())
        Path(directory).chmod(0o700)


@pytest.mark.usefixtures("unprivileged")
def test_a_ledger_without_the_right_to_write_is_told():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ledger.db"
        with SqliteLedger(path) as ledger:
            ledger.open_account(account())
        path.chmod(0o400)
        with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="denied"):
            charge(ledger, "k")
        path.chmod(0o000)
        with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="denied"):
            charge(ledger, "k")
        path.chmod(0o600)
        Path(f"{path}.anchor").chmod(0o000)
        with SqliteLedger(path) as ledger, pytest.raises(LedgerClosed, match="anchor"):
            charge(ledger, "k")
        Path(directory).chmod(0o000)
        with pytest.raises(LedgerClosed, match="denied"), SqliteLedger(path) as ledger:
            charge(ledger, "k")
        Path(directory).chmod(0o700)


@pytest.mark.usefixtures("used")
def test_its_files_are_for_their_owner_only(path):
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_link_leads_to_the_same_lock_and_anchor(used, path):
    link = path.with_name("link.db")
    link.symlink_to(path)
    with SqliteLedger(link) as ledger:
        charge(ledger, "by link")
    assert not link.with_name("link.db.anchor").exists()
    with used.open() as ledger:
        ledger.verify()
