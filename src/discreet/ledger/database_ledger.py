"""How a ledger in a database works, whichever database it is.

Every call that adds takes its turn: it waits until no other process is inside, checks that the chain still
holds the anchored entry, and then adds. What it adds is committed durably and anchored before it returns. The
order is: prepare the anchor, commit, publish the anchor. A crash before the commit leaves nothing; a crash
after it leaves a charge that nobody was told of, and an anchor that the next turn brings up to date.

A call that only reads takes no turn. It reads the anchor first and looks at the tables then: what was
anchored was committed before, so that it must be there. In doubt, it takes a turn, which tells what is wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Literal, Self

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.accounts import is_open, open_or_find
from discreet.ledger.anchor import Anchor, AnchorFile
from discreet.ledger.chain import BEFORE_THE_FIRST, declaration, exported
from discreet.ledger.charges import admitted, charge_or_find, mark_unused, store, those_who_count
from discreet.ledger.database import Database
from discreet.ledger.interface import (
    LONGEST_NAME,
    LONGEST_PURPOSE,
    LONGEST_TEXT,
    Account,
    Answered,
    Balance,
    Cap,
    Entry,
    EntryKind,
    checked_text,
)
from discreet.ledger.question_lock import held
from discreet.ledger.tables import Books
from discreet.ledger.units import Currency, Units, budget_units, charge_units
from discreet.model.privacy import Loss, Spend
from discreet.model.receipt import LARGEST_ANSWER, Receipt

_REBASE = (
    "If the ledger was restored from a backup, its owner decides how much to write off for what was charged "
    "since, with “discreet ledger rebase”."
)
_DATA_SEEN = "data seen"
"""A key that no question has."""


class DatabaseLedger:
    """See `discreet.ledger.interface` for what it promises. Nothing is opened before the first call."""

    def __init__(self, database: Database, anchor: AnchorFile) -> None:
        self._database = database
        self._anchor = anchor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._database.name

    def exists(self) -> bool:
        """Whether there is a ledger already: looking at one must not make one."""
        return self._database.exists()

    def open_account(self, account: Account) -> Balance:
        if not isinstance(account, Account):
            raise InvalidInput("An account is expected.", remedy="Give Account(dataset=…, budget=…, …).")
        with self._look() as books:
            if is_open(books, account):
                return books.balance(account.dataset, analysts=())
        with self._turn() as books:
            return open_or_find(books, account)

    @contextmanager
    def asking(self, dataset: str, key: str) -> Iterator[None]:
        for value, name in ((dataset, "dataset"), (key, "key")):
            checked_text(value, name, LONGEST_NAME)
        with held(self._database.asked, f"{dataset}\0{key}"):
            yield

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
        for value, name in ((dataset, "dataset"), (analyst, "analyst"), (key, "key")):
            checked_text(value, name, LONGEST_NAME)
        checked_text(question, "question", LONGEST_TEXT)
        checked_text(purpose, "purpose", LONGEST_PURPOSE, may_be_empty=True)
        asked = {"analyst": analyst, "question": question, "key": key, "note": purpose}
        with self._turn() as books:
            return charge_or_find(books, dataset, loss=loss, caps=caps, **asked)

    def mark_unused(self, receipt: Receipt) -> bool:
        with self._turn() as books:
            return mark_unused(books, receipt)

    def stored_answer(
        self, dataset: str, key: str, *, older: Callable[[], Sequence[str]] = tuple
    ) -> Answered | None:
        checked_text(key, "key", LONGEST_NAME)
        with self._look() as books:
            version = books.balance(dataset, analysts=()).version
            return _found(books, dataset, version, books.last_of(dataset, version, key), older)

    def stored_keys(self, dataset: str, first: str, after: str, *, most: int) -> list[str]:
        for value, name in ((first, "first"), (after, "after")):
            checked_text(value, name, LONGEST_NAME)
        with self._look() as books:
            version = books.balance(dataset, analysts=()).version
            return [each.key for each in books.answered_between(dataset, version, first, after, most=most)]

    def stored_answers(self, dataset: str, beginning: str) -> list[Answered]:
        checked_text(beginning, "beginning", LONGEST_NAME)
        with self._look() as books:
            version = books.balance(dataset, analysts=()).version
            after = f"{beginning[:-1]}{chr(ord(beginning[-1]) + 1)}"
            found = books.answered_between(dataset, version, beginning, after)
            return [books.answered(each) for each in sorted(found, key=lambda each: each.number)]

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
        for value, name in ((analyst, "analyst"), (key, "key")):
            checked_text(value, name, LONGEST_NAME)
        with self._look() as books:
            balance = books.balance(dataset, analysts=those_who_count(analyst, caps))
            last = books.last_of(dataset, balance.version, key)
            found = _found(books, dataset, balance.version, last, older)
            if found is not None:
                return found
            if last is None or last.kind is not EntryKind.UNUSED:
                cost = charge_units(loss, balance.account.budget_units.currency)
                admitted(balance, analyst, cost, caps)
            return None

    def store_answer(self, receipt: Receipt, answer: bytes) -> bytes:
        if not isinstance(answer, bytes) or len(answer) > LARGEST_ANSWER:
            raise InvalidInput(
                f"An answer is stored as at most {LARGEST_ANSWER} bytes.", remedy="Encode it as bytes."
            )
        with self._turn() as books:
            return store(books, receipt, answer)

    def balance(self, dataset: str, *, analysts: Sequence[str] | None = None) -> Balance:
        with self._look() as books:
            return books.balance(dataset, analysts=analysts)

    def entries(self, dataset: str, *, after: int = 0) -> Iterator[Entry]:
        number = after
        while True:  # page by page, so that no snapshot is kept long; what was read does not change
            with self._look() as books:
                books.balance(dataset)
                page = books.entries(after=number, dataset=dataset)
            if not page:
                return
            yield from page
            number = page[-1].number

    def changed_since(self, dataset: str, stamp: str, *formerly: str) -> datetime | None:
        checked_text(stamp, "stamp", LONGEST_NAME)
        with self._look() as books:
            seen = _data_seen(books, dataset)
        if seen is None:
            with self._turn() as books:
                seen = _data_seen(books, dataset)
                if seen is None:
                    balance = books.balance(dataset, analysts=())
                    seen = books.append(
                        EntryKind.DATA_SEEN,
                        dataset=dataset,
                        version=balance.version,
                        spent=balance.spent_units,
                        key=_DATA_SEEN,
                        note=stamp,
                    )
        return None if seen.note in (stamp, *formerly) else seen.at

    def verify(self) -> None:
        with self._look() as books:
            books.replay()

    def refresh(self, dataset: str) -> int:
        with self._turn() as books:
            balance = books.balance(dataset)
            version = balance.version + 1
            books.set_version(dataset, version)
            books.append(EntryKind.REFRESHED, dataset=dataset, version=version, spent=balance.spent_units)
            return version

    def change_budget(self, dataset: str, *, budget: Spend, analyst_cap: Spend, reason: str) -> Balance:
        checked_text(reason, "reason", LONGEST_TEXT)
        with self._turn() as books:
            balance = books.balance(dataset)
            account = replace(balance.account, budget=budget, analyst_cap=analyst_cap)
            by_analysts = [budget_units(spent, analyst) for analyst, spent in balance.analysts.items()]
            enough = balance.spent_units.within(account.budget_units)
            if not enough or not all(spent.within(account.cap_units) for spent in by_analysts):
                raise InvalidInput(
                    "A budget stays in its currency and is no less than is spent, in all and by any analyst.",
                    remedy="Give the same kind of loss, at least as large as balance says is spent.",
                )
            books.set_budget(account)
            books.append(
                EntryKind.BUDGET_CHANGED,
                dataset=dataset,
                version=balance.version,
                spent=balance.spent_units,
                note=declaration(account, reason),
            )
            return replace(balance, account=account)

    def rebase(self, *, write_off: Mapping[str, Loss] | Literal["everything"], reason: str) -> None:
        checked_text(reason, "reason", LONGEST_TEXT)
        with self._turn(anchored=False) as books:
            books.replay()
            datasets = books.datasets()
            if not datasets:
                raise LedgerClosed(
                    "This ledger has no account, so that there is nothing to write off from.",
                    remedy="Restore a backup of the ledger first.",
                )
            named = {} if write_off == "everything" else write_off
            if not isinstance(named, Mapping) or set(named) - set(datasets):
                raise InvalidInput(
                    "Nothing can be written off from an account that is not in the ledger.",
                    remedy='Give a loss for each dataset by its name, or "everything".',
                )
            for dataset in datasets:
                _write_off(books, books.balance(dataset), named.get(dataset), reason)
            for dataset in self._datasets_anchored():
                if dataset not in datasets and not books.last(dataset, EntryKind.LOST):
                    books.append(
                        EntryKind.LOST,
                        dataset=dataset,
                        version=0,
                        spent=Units(Currency.PURE, 0, 0),
                        note=reason,
                    )

    def export(self) -> Iterator[str]:
        previous, number = BEFORE_THE_FIRST, 0
        while True:
            with self._look(anchored=False) as books:
                page = books.entries(after=number)
            if not page:
                return
            for entry in page:
                yield exported(entry, previous)
                previous, number = entry.digest, entry.number

    @contextmanager
    def _turn(self, *, anchored: bool = True) -> Iterator[Books]:
        with self._database.transaction() as transaction:
            books = Books(transaction)
            before = self._check_anchor(books) if anchored else None
            yield books
            if books.number > books.number_before:
                anchor = self._anchor_after(books, before)
                self._anchor.prepare(anchor)
                transaction.commit()
                self._publish(anchor)

    @contextmanager
    def _look(self, *, anchored: bool = True) -> Iterator[Books]:
        anchor = self._anchor.read() if anchored else None
        with ExitStack() as stack:
            books = Books(stack.enter_context(self._database.reading()))
            if anchored:
                books.check_last()
                if anchor is None or not self._fits(anchor, books):
                    stack.close()
                    books = stack.enter_context(self._turn())
            behind = anchor is not None and anchor.number < books.number
            ahead = self._anchor_after(books, None) if behind else None
            yield books
        if anchor is not None and ahead is not None:
            self._catch_up(anchor, ahead)

    def _fits(self, anchor: Anchor, books: Books) -> bool:
        return books.digest_at(anchor.number) == anchor.digest and self._same_server(anchor)

    def _same_server(self, anchor: Anchor) -> bool:
        """Whether the server is the same, if both are known: not every role may ask."""
        return "" in (anchor.server, self._database.server) or anchor.server == self._database.server

    def _catch_up(self, seen: Anchor, ahead: Anchor) -> None:
        """Anchor what was seen, so that this machine remembers it; unless somebody else has a turn now."""
        with suppress(OSError), self._database.if_free() as free:
            if free and self._anchor.read() == seen:
                self._anchor.prepare(ahead)
                self._anchor.publish(ahead)

    def _check_anchor(self, books: Books) -> Anchor:
        """The anchored entry must be in the chain; if the chain has grown since, the anchor is moved."""
        books.check_last()
        anchor = self._anchor.read()
        if anchor is None and books.number > 0:
            raise LedgerClosed("The anchor of this ledger is missing.", remedy=_REBASE)
        if anchor is not None and books.digest_at(anchor.number) != anchor.digest:
            raise LedgerClosed(
                f"Entry {anchor.number} was made, and is not in this ledger: it is not the one it was.",
                remedy=_REBASE,
            )
        if anchor is not None and not self._same_server(anchor):
            raise LedgerClosed(
                "The database of this ledger is on another server, or on another timeline of it, than before:"
                " it was restored, moved, or a standby took over.",
                remedy=f"{_REBASE} If nothing was lost, they write off nothing.",
            )
        if anchor is None or anchor.number < books.number or self._database.server not in ("", anchor.server):
            anchor = self._anchor_after(books, None)
            self._anchor.prepare(anchor)
            self._anchor.publish(anchor)
        return anchor

    def _anchor_after(self, books: Books, before: Anchor | None) -> Anchor:
        """Where the chain stands. The accounts are those of before, unless one was opened."""
        same = before is not None and not books.opened_an_account
        datasets = before.datasets if before is not None and same else tuple(books.datasets())
        known = "" if before is None else before.server
        return Anchor(
            number=books.number,
            digest=books.digest,
            datasets=datasets,
            server=self._database.server or known,
        )

    def _publish(self, anchor: Anchor) -> None:
        try:
            self._anchor.publish(anchor)
        except OSError as error:
            raise LedgerClosed(
                f"What was asked is in the ledger, but cannot be anchored: {error.strerror}.",
                remedy="Let this user write the anchor's directory. A charge that was made stays made.",
            ) from None

    def _datasets_anchored(self) -> tuple[str, ...]:
        try:
            anchor = self._anchor.read()
        except LedgerClosed:
            anchor = None
        return () if anchor is None else anchor.datasets


def _found(
    books: Books, dataset: str, version: int, last: Entry | None, older: Callable[[], Sequence[str]]
) -> Answered | None:
    """What was drawn for a key of which this happened last, or for one of the older keys of the same."""
    if last is not None:
        return books.answered(last) if last.kind is EntryKind.ANSWERED else None
    if books.has_older_keys(dataset):
        for each in older():
            found = books.last_of(dataset, version, each)
            if found is not None and found.kind is EntryKind.ANSWERED:
                return books.answered(found)
    return None


def _data_seen(books: Books, dataset: str) -> Entry | None:
    return books.last_of(dataset, books.balance(dataset, analysts=()).version, _DATA_SEEN)


def _write_off(books: Books, balance: Balance, loss: Loss | None, reason: str) -> None:
    """Charge an account for what nobody knows any more; everything, if its owner gave no loss."""
    dataset, left = balance.account.dataset, budget_units(balance.left, "left")
    taken = left if loss is None else charge_units(loss, left.currency).smaller(left)
    version = balance.version + 1
    books.spend(dataset, taken)
    books.set_version(dataset, version)
    spent = balance.spent_units.plus(taken)
    books.append(
        EntryKind.WRITTEN_OFF, dataset=dataset, version=version, spent=spent, taken=taken, note=reason
    )
