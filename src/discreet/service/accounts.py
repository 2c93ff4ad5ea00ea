"""Accounts, projects, tokens and sessions, as a service keeps them. Every change is an event of the log."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInput, NotSignedIn
from discreet.service.identity import Identity, read_identity
from discreet.service.sign_in_states import use_once
from discreet.service.storage.database import Changes, ServiceDatabase
from discreet.service.storage.event_log import Action, now_text, record
from discreet.service.tokens import digest_of, new_token
from discreet.service.user_account import Project, Role, UserAccount

USUAL_DAYS = 365
"""How long a token lasts."""
IF_TOKEN_FAILS = "Copy all of it once more, or ask the owner of the data for a new one."  # noqa: S105
SESSION_HOURS = 12
THE_SERVICE = "the service"
"""What the log calls the service itself, so that nobody else may be called so."""
_NAME = re.compile(r"[^\W_][\w .@+-]{0,62}[\w.]|[^\W_]")


class TokenKind(StrEnum):
    API = "api"
    SESSION = "session"


class Accounts:
    """Who may use a service."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database

    def add(self, account: UserAccount, *, by: str, days: int = USUAL_DAYS) -> str:
        """A new account. Returns its first token, which is shown this once."""
        _check_name(account.name)
        with self._database.transaction() as changes:
            if _find(changes, account.name) is not None:
                raise InvalidInput(
                    f"There is an account “{account.name}” already.",
                    remedy="Choose another name: what somebody spent stays with their name for good.",
                )
            _join(changes, account)
            account = _with_identity_of_its_own(changes, account)
            changes.change(
                "INSERT INTO accounts VALUES (:name, :role, :datasets, :project, :most_epsilon,"
                " :default_epsilon, :approval_above, :identity, :created, NULL)",
                **_columns(account),
            )
            record(
                changes, Action.ACCOUNT_ADDED, who=by, details={"account": account.name, **_facts(account)}
            )
            return _add_token(changes, account.name, TokenKind.API, timedelta(days=_days(days)))

    def change(self, account: UserAccount, *, by: str) -> None:
        """The same person, with another role, project or caps."""
        with self._database.transaction() as changes:
            before = _known(changes, account.name)
            _join(changes, account)
            account = _with_identity_of_its_own(changes, account)
            if account.identity != before.identity:  # who signed in by the other is out
                changes.change(
                    "DELETE FROM tokens WHERE account = :name AND kind = 'session'", name=account.name
                )
            changes.change(
                "UPDATE accounts SET role = :role, datasets = :datasets, project = :project,"
                " most_epsilon = :most_epsilon, default_epsilon = :default_epsilon,"
                " approval_above = :approval_above, subject = :identity WHERE name = :name",
                **{name: value for name, value in _columns(account).items() if name != "created"},
            )
            old, new = _facts(before), _facts(account)
            changed = {name: [old[name], new[name]] for name in new if old[name] != new[name]}
            record(changes, Action.ACCOUNT_CHANGED, who=by, details={"account": account.name, **changed})

    def revoke(self, name: str, *, by: str) -> None:
        """No token and no session of an account works from now on."""
        with self._database.transaction() as changes:
            _known(changes, name)
            changes.change("UPDATE accounts SET revoked = :now WHERE name = :name", now=now_text(), name=name)
            changes.change(
                "UPDATE tokens SET revoked = :now WHERE account = :name AND revoked IS NULL",
                now=now_text(),
                name=name,
            )
            record(changes, Action.ACCOUNT_REVOKED, who=by, details={"account": name})

    def new_token(self, name: str, *, by: str, days: int = USUAL_DAYS, keep_others: bool = False) -> str:
        """Another token for an account. The ones before it end, unless they are kept."""
        with self._database.transaction() as changes:
            account = _known(changes, name)
            if account.revoked is not None:
                raise InvalidInput(f"The account “{name}” is revoked.", remedy="Add another account.")
            if not keep_others:
                changes.change(
                    "UPDATE tokens SET revoked = :now WHERE account = :name AND revoked IS NULL",
                    now=now_text(),
                    name=name,
                )
            record(changes, Action.TOKEN_MADE, who=by, details={"account": name, "days": _days(days)})
            return _add_token(changes, name, TokenKind.API, timedelta(days=days))

    def all(self) -> list[UserAccount]:
        with self._database.transaction() as changes:
            return [_account(row) for row in changes.rows("SELECT * FROM accounts ORDER BY name")]

    def find(self, name: str) -> UserAccount | None:
        with self._database.transaction() as changes:
            return _find(changes, name)

    def with_token(self, token: str, kind: TokenKind = TokenKind.API) -> UserAccount:
        """Whose token this is; NotSignedIn if it is nobody's, or no longer."""
        with self._database.reading() as changes:
            rows = changes.rows(
                "SELECT accounts.*, tokens.expires, tokens.revoked AS token_revoked FROM tokens"
                " JOIN accounts ON accounts.name = tokens.account WHERE digest = :digest AND kind = :kind",
                digest=digest_of(token),
                kind=kind.value,
            )
        if not rows or rows[0]["revoked"] or rows[0]["token_revoked"] or rows[0]["expires"] <= now_text():
            raise NotSignedIn("This token is wrong, expired or revoked.", remedy=IF_TOKEN_FAILS)
        return _account(rows[0])

    def with_identity(self, identity: Identity) -> UserAccount | None:
        """The account that is bound to it, unless it is revoked."""
        with self._database.reading() as changes:
            return _bound(changes, str(identity))

    def open_session(self, account: UserAccount, *, way: str, state: str = "") -> str:
        """The secret of a new session, for a cookie. NotSignedIn if this sign-in was used before."""
        with self._database.transaction() as changes:
            if state:
                use_once(changes, state)
            record(changes, Action.SIGNED_IN, who=account.name, details={"way": way})
            changes.change("DELETE FROM tokens WHERE kind = 'session' AND expires < :now", now=now_text())
            return _add_token(changes, account.name, TokenKind.SESSION, timedelta(hours=SESSION_HOURS))

    def close_session(self, secret: str, account: UserAccount) -> None:
        with self._database.transaction() as changes:
            changes.change("DELETE FROM tokens WHERE digest = :digest", digest=digest_of(secret))
            record(changes, Action.SIGNED_OUT, who=account.name)

    # Projects

    def set_project(self, project: Project, *, by: str) -> None:
        """Add a project, or change its budget."""
        _check_name(project.name)
        with self._database.transaction() as changes:
            changes.change("DELETE FROM projects WHERE name = :name", name=project.name)
            changes.change(
                "INSERT INTO projects VALUES (:name, :most)",
                name=project.name,
                most=str(project.most_epsilon),
            )
            details = {"project": project.name, "most_epsilon": str(project.most_epsilon)}
            record(changes, Action.PROJECT_CHANGED, who=by, details=details)

    def projects(self) -> list[Project]:
        with self._database.reading() as changes:
            rows = changes.rows("SELECT * FROM projects ORDER BY name")
        return [Project(name=row["name"], most_epsilon=Fraction(row["most_epsilon"])) for row in rows]

    def members(self, project: str) -> list[str]:
        """Who is or ever was in a project: what they spent still counts."""
        with self._database.reading() as changes:
            rows = changes.rows("SELECT account FROM members WHERE project = :project", project=project)
        return [row["account"] for row in rows]


def new_account(name: str, role: Role, datasets: Sequence[str], **settings: Any) -> UserAccount:
    """An account as of now."""
    return replace(
        UserAccount(name=name, role=role, datasets=tuple(datasets), created=datetime.now(UTC)), **settings
    )


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == THE_SERVICE:
        raise InvalidInput(
            "A name has 1 to 64 letters, digits, spaces and . @ + - _, and begins with a letter or digit.",
            remedy="Choose a name such as ana or ana@clinic.example.",
        )


def _join(changes: Changes, account: UserAccount) -> None:
    """Whoever was ever in a project is remembered: what they spent counts for it for good."""
    project = account.project
    if not project:
        return
    if not changes.rows("SELECT 1 FROM projects WHERE name = :name", name=project):
        raise InvalidInput(
            f"There is no project “{project}”.",
            remedy="Add it first: discreet account project NAME --epsilon 1",
        )
    values = {"project": project, "account": account.name}
    if not changes.rows("SELECT 1 FROM members WHERE project = :project AND account = :account", **values):
        changes.change("INSERT INTO members VALUES (:project, :account)", **values)


def _with_identity_of_its_own(changes: Changes, account: UserAccount) -> UserAccount:
    """The account, with its identity as it is compared. One identity is of one account at a time."""
    if not account.identity:
        return account
    identity = str(read_identity(account.identity))
    other = _bound(changes, identity)
    if other is not None and other.name != account.name:
        raise InvalidInput(
            "Another account is bound to this identity already.",
            remedy="Unbind that one first: discreet account change NAME --identity none",
        )
    return replace(account, identity=identity)


def _bound(changes: Changes, identity: str) -> UserAccount | None:
    rows = changes.rows(
        "SELECT * FROM accounts WHERE subject = :identity AND revoked IS NULL", identity=identity
    )
    return _account(rows[0]) if identity and len(rows) == 1 else None


def _days(days: int) -> int:
    if not 1 <= days <= 3650:
        raise InvalidInput("A token lasts 1 to 3,650 days.", remedy="Give another number of days.")
    return days


def _known(changes: Changes, name: str) -> UserAccount:
    found = _find(changes, name)
    if found is None:
        raise InvalidInput(f"There is no account “{name}”.", remedy="See: discreet account list")
    return found


def _find(changes: Changes, name: str) -> UserAccount | None:
    rows = changes.rows("SELECT * FROM accounts WHERE name = :name", name=name)
    return _account(rows[0]) if rows else None


def _add_token(changes: Changes, account: str, kind: TokenKind, lasts: timedelta) -> str:
    token = new_token()
    changes.change(
        "INSERT INTO tokens VALUES (:digest, :account, :kind, :created, :expires, NULL)",
        digest=digest_of(token),
        account=account,
        kind=kind.value,
        created=now_text(),
        expires=(datetime.now(UTC) + lasts).isoformat(),
    )
    return token


def _facts(account: UserAccount) -> dict[str, Any]:
    """What an event says of an account."""
    columns = _columns(account)
    return {name: columns[name] for name in columns if name not in ("name", "created")}


def _columns(account: UserAccount) -> dict[str, Any]:
    def text(value: Fraction | None) -> str | None:
        return None if value is None else str(value)

    return {
        "name": account.name,
        "role": account.role.value,
        "datasets": json.dumps(list(account.datasets), ensure_ascii=False),
        "project": account.project,
        "most_epsilon": text(account.most_epsilon),
        "default_epsilon": text(account.default_epsilon),
        "approval_above": text(account.approval_above),
        "identity": account.identity,
        "created": account.created.isoformat(),
    }


def _account(row: Mapping[str, Any]) -> UserAccount:
    def number(value: str | None) -> Fraction | None:
        return None if value is None else Fraction(value)

    return UserAccount(
        name=row["name"],
        role=Role(row["role"]),
        datasets=tuple(json.loads(row["datasets"])),
        project=row["project"],
        most_epsilon=number(row["most_epsilon"]),
        default_epsilon=number(row["default_epsilon"]),
        approval_above=number(row["approval_above"]),
        identity=row["subject"],
        created=datetime.fromisoformat(row["created"]),
        revoked=None if row["revoked"] is None else datetime.fromisoformat(row["revoked"]),
    )
