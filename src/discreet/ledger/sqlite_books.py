"""The tables of a SQLite ledger, read and written inside one transaction, in the ledger's own nouns."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.anchor import Anchor
from discreet.ledger.chain import (
    BEFORE_THE_FIRST,
    RESTORE,
    Replay,
    digest_of,
    sealed,
    time_text,
)
from discreet.ledger.ledger import LONGEST_NAME, Account, Balance, Entry, Kind, checked_text
from discreet.ledger.sqlite_schema import check_schema
from discreet.ledger.units import Currency, Units

_PAGE = 1000
_COLUMNS = 15


class Books:
    """What one transaction sees, and adds."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        head = self._row("SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1")
        self.number, self.digest = (0, BEFORE_THE_FIRST) if head is None else tuple(head)
        self.number_before = self.number

    @property
    def anchor(self) -> Anchor:
        """Where the chain stands now."""
        datasets = tuple(
            row["dataset"] for row in self._rows("SELECT dataset FROM accounts ORDER BY dataset")
        )
        return Anchor(number=self.number, digest=self.digest, datasets=datasets)

    def digest_at(self, number: int) -> str | None:
        """The digest of an entry; None if there is no such entry."""
        if number == 0:
            return BEFORE_THE_FIRST
        if number > self.number:
            return None
        row = self._row("SELECT digest FROM entries WHERE number = ?", number)
        return None if row is None else str(row["digest"])

    def check_last(self) -> None:
        """The last entry must be what it was when it was made."""
        for last in self.entries(after=self.number - 1):
            if last.digest != digest_of(last, self.digest_at(last.number - 1) or BEFORE_THE_FIRST):
                raise LedgerClosed("The last entry is not what it was when it was made.", remedy=RESTORE)

    def append(
        self,
        kind: Kind,
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
        values = ", ".join("?" * _COLUMNS)
        self._connection.execute(f"INSERT INTO entries VALUES ({values})", _row_of(entry))  # noqa: S608
        self.number, self.digest = entry.number, entry.digest
        return entry

    def entries(self, *, after: int = 0, dataset: str | None = None, most: int = _PAGE) -> list[Entry]:
        """The next entries in order, of one dataset or of all."""
        which, values = ("dataset = ? AND ", [dataset]) if dataset is not None else ("", [])
        sql = f"SELECT * FROM entries WHERE {which}number > ? ORDER BY number LIMIT ?"  # noqa: S608
        return [_entry_of(row) for row in self._rows(sql, *values, after, most)]

    def all_entries(self) -> Iterator[Entry]:
        number = 0
        while page := self.entries(after=number):
            yield from page
            number = page[-1].number

    def charge_of(self, dataset: str, version: int, key: str) -> Entry | None:
        """The charge for this question on this version of the data."""
        row = self._row(
            "SELECT * FROM entries WHERE kind = 'charged' AND dataset = ? AND version = ? AND key = ?",
            dataset,
            version,
            key,
        )
        return None if row is None else _entry_of(row)

    def last(self, dataset: str, kind: Kind) -> int:
        """The number of the last entry of a kind, or 0."""
        row = self._row(
            f"SELECT max(number) AS number FROM entries WHERE kind = '{kind}' AND dataset = ?",  # noqa: S608
            dataset,
        )
        return 0 if row is None or row["number"] is None else int(row["number"])

    def answer_to(self, number: int) -> bytes | None:
        row = self._row("SELECT answer FROM answers WHERE number = ?", number)
        return None if row is None else bytes(row["answer"])

    def keep_answer(self, number: int, answer: bytes) -> None:
        self._connection.execute("INSERT INTO answers VALUES (?, ?)", (number, answer))

    def dataset_with(self, fingerprint: str) -> str | None:
        row = self._row("SELECT dataset FROM accounts WHERE fingerprint = ?", fingerprint)
        return None if row is None else str(row["dataset"])

    def datasets(self) -> list[str]:
        return list(self.anchor.datasets)

    def balance(self, dataset: str) -> Balance:
        """Where the account stands, if its row and the last of its entries say the same."""
        found = self.find_balance(checked_text(dataset, "dataset", LONGEST_NAME))
        if found is None:
            raise InvalidInput(
                "This ledger has no account for that dataset.", remedy="Open one first, with open_account."
            )
        row = self._row("SELECT * FROM entries WHERE dataset = ? ORDER BY number DESC LIMIT 1", dataset)
        if row is None or _entry_of(row).spent.loss != found.spent:
            raise LedgerClosed(
                "What an account has spent is not what its last entry says.", remedy="Call verify. " + RESTORE
            )
        return found

    def find_balance(self, dataset: str) -> Balance | None:
        row = self._row("SELECT * FROM accounts WHERE dataset = ?", dataset)
        if row is None:
            return None
        spent = self._rows("SELECT * FROM analysts WHERE dataset = ? ORDER BY analyst", dataset)
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
                analysts={a["analyst"]: Units(currency, a["spent"], a["spent_delta"]).loss for a in spent},
            )
        except (LookupError, ValueError, TypeError):
            raise LedgerClosed("An account of this ledger is unreadable.", remedy=RESTORE) from None

    def open(self, account: Account) -> Balance:
        self._connection.execute(
            "INSERT INTO accounts VALUES (?, ?, ?, 1, ?, ?, ?, ?, 0, 0)",
            (
                account.dataset,
                account.fingerprint,
                account.budget_units.currency,
                *account.budget_units[1:],
                *account.cap_units[1:],
            ),
        )
        return Balance(account=account, version=1, spent=account.budget_units.none.loss, analysts={})

    def spend(self, dataset: str, taken: Units) -> None:
        """Take from the budget, in one statement that does nothing if it does not fit."""
        self._must_change(
            "UPDATE accounts SET spent = spent + :amount, spent_delta = spent_delta + :delta "
            "WHERE dataset = :dataset "
            "AND spent + :amount <= budget AND spent_delta + :delta <= budget_delta",
            {"dataset": dataset, "amount": taken.amount, "delta": taken.delta},
        )

    def spend_as(self, analyst: str, dataset: str, taken: Units) -> None:
        """Take from the budget and from the analyst's cap."""
        self.spend(dataset, taken)
        self._connection.execute(
            "INSERT OR IGNORE INTO analysts VALUES (:dataset, :analyst, 0, 0)",
            {"dataset": dataset, "analyst": analyst},
        )
        self._must_change(
            "UPDATE analysts SET spent = spent + :amount, spent_delta = spent_delta + :delta "
            "WHERE dataset = :dataset AND analyst = :analyst "
            "AND spent + :amount <= (SELECT cap FROM accounts WHERE dataset = :dataset) "
            "AND spent_delta + :delta <= (SELECT cap_delta FROM accounts WHERE dataset = :dataset)",
            {"dataset": dataset, "analyst": analyst, "amount": taken.amount, "delta": taken.delta},
        )

    def set_version(self, dataset: str, version: int) -> None:
        self._must_change(
            "UPDATE accounts SET version = :version WHERE dataset = :dataset",
            {"dataset": dataset, "version": version},
        )

    def set_budget(self, account: Account) -> None:
        budget, cap = account.budget_units, account.cap_units
        self._must_change(
            "UPDATE accounts SET budget = :budget, budget_delta = :budget_delta, "
            "cap = :cap, cap_delta = :cap_delta WHERE dataset = :dataset",
            {
                "dataset": account.dataset,
                "budget": budget.amount,
                "budget_delta": budget.delta,
                "cap": cap.amount,
                "cap_delta": cap.delta,
            },
        )

    def replay(self) -> Replay:
        """Check that the tables say what the chain of all entries says."""
        with closing(self._connection.execute("PRAGMA integrity_check")) as cursor:
            if cursor.fetchone()[0] != "ok":
                raise LedgerClosed("The ledger's file is damaged.", remedy=RESTORE)
        check_schema(self._connection)
        replay = Replay().add_all(self.all_entries())
        if {dataset: self.find_balance(dataset) for dataset in self.datasets()} != replay.balances():
            raise LedgerClosed("The accounts do not add up to the entries.", remedy=RESTORE)
        stored = {
            row["number"]: hashlib.sha256(row["answer"]).hexdigest()
            for row in self._connection.execute("SELECT number, answer FROM answers")
        }
        if stored != replay.answers:
            raise LedgerClosed("The stored answers are not those of the entries.", remedy=RESTORE)
        return replay

    def _must_change(self, sql: str, values: dict[str, object]) -> None:
        """The filter has admitted this before; should the tables think otherwise, they do not add up."""
        if self._connection.execute(sql, values).rowcount != 1:
            raise LedgerClosed("The tables refuse what the account has left.", remedy=RESTORE)

    def _rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def _row(self, sql: str, *values: object) -> sqlite3.Row | None:
        with closing(self._connection.execute(sql, values)) as cursor:
            row: sqlite3.Row | None = cursor.fetchone()
            return row


def _row_of(entry: Entry) -> Sequence[object]:
    return (
        entry.number,
        entry.kind.value,
        entry.dataset,
        entry.version,
        entry.analyst,
        entry.question,
        entry.key,
        *entry.taken,
        *entry.spent[1:],
        entry.note,
        time_text(entry.at),
        entry.digest,
    )


def _entry_of(row: sqlite3.Row) -> Entry:
    try:
        currency = Currency(row["currency"])
        return Entry(
            number=row["number"],
            kind=Kind(row["kind"]),
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
