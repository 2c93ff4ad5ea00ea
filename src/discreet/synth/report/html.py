"""A quality report as a page: one file that needs nothing else, on light and on dark, without a script.

All text that comes from a policy is escaped.
"""

from collections.abc import Sequence
from html import escape

from discreet.synth.report.limits import columns_of
from discreet.synth.report.plots import bar, column, matrix, percent, scatter
from discreet.synth.report.quality import FOLLOWED, Quality, TableQuality
from discreet.synth.report.relations import ColumnRelation
from discreet.synth.report.style import STYLE

_AGAINST_OWN = (
    "Compared with the noisy counts that it was made from. No data was read for this report, and it cost no "
    "privacy."
)
_AGAINST_OTHERS = (
    "Compared with counts that were measured for this report, with noise, and paid from the budget. The "
    "synthetic table was not fitted to them."
)
_OF_OWN = (
    "The synthetic table was fitted to these very counts. A distance at the noise floor means that nothing "
    "was missed that they tell. The truth is about as far from them, and nearer to the synthetic table."
)
_OF_OTHERS = (
    "These counts have nothing to do with how the table was made, so a distance beyond the noise floor is an "
    "honest sign of an error of the synthetic table."
)
_REHEARSED = (
    "<p>A <b>rehearsal</b> makes a second synthetic table from the first one, in the same way and with as "
    "much noise. The second is about as far from the first as the first is from the truth, but for what was "
    "not measured at all: then the truth is further.</p>"
)
_MOST_WORST = 12
_MOST_RELATIONS = 8
_MOST_COLUMNS = 60


def html_page(quality: Quality, title: str = "") -> str:
    """The whole page. The title says what the table is of."""
    parts = [
        _head(quality, title),
        _cards(quality),
        _tables(quality),
        _columns(quality),
        _relations(quality),
        _limits(quality),
        _reading(quality),
    ]
    named = f" {escape(title)}" if title else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Quality of a synthetic table:{named}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _head(quality: Quality, title: str) -> str:
    missed, total = sum(not each.followed for each in quality.tables), len(quality.tables)
    things = "measurements" if any(each.question for each in quality.tables) else "tables"
    if missed:
        verdict = (
            f"It follows {total - missed:,} of {total:,} {things} as closely as noise lets anybody tell. "
            f"{'One is' if missed == 1 else f'{missed:,} are'} further off, and first in the list below."
        )
    else:
        verdict = f"It follows all {total:,} {things} as closely as noise lets anybody tell."
    named = f'<p class="over">{escape(title)}</p>' if title else ""
    return (
        f"<header>{named}<h1>How good is this synthetic table?</h1>"
        f'<p class="verdict {"part" if missed else "good"}">{verdict}</p>'
        f"<p>{len(quality.columns):,} columns, about {quality.people:,} people. "
        f"{_AGAINST_OTHERS if quality.independent else _AGAINST_OWN}</p></header>"
    )


def _cards(quality: Quality) -> str:
    orders = sorted({len(each.columns) for each in quality.tables})
    cards = "".join(_card(order, quality.of_order(order)) for order in orders)
    return f'<section class="cards">{cards}</section>'


def _card(order: int, tables: Sequence[TableQuality]) -> str:
    followed = sum(each.followed for each in tables)
    distance, noise = _mean([each.distance for each in tables]), _mean([each.floor for each in tables])
    told = f"{percent(distance)} from what was measured, where noise alone makes {percent(noise)}"
    expected = [each.expected for each in tables if each.expected is not None]
    if expected:
        big, words = (
            f"≈ {percent(_mean(expected))}",
            "of people in another cell than in truth, by a rehearsal.",
        )
        small = f"{followed:,} of {len(tables):,} followed: {told}."
    else:
        big, words = f'{followed:,} <span class="soft">of {len(tables):,}</span>', "followed as noise allows."
        small = f"On average {told}."
    return (
        f'<div class="card"><h3>Tables of {columns_of(order)}</h3><p class="big">{big}</p><p>{words}</p>'
        f'<p class="small">{small}</p></div>'
    )


def _tables(quality: Quality) -> str:
    worst = quality.worst[:_MOST_WORST]
    longest = max(max(each.distance, each.floor) for each in worst)
    rows = "".join(
        f"<tr><th scope='row'>{_names(each)}</th><td>{bar(each, longest)}</td>"
        f'<td class="number">{percent(each.distance)}</td>'
        f'<td class="number soft">{percent(each.floor)}</td></tr>'
        for each in worst
    )
    shown = f"The {len(worst)} that are furthest off" if len(quality.tables) > len(worst) else "All tables"
    return (
        '<section><h2>Table by table</h2><div class="two"><figure>'
        f"{scatter(quality.tables)}<figcaption>{_legend(quality.tables)} Each dot is a table. On the line it "
        "is as far from what was measured as noise alone makes it. In the shaded part, up to "
        f"{FOLLOWED:g} times that, nothing better can be told; small tables may be further off by chance. "
        "Rings are tables that are not followed.</figcaption></figure>"
        f'<div class="scroll"><h3>{shown}</h3><table><thead><tr><th scope="col">columns</th><td></td>'
        '<th scope="col" class="number">distance</th><th scope="col" class="number">noise</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        '<p class="small">The bar is the distance, the tick the noise floor.</p></div></div></section>'
    )


def _legend(tables: Sequence[TableQuality]) -> str:
    orders = sorted({min(len(each.columns), 3) for each in tables})
    words = {1: "one column", 2: "two columns", 3: "three columns or more"}
    keys = " ".join(
        '<span class="key"><svg width="12" height="12" aria-hidden="true">'
        f'<circle class="order{order}" cx="6" cy="6" r="5"/></svg> {words[order]}</span>'
        for order in orders
    )
    return f"<div>{keys}</div>"


def _columns(quality: Quality) -> str:
    if not quality.columns:
        return ""
    plots = "".join(
        f'<figure class="card"><h3>{escape(each.name)}</h3>{column(each)}</figure>'
        for each in quality.columns[:_MOST_COLUMNS]
    )
    more = len(quality.columns) - _MOST_COLUMNS
    rest = f"<p>… and {more:,} more columns.</p>" if more > 0 else ""
    return (
        "<section><h2>Column by column</h2><p>Bars are the synthetic table. Dots are what was measured; the "
        'truth is within their whiskers 19 times out of 20.</p><div class="many">'
        f"{plots}</div>{rest}</section>"
    )


def _relations(quality: Quality) -> str:
    if not quality.relations:
        return ""
    names = list(dict.fromkeys(name for each in quality.relations for name in each.columns))
    return (
        "<section><h2>Which columns have to do with each other</h2>"
        "<p>From 0, nothing, to 1, one tells the other (Cramér’s V). Below the diagonal is the synthetic "
        "table, above it what was measured, without what noise adds. The two halves should mirror each "
        'other; empty squares were not measured, or are hidden by noise.</p><div class="two">'
        f'<figure class="scroll">{matrix(names, quality.relations)}</figure>'
        f"<div>{_differing(quality.relations)}</div></div></section>"
    )


def _differing(relations: Sequence[ColumnRelation]) -> str:
    def gap(each: ColumnRelation) -> float:
        return abs(each.synthetic - (each.measured or 0.0)) - 2 * (each.error or 0.0)

    told = [each for each in relations if each.measured is not None]
    off = sorted((each for each in told if gap(each) > 0.02), key=gap, reverse=True)[:_MOST_RELATIONS]
    if not off:
        return (
            f"<h3>No pair differs</h3><p>In all {len(told):,} pairs that could be measured, the synthetic "
            "table is within the error of the measurement.</p>"
        )
    rows = "".join(
        f'<tr><th scope="row">{escape(" × ".join(each.columns))}</th>'
        f'<td class="number">{each.synthetic:.2f}</td>'
        f'<td class="number">{each.measured:.2f} ± {2 * (each.error or 0.0):.2f}</td></tr>'
        for each in off
    )
    return (
        '<h3>Pairs that differ most</h3><table><thead><tr><th scope="col">columns</th>'
        '<th scope="col" class="number">synthetic</th>'
        f'<th scope="col" class="number">measured</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _limits(quality: Quality) -> str:
    items = "".join(f"<li>{escape(each)}</li>" for each in quality.not_preserved)
    return f'<section class="card limits"><h2>What is not preserved</h2><ul>{items}</ul></section>'


def _reading(quality: Quality) -> str:
    rehearsed = any(each.expected is not None for each in quality.tables)
    return (
        "<section><h2>How to read this</h2><p>It was counted how many people are in each cell of a table, "
        "and random noise was added, so that no person can be told from the counts. The <b>distance</b> is "
        "the share of people who would have to be in another cell to make the synthetic table agree with "
        "those noisy counts. The <b>noise floor</b> is the distance that a perfect copy of the data would "
        f"show on average, from noise alone.</p><p>{_OF_OTHERS if quality.independent else _OF_OWN}</p>"
        f"{_REHEARSED if rehearsed else ''}</section>"
    )


def _names(table: TableQuality) -> str:
    asked = '<span class="soft">a question about</span> ' if table.question else ""
    return asked + escape(" × ".join(table.columns))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
