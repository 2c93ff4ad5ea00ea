"""Ledgers that older versions of discreet wrote are opened, and go on."""

import shutil
from pathlib import Path

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.postgres.schema import UPGRADES
from discreet.ledger.sqlite.ledger import SqliteLedger
from discreet.model.privacy import PureLoss

from .places import account, charge

OLDER = Path(__file__).parent / "older"


def goes_on(ledger, *, number):
    """One question was answered in it, and one was charged and not answered."""
    ledger.verify()
    assert ledger.open_account(account()).spent == PureLoss(epsilon=0.2)
    assert ledger.stored_answer("staff", "k")[1] == b"42"
    assert charge(ledger, "k")[1] == b"42"
    lost = charge(ledger, "lost")
    assert lost.number == number
    ledger.store_answer(lost, b"43")
    assert ledger.balance("staff").spent == PureLoss(epsilon=0.3)
    ledger.verify()


@pytest.mark.parametrize("written", sorted(OLDER.glob("*.db")), ids=lambda path: path.stem)
def test_a_file_of_an_older_version_is_opened_and_goes_on(tmp_path, written):
    for file in (written, Path(f"{written}.anchor")):
        shutil.copy(file, tmp_path / file.name)
    with SqliteLedger(tmp_path / written.name) as ledger:
        goes_on(ledger, number=5)
    with SqliteLedger(tmp_path / written.name) as ledger:
        ledger.verify()


@pytest.mark.parametrize("kind", ["postgres"])
def test_tables_of_an_older_version_are_brought_up_to_date(place):
    with place.open() as ledger:
        ledger.open_account(account())
        ledger.store_answer(charge(ledger, "k"), b"42")
        charge(ledger, "lost")
    place.run(
        "DROP INDEX entries_of_key",
        "DROP INDEX written_off",
        "DROP INDEX lost",
        "DROP TABLE people",
        "CREATE UNIQUE INDEX charged_once ON entries (dataset, version, key) WHERE kind = 'charged'",
        "CREATE INDEX entries_of_kind ON entries (dataset, kind, number) "
        "WHERE kind IN ('written off', 'lost')",
        f"COMMENT ON TABLE entries IS '{next(iter(UPGRADES))}'",
    )
    with place.open() as ledger:
        goes_on(ledger, number=5)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_file_of_a_later_version_is_refused(path, ledger):
    import sqlite3
    from contextlib import closing

    ledger.close()
    with closing(sqlite3.connect(path)) as later:
        later.execute("PRAGMA user_version = 99")
    with (
        SqliteLedger(path) as newer,
        pytest.raises(LedgerClosed, match="written by a later version"),
    ):
        newer.balance("staff")


@pytest.mark.parametrize("kind", ["postgres"])
def test_tables_of_a_later_version_are_refused(place):
    with place.open() as ledger:
        ledger.open_account(account())
    place.run("COMMENT ON TABLE entries IS 'discreet ledger 99'")
    with place.open() as newer, pytest.raises(LedgerClosed, match="written by a later version"):
        newer.open_account(account())
