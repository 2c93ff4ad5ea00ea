"""An answer as CSV: no character in it is obeyed by a terminal, and no cell by a spreadsheet.

Aliases and keys are others' words, and may be chosen to be shown.
"""

import re

from discreet.answers.columns import iso_cells
from discreet.answers.released import Released

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""By a terminal: controls, line ends, and what turns the direction of writing around."""
_BEGINS_FORMULA = tuple("=+-@＝＋－＠")
_NEEDS_QUOTES = re.compile('[",;|]')
"""Also what parts cells elsewhere: where the comma is in numbers, spreadsheets part cells by semicolons."""
_EMPTY = '""'
"""A line with nothing on it would be no row."""


def to_csv(released: Released) -> str:
    """Lines of cells with commas between them, each measure with its interval in two more columns.

    What is missing is empty. Numbers stay numbers. A text, or the name of a column, that a spreadsheet would
    run gets a ' before it, and characters that a terminal would obey are written as \\x1b and their like.
    """
    texts = [[_cell(name), *map(_cell, iso_cells(column))] for name, column in released.flat().items()]
    lines = map(",".join, zip(*texts, strict=True))
    return "".join(f"{line or _EMPTY}\n" for line in lines)


def _cell(cell: object) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    plain = _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), cell)
    if plain.startswith(_BEGINS_FORMULA):
        plain = f"'{plain}"
    return '"' + plain.replace('"', '""') + '"' if _NEEDS_QUOTES.search(plain) else plain
