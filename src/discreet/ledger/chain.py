"""The chain of entries: how each is hashed, and what follows from all of them together.

Shared by all ledgers: whatever a database says about an account must be what replaying its entries gives.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from discreet.errors import LedgerClosed
from discreet.ledger.interface import Account, Balance, Entry, EntryKind
from discreet.ledger.units import Units

_LENGTH_OF_A_DIGEST = 64
BEFORE_THE_FIRST = "0" * _LENGTH_OF_A_DIGEST
"""The digest before the first entry."""

RESTORE = "Restore the latest backup that verifies, and run “discreet ledger rebase” for what it lacks."


def sealed(entry: Entry, previous: str) -> Entry:
    """The entry with its digest."""
    return replace(entry, digest=digest_of(entry, previous))


def digest_of(entry: Entry, previous: str) -> str:
    return hashlib.sha256(canonical(fields_of(entry, previous)).encode()).hexdigest()


def exported(entry: Entry, previous: str) -> str:
    """One line of an export; without its "digest" it is the text that the digest is of."""
    return canonical({**fields_of(entry, previous), "digest": entry.digest})


def fields_of(entry: Entry, previous: str) -> dict[str, Any]:
    """Everything that the digest covers."""
    return {
        "number": entry.number,
        "kind": entry.kind.value,
        "dataset": entry.dataset,
        "version": entry.version,
        "analyst": entry.analyst,
        "question": entry.question,
        "key": entry.key,
        "currency": entry.taken.currency.value,
        "taken": entry.taken[1:],
        "spent": entry.spent[1:],
        "note": entry.note,
        "at": time_text(entry.at),
        "previous": previous,
    }


def canonical(value: object) -> str:
    """One text for one value: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def time_text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def declaration(account: Account, reason: str, people: Sequence[str] | None = None) -> str:
    """The note of an entry that declares a budget, and, when the account is opened, for whom."""
    fields = {
        "analyst_cap": account.cap_units[1:],
        "budget": account.budget_units[1:],
        "fingerprint": account.fingerprint,
        "reason": reason,
    }
    return canonical(fields if people is None else {**fields, "people": people})


def added(account: Account, people: Sequence[str]) -> str:
    """The note of an entry that adds people to an account."""
    return canonical({"fingerprint": account.fingerprint, "people": people})


def charge_number(entry: Entry) -> int | None:
    """The charge that an entry with a key is about; None in answers from when a key had one charge only."""
    if entry.kind is EntryKind.CHARGED:
        return entry.number
    number = entry.note.split(" ")[-1]
    return int(number) if number.isdecimal() and len(number) < _LENGTH_OF_A_DIGEST else None


def answer_digest(entry: Entry) -> str:
    """The digest of the answer that an entry says was stored."""
    return entry.note.split(" ")[0]


@dataclass(slots=True)
class _ReplayedAccount:
    """An account while its entries are replayed."""

    account: Account
    budget: Units
    cap: Units
    version: int
    spent: Units
    analysts: dict[str, Units] = field(default_factory=dict)


@dataclass(slots=True)
class Replay:
    """What follows from the entries: add them one by one, from the first."""

    number: int = 0
    digest: str = BEFORE_THE_FIRST
    answers: dict[int, str] = field(default_factory=dict)
    """The digest of the answer to each charge that was answered, by the charge's number."""
    people: dict[str, str] = field(default_factory=dict)
    """The dataset of each."""
    _last: dict[tuple[str, int, str], tuple[EntryKind, int]] = field(default_factory=dict)
    """What happened last to a key, and the charge that it was about."""
    _charges: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    """The key of each charge that has no answer, by its number."""
    _standings: dict[str, _ReplayedAccount] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        if entry.number != self.number + 1:
            raise LedgerClosed(f"After entry {self.number} comes entry {entry.number}.", remedy=RESTORE)
        if entry.digest != digest_of(entry, self.digest):
            raise LedgerClosed(f"Entry {entry.number} is not what it was when it was made.", remedy=RESTORE)
        try:
            if entry.kind is not EntryKind.LOST:
                self._apply(entry)
        except (LookupError, ValueError, TypeError):
            raise LedgerClosed(
                f"Entry {entry.number} does not follow from those before.", remedy=RESTORE
            ) from None
        self.number, self.digest = entry.number, entry.digest

    def add_all(self, entries: Iterable[Entry]) -> "Replay":
        for entry in entries:
            self.add(entry)
        return self

    def balances(self) -> dict[str, Balance]:
        return {
            dataset: Balance(
                account=standing.account,
                version=standing.version,
                spent=standing.spent.loss,
                analysts={analyst: spent.loss for analyst, spent in standing.analysts.items()},
            )
            for dataset, standing in self._standings.items()
        }

    def _apply(self, entry: Entry) -> None:
        if entry.kind in (EntryKind.OPENED, EntryKind.BUDGET_CHANGED):
            self._declare(entry)
        now = self._standings[entry.dataset]
        if entry.kind is EntryKind.SOURCES_ADDED:
            note = json.loads(entry.note)
            now.account = replace(now.account, fingerprint=note["fingerprint"])
            self._join(note["people"], entry.dataset)
        if entry.kind in (EntryKind.REFRESHED, EntryKind.WRITTEN_OFF):
            now.version += 1
        if entry.kind is EntryKind.CHARGED:
            self._charge(entry, now)
        if entry.kind in (EntryKind.UNUSED, EntryKind.RESUMED, EntryKind.ANSWERED):
            self._follow_up(entry)
        if entry.kind not in (
            EntryKind.UNUSED,
            EntryKind.ANSWERED,
        ):  # which belong to the version of their charge
            _require(entry.version == now.version)
        _require(entry.taken.currency is now.budget.currency)
        now.spent = now.spent.plus(entry.taken)
        _require(entry.spent == now.spent and now.spent.within(now.budget) and min(entry.taken[1:]) >= 0)
        _require(entry.kind in (EntryKind.CHARGED, EntryKind.WRITTEN_OFF) or entry.taken == entry.taken.none)

    def _charge(self, entry: Entry, now: _ReplayedAccount) -> None:
        place = (entry.dataset, entry.version, entry.key)
        spent = now.analysts.get(entry.analyst, entry.taken.none).plus(entry.taken)
        last = self._last.get(place)
        _require(
            (last is None or last[0] not in (EntryKind.ANSWERED, EntryKind.UNUSED)) and spent.within(now.cap)
        )
        self._charges[entry.number] = place
        self._last[place] = (EntryKind.CHARGED, entry.number)
        now.analysts[entry.analyst] = spent

    def _follow_up(self, entry: Entry) -> None:
        """What an entry says of a charge must follow from what happened to it before."""
        place = (entry.dataset, entry.version, entry.key)
        last, latest = self._last[place]
        number = charge_number(entry)
        number = latest if number is None else number
        _require(self._charges[number] == place)
        if entry.kind is EntryKind.ANSWERED:
            _require(last is not EntryKind.ANSWERED)
            self.answers[number] = answer_digest(entry)
        else:
            before = EntryKind.UNUSED if entry.kind is EntryKind.RESUMED else EntryKind.CHARGED
            _require(last is before and number == latest)
        self._last[place] = (entry.kind, number)

    def _declare(self, entry: Entry) -> None:
        note, currency = json.loads(entry.note), entry.taken.currency
        budget, cap = Units(currency, *note["budget"]), Units(currency, *note["analyst_cap"])
        account = Account(
            dataset=entry.dataset,
            budget=budget.loss,
            analyst_cap=cap.loss,
            fingerprint=note["fingerprint"],
        )
        if entry.kind is EntryKind.OPENED:
            _require(entry.dataset not in self._standings)
            self._standings[entry.dataset] = _ReplayedAccount(account, budget, cap, 1, budget.none)
            # entries of earlier versions name no people: the fingerprint stood for them
            self._join(note.get("people", [account.fingerprint]), entry.dataset)
        now = self._standings[entry.dataset]
        _require(all(spent.within(cap) for spent in now.analysts.values()))
        now.account, now.budget, now.cap = account, budget, cap

    def _join(self, people: Sequence[str], dataset: str) -> None:
        for person in people:
            _require(person not in self.people)
            self.people[person] = dataset


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
