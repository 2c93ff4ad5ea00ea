"""An answer as a short table of plain text: what a Python prompt shows."""

from typing import TYPE_CHECKING

from discreet.answers.wording import cut_text, key_text, measure_text

if TYPE_CHECKING:
    from discreet.answers.answer import Answer
    from discreet.answers.released import Released

_MOST_ROWS = 20
_WIDEST_KEY = 40


def text_table(answer: "Answer") -> str:
    """The first rows, each number with its error, the price, and every note."""
    released = answer.released
    return "\n".join([*text_rows(released), answer.summary(), *map(key_text, released.notes)])


def text_rows(released: "Released") -> list[str]:
    """The names of the columns, and the first rows."""
    columns = []
    for name in released.columns:
        head = released.head(name, _MOST_ROWS)
        if name in released.raw:
            columns.append(_measured(key_text(name), [measure_text(*cell) for cell in head]))
        else:
            columns.append(_padded(key_text(name), [released.key_label(name, cell) for cell, _, _ in head]))
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    if len(released) > _MOST_ROWS:
        lines.append(f"… and {len(released) - _MOST_ROWS:,} rows more")
    return lines


def _padded(title: str, cells: list[str]) -> list[str]:
    cut = [cut_text(cell, _WIDEST_KEY) for cell in (title, *cells)]
    width = max(map(len, cut))
    return [cell.ljust(width) for cell in cut]


def _measured(title: str, cells: list[tuple[str, str]]) -> list[str]:
    wide = max((len(number) for number, _ in cells), default=0)
    joined = [f"{number.rjust(wide)} {error}".rstrip() for number, error in cells]
    width = max(map(len, (title, *joined)))
    return [cell.ljust(width) for cell in (title.rjust(wide), *joined)]
