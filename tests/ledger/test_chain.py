"""A chain whose hashes are all right may still tell a story that cannot be: replaying it finds out."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from discreet.errors import LedgerClosed
from discreet.ledger.chain import BEFORE_THE_FIRST, Replay, declaration, sealed
from discreet.ledger.interface import Entry, EntryKind
from discreet.ledger.units import Currency, Units
from discreet.model.privacy import AMOUNT_UNITS, PureLoss

from .places import account


def units(tenths):
    return Units(Currency.PURE, tenths * AMOUNT_UNITS // 10, 0)


def entry(number, kind, *, taken=0, spent=0, **fields):
    texts = {"dataset": "staff", "version": 1, "analyst": "", "question": "", "key": "", "note": "", **fields}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Entry(number=number, kind=kind, taken=units(taken), spent=units(spent), at=at, digest="", **texts)


STORY = [
    entry(1, EntryKind.OPENED, note=declaration(account(cap=PureLoss(epsilon=0.8)), "")),
    entry(2, EntryKind.CHARGED, taken=3, spent=3, analyst="ana", key="k"),
    entry(3, EntryKind.ANSWERED, spent=3, key="k", note="digest"),
    entry(4, EntryKind.REFRESHED, spent=3, version=2),
    entry(5, EntryKind.CHARGED, taken=4, spent=7, analyst="ana", key="k", version=2),
    entry(6, EntryKind.WRITTEN_OFF, taken=1, spent=8, version=3),
]


def replayed(story):
    """Replay a story whose hashes are made to fit."""
    previous, chain = BEFORE_THE_FIRST, []
    for each in story:
        chain.append(sealed(each, previous))
        previous = chain[-1].digest
    return Replay().add_all(chain)


def test_a_story_that_can_be():
    replay = replayed(STORY)
    balance = replay.balances()["staff"]
    assert (balance.version, balance.spent) == (3, PureLoss(epsilon=0.8))
    assert balance.analysts == {"ana": PureLoss(epsilon=0.7)}
    assert (replay.number, replay.answers) == (6, {2: "digest"})


def test_a_charge_may_be_followed_by_another_and_the_first_be_answered():
    story = [
        *STORY[:2],
        entry(3, EntryKind.CHARGED, taken=1, spent=4, analyst="bo", key="k"),
        entry(4, EntryKind.ANSWERED, spent=4, key="k", note="digest 2"),
    ]
    assert replayed(story).answers == {2: "digest"}


def test_a_charge_may_be_unused_resumed_and_answered():
    story = [
        *STORY[:2],
        entry(3, EntryKind.UNUSED, spent=3, key="k", note="2"),
        entry(4, EntryKind.RESUMED, spent=3, key="k", note="2"),
        entry(5, EntryKind.ANSWERED, spent=3, key="k", note="digest 2"),
    ]
    assert replayed(story).answers == {2: "digest"}


CANNOT_BE = {
    "a gap": [*STORY[:2], replace(STORY[2], number=4)],
    "a number twice": [*STORY[:2], replace(STORY[2], number=2)],
    "opened twice": [STORY[0], replace(STORY[0], number=2)],
    "charged before it is opened": [replace(STORY[1], number=1)],
    "charged after it was answered": [
        *STORY[:3],
        entry(4, EntryKind.CHARGED, taken=1, spent=4, analyst="bo", key="k"),
    ],
    "charged although it is unused": [
        *STORY[:2],
        entry(3, EntryKind.UNUSED, spent=3, key="k", note="2"),
        entry(4, EntryKind.CHARGED, taken=1, spent=4, analyst="bo", key="k"),
    ],
    "unused twice": [*STORY[:2], *(entry(i, EntryKind.UNUSED, spent=3, key="k", note="2") for i in (3, 4))],
    "unused after it was answered": [*STORY[:3], entry(4, EntryKind.UNUSED, spent=3, key="k", note="2")],
    "unused without a charge": [STORY[0], entry(2, EntryKind.UNUSED, key="k", note="1")],
    "another charge that is unused": [*STORY[:2], entry(3, EntryKind.UNUSED, spent=3, key="l", note="2")],
    "unused a second time": [
        *STORY[:2],
        *(
            entry(i, kind, spent=3, key="k", note="2")
            for i, kind in enumerate((EntryKind.UNUSED, EntryKind.RESUMED, EntryKind.UNUSED), 3)
        ),
    ],
    "resumed and not unused": [*STORY[:2], entry(3, EntryKind.RESUMED, spent=3, key="k", note="2")],
    "an answer of another key": [
        *STORY[:2],
        entry(3, EntryKind.CHARGED, taken=1, spent=4, analyst="bo", key="l"),
        entry(4, EntryKind.ANSWERED, spent=4, key="l", note="digest 2"),
    ],
    "a sum that is too small": [STORY[0], replace(STORY[1], spent=units(2))],
    "more than the budget": [*STORY[:2], entry(3, EntryKind.WRITTEN_OFF, taken=8, spent=11, version=2)],
    "more than the cap": [STORY[0], replace(STORY[1], taken=units(9), spent=units(9))],
    "a negative charge": [*STORY[:2], entry(3, EntryKind.CHARGED, taken=-1, spent=2, analyst="bo", key="l")],
    "answered without a charge": [STORY[0], entry(2, EntryKind.ANSWERED, key="k")],
    "answered twice": [*STORY[:3], replace(STORY[2], number=4)],
    "new data that cost something": [STORY[0], entry(2, EntryKind.REFRESHED, taken=1, spent=1, version=2)],
    "a version left out": [STORY[0], entry(2, EntryKind.REFRESHED, version=3)],
    "a charge on an old version": [*STORY[:4], replace(STORY[4], version=1, key="l")],
    "a budget that no one can read": [replace(STORY[0], note="{}")],
    "a budget below what is spent": [
        *STORY[:2],
        entry(
            3, EntryKind.BUDGET_CHANGED, spent=3, note=declaration(account(budget=PureLoss(epsilon=0.2)), "")
        ),
    ],
    "a cap below what is spent": [
        *STORY[:2],
        entry(3, EntryKind.BUDGET_CHANGED, spent=3, note=declaration(account(cap=PureLoss(epsilon=0.2)), "")),
    ],
    "another currency": [
        STORY[0],
        replace(
            entry(2, EntryKind.WRITTEN_OFF, version=2),
            taken=Units(Currency.CONCENTRATED, 3, 0),
            spent=Units(Currency.PURE, 3, 0),
        ),
    ],
}


@pytest.mark.parametrize("story", CANNOT_BE.values(), ids=CANNOT_BE)
def test_a_story_that_cannot_be(story):
    with pytest.raises(LedgerClosed):
        replayed(story)
