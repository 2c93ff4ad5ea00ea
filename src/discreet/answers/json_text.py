"""Answers, losses and other facts as JSON that is safe to print: no terminal obeys its characters.

Aliases, keys and names of analysts are text that others wrote, possibly an attacker.
"""

import json
import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.columns import iso_cells, kind_of
from discreet.answers.released import Released
from discreet.answers.wording import end_text
from discreet.model.privacy import PureLoss, Spend

FLOAT_PARTS = ("raw", "low", "high", "noise_low", "noise_high")
"""What an answer has of measured columns."""


def to_json(answer: Answer) -> Iterator[str]:
    """The text of one object, in pieces. `json_reading.read_answer` makes the same answer of it again."""
    return map(escaped_json, json_pieces(answer))


def charge_json(loss: Spend, *, free: bool = False) -> dict[str, float]:
    """A loss as an object; all of it is 0 if it was free."""
    if isinstance(loss, PureLoss):
        return {"epsilon": 0.0 if free else float(loss.epsilon)}
    return {"rho": 0.0 if free else float(loss.rho), "delta": 0.0 if free else float(loss.delta)}


def json_lines(value: object, *, indent: int | None = None) -> Iterator[str]:
    """Any facts: one line, or several with an indent."""
    text = json.dumps(value, ensure_ascii=False, default=float, indent=indent)
    return (f"{escaped_json(line)}\n" for line in text.split("\n"))


def escaped_json(text: str) -> str:
    """The same JSON, with every character that cannot be printed written as \\u….

    JSON itself does so up to U+001F only. In valid JSON all others are inside strings.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def answer_facts(answer: Answer) -> dict[str, object]:
    """Everything in the JSON except the rows, which may be many."""
    released = answer.released
    return {
        "columns": list(released.columns),
        "types": {name: kind_of(released.values[name]) for name in released.columns},
        "measured": list(released.measured),
        "noise_measured": list(released.noise_low),
        "rows": [],
        "intervals": [],
        "noise_intervals": [],
        "raw": [],
        "confidence": released.confidence,
        "charged": charge_json(answer.charged, free=answer.repeated or answer.cached),
        "left": charge_json(answer.left),
        **({} if answer.budget is None else {"budget": charge_json(answer.budget)}),
        "receipt": {
            "number": answer.receipt.number,
            "dataset": answer.receipt.dataset,
            "version": answer.receipt.version,
            "price": charge_json(answer.receipt.charged),
            "digest": answer.receipt.digest,
            "at": answer.receipt.at.isoformat(),
            "repeated": answer.repeated,
            "dearer": answer.dearer,
            "cached": answer.cached,
        },
        "notes": list(released.notes),
        "ends": {name: [end_text(end) for end in ends] for name, ends in released.ends.items()},
        "infinite": infinite_places(released),
    }


def infinite_places(released: Released) -> dict[str, dict[str, list[list[int]]]]:
    """Where a number is ∞ or −∞, which JSON cannot say: [row, 1 or -1] by part and column."""
    found: dict[str, dict[str, list[list[int]]]] = {}
    for part in FLOAT_PARTS:
        for name, numbers in getattr(released, part).items():
            (rows,) = np.isinf(numbers).nonzero()
            if len(rows):
                signs = np.sign(numbers[rows]).astype(int)
                found.setdefault(part, {})[name] = [
                    list(pair) for pair in zip(rows.tolist(), signs.tolist(), strict=True)
                ]
    return found


def json_pieces(answer: Answer) -> Iterator[str]:
    """The JSON in pieces, before `escaped_json`.

    No Python object is made for each row: a million of them take long.
    """
    released = answer.released
    measured = released.measured
    values = [_cells(iso_cells(released.values[name])) for name in released.columns]
    reaches = [_pairs(released.low[name].tolist(), released.high[name].tolist()) for name in measured]
    raw = [_cells(_finite(released.raw[name].tolist())) for name in measured]
    of_noise = tuple(released.noise_low)
    ends = [(released.noise_low[name], released.noise_high[name]) for name in of_noise]
    noise = [_pairs(low.tolist(), high.tolist()) for low, high in ends]
    rows = {
        "rows": (released.columns, values),
        "intervals": (measured, reaches),
        "noise_intervals": (of_noise, noise),
        "raw": (measured, raw),
    }
    before = "{"
    for name, value in answer_facts(answer).items():
        yield f"{before}{json.dumps(name)}: "
        if name in rows:
            yield from _rows(*rows[name], len(answer))
        else:
            yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        before = ", "
    yield "}"


def _finite(numbers: list[float]) -> list[float | None]:
    """JSON has no NaN and no ∞."""
    return [number if math.isfinite(number) else None for number in numbers]


def _cells(cells: Sequence[object]) -> list[str]:
    """Each cell as JSON, in one call. JSON escapes line breaks, so they can separate the cells."""
    lines = json.dumps(cells, ensure_ascii=False, allow_nan=False, separators=("\n", ": "))
    return lines[1:-1].split("\n") if cells else []


def _pairs(low: list[float], high: list[float]) -> list[str]:
    ends = zip(_cells(_finite(low)), _cells(_finite(high)), strict=True)
    return [f"[{left}, {right}]" for left, right in ends]


def _rows(names: tuple[str, ...], columns: Sequence[list[str]], rows: int) -> Iterator[str]:
    keys = [json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in names]
    template = "{" + ", ".join(f"{key}: %s" for key in keys) + "}"
    filled = map(template.__mod__, zip(*columns, strict=True)) if names else ["{}"] * rows
    yield f"[{', '.join(filled)}]"


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else json.dumps(sign)[1:-1]
