"""Whose privacy an account is: remembered for ever, never in two accounts, and part of the chain."""

from dataclasses import replace

import pytest

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.chain import Replay
from discreet.ledger.interface import EntryKind
from discreet.model.privacy import PureLoss

from .places import TENTH, account, charge


def of(dataset, *people, **others):
    return replace(account(dataset, **others), people=frozenset(people))


def test_g7_people_have_one_account(place):
    with place.open() as ledger:
        ledger.open_account(of("staff", "a", "b"))
        for people in (["a"], ["b", "c"], ["c", "a"]):
            with pytest.raises(LedgerClosed, match="have an account already, as dataset 'staff'"):
                ledger.open_account(of("pupils", *people))
        ledger.open_account(of("pupils", "c"))
        with pytest.raises(LedgerClosed, match="as dataset 'pupils'"):
            ledger.open_account(of("staff", "a", "b", "c"))
        ledger.verify()


def test_g7_an_account_takes_on_people_and_forgets_none(place):
    with place.open() as ledger:
        ledger.open_account(of("staff", "a"))
        charge(ledger, "k")
        assert ledger.open_account(of("staff", "a", "b")).spent == TENTH
        assert ledger.open_account(of("staff", "b", "c")).spent == TENTH
        assert ledger.open_account(of("staff", "c")).spent == TENTH
        for person in "abc":
            with pytest.raises(LedgerClosed, match="as dataset 'staff'"):
                ledger.open_account(of("pupils", person))
        kinds = [entry.kind for entry in ledger.entries("staff")]
        assert kinds == [
            EntryKind.OPENED,
            EntryKind.CHARGED,
            EntryKind.SOURCES_ADDED,
            EntryKind.SOURCES_ADDED,
        ]
        ledger.verify()


def test_g7_an_account_is_not_handed_over_to_other_people(place):
    with place.open() as ledger:
        ledger.open_account(of("staff", "a"))
        with pytest.raises(LedgerClosed, match="for other people"):
            ledger.open_account(of("staff", "b"))
        with pytest.raises(LedgerClosed, match="neighbours"):
            ledger.open_account(of("staff", "a", "b", fingerprint="another relation"))
        with pytest.raises(LedgerClosed, match="declares a budget of ε = 2"):
            ledger.open_account(of("staff", "a", "b", budget=PureLoss(epsilon=2)))
        assert len(list(ledger.entries("staff"))) == 1


def test_g7_many_people_take_several_entries(place):
    crowd = [f"person {i}" for i in range(2_300)]
    with place.open() as ledger:
        ledger.open_account(of("staff", *crowd[:1_200]))
        ledger.open_account(of("staff", *crowd))
        ledger.open_account(of("staff", *crowd))
        kinds = [entry.kind for entry in ledger.entries("staff")]
        assert kinds == [EntryKind.OPENED, *[EntryKind.SOURCES_ADDED] * 3]
        with pytest.raises(LedgerClosed, match="as dataset 'staff'"):
            ledger.open_account(of("pupils", "somebody", crowd[-1]))
        ledger.verify()


@pytest.mark.parametrize("statement", ["DELETE FROM people", "UPDATE people SET dataset = 'pupils'"])
def test_g7_the_tables_themselves_keep_people(place, statement):
    with place.open() as ledger:
        ledger.open_account(of("staff", "a", "b"))
        ledger.open_account(of("pupils", "c"))
        with pytest.raises(LedgerClosed), ledger._database.transaction() as turn:
            turn.change(statement)
        ledger.verify()


@pytest.mark.parametrize(
    "edit", ["INSERT INTO people VALUES ('d', 'staff')", "DELETE FROM people WHERE person = 'b'"]
)
def test_g7_people_that_were_edited_by_hand_are_noticed(place, kind, edit):
    with place.open() as ledger:
        ledger.open_account(of("staff", "a", "b"))
        drop = "DROP TRIGGER people_are_kept" + (" ON people" if kind == "postgres" else "")
        with ledger._database.transaction() as turn:
            turn.change(drop)
            turn.change(edit)
            make = {
                "sqlite": "CREATE TRIGGER people_are_kept BEFORE DELETE ON people WHEN 1 BEGIN "
                "SELECT RAISE(ABORT, 'people keep their account'); END",
                "postgres": "CREATE TRIGGER people_are_kept BEFORE DELETE ON people FOR EACH ROW WHEN (true) "
                "EXECUTE FUNCTION refuse('people keep their account')",
            }
            turn.change(make[kind])
            turn.commit()
        with pytest.raises(LedgerClosed, match="people of the accounts"):
            ledger.verify()


def test_g7_an_account_of_an_earlier_version_takes_on_its_people(place, monkeypatch):
    """Its entry names none: the fingerprint, which was a digest of all sources as written, stood for them."""
    from discreet.ledger import accounts as opening

    honest = opening.declaration
    old = account("staff", fingerprint="all sources as written")
    with place.open() as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(opening, "declaration", lambda opened, reason, _: honest(opened, reason))
            ledger.open_account(old)
        ledger.verify()
        charge(ledger, "k")
        now = of("staff", "all sources as written", "a", fingerprint="the relation")
        assert ledger.open_account(now).spent == TENTH
        assert ledger.open_account(of("staff", "a", "b", fingerprint="the relation")).spent == TENTH
        with pytest.raises(LedgerClosed):
            ledger.open_account(of("staff", "a", fingerprint="another relation"))
        ledger.verify()


def test_g7_the_chain_refuses_people_in_two_accounts(place):
    """Also if the tables do not: somebody may have made them anew."""
    with place.open() as ledger:
        ledger.open_account(of("staff", "a"))
        entries = list(ledger.entries("staff"))
    replay = Replay().add_all(entries)
    assert replay.people == {"a": "staff"}
    with pytest.raises(ValueError, match=r"^$"):
        replay._join(["a"], "pupils")


@pytest.mark.parametrize("bad", [[""], [7], ["x" * 2_000], ["\0"]])
def test_g7_people_that_no_ledger_can_hold_are_refused(bad):
    with pytest.raises(InvalidInput):
        of("staff", *bad)
