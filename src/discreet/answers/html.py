"""An answer as a table for notebooks: each number with its error, and dots with whiskers on a common axis.

One piece of HTML that needs nothing else. All colours but one are the page's own, at various opacities, so
it is readable on light and on dark. All text is escaped: a key is whatever somebody wrote into the data.
"""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from discreet.answers.columns import Cell
from discreet.answers.released import Released
from discreet.answers.svg import Scale
from discreet.answers.whiskers import axis_labels, axis_of, whisker
from discreet.answers.wording import NULL, key_text, measure_text

if TYPE_CHECKING:
    from discreet.answers.answer import Answer

_MOST_ROWS = 50
_MOST_PLOTS = 4
_WIDTH = 150

_STYLE = """
.discreet-answer{font-variant-numeric:tabular-nums;line-height:1.35;max-width:100%;overflow-x:auto}
.discreet-answer table.discreet{border-collapse:collapse;border:0;margin:0;color:inherit;font-size:inherit}
.discreet-answer table.discreet :is(th,td){padding:0 .75em 0 0;height:24px;border:0;background:none;
color:inherit;text-align:left;vertical-align:middle;white-space:nowrap;max-width:20em;
overflow:hidden;text-overflow:ellipsis}
.discreet-answer table.discreet thead th{font-weight:600;vertical-align:bottom;padding-bottom:2px}
.discreet-answer table.discreet tbody th{font-weight:400}
.discreet-answer table.discreet tbody tr:hover{background:rgba(127,127,127,.12)}
.discreet-answer table.discreet thead{border-bottom:1px solid rgba(127,127,127,.5)}
.discreet-answer table.discreet .value{text-align:right;padding-right:.4em}
.discreet-answer table.discreet .error{opacity:.72}
.discreet-answer table.discreet .none{opacity:.72}
.discreet-answer table.discreet .plot{padding:0 2em 0 0;overflow:visible;max-width:none}
.discreet-answer svg{display:block;overflow:visible}
.discreet-answer p{margin:.5em 0 0;opacity:.8;font-size:.92em}
.discreet-answer p+p{margin-top:.15em}
"""


def html_table(answer: "Answer") -> str:
    """The first rows as a table, then what the errors mean, the price and the notes."""
    return html_answer(answer.released, [answer.summary(), *answer.released.notes])


def html_answer(
    released: Released, below: Sequence[str], *, rows: int = _MOST_ROWS, bars: bool = False
) -> str:
    """The first rows as a table, and lines of text below it. With `bars`, whiskers stand on bars from 0."""
    heads = {name: released.head(name, rows) for name in released.columns}
    plotted = released.measured[:_MOST_PLOTS] if len(released) > 1 else ()
    axes = {name: axis for name in plotted if (axis := axis_of(heads[name], _WIDTH)) is not None}
    titles = "".join(_title(name, released, axes) for name in heads)
    lines = [
        "".join(_cells(released, name, heads[name][i], axes.get(name), bars=bars) for name in heads)
        for i in range(min(len(released), rows))
    ]
    more = [f"… and {len(released) - rows:,} more"] if len(released) > rows else []
    return (
        f'<div class="discreet-answer"><style>{_STYLE}</style>'
        f'<table class="discreet"><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
        f"{''.join(f'<p>{escape(key_text(line))}</p>' for line in (*more, *below))}</div>"
    )


def _title(name: str, released: Released, axes: dict[str, Scale]) -> str:
    shown = escape(key_text(name))
    if name not in released.raw:
        return f'<th scope="col">{shown}</th>'
    title = f'<th scope="col" class="value">{shown}</th><td class="error"></td>'
    return title + (f'<td class="plot">{axis_labels(axes[name])}</td>' if name in axes else "")


def _cells(
    released: Released, name: str, cell: tuple[Cell, float, float], axis: Scale | None, *, bars: bool
) -> str:
    value, low, high = cell
    if name not in released.raw:
        shown = escape(released.key_label(name, value))
        faint = ' class="none"' if value is None else ""
        told = ' title="NULL" aria-label="NULL"' if shown == NULL and value is None else f' title="{shown}"'
        return f"<td{faint}{told}>{shown}</td>"
    number, error = measure_text(value, low, high)
    cells = f'<td class="value">{escape(number)}</td><td class="error">{escape(error)}</td>'
    if axis is None:
        return cells
    return f'{cells}<td class="plot">{whisker(cell, axis, f"{name}: {number} {error}", bar=bars)}</td>'
