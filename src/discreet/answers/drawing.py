"""What pictures have in common: round numbers on an axis, and SVG that says what it shows."""

from html import escape
from math import ceil, floor, isfinite, log10


def ticks(low: float, high: float, steps: int = 4) -> tuple[float, ...]:
    """Round numbers, so many steps apart or fewer."""
    rough = (high - low) / steps
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = ceil(low / step), floor(high / step)
    return tuple(round(i * step, 12) if abs(step) < 1 else i * step for i in range(first, last + 1))


def decades(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten."""
    steps = (1, 2, 5) if high - low < 2.2 else (1,)
    found = [m * 10.0**k for k in range(floor(low), floor(high) + 1) for m in steps]
    return [each for each in found if isfinite(each) and low <= log10(each) <= high]


def picture(width: float, height: float, label: str, inside: str) -> str:
    """SVG; the label is for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{inside}</svg>'
    )
