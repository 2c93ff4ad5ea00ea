"""Small tables for notebooks: whatever is shown beside answers. All text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from discreet.answers.wording import charge_text, key_text, percent
from discreet.model.privacy import Spend, amount_of

_CELL = "padding:0 .9em 0 0;text-align:left;vertical-align:top;border:0;background:none"


def html_block(*parts: str) -> str:
    return f'<div style="line-height:1.4">{"".join(parts)}</div>'


def html_line(text: str, *, strong: bool = False) -> str:
    told = escape(key_text(text))
    return f'<p style="margin:.3em 0">{f"<b>{told}</b>" if strong else told}</p>'


def html_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing if it has no rows."""
    lines = [_row(cells, "td") for cells in rows]
    if not lines:
        return ""
    head = f"<thead>{_row(headings, 'th')}</thead>" if headings else ""
    return f'<table style="border-collapse:collapse;border:0">{head}<tbody>{"".join(lines)}</tbody></table>'


def budget_html(standing: str, analysts: Mapping[str, Spend], budget: Spend) -> str:
    """Where a budget stands, and what each analyst has spent of it."""
    spent = sorted(analysts.items(), key=lambda pair: -amount_of(pair[1]))
    rows = [(name, charge_text(loss, budget), percent(loss, budget)) for name, loss in spent]
    return html_block(
        html_line(standing, strong=True), html_rows(("analyst", "spent", "of the budget"), rows)
    )


def _row(cells: Sequence[str], kind: str) -> str:
    return (
        "<tr>"
        + "".join(
            f'<{kind} style="{_CELL}">{escape(key_text(cell) if cell else "")}</{kind}>' for cell in cells
        )
        + "</tr>"
    )
