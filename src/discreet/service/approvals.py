"""Questions that cost more than an account may spend unasked. They wait for the owner.

An approval is for one question of one account, up to one price, and for one charge. Who has it asks the same
again, and is answered.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInput, NotAllowed, NotThere
from discreet.service.question_terms import AskedTerms
from discreet.service.storage.database import ServiceDatabase
from discreet.service.storage.event_log import Action, now_text, record
from discreet.service.user_account import Role, UserAccount

_LONGEST_PURPOSE = 2_000


class Status(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    """The question was asked. What is drawn for it is free again; anything else needs another approval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question that somebody wants to ask."""

    id: str
    account: str
    dataset: str
    question: str
    terms: AskedTerms
    purpose: str
    epsilon: Fraction
    status: Status
    asked: datetime
    decided: datetime | None
    decided_by: str | None


class Approvals:
    """What waits, and what was decided."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database

    def find(self, account: UserAccount, dataset: str, question: str, terms: AskedTerms) -> Approval | None:
        """The newest request for just this question."""
        with self._database.transaction() as changes:
            rows = changes.rows(
                "SELECT * FROM approvals WHERE account = :account AND dataset = :dataset"
                " AND question = :question AND terms = :terms ORDER BY asked DESC LIMIT 1",
                account=account.name,
                dataset=dataset,
                question=question,
                terms=terms.text(),
            )
        return _approval(rows[0]) if rows else None

    def request(
        self,
        account: UserAccount,
        dataset: str,
        question: str,
        terms: AskedTerms,
        *,
        epsilon: Fraction,
        purpose: str,
    ) -> Approval:
        """Ask the owner. The same question that waits already is not asked for twice."""
        if not purpose.strip() or len(purpose) > _LONGEST_PURPOSE:
            raise InvalidInput(
                "This question needs the owner's approval, who wants to know what it is for.",
                remedy=f'Say it in up to {_LONGEST_PURPOSE:,} characters; in a terminal: --purpose "…"',
            )
        before = self.find(account, dataset, question, terms)
        if before is not None and before.status is Status.WAITING:
            return before
        number = secrets.token_urlsafe(9)
        with self._database.transaction() as changes:
            changes.change(
                "INSERT INTO approvals VALUES (:id, :account, :dataset, :question, :terms, :purpose,"
                " :epsilon, 'waiting', :asked, NULL, NULL)",
                id=number,
                account=account.name,
                dataset=dataset,
                question=question,
                terms=terms.text(),
                purpose=purpose,
                epsilon=str(epsilon),
                asked=_after(before),
            )
            record(
                changes,
                Action.APPROVAL_ASKED,
                who=account.name,
                dataset=dataset,
                details={
                    "approval": number,
                    "question": question,
                    "purpose": purpose,
                    "epsilon": float(epsilon),
                },
            )
        return self.get(number)

    def get(self, number: str) -> Approval:
        with self._database.transaction() as changes:
            rows = changes.rows("SELECT * FROM approvals WHERE id = :id", id=number)
        if not rows:
            raise NotThere("There is no such request.", remedy="See the list of approvals.")
        return _approval(rows[0])

    def decide(self, number: str, *, approve: bool, by: UserAccount) -> Approval:
        """Approve or deny what waits. What was decided stays."""
        by.check_role(Role.OWNER)
        found = self.get(number)
        if found.account == by.name:
            raise NotAllowed(
                "Nobody decides about their own question.", remedy="Ask another owner to decide."
            )
        if found.dataset not in by.datasets:
            raise NotThere("There is no such request.", remedy="See the list of approvals.")
        with self._database.transaction() as changes:
            changed = changes.change(
                "UPDATE approvals SET status = :status, decided = :now, decided_by = :by"
                " WHERE id = :id AND status = 'waiting'",
                status=(Status.APPROVED if approve else Status.DENIED).value,
                now=now_text(),
                by=by.name,
                id=number,
            )
            if not changed:
                raise InvalidInput("This was decided already.", remedy="See the list of approvals.")
            action = Action.APPROVED if approve else Action.DENIED
            details = {"approval": number, "account": found.account}
            record(changes, action, who=by.name, dataset=found.dataset, details=details)
        return self.get(number)

    def use_up(self, number: str) -> bool:
        """Whether an approval was there to be used; it is used up then."""
        return self._move(number, Status.APPROVED, Status.USED)

    def give_back(self, number: str) -> None:
        """The question was refused before it was charged, so that its approval is still good."""
        self._move(number, Status.USED, Status.APPROVED)

    def _move(self, number: str, before: Status, after: Status) -> bool:
        with self._database.transaction() as changes:
            return bool(
                changes.change(
                    "UPDATE approvals SET status = :after WHERE id = :id AND status = :before",
                    id=number,
                    before=before.value,
                    after=after.value,
                )
            )

    def all(self, *, account: str | None = None) -> list[Approval]:
        """Newest first: of everybody, or of one account."""
        chosen = "" if account is None else " WHERE account = :account"
        with self._database.transaction() as changes:
            rows = changes.rows(
                f"SELECT * FROM approvals{chosen} ORDER BY asked DESC LIMIT 500",  # noqa: S608
                **({} if account is None else {"account": account}),
            )
        return [_approval(row) for row in rows]


def _after(before: Approval | None) -> str:
    """Now, but later than the request before it, also if the clock was set back: the newest one counts."""
    now = datetime.fromisoformat(now_text())
    return (now if before is None else max(now, before.asked + timedelta(microseconds=1))).isoformat()


def _approval(row: Mapping[str, Any]) -> Approval:
    return Approval(
        id=row["id"],
        account=row["account"],
        dataset=row["dataset"],
        question=row["question"],
        terms=AskedTerms.from_text(row["terms"]),
        purpose=row["purpose"],
        epsilon=Fraction(row["epsilon"]),
        status=Status(row["status"]),
        asked=datetime.fromisoformat(row["asked"]),
        decided=None if row["decided"] is None else datetime.fromisoformat(row["decided"]),
        decided_by=row["decided_by"],
    )
