"""The tables of a ledger, read and written inside one transaction, in the ledger's own nouns.

Its SQL means the same in every database.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.chain import (
    BEFORE_THE_FIRST,
    RESTORE,
    Replay,
    answer_digest,
    charge_number,
    digest_of,
    sealed,
    time_text,
)
from discreet.ledger.database import DatabaseRow, Transaction
from discreet.ledger.interface import LONGEST_NAME, Account, Answered, Balance, Entry, EntryKind, checked_text
from discreet.ledger.people import PeopleTable
from discreet.ledger.units import Currency, Units
from discreet.model.identity import has_older

_PAGE = 1000
_ALL = 2**31 - 1
_PAGE_OF_ANSWERS = 100
_BELOW_ALL_NUMBERS = -(2**63)


class Books:
    """What one transaction sees, and adds."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.people = PeopleTable(transaction)
        self.opened_an_account = False
        self._ends = transaction.rows("SELECT * FROM entries ORDER BY number DESC LIMIT 2")
        """The last entry and the one before, as they were when this began."""
        self.number: int = self._ends[0]["number"] if self._ends else 0
        self.digest: str = self._ends[0]["digest"] if self._ends else BEFORE_THE_FIRST
        self.number_before = self.number

    def digest_at(self, number: int) -> str | None:
        """The digest of an entry; None if there is no such entry."""
        if number == 0:
            return BEFORE_THE_FIRST
        if number > self.number:
            return None
        for end in self._ends:
            if end["number"] == number:
                return str(end["digest"])
        row = self._row("SELECT digest FROM entries WHERE number = :number", number=number)
        return None if row is None else str(row["digest"])

    def check_last(self) -> None:
        """The last entry must be what it was when it was made."""
        for row in self._ends[:1]:
            last = _entry_of(row)
            if last.digest != digest_of(last, self.digest_at(last.number - 1) or BEFORE_THE_FIRST):
                raise LedgerClosed("The last entry is not what it was when it was made.", remedy=RESTORE)

    def append(
        self,
        kind: EntryKind,
        *,
        dataset: str,
        version: int,
        spent: Units,
        taken: Units | None = None,
        analyst: str = "",
        question: str = "",
        key: str = "",
        note: str = "",
    ) -> Entry:
        """Add an entry to the chain."""
        entry = Entry(
            number=self.number + 1,
            kind=kind,
            dataset=dataset,
            version=version,
            analyst=analyst,
            question=question,
            key=key,
            taken=spent.none if taken is None else taken,
            spent=spent,
            note=note,
            at=datetime.now(UTC),
            digest="",
        )
        entry = sealed(entry, self.digest)
        values = _values_of(entry)
        places = ", ".join(f":{column}" for column in values)
        self._transaction.change(f"INSERT INTO entries VALUES ({places})", **values)  # noqa: S608
        self.number, self.digest = entry.number, entry.digest
        return entry

    def entries(self, *, after: int = 0, dataset: str | None = None, most: int = _PAGE) -> list[Entry]:
        """The next entries in order, of one dataset or of all."""
        which = {} if dataset is None else {"dataset": dataset}
        condition = "".join(f"{column} = :{column} AND " for column in which)
        sql = f"SELECT * FROM entries WHERE {condition}number > :after ORDER BY number LIMIT :most"  # noqa: S608
        return [_entry_of(row) for row in self._transaction.rows(sql, **which, after=after, most=most)]

    def all_entries(self) -> Iterator[Entry]:
        number = 0
        while page := self.entries(after=number):
            yield from page
            number = page[-1].number

    def last_of(self, dataset: str, version: int, key: str) -> Entry | None:
        """What happened last to a question on this version of the data."""
        row = self._row(
            "SELECT * FROM entries WHERE dataset = :dataset AND version = :version AND key = :key "
            "ORDER BY number DESC LIMIT 1",
            dataset=dataset,
            version=version,
            key=key,
        )
        return None if row is None else _entry_of(row)

    def answered_between(
        self, dataset: str, version: int, first: str, after: str, *, most: int = _ALL
    ) -> list[Entry]:
        """The answers of this version of the data with such keys, the last keys first."""
        sql = (
            "SELECT * FROM entries WHERE dataset = :dataset AND version = :version AND kind = 'answered' "
            "AND key >= :first AND key < :after ORDER BY key DESC LIMIT :most"
        )
        where = {"dataset": dataset, "version": version, "first": first, "after": after}
        rows = self._transaction.rows(sql, **where, most=most)
        return [_entry_of(row) for row in rows]

    def has_older_keys(self, dataset: str) -> bool:
        """Whether some answers may have keys that are others today. The first charge tells."""
        first = self._row(
            "SELECT key FROM entries WHERE dataset = :dataset AND kind = 'charged' ORDER BY number LIMIT 1",
            dataset=dataset,
        )
        return first is not None and has_older(first["key"])

    def entry(self, number: int) -> Entry | None:
        row = self._row("SELECT * FROM entries WHERE number = :number", number=number)
        return None if row is None else _entry_of(row)

    def charge_behind(self, entry: Entry) -> Entry:
        """The charge that an entry with a key is about."""
        number = charge_number(entry)
        if number == entry.number:
            return entry
        if number is None:  # written when a key had one charge only
            row = self._row(
                "SELECT * FROM entries WHERE kind = 'charged' AND dataset = :dataset "
                "AND version = :version AND key = :key",
                dataset=entry.dataset,
                version=entry.version,
                key=entry.key,
            )
            charge = None if row is None else _entry_of(row)
        else:
            charge = self.entry(number)
        if charge is None or charge.kind is not EntryKind.CHARGED or charge.key != entry.key:
            raise LedgerClosed("An entry of this ledger has no charge.", remedy=RESTORE)
        return charge

    def last(self, dataset: str, kind: EntryKind) -> int:
        """The number of the last entry of a kind, or 0."""
        row = self._row(
            f"SELECT max(number) AS number FROM entries WHERE kind = '{kind}' AND dataset = :dataset",  # noqa: S608
            dataset=dataset,
        )
        return 0 if row is None or row["number"] is None else int(row["number"])

    def answered(self, entry: Entry) -> Answered:
        """What an entry says was stored; LedgerClosed if it is no longer that."""
        charge = self.charge_behind(entry)
        row = self._row("SELECT answer FROM answers WHERE number = :number", number=charge.number)
        answer = b"" if row is None else bytes(row["answer"])
        if row is None or hashlib.sha256(answer).hexdigest() != answer_digest(entry):
            raise LedgerClosed("A stored answer is not what it was when it was stored.", remedy=RESTORE)
        return Answered(charge.receipt(), answer)

    def keep_answer(self, number: int, answer: bytes) -> None:
        self._transaction.change(
            "INSERT INTO answers VALUES (:number, :answer)", number=number, answer=answer
        )

    def datasets(self) -> list[str]:
        rows = self._transaction.rows("SELECT dataset FROM accounts ORDER BY dataset")
        return [row["dataset"] for row in rows]

    def balance(self, dataset: str, *, analysts: Sequence[str] | None = None) -> Balance:
        """Where the account stands, if its row and the last of its entries say the same.

        With what all analysts have spent, or some of them only: there may be thousands.
        """
        found = self.find_balance(checked_text(dataset, "dataset", LONGEST_NAME), analysts=analysts)
        if found is None:
            raise InvalidInput(
                "This ledger has no account for that dataset.", remedy="Open one first, with open_account."
            )
        row = self._last_entry_of(dataset)
        if row is None or _entry_of(row).spent.loss != found.spent:
            raise LedgerClosed(
                "What an account has spent is not what its last entry says.", remedy="Call verify. " + RESTORE
            )
        return found

    def _last_entry_of(self, dataset: str) -> DatabaseRow | None:
        if self.number == self.number_before and self._ends and self._ends[0]["dataset"] == dataset:
            return self._ends[0]
        return self._row(
            "SELECT * FROM entries WHERE dataset = :dataset ORDER BY number DESC LIMIT 1", dataset=dataset
        )

    def find_balance(self, dataset: str, *, analysts: Sequence[str] | None = None) -> Balance | None:
        row = self._row("SELECT * FROM accounts WHERE dataset = :dataset", dataset=dataset)
        if row is None:
            return None
        try:
            currency = Currency(row["currency"])
            return Balance(
                account=Account(
                    dataset=row["dataset"],
                    budget=Units(currency, row["budget"], row["budget_delta"]).loss,
                    analyst_cap=Units(currency, row["cap"], row["cap_delta"]).loss,
                    fingerprint=row["fingerprint"],
                ),
                version=row["version"],
                spent=Units(currency, row["spent"], row["spent_delta"]).loss,
                analysts={
                    spent["analyst"]: Units(currency, spent["spent"], spent["spent_delta"]).loss
                    for spent in self._spent_by(dataset, analysts)
                },
            )
        except (LookupError, ValueError, TypeError):
            raise LedgerClosed("An account of this ledger is unreadable.", remedy=RESTORE) from None

    def _spent_by(self, dataset: str, analysts: Sequence[str] | None) -> Iterator[DatabaseRow]:
        if analysts is None:
            sql = "SELECT * FROM analysts WHERE dataset = :dataset ORDER BY analyst"
            yield from self._transaction.rows(sql, dataset=dataset)
            return
        sql = "SELECT * FROM analysts WHERE dataset = :dataset AND analyst = :analyst"
        for analyst in analysts:
            yield from self._transaction.rows(sql, dataset=dataset, analyst=analyst)

    def open(self, account: Account) -> Balance:
        self.opened_an_account = True
        self._transaction.change(
            "INSERT INTO accounts VALUES (:dataset, :fingerprint, :currency, 1, "
            ":budget, :budget_delta, :cap, :cap_delta, 0, 0)",
            **_declared(account),
            fingerprint=account.fingerprint,
            currency=account.budget_units.currency.value,
        )
        return Balance(account=account, version=1, spent=account.budget_units.none.loss, analysts={})

    def spend(self, dataset: str, taken: Units) -> None:
        """Take from the budget, in one statement that does nothing if it does not fit."""
        self._must_change(
            "UPDATE accounts SET spent = spent + :amount, spent_delta = spent_delta + :delta "
            "WHERE dataset = :dataset "
            "AND spent + :amount <= budget AND spent_delta + :delta <= budget_delta",
            dataset=dataset,
            amount=taken.amount,
            delta=taken.delta,
        )

    def spend_as(self, analyst: str, dataset: str, taken: Units) -> None:
        """Take from the budget and from the analyst's cap."""
        self.spend(dataset, taken)
        if not self._spend_of(analyst, dataset, taken):
            self._transaction.change(
                "INSERT INTO analysts VALUES (:dataset, :analyst, 0, 0) ON CONFLICT DO NOTHING",
                dataset=dataset,
                analyst=analyst,
            )
            _require_changed(self._spend_of(analyst, dataset, taken))

    def _spend_of(self, analyst: str, dataset: str, taken: Units) -> int:
        return self._transaction.change(
            "UPDATE analysts SET spent = spent + :amount, spent_delta = spent_delta + :delta "
            "WHERE dataset = :dataset AND analyst = :analyst "
            "AND spent + :amount <= (SELECT cap FROM accounts WHERE dataset = :dataset) "
            "AND spent_delta + :delta <= (SELECT cap_delta FROM accounts WHERE dataset = :dataset)",
            dataset=dataset,
            analyst=analyst,
            amount=taken.amount,
            delta=taken.delta,
        )

    def set_version(self, dataset: str, version: int) -> None:
        self._must_change(
            "UPDATE accounts SET version = :version WHERE dataset = :dataset",
            dataset=dataset,
            version=version,
        )

    def set_budget(self, account: Account) -> None:
        self._must_change(
            "UPDATE accounts SET budget = :budget, budget_delta = :budget_delta, "
            "cap = :cap, cap_delta = :cap_delta WHERE dataset = :dataset",
            **_declared(account),
        )

    def set_fingerprint(self, account: Account) -> None:
        self._must_change(
            "UPDATE accounts SET fingerprint = :fingerprint WHERE dataset = :dataset",
            dataset=account.dataset,
            fingerprint=account.fingerprint,
        )

    def replay(self) -> Replay:
        """Check that the tables say what the chain of all entries says."""
        self._transaction.check()
        replay = Replay().add_all(self.all_entries())
        if {dataset: self.find_balance(dataset) for dataset in self.datasets()} != replay.balances():
            raise LedgerClosed("The accounts do not add up to the entries.", remedy=RESTORE)
        if self.people.all() != replay.people:
            raise LedgerClosed("The people of the accounts are not those of the entries.", remedy=RESTORE)
        stored = {number: hashlib.sha256(answer).hexdigest() for number, answer in self._answers()}
        if stored != replay.answers:
            raise LedgerClosed("The stored answers are not those of the entries.", remedy=RESTORE)
        return replay

    def _answers(self) -> Iterator[tuple[int, bytes]]:
        number = _BELOW_ALL_NUMBERS
        sql = "SELECT number, answer FROM answers WHERE number > :after ORDER BY number LIMIT :most"
        while page := self._transaction.rows(sql, after=number, most=_PAGE_OF_ANSWERS):
            yield from ((row["number"], row["answer"]) for row in page)
            number = page[-1]["number"]

    def _must_change(self, sql: str, **values: object) -> None:
        """The filter has admitted this before. If the tables refuse it, they do not add up."""
        _require_changed(self._transaction.change(sql, **values))

    def _row(self, sql: str, **values: object) -> DatabaseRow | None:
        rows = self._transaction.rows(sql, **values)
        return rows[0] if rows else None


def _require_changed(rows: int) -> None:
    if rows != 1:
        raise LedgerClosed("The tables refuse what the account has left.", remedy=RESTORE)


def _declared(account: Account) -> dict[str, object]:
    budget, cap = account.budget_units, account.cap_units
    return {
        "dataset": account.dataset,
        "budget": budget.amount,
        "budget_delta": budget.delta,
        "cap": cap.amount,
        "cap_delta": cap.delta,
    }


def _values_of(entry: Entry) -> dict[str, object]:
    """All columns of the table, in their order."""
    return {
        "number": entry.number,
        "kind": entry.kind.value,
        "dataset": entry.dataset,
        "version": entry.version,
        "analyst": entry.analyst,
        "question": entry.question,
        "key": entry.key,
        "currency": entry.taken.currency.value,
        "amount": entry.taken.amount,
        "delta": entry.taken.delta,
        "spent": entry.spent.amount,
        "spent_delta": entry.spent.delta,
        "note": entry.note,
        "at": time_text(entry.at),
        "digest": entry.digest,
    }


def _entry_of(row: DatabaseRow) -> Entry:
    try:
        currency = Currency(row["currency"])
        return Entry(
            number=row["number"],
            kind=EntryKind(row["kind"]),
            dataset=row["dataset"],
            version=row["version"],
            analyst=row["analyst"],
            question=row["question"],
            key=row["key"],
            taken=Units(currency, row["amount"], row["delta"]),
            spent=Units(currency, row["spent"], row["spent_delta"]),
            note=row["note"],
            at=datetime.fromisoformat(row["at"]),
            digest=row["digest"],
        )
    except (LookupError, ValueError, TypeError):
        raise LedgerClosed("An entry of this ledger is unreadable.", remedy=RESTORE) from None
