"""What a ledger promises, whichever database keeps it.

1. A charge is all or nothing, and durable when `charge` returns: the curator reads data only after that.
2. All charges to a dataset together never exceed its budget, and those of an analyst never exceed the cap:
   over threads, processes, machines, crashes and restarts. This is the privacy filter of
   `accounting.filters`, kept in integers.
3. Entries are only ever added, are numbered without gaps over the whole ledger, and each carries a hash of
   all before it; the last one is anchored outside the database, so that a backup that was restored over it is
   noticed. Any doubt closes the ledger: no charge succeeds until its owner has looked.
4. The same question at the same price, on the same version of the data, is charged once: what was drawn for
   it is stored, and given again.
5. One charge, one draw: no receipt is given twice, unless its holder said that nothing was drawn.

One charge, one draw
--------------------
A question is asked in this order, and only what `store_answer` returned is ever used:

    stored_or_payable → (if nothing is stored) charge → run → draw → store_answer → all the rest

What is stored are the noisy numbers themselves, before anything is computed from them. If they were drawn and
not stored (a crash, no memory, Ctrl-C), somebody may still have learnt of the draw, by its timing or by the
failure itself: a second draw from the same charge would be another release that nobody paid for. So a
charge that was begun and has no answer is used up, and the next try is charged anew. There is one exception:
if the database failed before anything was drawn, `mark_unused` lets the same question use the charge once
more. Whoever asks holds the question (`question_lock`), so that others on this machine who ask the same wait
for the answer instead of paying again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol

from discreet.answers.plain_html import budget_html
from discreet.answers.wording import percent, standing_text
from discreet.errors import InvalidInput
from discreet.ledger.units import Units, budget_units, filter_of
from discreet.model.privacy import Loss, Spend
from discreet.model.receipt import Receipt

LONGEST_NAME = 1_000
"""In bytes of UTF-8, so that two names fit into an index of any database."""
LONGEST_TEXT = 1_000_000
LONGEST_PURPOSE = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A dataset's budget as the ledger holds it: declared once, by its owner."""

    dataset: str
    budget: Spend
    """The most that all charges may come to, in the one currency that the dataset is charged in."""
    analyst_cap: Spend
    """The most for any one analyst; equal to the budget if there is no cap."""
    fingerprint: str
    """A digest of what stays when a policy changes: the dataset's name and its neighbour relation."""
    people: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Digests of the people. Two accounts with a digest in common would be about the same people.

    If none are given, the fingerprint stands for them. An account read from a ledger does not list them.
    """
    formerly: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Digests by which earlier versions knew the people. They are looked for, and never written."""

    def __post_init__(self) -> None:
        checked_text(self.dataset, "dataset", LONGEST_NAME)
        checked_text(self.fingerprint, "fingerprint", LONGEST_NAME)
        for person in self.people:
            checked_text(person, "people", LONGEST_NAME)
        object.__setattr__(self, "people", frozenset(self.people or {self.fingerprint}))
        budget, cap = self.budget_units, self.cap_units
        if not cap.within(budget):
            raise InvalidInput(
                "The cap of an analyst must be in the budget's currency, and no more than the budget.",
                remedy="Give the budget itself as analyst_cap if there is no cap.",
            )
        for most in (budget, cap):
            filter_of(most.loss, most.none.loss)  # refuses what is too small to pay anything
        object.__setattr__(self, "budget", budget.loss)
        object.__setattr__(self, "analyst_cap", cap.loss)

    @property
    def budget_units(self) -> Units:
        return budget_units(self.budget, "budget")

    @property
    def cap_units(self) -> Units:
        return budget_units(self.analyst_cap, "analyst_cap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The most that some analysts may spend together: one of them, or all of a project."""

    name: str
    """What it is of, for errors: “analyst ana”, “project sepsis”."""
    analysts: frozenset[str]
    most: Spend

    @property
    def units(self) -> Units:
        return budget_units(self.most, "most")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Balance:
    """Where an account stands."""

    account: Account
    version: int
    spent: Spend
    """By all analysts, and written off."""
    analysts: dict[str, Spend]
    """What each analyst has spent, of those that were asked for."""

    @property
    def left(self) -> Spend:
        """What is not spent yet, by anybody."""
        return filter_of(self.account.budget, self.spent).left

    def __repr__(self) -> str:
        by = ", ".join(f"{name} {percent(loss, self.account.budget)}" for name, loss in self.analysts.items())
        standing = standing_text(self.spent, self.left, self.account.budget)
        return f"{self.account.dataset}: {standing}" + (f"; by {by}." if by else ".")

    def _repr_html_(self) -> str:
        standing = standing_text(self.spent, self.left, self.account.budget)
        return budget_html(f"{self.account.dataset}: {standing}", self.analysts, self.account.budget)

    def left_for(self, analyst: str, caps: "Sequence[Cap]" = ()) -> Spend:
        """What one analyst may still spend: never more than is left of any cap on them."""
        left = budget_units(self.left, "left")
        for cap in (self.cap_of(analyst), *caps):
            left = left.smaller(budget_units(self.left_of(cap), "left"))
        return left.loss

    def cap_of(self, analyst: str) -> Cap:
        """The cap that every analyst has."""
        return Cap(name="one analyst", analysts=frozenset({analyst}), most=self.account.analyst_cap)

    def left_of(self, cap: Cap) -> Spend:
        """What is left of a cap; nothing if it was lowered below what is spent."""
        spent = self.spent_by(cap.analysts)
        if not spent.within(cap.units):
            return spent.none.loss
        return filter_of(cap.units.loss, spent.loss).left

    def spent_by(self, analysts: Collection[str]) -> Units:
        """What some analysts have spent together."""
        spent = self.account.budget_units.none
        for analyst in analysts:
            spent = spent.plus(budget_units(self.analysts.get(analyst, spent.none.loss), "spent"))
        return spent

    @property
    def spent_units(self) -> Units:
        return budget_units(self.spent, "spent")


class EntryKind(StrEnum):
    """What an entry records."""

    OPENED = "opened"
    SOURCES_ADDED = "sources added"
    """The policy names people, or sources of them, that the account did not know."""
    CHARGED = "charged"
    UNUSED = "unused"
    """Nothing was drawn for a charge: its question may use it once more."""
    RESUMED = "resumed"
    """A charge that was unused is used."""
    ANSWERED = "answered"
    DATA_SEEN = "data seen"
    """The stamp of a version of the data when it was first opened: see `changed_since`."""
    REFRESHED = "refreshed"
    BUDGET_CHANGED = "budget changed"
    WRITTEN_OFF = "written off"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened. All the rest of a ledger follows from its entries."""

    number: int
    kind: EntryKind
    dataset: str
    version: int
    analyst: str
    question: str
    key: str
    taken: Units
    """What this entry took from the budget."""
    spent: Units
    """Of the budget, after this entry: as in a bank statement."""
    note: str
    """What else belongs to it: the declared budget, the owner's reason, the answer's digest, what a question
    is for."""
    at: datetime
    digest: str
    """SHA-256 of all of the above and of the digest before."""

    def receipt(self) -> Receipt:
        """A charge, as its analyst holds it."""
        return Receipt(
            number=self.number,
            dataset=self.dataset,
            version=self.version,
            analyst=self.analyst,
            question=self.question,
            key=self.key,
            charged=self.taken.loss,
            at=self.at,
            digest=self.digest,
        )


class Answered(NamedTuple):
    """What was stored for a charge."""

    receipt: Receipt
    answer: bytes


class Ledger(Protocol):
    """Keeps accounts. The last four methods are for the owner."""

    def open_account(self, account: Account) -> Balance:
        """Create the account, or find it as it was declared; LedgerClosed if it was declared otherwise."""

    def asking(self, dataset: str, key: str) -> AbstractContextManager[None]:
        """Hold a question: others on this machine who ask the same wait until it is released."""

    def charge(
        self,
        dataset: str,
        *,
        analyst: str,
        question: str,
        key: str,
        loss: Loss,
        caps: Sequence[Cap] = (),
        purpose: str = "",
    ) -> Receipt | Answered:
        """Add an entry, durably, or raise BudgetExceeded and change nothing. Its note is the purpose.

        All caps hold besides the budget and the cap of every analyst. The receipt pays for one draw. A key
        that was answered on this version of the data is not charged again: its answer is returned. A key that
        was charged and not answered is charged anew, unless that charge was marked as unused.
        """

    def mark_unused(self, receipt: Receipt) -> bool:
        """Say that nothing was drawn for a charge, and nothing will be. Returns whether the same question may
        use it once more.
        """

    def stored_answer(
        self, dataset: str, key: str, *, older: Callable[[], Sequence[str]] = tuple
    ) -> Answered | None:
        """What was drawn for this question on the present version of the data, if it was asked before.

        `older` gives keys of the same question from before keys had a version, or a price. It is called only
        for ledgers that have such keys.
        """

    def stored_keys(self, dataset: str, first: str, after: str, *, most: int) -> list[str]:
        """The last keys, backwards, that were answered on the present version of the data, of those from
        `first` on and before `after`.
        """

    def stored_answers(self, dataset: str, beginning: str) -> list[Answered]:
        """All that was drawn on the present version of the data for keys that begin so, oldest first."""

    def stored_or_payable(
        self,
        dataset: str,
        *,
        analyst: str,
        key: str,
        loss: Loss,
        older: Callable[[], Sequence[str]] = tuple,
        caps: Sequence[Cap] = (),
    ) -> Answered | None:
        """As `stored_answer`; BudgetExceeded if nothing is stored, and a charge would be refused now.

        So what cannot be paid for is refused before any work is done. `older` is as for `stored_answer`.
        """

    def store_answer(self, receipt: Receipt, answer: bytes) -> bytes:
        """Store what was drawn for a charge, durably. The first one of a key stays: use what is returned."""

    def balance(self, dataset: str, *, analysts: Sequence[str] | None = None) -> Balance:
        """What is spent and left, in all and by each analyst, or by some of them only."""

    def entries(self, dataset: str, *, after: int = 0) -> Iterator[Entry]:
        """Everything that happened to a dataset, oldest first: all entries with a number above `after`."""

    def changed_since(self, dataset: str, stamp: str, *formerly: str) -> datetime | None:
        """When this version of the data was first opened, if it looked different then; else None.

        The stamp is a digest of what can be seen without reading, such as times of files. The first one of a
        version is kept. `formerly` are the stamps that earlier versions would have kept.
        """

    def verify(self) -> None:
        """Check the chain, the sums and the anchor; LedgerClosed with what is wrong."""

    def close(self) -> None:
        """Let go of files and connections; what was charged is durable already."""

    def refresh(self, dataset: str) -> int:
        """Start a new version of the data; the budget goes on. Returns the version."""

    def change_budget(self, dataset: str, *, budget: Spend, analyst_cap: Spend, reason: str) -> Balance:
        """Declare another budget, in the same currency, and no less than is spent."""

    def rebase(self, *, write_off: Mapping[str, Loss] | Literal["everything"], reason: str) -> None:
        """Go on with a ledger that is not the one it was, such as a restored backup.

        Charges after the backup are lost, and nobody can tell how much they were. So every account is charged
        with what its owner writes off, by dataset; one that is not named loses all that it has left. Every
        dataset starts a new version, because answers may have been lost too.
        """

    def export(self) -> Iterator[str]:
        """All entries as lines of JSON, also from a ledger that is closed."""


def checked_text(value: object, name: str, longest: int, *, may_be_empty: bool = False) -> str:
    """Text that every database can hold and every reader sees alike."""
    if not isinstance(value, str):
        raise InvalidInput(
            f"{name} must be text, not a {type(value).__name__}.", remedy=f"Give {name} as a str."
        )
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} is not valid Unicode.", remedy="Remove lone surrogates.") from None
    if "\0" in value or size > longest or not (value.strip() or may_be_empty):
        raise InvalidInput(
            f"{name} must have 1 to {longest} bytes in UTF-8, and no NUL.", remedy=f"Choose another {name}."
        )
    return value
