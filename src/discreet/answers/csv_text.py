"""An answer as CSV that is safe to show: no terminal obeys its characters, and no spreadsheet runs its cells.

Aliases and keys are text that others wrote, possibly an attacker.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.answers.columns import iso_cells
from discreet.answers.released import Released

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys: controls, line ends, and marks that change the direction of writing."""
_BEGINS_FORMULA = tuple("=+-@＝＋－＠")
_NEEDS_QUOTES = re.compile('[",;|]')
"""Includes other separators: where numbers have decimal commas, spreadsheets split cells at semicolons."""
_EMPTY = '""'
"""An empty line would not be a row."""


def to_csv(released: Released) -> str:
    """Lines of cells with commas between them, each measure with its interval in two more columns.

    Missing values are empty. Numbers stay numbers. A text or column name that a spreadsheet would run gets
    a ' before it. Characters that a terminal would obey are escaped, as in \\x1b.
    """
    return _lines({name: iso_cells(column) for name, column in released.flat().items()})


def csv_of(answer: Mapping[str, Any]) -> str:
    """The same for an answer that is there as its JSON only, but for names that are taken twice."""
    flat: dict[str, list[object]] = {}
    for name in answer["columns"]:
        flat[name] = [row[name] for row in answer["rows"]]
        for ends, middle in (("intervals", ""), ("noise_intervals", "_noise")):
            if answer[ends] and name in answer[ends][0]:
                flat[f"{name}{middle}_low"] = [row[name][0] for row in answer[ends]]
                flat[f"{name}{middle}_high"] = [row[name][1] for row in answer[ends]]
    return _lines(flat)


def _lines(columns: Mapping[str, Iterable[object]]) -> str:
    texts = [[_cell(name), *map(_cell, cells)] for name, cells in columns.items()]
    lines = map(",".join, zip(*texts, strict=True))
    return "".join(f"{line or _EMPTY}\n" for line in lines)


def _cell(cell: object) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    plain = _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), cell)
    if plain.startswith(_BEGINS_FORMULA):
        plain = f"'{plain}"
    return '"' + plain.replace('"', '""') + '"' if _NEEDS_QUOTES.search(plain) else plain
