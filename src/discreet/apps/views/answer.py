"""Answers on the terminal, as JSON and as CSV."""

import math
import sys
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from discreet.answers.answer import Answer
from discreet.answers.columns import Cell
from discreet.answers.csv_text import to_csv
from discreet.answers.json_text import to_json
from discreet.answers.released import Released
from discreet.answers.wording import key_text, measure_text
from discreet.apps.views.bars import BarAxis, axis_of, bar

_MOST_ROWS = 200
_WIDEST_KEY, _NARROWEST_KEY = 40, 8
_WIDEST_BAR, _NARROWEST_BAR = 24, 8
_GAP = 2  # between columns: the table's own line, and padding


def show_answer(answer: Answer, output: str) -> None:
    match output:
        case "json":
            sys.stdout.writelines(to_json(answer))
            sys.stdout.write("\n")
        case "csv":
            sys.stdout.write(to_csv(answer.released))
        case _:
            show_table(answer, Console())


def show_table(answer: Answer, console: Console) -> None:
    """The rows, what the errors mean, the price and the notes."""
    show_rows(answer.released, console)
    console.print(answer.summary(), markup=False, highlight=False)
    show_notes(answer.released.notes, console)


def show_notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        console.print(key_text(note), style="dim", markup=False, highlight=False)


def show_rows(released: Released, console: Console, all_rows: str = "--format csv") -> None:
    """Each number with its error, never cut, and as many columns of bars as fit.

    `all_rows` is the option that shows all rows, if they are very many.
    """
    heads = {name: released.head(name, _MOST_ROWS) for name in released.columns}
    texts = {name: _texts(released, name, head) for name, head in heads.items()}
    widths = _widths(released, texts, console.width)
    needed = sum(widths.values()) + _GAP * len(widths)
    axes = _axes(released, heads, console.width - needed)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for name, width in widths.items():
        justify: JustifyMethod = "right" if name in released.raw else "left"
        table.add_column(
            Text(key_text(name)), justify=justify, width=width, no_wrap=True, overflow="ellipsis"
        )
        if name in axes:
            table.add_column("", no_wrap=True)
    for i in range(min(len(released), _MOST_ROWS)):
        row: list[Text] = []
        for name in released.columns:
            row.append(texts[name][i])
            if name in axes:
                row.append(bar(axes[name], *_numbers(heads[name][i])))
        table.add_row(*row)
    roomy = console if needed <= console.width else Console(width=needed, file=console.file)
    roomy.print(table)
    if len(released) > _MOST_ROWS:
        console.print(f"… and {len(released) - _MOST_ROWS:,} rows more; {all_rows} shows all.")


def _texts(released: Released, name: str, head: list[tuple[Cell, float, float]]) -> list[Text]:
    if name not in released.raw:
        labels = [(released.key_label(name, cell), cell) for cell, _, _ in head]
        return [Text(label, style="dim" if cell is None else "") for label, cell in labels]
    pairs = [measure_text(*cell) for cell in head]
    wide = max((len(error) for _, error in pairs), default=0)
    return [
        Text.assemble(number, (" " + error.ljust(wide) if wide else "", "dim")) for number, error in pairs
    ]


def _widths(released: Released, texts: dict[str, list[Text]], room: int) -> dict[str, int]:
    """Of each column without its bars: numbers take what they need, keys share what is left."""
    wanted = {
        name: max(Text(key_text(name)).cell_len, *(text.cell_len for text in column), 1)
        for name, column in texts.items()
    }
    keys = [name for name in wanted if name not in released.raw]
    taken = sum(width for name, width in wanted.items() if name in released.raw) + _GAP * len(wanted)
    share = (room - taken) // max(1, len(keys))
    widest = max(_NARROWEST_KEY, min(_WIDEST_KEY, share))
    return {name: min(width, widest) if name in keys else width for name, width in wanted.items()}


def _axes(
    released: Released, heads: dict[str, list[tuple[Cell, float, float]]], free: int
) -> dict[str, BarAxis]:
    """A scale for each measure that gets bars: none for a single row, and none that does not fit."""
    if len(released) < 2:
        return {}
    for count in range(len(released.measured), 0, -1):
        width = min(_WIDEST_BAR, free // count - _GAP - 1)
        if width >= _NARROWEST_BAR:
            drawn = {name: axis_of(map(_numbers, heads[name]), width) for name in released.measured[:count]}
            return {name: axis for name, axis in drawn.items() if axis is not None}
    return {}


def _numbers(cell: tuple[Cell, float, float]) -> tuple[float, float, float]:
    value, low, high = cell
    return (float(value) if isinstance(value, int | float) else math.nan), low, high
