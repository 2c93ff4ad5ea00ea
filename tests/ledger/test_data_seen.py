"""What is remembered of the data and of the server, so that old answers and restored servers are noticed."""

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.anchor import AnchorFile
from discreet.ledger.interface import EntryKind
from discreet.ledger.postgres.database import PostgresDatabase
from discreet.model.privacy import PureLoss

from .places import account, charge


def test_item13_the_first_look_of_a_version_is_kept(ledger):
    assert ledger.changed_since("staff", "a") is None
    assert ledger.changed_since("staff", "a") is None
    (seen,) = [entry for entry in ledger.entries("staff") if entry.kind is EntryKind.DATA_SEEN]
    assert ledger.changed_since("staff", "b") == seen.at
    ledger.refresh("staff")
    assert ledger.changed_since("staff", "b") is None
    assert ledger.changed_since("staff", "a") is not None
    assert ledger.balance("staff").spent == PureLoss(epsilon=0)
    ledger.verify()


@pytest.mark.parametrize("kind", ["postgres"])
def test_item13_another_server_or_timeline_is_noticed_by_a_machine_that_was_idle(used, anchor, monkeypatch):
    with used.open() as ledger:
        ledger.balance("staff")
        server = ledger._database.server
    system, _, timeline = server.partition("/")
    assert system.isdecimal()
    assert timeline == "00000001"
    assert AnchorFile(anchor).read().server == server
    for other in (f"{system}/00000002", "42/00000001"):
        monkeypatch.setattr(PostgresDatabase, "server", other)
        for call in (lambda each: each.balance("staff"), lambda each: charge(each, "more")):
            with used.open() as ledger, pytest.raises(LedgerClosed, match="another server"):
                call(ledger)
    with used.open() as ledger:
        ledger.rebase(write_off={"staff": PureLoss(epsilon=0)}, reason="a standby took over")
        charge(ledger, "more")
        ledger.verify()


@pytest.mark.parametrize("kind", ["postgres"])
def test_item13_a_role_that_may_not_ask_for_the_server_goes_on(used, anchor, monkeypatch):
    known = AnchorFile(anchor).read().server
    monkeypatch.setattr(PostgresDatabase, "server", "")
    with used.open() as ledger:
        charge(ledger, "more")
        ledger.verify()
    assert AnchorFile(anchor).read().server == known


def test_item13_an_account_that_is_opened_again_adds_nothing(place):
    for _ in range(2):
        with place.open() as ledger:
            ledger.open_account(account())
            ledger.changed_since("staff", "a")
            assert len(list(ledger.export())) == 2
