"""What is written for other programs: no character in it is obeyed by a terminal, no cell by a spreadsheet.

Aliases, keys and names of analysts are others' words, and may be chosen to be shown.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date

from rich.markup import escape

from discreet.answers.columns import plain_cells
from discreet.answers.wording import visible_text
from discreet.arrays import ColumnValues

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""By a terminal: controls, line ends, and what turns the direction of writing around."""
_BEGINS_FORMULA = tuple("=+-@＝＋－＠")
_NEEDS_QUOTES = re.compile('[",;|]')
"""Also what parts cells elsewhere: where the comma is in numbers, spreadsheets part cells by semicolons."""


def shown(text: str) -> str:
    """Others' words for rich: no markup, and nothing that a terminal obeys."""
    return escape(visible_text(text))


def write_json(value: object, *, indent: int | None = None) -> None:
    """One line, or several with an indent."""
    text = json.dumps(value, ensure_ascii=False, default=float, indent=indent)
    sys.stdout.writelines(f"{escaped_json(line)}\n" for line in text.split("\n"))


def escaped_json(text: str) -> str:
    """The same JSON, in which all that cannot be printed is written as \\u….

    JSON itself does so up to U+001F only; in one that is valid all others stand inside of texts.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def csv_text(columns: Mapping[str, ColumnValues]) -> str:
    """Lines of cells with commas between them; what is missing is empty.

    Numbers stay numbers. A text, or the name of a column, that a spreadsheet would run gets a ' before it,
    and characters that a terminal would obey are written as \\x1b and their like.
    """
    texts = [[csv_cell(name), *map(csv_cell, iso_cells(column))] for name, column in columns.items()]
    lines = map(",".join, zip(*texts, strict=True))
    return "".join(f"{line or _EMPTY}\n" for line in lines)


_EMPTY = '""'
"""A line with nothing on it would be no row."""


def csv_cell(cell: object) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    plain = _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), cell)
    if plain.startswith(_BEGINS_FORMULA):
        plain = f"'{plain}"
    return '"' + plain.replace('"', '""') + '"' if _NEEDS_QUOTES.search(plain) else plain


def iso_cells(column: ColumnValues) -> Sequence[object]:
    """Plain values; dates as text."""
    cells = plain_cells(column)
    if column.dtype.kind != "M":
        return cells
    return [cell.isoformat() if isinstance(cell, date) else cell for cell in cells]


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else json.dumps(sign)[1:-1]
