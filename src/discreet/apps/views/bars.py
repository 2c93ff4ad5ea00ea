"""Bars for the terminal: from zero to where the interval begins, then the interval in a lighter shade."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rich.text import Text

from discreet.answers.svg import clamped


@dataclass(frozen=True, slots=True, kw_only=True)
class BarAxis:
    """A scale that all rows of a measure share, with zero on it."""

    low: float
    high: float
    width: int

    def place(self, value: float) -> int:
        """The boundary between two characters that is closest to a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.width * clamped(share))


def axis_of(cells: Iterable[tuple[float, float, float]], width: int) -> BarAxis | None:
    """From the least end of an interval to the greatest; None if there is nothing to draw."""
    ends = [end for cell in cells for end in cell if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return BarAxis(low=low, high=high, width=width) if 0 < high - low < math.inf else None


def bar(axis: BarAxis, value: float, low: float, high: float) -> Text:
    """One row: █ is certain, ▒ is the interval, │ is zero where numbers lie on both sides of it."""
    zero = axis.place(0.0)
    cells = [(" ", "")] * axis.width
    if math.isnan(value):
        return _joined(cells, zero, axis)
    low, high = (value if math.isnan(end) else end for end in (low, high))
    first, last = axis.place(low), axis.place(high)
    if first == last:  # an interval is never invisible
        first, last = (first - 1, last) if first == axis.width else (first, last + 1)
    for i in range(min(zero, last), max(zero, first)):
        cells[i] = ("█", "blue")
    for i in range(first, last):
        cells[i] = ("▒", "cyan")
    return _joined(cells, zero, axis)


def _joined(cells: list[tuple[str, str]], zero: int, axis: BarAxis) -> Text:
    line = [("│", "dim")] if axis.low < 0 < axis.high else []
    return Text.assemble(*cells[:zero], *line, *cells[zero:])
