"""The pictures of a quality report, as SVG. Colours are the page's own, to read on light and on dark."""

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10, sqrt

from discreet.answers.svg import Scale, decades, picture
from discreet.answers.wording import cut_text
from discreet.synth.report.quality import FOLLOWED, ColumnQuality, TableQuality, joined
from discreet.synth.report.relations import ColumnRelation

_FEW = 9  # values that are shown by name
_MOST_BARS = 48
_LONGEST = 17  # letters of a value


def percent(share: float) -> str:
    """With two significant digits."""
    if share > 1:
        return "over 100 %"
    if share <= 0:
        return "0 %"
    places = max(0, 1 - floor(log10(100 * share)))
    return f"{100 * share:.{min(places, 4)}f} %"


def scatter(tables: Sequence[TableQuality]) -> str:
    """Distance over noise floor, both as logarithms; on the line, it is what noise alone makes."""
    width, height, left, bottom, top = 520, 400, 64, 46, 12
    ends = [each.floor for each in tables] + [max(each.distance, each.floor / 30) for each in tables]
    low, high = log10(min(ends)) - 0.15, log10(max(ends)) + 0.15
    across = Scale(low=low, high=high, start=left, end=width - 12)
    up = Scale(low=low, high=high, start=height - bottom, end=top)

    def x(value: float) -> float:
        return across.at(log10(value))

    def y(value: float) -> float:
        return up.at(log10(max(value, 10**low)))

    lines = [
        f'<path d="M{x(t)} {top}V{height - bottom}M{left} {y(t)}H{width - 12}" class="grid"/>'
        f'<text x="{x(t)}" y="{height - bottom + 16}" text-anchor="middle">{100 * t:g} %</text>'
        f'<text x="{left - 7}" y="{y(t) + 4}" text-anchor="end">{100 * t:g} %</text>'
        for t in decades(low, high)
    ]
    first, last = 10**low, 10**high
    band = last / FOLLOWED
    good = (
        f'<path class="good" d="M{x(first)} {y(first * FOLLOWED)}L{x(band)} {y(last)}H{x(last)}V{y(first)}'
        f'H{x(first)}Z"/><path class="even" d="M{x(first)} {y(first)}L{x(last)} {y(last)}"/>'
    )
    dots = "".join(
        f'<circle class="{_kind(each)}" cx="{x(each.floor)}" cy="{y(each.distance)}" r="4.5">'
        f"<title>{escape(_told(each))}</title></circle>"
        for each in sorted(tables, key=lambda each: (not each.followed, -len(each.columns)))
    )
    middle = (left + width) / 2
    words = (
        f'<text x="{middle}" y="{height - 6}" text-anchor="middle" class="axis">what noise alone makes</text>'
        f'<text transform="translate(13 {height / 2}) rotate(-90)" text-anchor="middle" class="axis">'
        f"distance from what was measured</text>"
    )
    inside = good + "".join(lines) + dots + words
    return picture(width, height, "Distance of every table over its noise floor", inside)


def _kind(table: TableQuality) -> str:
    return f"order{min(len(table.columns), 3)}" + ("" if table.followed else " ring")


def bar(table: TableQuality, longest: float) -> str:
    """The distance as a bar, the noise floor as a tick."""
    width, height = 260, 20
    x = Scale(low=0, high=longest, end=width - 4).at
    kind = "followed" if table.followed else "missed"
    return picture(
        width,
        height,
        _told(table),
        f'<rect class="{kind}" x="0" y="4" width="{max(x(table.distance), 1)}" height="12" rx="2"/>'
        f'<path class="tick" d="M{x(table.floor)} 0V20"/>',
    )


def column(told: ColumnQuality) -> str:
    """Bars are the synthetic table; dots are what was measured, with whiskers of two standard deviations."""
    if len(told.values) <= _FEW:
        return _few(told)
    return _many(_thinned(told))


def _few(told: ColumnQuality) -> str:
    """Horizontal bars, each with its name."""
    width, row = 330, 22
    left = 14 + 7 * max(len(_short(value)) for value in told.values)
    longest = max([*told.synthetic, *(each + 2 * told.error for each in told.measured)])
    x = Scale(low=0, high=longest, start=left, end=width - 56).inside
    rows = []
    for i, (value, drawn, measured) in enumerate(_triples(told)):
        middle = row * i + row / 2 + 2
        low, high = x(measured - 2 * told.error), x(measured + 2 * told.error)
        rows.append(
            f'<text x="{left - 8}" y="{middle + 4}" text-anchor="end" class="value">{escape(_short(value))}'
            f"<title>{escape(value)}</title></text>"
            f'<rect class="bar" x="{left}" y="{middle - 7}" width="{max(x(drawn) - left, 0.5):.1f}" '
            f'height="14" rx="2"/><path class="whisker" d="M{low} {middle}H{high}"/>'
            f'<circle class="dot" cx="{x(measured)}" cy="{middle}" r="3"/>'
            f'<text x="{width}" y="{middle + 4}" text-anchor="end">{percent(drawn)}</text>'
        )
    return picture(width, row * len(told.values) + 4, f"{told.name}: shares of its values", "".join(rows))


def _many(told: ColumnQuality) -> str:
    """Vertical bars, with a name at each end and in the middle."""
    width, height, bottom, top = 330, 170, 22, 8
    tallest = max([*told.synthetic, *(each + 2 * told.error for each in told.measured)])
    step = width / len(told.values)
    y = Scale(low=0, high=tallest, start=height - bottom, end=top).inside
    parts = [f'<path class="grid" d="M0 {y(0)}H{width}"/>']
    for i, (value, drawn, measured) in enumerate(_triples(told)):
        middle = round((i + 0.5) * step, 1)
        low, high = y(measured - 2 * told.error), y(measured + 2 * told.error)
        parts.append(
            f'<rect class="bar" x="{(i + 0.1) * step:.1f}" y="{y(drawn)}" width="{step * 0.8:.1f}" '
            f'height="{y(0) - y(drawn):.1f}"><title>{escape(value)}: {percent(drawn)}</title></rect>'
            f'<path class="whisker" d="M{middle} {low}V{high}"/>'
            f'<circle class="dot" cx="{middle}" cy="{y(measured)}" r="{2.2 if step > 7 else 1.6}"/>'
        )
    ends = ((0, 0, "start"), (len(told.values) // 2, width / 2, "middle"), (-1, width, "end"))
    parts += [
        f'<text x="{at}" y="{height - 6}" text-anchor="{anchor}">{escape(_short(told.values[i]))}</text>'
        for i, at, anchor in ends
    ]
    return picture(width, height, f"{told.name}: shares of its values", "".join(parts))


def _triples(told: ColumnQuality) -> Iterator[tuple[str, float, float]]:
    return zip(told.values, told.synthetic, told.measured, strict=True)


def _thinned(told: ColumnQuality) -> ColumnQuality:
    """Neighbouring values together, so that there are no more bars than can be seen."""
    each = -(-len(told.values) // _MOST_BARS)
    if each == 1:
        return told
    starts = range(0, len(told.values), each)
    parts = [slice(start, start + each) for start in starts]
    return ColumnQuality(
        name=told.name,
        values=tuple(joined(told.values[part]) for part in parts),
        synthetic=tuple(sum(told.synthetic[part]) for part in parts),
        measured=tuple(sum(told.measured[part]) for part in parts),
        error=told.error * sqrt(each),
    )


def matrix(names: Sequence[str], relations: Sequence[ColumnRelation]) -> str:
    """Below the diagonal the synthetic table, above it what was measured; darker where there is more."""
    count = len(names)
    cell = 46 if count <= 10 else max(12, 460 // count)
    left, top = 130, 8
    width, height = left + cell * count + 110, top + cell * count + 96
    place = {name: i for i, name in enumerate(names)}
    parts = []
    for each in relations:
        i, j = place[each.columns[0]], place[each.columns[1]]
        told = f"{each.columns[0]} and {each.columns[1]}"
        parts.append(_square(left + i * cell, top + j * cell, cell, each.synthetic, f"{told}, synthetic"))
        parts.append(_square(left + j * cell, top + i * cell, cell, each.measured, f"{told}, measured"))
    size = 'font-size="9"' if cell < 16 else ""
    for name, i in place.items():
        middle = (i + 0.5) * cell
        shown = escape(_short(name))
        parts.append(
            f'<rect class="self" x="{left + i * cell}" y="{top + i * cell}" width="{cell - 2}" '
            f'height="{cell - 2}" rx="3"/>'
            f'<text x="{left - 8}" y="{top + middle + 4}" text-anchor="end" {size}>{shown}</text>'
            f'<text transform="translate({left + middle - 3} {top + count * cell + 12}) rotate(35)" {size}>'
            f"{shown}</text>"
        )
    return picture(width, height, "How much each two columns have to do with each other", "".join(parts))


def _square(x: int, y: int, cell: int, value: float | None, told: str) -> str:
    side = cell - 2
    if value is None:
        return (
            f'<rect class="hidden" x="{x}" y="{y}" width="{side}" height="{side}" rx="3">'
            f"<title>{escape(told)}: not known</title></rect>"
        )
    number = ""
    if cell >= 30:
        number = (
            f'<text class="{"on" if value > 0.55 else "off"}" x="{x + side / 2}" y="{y + side / 2 + 4}" '
            f'text-anchor="middle">{value:.2f}</text>'
        )
    return (
        f'<rect class="strength" fill-opacity="{0.06 + 0.94 * value:.3f}" x="{x}" y="{y}" width="{side}" '
        f'height="{side}" rx="3"><title>{escape(told)}: {value:.2f}</title></rect>{number}'
    )


def _told(table: TableQuality) -> str:
    what = " × ".join(table.columns)
    return f"{what}: {percent(table.distance)} from what was measured, noise alone {percent(table.floor)}"


def _short(text: str) -> str:
    return cut_text(text, _LONGEST)
