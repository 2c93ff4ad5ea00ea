"""A measure of an answer as a picture: a dot with its interval for each row. SVG that needs nothing else."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.answers.svg import Scale, ticks, titled_file
from discreet.answers.whiskers import axis_of, short_tick, whisker_path
from discreet.answers.wording import cut_text, key_text, measure_text
from discreet.errors import InvalidInput

if TYPE_CHECKING:
    from discreet.answers.answer import Answer

_MOST_ROWS, _LONGEST_LABEL = 60, 32
_WIDTH, _LABELS, _RIGHT, _TOP, _ROW = 720, 230, 130, 48, 24


@dataclass(frozen=True, slots=True, repr=False)
class Plot:
    """A picture. Notebooks show it; `save` writes it."""

    svg: str
    """All of it, as a file of its own."""

    def save(self, path: str | Path) -> Path:
        """Write it to a file that ends in .svg or .html. An existing file is replaced.

        >>> answer.plot("n").save("wards.svg")  # doctest: +SKIP
        """
        target = Path(path)
        if target.suffix.lower() not in (".svg", ".html"):
            raise InvalidInput("A plot is saved as SVG or HTML.", remedy='Write save("plot.svg").')
        html = f'<!doctype html><meta charset="utf-8">{self.svg}'
        target.write_text(html if target.suffix.lower() == ".html" else self.svg, encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return 'A plot: a notebook shows it, and plot.save("plot.svg") writes it.'


def plot_of(answer: "Answer", measure: str | None) -> Plot:
    """The first measure, if none is named."""
    released = answer.released
    name = answer.measure_named(measure)
    head = released.head(name, _MOST_ROWS)
    keys = [each for each in released.columns if each not in released.raw]
    labels = [
        ", ".join(released.key_label(key, cell) for key, cell in zip(keys, cells, strict=True))
        for cells in zip(
            *([cell for cell, _, _ in released.head(key, _MOST_ROWS)] for key in keys), strict=True
        )
    ] or [name] * len(head)
    axis = axis_of(head, _WIDTH - _LABELS - _RIGHT) or Scale(low=0, high=1, end=_WIDTH - _LABELS - _RIGHT)
    bottom = _TOP + _ROW * len(head)
    lines = [_tick(axis, tick, bottom) for tick in ticks(axis.low, axis.high)]
    for i, (label, cell) in enumerate(zip(labels, head, strict=True)):
        middle = _TOP + _ROW * i + _ROW / 2
        number, error = measure_text(*cell)
        lines.append(_text(_LABELS - 12, middle + 4, cut_text(key_text(label), _LONGEST_LABEL), "end"))
        lines.append(f'<g transform="translate({_LABELS} 0)">{whisker_path(cell, axis, middle)}</g>')
        lines.append(_text(_WIDTH - _RIGHT + 12, middle + 4, f"{number} {error}".strip(), "start"))
    more = f"… and {len(released) - _MOST_ROWS:,} rows more" if len(released) > _MOST_ROWS else ""
    lines.append(_text(16, bottom + 38, more or "Each line is the interval of a number.", "start", size=11))
    return Plot(titled_file(_WIDTH, bottom + 50, key_text(name), lines))


def _tick(axis: Scale, tick: float, bottom: float) -> str:
    x = _LABELS + axis.inside(tick)
    line = f'<path d="M{x} {_TOP}V{bottom}" stroke="#000" stroke-opacity="{0.12 if tick else 0.5}"/>'
    return line + _text(x, bottom + 16, short_tick(tick), "middle", size=11)


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 13) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
