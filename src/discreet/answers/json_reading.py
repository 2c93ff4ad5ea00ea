"""Answers and explanations from their JSON: what `json_text` and `explanation_json` wrote, and all of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.columns import DTYPES
from discreet.answers.explanation import ErrorStatement, Explanation, PrivateGroups
from discreet.answers.released import Released
from discreet.arrays import ColumnValues, Floats
from discreet.errors import InvalidInput
from discreet.model.exact import exact_fraction
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.receipt import Receipt

UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What is raised by JSON of another kind."""
_EMPTY = {"text": "", "date": "1970-01-01", "timestamp": "1970-01-01"}
"""What is below the mask of a missing value; 0 for all others."""


def read_answer(found: Mapping[str, Any], *, question: str = "", analyst: str = "") -> Answer:
    """From the object that `to_json` wrote. JSON does not say who paid first and in which words."""
    try:
        receipt = _receipt(found["receipt"], question, analyst)
        return Answer(
            released=read_released(found),
            charged=receipt.charged,
            left=read_charge(found["left"]),
            receipt=receipt,
            repeated=bool(found["receipt"]["repeated"]),
            dearer=bool(found["receipt"].get("dearer", False)),
            cached=bool(found["receipt"]["cached"]),
            budget=read_charge(found["budget"]) if "budget" in found else None,
        )
    except UNREADABLE as error:
        raise not_ours("an answer") from error


def read_released(found: Mapping[str, Any]) -> Released:
    """The columns alone."""
    names, measured, rows = found["columns"], found["measured"], found["rows"]
    intervals, noise = found["intervals"], found["noise_intervals"]
    of_noise = found["noise_measured"]
    floats: dict[str, dict[str, Floats]] = {
        "raw": {name: _floats([row[name] for row in found["raw"]]) for name in measured},
        "low": {name: _floats([row[name][0] for row in intervals]) for name in measured},
        "high": {name: _floats([row[name][1] for row in intervals]) for name in measured},
        "noise_low": {name: _floats([row[name][0] for row in noise]) for name in of_noise},
        "noise_high": {name: _floats([row[name][1] for row in noise]) for name in of_noise},
    }
    for part, columns in found["infinite"].items():
        for name, places in columns.items():
            for row, sign in places:
                floats[part][name][row] = sign * np.inf
    return Released(
        columns=tuple(names),
        values={name: read_column([row[name] for row in rows], found["types"][name]) for name in names},
        confidence=float(found["confidence"]),
        notes=tuple(map(str, found["notes"])),
        ends={name: (low, high) for name, (low, high) in found["ends"].items()},
        **floats,
    )


def read_charge(found: Mapping[str, Any]) -> Spend:
    """A loss, from what `charge_json` made of it."""
    if "epsilon" in found:
        return PureLoss(epsilon=exact_fraction(found["epsilon"], "epsilon"))
    rho, delta = exact_fraction(found["rho"], "rho"), exact_fraction(found["delta"], "delta")
    return ConcentratedLoss(rho=rho, delta=delta)


def read_explanation(found: Mapping[str, Any]) -> Explanation:
    """From the object that `explanation_json` made."""
    try:
        return Explanation(
            loss=read_charge(found["cost"]),
            epsilon=found["epsilon"],
            share=found["share_of_budget"],
            questions_left=found["questions_left"],
            groups=found["groups"],
            noise=found["noise"],
            weights=found["weights"],
            shares=dict(found["shares"]),
            errors=tuple(ErrorStatement(**error) for error in found["errors"]),
            private_groups=_private_groups(found["private_groups"]),
            confidence=found["confidence"],
            posterior=found["posterior_of_even_odds"],
            posterior_chance=found["posterior_but_for_a_chance_of"],
            alternatives=tuple(found["alternatives"]),
            notes=tuple(found["notes"]),
            way=found["way"],
        )
    except UNREADABLE as error:
        raise not_ours("an explanation") from error


def _private_groups(found: Mapping[str, Any] | None) -> PrivateGroups | None:
    if found is None:
        return None
    chances = {int(people): chance for people, chance in found["chances"].items()}
    return PrivateGroups(people=found["people_for_even_chance"], chances=chances)


def _receipt(found: Mapping[str, Any], question: str, analyst: str) -> Receipt:
    return Receipt(
        number=int(found["number"]),
        dataset=found["dataset"],
        version=found["version"],
        analyst=analyst,
        question=question,
        key="",
        charged=read_charge(found["price"]),
        at=datetime.fromisoformat(found["at"]),
        digest=found["digest"],
    )


def _floats(numbers: Sequence[float | None]) -> Floats:
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)


def read_column(cells: Sequence[Any], kind: str) -> ColumnValues:
    """A column from its JSON, typed as it was, also if all of it is missing."""
    if kind == "number":
        return _floats(cells)
    empty = _EMPTY.get(kind, 0)
    missing = [cell is None for cell in cells]
    values = np.array([empty if cell is None else cell for cell in cells], dtype=DTYPES[kind])
    return np.ma.MaskedArray(values, mask=missing) if any(missing) else values


def not_ours(what: str) -> InvalidInput:
    return InvalidInput(
        f"This is not the JSON of {what}, or it was written by another version of discreet.",
        remedy="Use the same version on both sides.",
    )
