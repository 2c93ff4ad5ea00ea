"""What a tool tells. A number never stands without its interval, and an answer never without its receipt."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from discreet.answers.report.reading import is_report
from discreet.apps.server.api.table import PREFIX
from discreet.service.user_account import UserAccount

AgentAnswer: TypeAlias = dict[str, Any]
"""A JSON object, that a model reads."""
MOST_ROWS = 1_000
"""Of an answer. A model reads all that it is sent; the rest is at the address of the receipt."""


CALLER = "discreet.caller"
"""Where the scope of a request has its ToolCall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """Who calls a tool, and where."""

    account: UserAccount
    service: str
    """The address of the service as the agent calls it, without a slash at its end."""


def as_it_is(found: AgentAnswer, _: ToolCall) -> AgentAnswer:
    """What the API tells."""
    return found


def budget_told(found: AgentAnswer, call: ToolCall) -> AgentAnswer:
    """Of what others spent, only the sum: also for an owner, whose agent needs no more."""
    nothing = dict.fromkeys(found["spent"], 0.0)
    return {
        "dataset": found["dataset"],
        "spent_by_you": found["analysts"].get(call.account.name, nothing),
        "left_for_you": found["left_for_you"],
        "budget_of_all": found["budget"],
        "left_for_all": found["left"],
    }


def answer_told(text: str, call: ToolCall) -> AgentAnswer:
    """The rows with intervals in them, of an answer or of each of a report.

    All of it, as the API has it, is at the receipt's address.
    """
    found = json.loads(text)
    paid = {
        "charged": found["charged"],
        "left": found["left"],
        "receipt": _receipt(found["receipt"], call),
    }
    if not is_report(found):
        return {**_rows_told(found, MOST_ROWS), **paid}
    most = MOST_ROWS // len(found["questions"])
    told = [
        {"title": each["title"], "sql": each["sql"], **_rows_told(each["answer"], most)}
        for each in found["questions"]
    ]
    return {"questions": told, **paid}


def _rows_told(answer: Mapping[str, Any], most: int) -> AgentAnswer:
    rows, measured = answer["rows"], answer["measured"]
    pairs = zip(rows[:most], answer["intervals"][:most], strict=True)
    notes = list(answer["notes"])
    if len(rows) > most:
        notes.append(f"These are the first {most:,} of {len(rows):,} rows. All are at the receipt's url.")
    return {
        "rows": [_row(*pair, measured) for pair in pairs],
        "confidence": answer["confidence"],
        "notes": notes,
    }


def _row(
    cells: Mapping[str, Any], intervals: Mapping[str, Sequence[Any]], measured: Sequence[str]
) -> AgentAnswer:
    return {
        name: {"value": cell, "low": intervals[name][0], "high": intervals[name][1]}
        if name in measured
        else cell
        for name, cell in cells.items()
    }


def _receipt(receipt: Mapping[str, Any], call: ToolCall) -> AgentAnswer:
    dataset, number = quote(receipt["dataset"], safe=""), receipt["number"]
    return {
        **receipt,
        "url": f"{call.service}{PREFIX}/datasets/{dataset}/receipts/{number}",
        "page": f"{call.service}/receipts/{dataset}/{number}",
    }
