"""Errors as RFC 9457 has them: a type, a title, a status, what happened, and what to do about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineFailed,
    InvalidInput,
    LedgerBusy,
    LedgerClosed,
    MissingExtra,
    NeedsApproval,
    NotAllowed,
    NotSignedIn,
    NotThere,
    PolicyError,
    QueryRefused,
    TookTooLong,
    for_json,
)

if TYPE_CHECKING:
    from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:discreet:problem:"


class HttpProblem(DiscreetError):
    """What is wrong with a request as such, or why it cannot be answered now."""

    def __init__(self, problem: str, *, remedy: str, status: int, name: str) -> None:
        super().__init__(problem, remedy=remedy)
        self.status = status
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKind:
    """How an error of ours is told over HTTP."""

    status: int
    name: str
    title: str


KINDS: Mapping[type[DiscreetError], ProblemKind] = {
    NotSignedIn: ProblemKind(status=401, name="not-signed-in", title="Not signed in"),
    NotThere: ProblemKind(status=404, name="not-there", title="Not there"),
    NotAllowed: ProblemKind(status=403, name="not-allowed", title="Not allowed"),
    NeedsApproval: ProblemKind(status=409, name="needs-approval", title="Needs approval"),
    BudgetExceeded: ProblemKind(status=409, name="budget-exceeded", title="Budget exceeded"),
    QueryRefused: ProblemKind(status=422, name="query-refused", title="Question refused"),
    TookTooLong: ProblemKind(status=504, name="took-too-long", title="Took too long"),
    MissingExtra: ProblemKind(status=501, name="missing-extra", title="Not installed"),
    EngineFailed: ProblemKind(status=500, name="engine-failed", title="The database failed"),
    LedgerBusy: ProblemKind(status=503, name="ledger-busy", title="The ledger is busy"),
    LedgerClosed: ProblemKind(status=503, name="ledger-closed", title="The ledger is closed"),
    PolicyError: ProblemKind(status=400, name="policy-error", title="The policy is wrong"),
    InvalidInput: ProblemKind(status=400, name="invalid-input", title="Invalid input"),
}
"""The first class that fits counts."""
FAILED = ProblemKind(status=500, name="failed", title="Failed")
_TITLES = {
    400: "Bad request",
    404: "Not there",
    405: "Method not allowed",
    408: "Too slow",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    501: "Not installed",
    503: "Busy",
}


def kind_of(error: DiscreetError) -> ProblemKind:
    if isinstance(error, HttpProblem):
        return ProblemKind(status=error.status, name=error.name, title=_TITLES[error.status])
    return next((kind for each, kind in KINDS.items() if isinstance(error, each)), FAILED)


def problem_json(error: DiscreetError, status: int | None = None) -> dict[str, Any]:
    kind = kind_of(error)
    found = {
        "type": TYPE_PREFIX + kind.name,
        "title": kind.title,
        "status": status or kind.status,
        "detail": error.problem,
        "remedy": for_json(error.remedy),
    }
    if isinstance(error, NeedsApproval):
        found["approval"] = error.approval
    return found


def problem_response(
    error: DiscreetError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> "Response":
    from starlette.responses import Response

    found = problem_json(error, status)
    return Response(
        json.dumps(found, ensure_ascii=False),
        status_code=found["status"],
        headers={**(headers or {}), **headers_of(found["status"])},
        media_type=MEDIA_TYPE,
    )


def headers_of(status: int) -> dict[str, str]:
    """What a status has with it, in whatever form the problem is told."""
    match status:
        case 401:
            return {"www-authenticate": 'Bearer realm="discreet"'}
        case 503:
            return {"retry-after": "1"}
        case 408 | 413:
            return {"connection": "close"}
    return {}
