"""What each account asked, and what it was told: an answer that was paid can be fetched again by its receipt.

A question is written down before it is charged. So if the service dies after the charge, whoever asked can
still ask the same again, and the ledger gives what was drawn.
"""

import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from discreet.service.question_terms import AskedTerms
from discreet.service.storage.database import ServiceDatabase
from discreet.service.storage.event_log import Action, now_text, record
from discreet.service.user_account import UserAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question of an account."""

    id: str
    account: str
    dataset: str
    question: str
    terms: AskedTerms
    asked: datetime
    receipt: int | None
    """None if it was refused, failed, or is being answered."""
    answer: str | None
    """The JSON that was sent."""


class History:
    """Questions by account and by receipt."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database

    def begin(self, account: UserAccount, dataset: str, question: str, terms: AskedTerms) -> str:
        """Write a question down before it is charged. Returns its id."""
        number = secrets.token_urlsafe(9)
        with self._database.transaction() as changes:
            changes.change(
                "INSERT INTO questions"
                " VALUES (:id, :account, :dataset, :question, :terms, :asked, NULL, NULL)",
                id=number,
                account=account.name,
                dataset=dataset,
                question=question,
                terms=terms.text(),
                asked=now_text(),
            )
            details = {"question": question, "terms": terms.text()}
            record(changes, Action.ASKED, who=account.name, dataset=dataset, details=details)
        return number

    def answered(
        self, number: str, account: UserAccount, dataset: str, facts: Mapping[str, Any], answer: str
    ) -> None:
        """Keep what was told. `facts` go to the log: the receipt, the price, whether it was a repeat.

        It is not forced to the disk: the ledger has the charge and the draw, and gives the same answer.
        """
        with self._database.transaction(durable=False) as changes:
            changes.change(
                "UPDATE questions SET receipt = :receipt, answer = :answer WHERE id = :id",
                receipt=facts["receipt"],
                answer=zlib.compress(answer.encode()),
                id=number,
            )
            record(changes, Action.ANSWERED, who=account.name, dataset=dataset, details=facts)

    def not_answered(
        self, account: UserAccount, dataset: str, action: Action, details: Mapping[str, Any]
    ) -> None:
        """A refusal, or a failure."""
        with self._database.transaction() as changes:
            record(changes, action, who=account.name, dataset=dataset, details=details)

    def of(self, account: UserAccount, *, most: int = 100) -> list[AskedQuestion]:
        """The newest questions of an account, without their answers."""
        with self._database.transaction() as changes:
            rows = changes.rows(
                "SELECT id, account, dataset, question, terms, asked, receipt, NULL AS answer FROM questions"
                " WHERE account = :account ORDER BY asked DESC LIMIT :most",
                account=account.name,
                most=most,
            )
        return [_asked(row) for row in rows]

    def with_receipt(self, dataset: str, receipt: int) -> list[AskedQuestion]:
        """Who got the answer of this receipt: the first who paid, and those who asked the same later."""
        with self._database.transaction() as changes:
            rows = changes.rows(
                "SELECT * FROM questions WHERE dataset = :dataset AND receipt = :receipt ORDER BY asked",
                dataset=dataset,
                receipt=receipt,
            )
        return [_asked(row) for row in rows]

    def unanswered(self, account: UserAccount, dataset: str, ending: str) -> list[AskedQuestion]:
        """Tries of questions with this end that have no answer here, newest first.

        Perhaps the ledger has it. The text of a model ends with its SELECT, as that of a question does.
        """
        with self._database.transaction() as changes:
            rows = changes.rows(
                "SELECT * FROM questions WHERE account = :account AND dataset = :dataset"
                " AND substr(question, length(question) - length(:ending) + 1) = :ending"
                " AND receipt IS NULL ORDER BY asked DESC LIMIT 20",
                account=account.name,
                dataset=dataset,
                ending=ending,
            )
        return [_asked(row) for row in rows]


def _asked(row: Mapping[str, Any]) -> AskedQuestion:
    return AskedQuestion(
        id=row["id"],
        account=row["account"],
        dataset=row["dataset"],
        question=row["question"],
        terms=AskedTerms.from_text(row["terms"]),
        asked=datetime.fromisoformat(row["asked"]),
        receipt=row["receipt"],
        answer=None if row["answer"] is None else zlib.decompress(row["answer"]).decode(),
    )
