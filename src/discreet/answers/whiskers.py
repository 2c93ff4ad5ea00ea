"""Dots with whiskers on a common axis: a number and its interval, as a small picture of one row.

All colours but one are the page's own, at various opacities, so it is readable on light and on dark.
"""

import math
from collections.abc import Sequence
from html import escape

from discreet.answers.columns import Cell
from discreet.answers.svg import Scale, ticks
from discreet.answers.wording import key_text

_HEIGHT, _HEAD = 24, 18
_DOT = "#3b82f6"


def axis_of(head: Sequence[tuple[Cell, float, float]], width: float) -> Scale | None:
    """From the least end to the greatest. It includes zero, unless all are close together and far from it."""
    ends = [end for cell in head for end in map(_float, cell) if math.isfinite(end)]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    if high - low >= max(abs(low), abs(high)) / 5 or low == high:
        low, high = min(low, 0.0), max(high, 0.0)
    span = high - low
    if not 1e-300 < span < math.inf:
        return None
    low, high = low - span * (0.03 if low else 0), high + span * (0.03 if high else 0)
    return Scale(low=low, high=high, end=width)


def _float(value: Cell) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def axis_labels(axis: Scale) -> str:
    """The round numbers of an axis, to stand above the whiskers."""
    x = axis.inside
    labels = "".join(
        f'<text x="{x(tick)}" y="{_HEAD - 6}" text-anchor="middle" font-size="10" fill="currentColor"'
        f' fill-opacity=".75">{escape(short_tick(tick))}</text>'
        f'<path d="M{x(tick)} {_HEAD - 3}V{_HEAD}" stroke="currentColor" stroke-opacity=".5"/>'
        for tick in ticks(axis.low, axis.high)
    )
    return f'<svg width="{axis.end:g}" height="{_HEAD}" aria-hidden="true">{labels}</svg>'


def short_tick(tick: float) -> str:
    """A round number for an axis: 20k."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(tick) < 1e15:
            return f"{tick / size:.4g}{letter}".replace("-", "−")
    return f"{tick:.4g}".replace("-", "−")


def whisker(cell: tuple[Cell, float, float], axis: Scale, told: str, *, bar: bool = False) -> str:
    """One number, on a bar from 0 if there is to be one. `told` is for those who cannot see it."""
    middle, label = _HEIGHT / 2, escape(key_text(told.strip()))
    lines = "".join(
        f'<path d="M{axis.inside(tick)} 0V{_HEIGHT}" stroke="currentColor"'
        f' stroke-opacity="{0.18 if tick else 0.55}"/>'
        for tick in ticks(axis.low, axis.high)
    )
    drawn = (_bar(cell, axis) if bar else "") + whisker_path(cell, axis, middle)
    return (
        f'<svg width="{axis.end:g}" height="{_HEIGHT}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{lines}{drawn}</svg>"
    )


def _bar(cell: tuple[Cell, float, float], axis: Scale) -> str:
    """From 0 to the number; none where 0 is not on the axis."""
    value = _float(cell[0])
    if not math.isfinite(value) or not axis.low <= 0 <= axis.high:
        return ""
    left, right = sorted((axis.inside(0), axis.inside(value)))
    return (
        f'<rect x="{left:g}" y="5" width="{round(right - left, 1):g}" height="{_HEIGHT - 10}" fill="{_DOT}"'
        ' fill-opacity=".3"/>'
    )


def whisker_path(cell: tuple[Cell, float, float], axis: Scale, middle: float) -> str:
    """The dot and its interval, at a height."""
    value, low, high = map(_float, cell)
    drawn = ""
    if not math.isnan(low) and not math.isnan(high):
        left, right = axis.inside(low), axis.inside(high)
        caps = "".join(
            f"M{x} {middle - 4}V{middle + 4}" for x, end in ((left, low), (right, high)) if math.isfinite(end)
        )
        drawn += f'<path d="M{left} {middle}H{right}{caps}" stroke="{_DOT}" stroke-width="1.5" fill="none"/>'
    if math.isfinite(value):
        drawn += f'<circle cx="{axis.inside(value)}" cy="{middle}" r="3" fill="{_DOT}"/>'
    return drawn
