"""What a route of the API is: who may call it, what it takes, what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from discreet.apps.server.api.fields import ApiField
from discreet.service.service import CuratorService
from discreet.service.user_account import Role, UserAccount

EVERYBODY = (Role.OWNER, Role.ANALYST, Role.AUDITOR)
OVERSEERS = (Role.OWNER, Role.AUDITOR)


class WorkKind(StrEnum):
    """Which threads do it."""

    ASK = "ask"
    EXPLAIN = "explain"
    QUICK = "quick"
    PROVIDER = "provider"
    """Asks the provider of sign-ins, which may be slow or down."""
    LONG = "long"
    """Reads all that is kept: a few at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """A request that was read."""

    service: CuratorService
    account: UserAccount
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiReply:
    """What is answered: a text, bytes, or facts that become JSON."""

    content: object
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """One method at one address."""

    method: str
    path: str
    action: Callable[[ApiCall], ApiReply]
    summary: str
    answer: str
    """The name of its schema."""
    roles: tuple[Role, ...] = EVERYBODY
    work: WorkKind = WorkKind.QUICK
    fields: tuple[ApiField, ...] = ()
    query: tuple[ApiField, ...] = ()
    status: int = 200
    problems: tuple[int, ...] = ()
    """Besides those that every route has."""
    other_media: tuple[str, ...] = ()
    """In which it can answer too."""
