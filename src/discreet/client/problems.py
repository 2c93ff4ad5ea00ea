"""What a service refuses, as the errors that a local curator raises: problem details of RFC 9457."""

import re
from collections.abc import Mapping
from typing import Any

from discreet import errors
from discreet.errors import (
    DiscreetError,
    InvalidInput,
    LedgerBusy,
    NeedsApproval,
    NotAllowed,
    NotSignedIn,
    ServiceUnreachable,
    for_python,
)

_KINDS: dict[str, type[DiscreetError]] = {
    name.lower(): kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, DiscreetError) and kind is not DiscreetError
}
_BY_STATUS: dict[int, type[DiscreetError]] = {
    400: InvalidInput,
    401: NotSignedIn,
    403: NotAllowed,
    404: InvalidInput,
    413: InvalidInput,
    422: InvalidInput,
    429: LedgerBusy,
}
_LONGEST = 2_000


def error_of(problem: Mapping[str, Any], status: int) -> DiscreetError:
    """The error that a problem stands for: by the last word of its `type`, else by its status."""
    word = re.split(r"[/#:]", str(problem.get("type", "")))[-1]
    kind = _KINDS.get(re.sub(r"[^a-z]", "", word.lower())) or _BY_STATUS.get(status, ServiceUnreachable)
    said = (
        _text(problem, "detail") or _text(problem, "title") or f"The service refused, with status {status}."
    )
    remedy = for_python(_text(problem, "remedy")) or "Ask the owner of the service."
    if kind is NeedsApproval:
        return NeedsApproval(said, remedy=remedy, approval=_text(problem, "approval"))
    return kind(said, remedy=remedy)


def unexplained(status: int, where: object) -> DiscreetError:
    """For a reply that is not from discreet: a proxy before it, or another program at this address."""
    if status in (502, 503, 504):
        return ServiceUnreachable(
            f"The service at {where} is not running just now, or is too busy (status {status}).",
            remedy="Try the same again later: the same question is charged once.",
        )
    return ServiceUnreachable(
        f"What is at {where} does not answer as a discreet service does (status {status}).",
        remedy="Check the address: it is where `discreet serve` runs, without anything after the port.",
    )


def _text(problem: Mapping[str, Any], name: str) -> str:
    found = problem.get(name, "")
    return found[:_LONGEST] if isinstance(found, str) else ""
