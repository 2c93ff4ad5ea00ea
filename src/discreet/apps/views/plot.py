"""Small plots: curves in Braille dots on a terminal, the same curves as SVG, and steps in blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from discreet.answers.svg import clamped, titled_file

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a Braille cell: four rows of two
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedCurve:
    """A function from [0, 1] to [0, 1], with its name."""

    name: str
    at: Callable[[float], float]


def braille(curves: Sequence[PlottedCurve], *, width: int = 40, height: int = 12) -> list[str]:
    """The unit square as lines of text: the curves, over a dotted diagonal."""
    across, up = 2 * width, 4 * height
    cells = [[0] * width for _ in range(height)]

    def dot(x: int, y: int) -> None:
        row = up - 1 - y
        cells[row // 4][x // 2] |= _DOTS[row % 4][x % 2]

    for x in range(0, across, 4):
        dot(x, round(x / (across - 1) * (up - 1)))
    for curve in curves:
        heights = [round(clamped(curve.at(x / (across - 1))) * (up - 1)) for x in range(across)]
        for x, y in enumerate(heights):
            start = heights[x - 1] if x else y
            for between in range(min(start, y), max(start, y) + 1):  # a steep curve stays whole
                if between != start or start == y:
                    dot(x, between)
    return ["".join(chr(0x2800 + cell) for cell in line) for line in cells]


def steps(heights: Sequence[float], *, height: int = 6) -> list[str]:
    """Bars of 0 to 1 side by side, as lines of text; any value above 0 is visible."""
    eighths = [max(1, round(8 * height * clamped(value))) if value > 0 else 0 for value in heights]
    return [
        "".join(_EIGHTHS[max(0, min(8, bar - 8 * row))] for bar in eighths) for row in reversed(range(height))
    ]


def svg(curves: Sequence[PlottedCurve], *, title: str, across: str, up: str) -> str:
    """The unit square as an SVG file that needs nothing else: grid, diagonal, curves and their names."""
    left, top, size = 64, 48, 400
    lines = []
    for step in range(6):
        place, label = size * step / 5, f"{20 * step} %"
        x, y = left + place, top + size - place
        lines += [
            f'<path d="M{x:g} {top}v{size}M{left} {y:g}h{size}" stroke="#d0d7de" fill="none"/>',
            f'<text x="{x:g}" y="{top + size + 18}" text-anchor="middle">{label}</text>',
            f'<text x="{left - 8}" y="{y + 4:g}" text-anchor="end">{label}</text>',
        ]
    lines += [
        f'<path d="M{left} {top + size}l{size} {-size}" stroke="#6e7781" stroke-dasharray="4" fill="none"/>',
        f'<text x="{left + size / 2:g}" y="{top + size + 40}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(16 {top + size / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>",
    ]
    for i, curve in enumerate(curves):
        colour = _COLOURS[i % len(_COLOURS)]
        points = " ".join(
            f"{left + size * x / 200:g},{top + size * (1 - clamped(curve.at(x / 200))):.2f}"
            for x in range(201)
        )
        y = top + size - 16 - 20 * (len(curves) - 1 - i)
        lines += [
            f'<polyline points="{points}" stroke="{colour}" stroke-width="2.5" fill="none"/>',
            f'<text x="{left + size - 10}" y="{y}" text-anchor="end" fill="{colour}">'
            f"{escape(curve.name)}</text>",
        ]
    return titled_file(size + 96, size + 120, title, lines, left=left)
