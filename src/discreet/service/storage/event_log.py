"""All that happened in a service, in order: sign-ins, questions, refusals, changes, approvals.

Events are only ever added. Each carries a hash of all before it, so that nobody can change or drop one unseen
but the last ones. What an event says may hold personal data, as questions do: it can be erased after a while
(`erase_before`), and its digest stays, so that the chain still holds.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from discreet.errors import LedgerClosed
from discreet.service.storage.database import Changes, ServiceDatabase

_FIRST = "0" * 64
_PAGE = 500


class Action(StrEnum):
    SIGNED_IN = "signed in"
    SIGN_IN_REFUSED = "sign-in refused"
    SIGNED_OUT = "signed out"
    ACCOUNT_ADDED = "account added"
    ACCOUNT_CHANGED = "account changed"
    ACCOUNT_REVOKED = "account revoked"
    TOKEN_MADE = "token made"  # noqa: S105
    PROJECT_CHANGED = "project changed"
    ASKED = "asked"
    """Written before the charge, so that a question that was charged is known whatever happens then."""
    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    APPROVAL_ASKED = "approval asked"
    APPROVED = "approved"
    DENIED = "denied"
    POLICY_READ = "policy read"
    """The policy was read, and differs from what it was before; what changed is in the details."""
    STARTED = "service started"
    STOPPED = "service stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One thing that happened."""

    number: int
    at: datetime
    who: str
    action: Action
    dataset: str
    details: Mapping[str, Any] | None
    """None if they were erased."""
    digest: str


def record(
    changes: Changes, action: Action, *, who: str, dataset: str = "", details: Mapping[str, Any] | None = None
) -> int:
    """Add an event inside a transaction. Returns its number."""
    found = changes.rows("SELECT number, digest FROM events ORDER BY number DESC LIMIT 1")
    number, before = (found[0]["number"] + 1, found[0]["digest"]) if found else (1, _FIRST)
    at, text = now_text(), json.dumps(details or {}, sort_keys=True, ensure_ascii=False, default=str)
    details_digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    changes.change(
        "INSERT INTO events"
        " VALUES (:number, :at, :who, :action, :dataset, :details, :details_digest, :digest)",
        number=number,
        at=at,
        who=who,
        action=action.value,
        dataset=dataset,
        details=text,
        details_digest=details_digest,
        digest=_digest(before, number, at, who, action.value, dataset, details_digest),
    )
    return number


class EventLog:
    """Reads, checks and erases."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database

    def record(
        self, action: Action, *, who: str, dataset: str = "", details: Mapping[str, Any] | None = None
    ) -> int:
        """Add an event by itself, durably."""
        with self._database.transaction() as changes:
            return record(changes, action, who=who, dataset=dataset, details=details)

    def events(self, *, who: str | None = None, after: int = 0) -> Iterator[LogEvent]:
        """Oldest first: of everybody, or of one account."""
        chosen = "" if who is None else " AND who = :who"
        while True:
            with self._database.transaction() as changes:
                page = changes.rows(
                    f"SELECT * FROM events WHERE number > :after{chosen} ORDER BY number LIMIT {_PAGE}",  # noqa: S608
                    after=after,
                    **({} if who is None else {"who": who}),
                )
            if not page:
                return
            yield from map(_event, page)
            after = page[-1]["number"]

    def newest(self, count: int, *, who: str | None = None) -> list[LogEvent]:
        """The last events, newest first."""
        chosen = "" if who is None else " WHERE who = :who"
        with self._database.transaction() as changes:
            rows = changes.rows(
                f"SELECT * FROM events{chosen} ORDER BY number DESC LIMIT :count",  # noqa: S608
                count=count,
                **({} if who is None else {"who": who}),
            )
        return [_event(row) for row in rows]

    def verify(self) -> int:
        """The number of events, if each follows from those before it; LedgerClosed if not."""
        before, number = _FIRST, 0
        while True:
            with self._database.transaction() as changes:
                page = changes.rows(
                    f"SELECT * FROM events WHERE number > :number ORDER BY number LIMIT {_PAGE}",  # noqa: S608
                    number=number,
                )
            if not page:
                return number
            for row in page:
                number += 1
                if row["number"] != number or not _holds(row, before):
                    raise LedgerClosed(
                        f"Event {number} of the service's log was changed or is gone.",
                        remedy="Restore the service's database from a backup. The ledger has what was spent.",
                    )
                before = row["digest"]

    def erase_before(self, moment: datetime) -> int:
        """Erase what events before a moment say. That they happened, when and by whom stays."""
        with self._database.transaction() as changes:
            return changes.change(
                "UPDATE events SET details = NULL WHERE at < :moment AND details IS NOT NULL",
                moment=moment.astimezone(UTC).isoformat(),
            )


def now_text() -> str:
    return datetime.now(UTC).isoformat()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode(errors="replace")).hexdigest()


def _holds(row: Mapping[str, Any], before: str) -> bool:
    if row["details"] is not None:
        found = hashlib.sha256(row["details"].encode(errors="replace")).hexdigest()
        if found != row["details_digest"]:
            return False
    parts = (row["number"], row["at"], row["who"], row["action"], row["dataset"], row["details_digest"])
    return bool(_digest(before, *parts) == row["digest"])


def _event(row: Mapping[str, Any]) -> LogEvent:
    return LogEvent(
        number=row["number"],
        at=datetime.fromisoformat(row["at"]),
        who=row["who"],
        action=Action(row["action"]),
        dataset=row["dataset"],
        details=None if row["details"] is None else json.loads(row["details"]),
        digest=row["digest"],
    )
