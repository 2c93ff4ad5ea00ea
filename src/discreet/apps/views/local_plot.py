"""Estimates of a survey as one SVG file that needs nothing else: a bar for each option, with its interval."""

from collections.abc import Iterator, Sequence
from html import escape

from discreet.answers.svg import clamped, titled_file
from discreet.answers.wording import cut_text
from discreet.local.collector.estimates_json import largest_options, option_name
from discreet.local.estimate import Mean, Shares, SurveyEstimate

_LEFT, _WIDTH, _ROW = 180, 420, 24
_LONGEST = 24  # letters of an option


def estimates_as_svg(title: str, found: Sequence[SurveyEstimate]) -> str:
    """All questions one below the other; a mean stands on the scale between its bounds."""
    lines, y = [], 48
    for estimated in found:
        heading = f"{estimated.question.text} ({estimated.reports:,} reports)"
        lines.append(f'<text x="16" y="{y + 16}" font-weight="bold">{escape(heading)}</text>')
        y += _ROW + 4
        for line in _rows(estimated):
            lines.append(f'<g transform="translate(0 {y})">{line}</g>')
            y += _ROW
        y += 12
    return titled_file(_LEFT + _WIDTH + 130, y + 8, title, lines)


def _rows(found: SurveyEstimate) -> Iterator[str]:
    if isinstance(found, Mean):
        span = found.question.upper - found.question.lower
        place = (found.mean - found.question.lower) / span
        yield _row("mean", place, found.error / span, f"{found.mean:.4g} ± {found.error:.2g}")
        return
    for option in largest_options(found):
        share, error = float(found.shares[option]), float(found.errors[option])
        name = option_name(found.question, option)
        yield _row(name, share, error, f"{100 * share:.1f} ± {100 * error:.1f} %")
    if len(found.shares) > len(largest_options(found)):
        yield f'<text x="16" y="16" fill="#6e7781">{_others(found):,} others</text>'


def _others(found: Shares) -> int:
    return len(found.shares) - len(largest_options(found))


def _row(name: str, value: float, error: float, text: str) -> str:
    """The bar is the value, the line its interval; both end at the edges of the scale."""
    end, low, high = (_LEFT + _WIDTH * clamped(x) for x in (value, value - error, value + error))
    return (
        f'<text x="{_LEFT - 8}" y="16" text-anchor="end">{escape(cut_text(name, _LONGEST))}</text>'
        f'<rect x="{_LEFT}" y="3" width="{end - _LEFT:.2f}" height="16" fill="#1f6feb" opacity="0.6"/>'
        f'<path d="M{low:.2f} 11H{high:.2f}M{low:.2f} 6v10M{high:.2f} 6v10" stroke="#24292f" fill="none"/>'
        f'<text x="{_LEFT + _WIDTH + 8}" y="16">{escape(text)}</text>'
    )
