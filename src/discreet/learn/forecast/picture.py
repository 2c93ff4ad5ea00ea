"""Expected scores as a picture and as a table.

In a notebook all colours but two are the page's own, so that it reads on light and on dark. As a file the
picture has its own, for either.
"""

from math import log10
from typing import TYPE_CHECKING

from discreet.answers.svg import Scale, as_file, decades, picture, ticks

if TYPE_CHECKING:
    from discreet.learn.forecast.learning_curve import Curve

_WIDTH, _HEIGHT = 560, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 118, 14, 46
_FEW = 8  # values of ε that are named one by one
_SCORE, _EXACT = "#3b82f6", "#0f9d76"

_FILE_STYLE = """<style>
svg{font:12px system-ui,"Liberation Sans",sans-serif;color:#1b2033;background:#fff}
@media (prefers-color-scheme:dark){svg{color:#e7eaf3;background:#1a1f2c}}
</style>"""
_PAGE_STYLE = """<style>
.discreet-curve{max-width:100%}
.discreet-curve svg{display:block;max-width:100%;height:auto;font-size:12px}
.discreet-curve p{margin:.4em 0 0;opacity:.8;font-size:.92em}
</style>"""


def text_lines(curve: "Curve") -> list[str]:
    """A line for each ε: the mean score, and the worst and best."""
    lines = [f"{'ε':>8}  {curve.score:>8}  worst … best"]
    lines += [
        f"{each.epsilon:8g}  {_number(each.mean):>8}  {_number(each.worst)} … {_number(each.best)}"
        for each in curve
    ]
    lines.append(f"{'no noise':>8}  {_number(curve.without_noise):>8}")
    lines.append(f"{'guessing':>8}  {_number(curve.guessing):>8}")
    return [*lines, _caption(curve)]


def html_figure(curve: "Curve") -> str:
    """For a notebook."""
    return (
        f'<div class="discreet-curve">{_PAGE_STYLE}{_drawn(curve, "")}'
        f"<p>{_caption(curve)}{' The band is from the worst to the best.' * (curve.fits > 1)}</p></div>"
    )


def standalone_svg(curve: "Curve") -> str:
    """For a file."""
    return as_file(_drawn(curve, _FILE_STYLE))


def _caption(curve: "Curve") -> str:
    several = f"Mean of {curve.fits} fits" if curve.fits > 1 else "One fit"
    return f"{several} on {curve.rows:,} rows for each ε, judged on others. Nothing was spent."


def _drawn(curve: "Curve", style: str) -> str:
    axes = _Axes(curve)
    label = f"Expected {curve.score} by ε: " + ", ".join(
        f"{_number(each.mean)} at {each.epsilon:g}" for each in curve
    )
    inside = style + axes.grid() + axes.levels() + axes.scores() + axes.words()
    return picture(_WIDTH, _HEIGHT, label, inside)


class _Axes:
    """ε to the right, on a logarithmic scale; the score upwards."""

    def __init__(self, curve: "Curve") -> None:
        self.curve = curve
        logs = [log10(each.epsilon) for each in curve]
        self.across = Scale(low=min(logs) - 0.1, high=max(logs) + 0.1, start=_LEFT, end=_WIDTH - _RIGHT)
        shown = [curve.without_noise, curve.guessing, *(each.mean for each in curve)]
        ends = [end for each in curve for end in (each.worst, each.best)]
        least = min(shown) - 0.25 * (max(shown) - min(shown))  # one fit that fails does not flatten the rest
        low, high = max(min(shown + ends), least), max(shown + ends)
        spread = max(high - low, 0.02)
        low, high = low - 0.06 * spread, high + 0.06 * spread
        self.up = Scale(low=low, high=high, start=_HEIGHT - _BOTTOM, end=_TOP)

    def x(self, epsilon: float) -> float:
        return self.across.at(log10(epsilon))

    def y(self, score: float) -> float:
        return self.up.inside(score)

    def grid(self) -> str:
        faint = 'stroke="currentColor" stroke-opacity=".16"'
        lines = []
        for tick in ticks(self.up.low, self.up.high, steps=7):
            y = self.y(tick)
            lines.append(f'<path d="M{_LEFT} {y}H{_WIDTH - _RIGHT}" {faint}/>')
            lines.append(_text(_LEFT - 7, y + 4, f"{tick:g}".replace("-", "−"), "end", ".75"))
        tried = [each.epsilon for each in self.curve]
        for tick in tried if len(tried) <= _FEW else decades(self.across.low, self.across.high):
            x = self.x(tick)
            lines.append(f'<path d="M{x} {_TOP}V{_HEIGHT - _BOTTOM}" {faint}/>')
            lines.append(_text(x, _HEIGHT - _BOTTOM + 17, f"{tick:g}", "middle", ".75"))
        return "".join(lines)

    def levels(self) -> str:
        """Two lines to compare with. Their names are apart even where the lines are not."""
        exact, guess = self.y(self.curve.without_noise), self.y(self.curve.guessing)
        end = _WIDTH - _RIGHT
        below = max(guess, exact + 30)
        return (
            f'<path d="M{_LEFT} {exact}H{end}" stroke="{_EXACT}" stroke-width="1.5" stroke-dasharray="6 4"/>'
            f'<path d="M{_LEFT} {guess}H{end}" stroke="currentColor" stroke-opacity=".6" '
            f'stroke-width="1.5" stroke-dasharray="2 4"/>'
            + _text(end + 8, exact - 3, "without noise", "start", "1", _EXACT)
            + _text(end + 8, exact + 12, _number(self.curve.without_noise), "start", "1", _EXACT)
            + _text(end + 8, below - 3, "guessing", "start", ".8")
            + _text(end + 8, below + 12, _number(self.curve.guessing), "start", ".8")
        )

    def scores(self) -> str:
        up = " ".join(f"{self.x(each.epsilon)},{self.y(each.best)}" for each in self.curve)
        down = " ".join(f"{self.x(each.epsilon)},{self.y(each.worst)}" for each in reversed(self.curve))
        line = " ".join(f"{self.x(each.epsilon)},{self.y(each.mean)}" for each in self.curve)
        dots = "".join(
            f'<path d="M{self.x(each.epsilon)} {self.y(each.worst)}V{self.y(each.best)}" stroke="{_SCORE}"/>'
            f'<circle cx="{self.x(each.epsilon)}" cy="{self.y(each.mean)}" r="4" fill="{_SCORE}">'
            f"<title>ε = {each.epsilon:g}: {_number(each.mean)}, from {_number(each.worst)} to "
            f"{_number(each.best)}</title></circle>"
            for each in self.curve
        )
        return (
            f'<polygon points="{up} {down}" fill="{_SCORE}" fill-opacity=".18"/>'
            f'<polyline points="{line}" fill="none" stroke="{_SCORE}" stroke-width="2"/>{dots}'
        )

    def words(self) -> str:
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        upright = f'transform="translate(13 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)"'
        return (
            _text(middle, _HEIGHT - 8, "ε of one fit", "middle", "1")
            + f'<text {upright} text-anchor="middle" fill="currentColor">{self.curve.score}</text>'
        )


def _text(x: float, y: float, words: str, anchor: str, opacity: str, colour: str = "currentColor") -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" '
        f'fill-opacity="{opacity}">{words}</text>'
    )


def _number(score: float) -> str:
    """Three digits after the point; fewer for a score that is far off."""
    shown = f"{score:.3f}" if abs(score) < 100 else f"{score:.3g}"
    return shown.replace("-", "−")
