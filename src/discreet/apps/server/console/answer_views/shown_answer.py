"""An answer as the page shows it, from the JSON that is kept: each number with its error and whiskers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from discreet.answers.columns import Cell
from discreet.answers.whiskers import axis_labels, axis_of, whisker
from discreet.answers.wording import MISSING, confidence_text, key_text, measure_text
from discreet.apps.server.console.answer_views.combining import NoisyNumber

MOST_ROWS = 200
_MOST_PICTURES = 2
_WIDE, _NARROW = 300, 150


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column of the table."""

    name: str
    measured: bool
    axis: Markup | None
    """The numbers above the whiskers; None if it is not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """A cell of the table."""

    column: str
    text: str
    error: str
    measured: bool
    unclear: bool
    """Whether the error is larger than the number itself."""
    picture: Markup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """Everything that the page says of an answer."""

    facts: Mapping[str, Any]
    columns: list[ShownColumn]
    rows: list[list[ShownCell]]
    more_rows: int

    @property
    def receipt(self) -> int:
        return int(self.facts["receipt"]["number"])

    @property
    def free(self) -> bool:
        return bool(self.facts["receipt"]["repeated"] or self.facts["receipt"]["cached"])

    @property
    def single(self) -> ShownCell | None:
        """The one number of an answer that is nothing else."""
        return self.rows[0][0] if len(self.rows) == 1 and len(self.rows[0]) == 1 else None

    @property
    def one_measure(self) -> bool:
        """Whether whiskers find a line of their own where the page is narrow."""
        return [column.measured for column in self.columns] == [False, True]

    @property
    def several_numbers(self) -> bool:
        return sum(cell.measured and cell.text != MISSING for row in self.rows for cell in row) > 1

    @property
    def confidence(self) -> str:
        return confidence_text(self.facts["confidence"])

    @property
    def price(self) -> str:
        """What it cost and what was left then."""
        return f"{self.cost} {_amount(self.facts['left'])} left for you."

    @property
    def cost(self) -> str:
        if self.facts["receipt"]["cached"]:
            return "Free: it follows from what was paid for before."
        if self.facts["receipt"].get("dearer"):
            return f"Free: answered at {_amount(self.facts['receipt']['price'])} before."
        if self.facts["receipt"]["repeated"]:
            return "Free: the same answer as before."
        return f"Cost {_amount(self.facts['charged'])}."


def shown(facts: Mapping[str, Any], most: int = MOST_ROWS) -> ShownAnswer:
    """From the JSON of an answer: its first rows."""
    measured = [name for name in facts["columns"] if facts["raw"] and name in facts["raw"][0]]
    rows = range(min(len(facts["rows"]), most))
    heads = {name: [_head(facts, i, name) for i in rows] for name in measured}
    width = _WIDE if len(measured) == 1 else _NARROW
    drawn = measured[:_MOST_PICTURES] if len(rows) > 1 else []
    axes = {name: axis for name in drawn if (axis := axis_of(heads[name], width)) is not None}
    columns = [
        ShownColumn(
            name=key_text(name),
            measured=name in measured,
            axis=Markup(axis_labels(axes[name])) if name in axes else None,  # noqa: S704  numbers only
        )
        for name in facts["columns"]
    ]

    def cell(row: int, name: str) -> ShownCell:
        if name not in heads:
            return ShownCell(
                column=name,
                text=key_text(facts["rows"][row][name]),
                error="",
                measured=False,
                unclear=False,
                picture=None,
            )
        value, low, high = heads[name][row]
        number, error = measure_text(value, low, high)
        picture = whisker(heads[name][row], axes[name], f"{name}: {number} {error}") if name in axes else None
        return ShownCell(
            column=name,
            text=number,
            error=error,
            measured=True,
            unclear=isinstance(value, int | float) and low < 0 < high,
            picture=None if picture is None else Markup(picture),  # noqa: S704  `whisker` escapes
        )

    return ShownAnswer(
        facts=facts,
        columns=columns,
        rows=[[cell(i, name) for name in facts["columns"]] for i in rows],
        more_rows=len(facts["rows"]) - len(rows),
    )


def noisy_number(facts: Mapping[str, Any], row: int, name: str) -> NoisyNumber:
    """A cell before it was rounded and clipped: only such numbers may be added up."""
    low, high = facts["intervals"][row][name]
    raw = _float(facts["raw"][row][name])
    return NoisyNumber(value=raw, low=_end(low, -math.inf), high=_end(high, math.inf))


def _head(facts: Mapping[str, Any], row: int, name: str) -> tuple[Cell, float, float]:
    low, high = facts["intervals"][row][name]
    return facts["rows"][row][name], _float(low), _float(high)


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _end(value: float | None, without: float) -> float:
    return without if value is None else float(value)


def _amount(charge: Mapping[str, float]) -> str:
    name = "ε" if "epsilon" in charge else "ρ"
    return f"{name} = {charge['epsilon' if 'epsilon' in charge else 'rho']:.4g}"
