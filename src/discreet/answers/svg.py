"""What pictures have in common: axes with round numbers on them, and SVG that says what it shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

_SVG = '<svg xmlns="http://www.w3.org/2000/svg"'
"""How SVG begins in a file of its own. Inside a page it needs no namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """An axis: values from `low` to `high` are at `start` to `end`, to a tenth of a point."""

    low: float
    high: float
    start: float = 0.0
    end: float

    def at(self, value: float) -> float:
        return self._place(self._share(value))

    def inside(self, value: float) -> float:
        """Like `at`, but values beyond an end are at that end."""
        return self._place(clamped(self._share(value)))

    def _share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def _place(self, share: float) -> float:
        return round(self.start + share * (self.end - self.start), 1)


def clamped(share: float) -> float:
    """From 0 to 1."""
    return min(max(share, 0.0), 1.0)


def ticks(low: float, high: float, steps: int = 4) -> tuple[float, ...]:
    """Round numbers from `low` to `high`, at equal distances: at most `steps` of these."""
    rough = (high - low) / steps
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = ceil(low / step), floor(high / step)
    return tuple(round(i * step, 12) if abs(step) < 1 else i * step for i in range(first, last + 1))


def decades(low: float, high: float) -> list[float]:
    """Round numbers between 10^low and 10^high."""
    steps = (1, 2, 5) if high - low < 2.2 else (1,)
    found = [m * 10.0**k for k in range(floor(low), floor(high) + 1) for m in steps]
    return [each for each in found if isfinite(each) and low <= log10(each) <= high]


def picture(width: float, height: float, label: str, inside: str) -> str:
    """SVG with a label for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{inside}</svg>'
    )


def as_file(svg: str) -> str:
    """A picture as a file of its own."""
    return svg.replace("<svg", _SVG, 1) + "\n"


def titled_file(width: float, height: float, title: str, lines: Iterable[str], *, left: float = 16) -> str:
    """A file that needs nothing else: the title, from `left` on, above what is drawn."""
    return "\n".join(
        [
            f'{_SVG} viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{left}" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
            *lines,
            "</svg>",
            "",
        ]
    )
