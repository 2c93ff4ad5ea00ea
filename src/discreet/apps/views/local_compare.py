"""What local privacy costs, on the terminal."""

from decimal import Decimal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.apps.views.bars import axis_of, bar
from discreet.local.compare import Rival, Trust, TrustComparison, compare
from discreet.model.exact import Number, short

_WIDTH = 16
_TRUST: dict[Trust, str] = {
    "local": "nobody",
    "shuffled": "the shuffler",
    "central": "a curator",
}
_NAMES = {
    "subset": "subset selection",
    "projective": "projective geometry",
    "hadamard": "Hadamard response",
    "direct": "randomized response",
    "unary": "unary encoding (OUE)",
    "hashing": "local hashing (OLH)",
}
_SHOWN_DAYS = (1, 3, 7, 14, 21, 30)
_HUMANITY = 8e9


def show_comparison(
    console: Console, *, people: int, options: int, epsilon: Number, delta: Number | None = None
) -> None:
    """The error of a share by whom people trust, the mechanisms side by side, and what repetition reveals."""
    found = compare(people=people, options=options, epsilon=epsilon, delta=delta)
    answers = "yes or no" if options == 2 else f"one of {options:,} options"
    lines = (
        f"[bold]{found.people:,}[/] people answer {answers} at ε = [bold]{short(found.epsilon)}[/].",
        _errors(found),
        f"[dim]One answer is replaced by another. Shuffled, there is a δ of {short(found.delta)} as well.[/]",
        f"For the error of a curator, a local survey needs {_many(found.people_for_central_error)}.",
        _rivals(found.rivals),
        "How often an attacker, undecided at first, guesses a yes or no right from one report a day:",
        _beliefs(found),
        "[dim]Our devices remember: their first report stands.[/]",
    )
    for line in lines:
        console.print(line, highlight=False)


def _errors(found: TrustComparison) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("privacy")
    table.add_column("people trust")
    table.add_column("ε a device", justify="right")
    table.add_column("error, 95 %", justify="right")
    table.add_column("")
    axis = axis_of(((row.error, 0.0, row.error) for row in found.errors), _WIDTH)
    for row in found.errors:
        spent = "–" if row.trust == "central" else short(row.epsilon)
        drawn = bar(axis, row.error, row.error, row.error) if axis else ""
        table.add_row(row.trust, _TRUST[row.trust], spent, _points(row.error), drawn)
    return table


def _rivals(rivals: tuple[Rival, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("mechanism")
    table.add_column("n·MSE", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("")
    least = min(rival.variance for rival in rivals)
    axis = axis_of(((min(rival.variance, 20 * least), 0.0, 0.0) for rival in rivals), _WIDTH)
    for rival in rivals:
        style = "bold" if rival.chosen else ""
        name = _NAMES[rival.name] + (" ← chosen" if rival.chosen else "")
        drawn = bar(axis, rival.variance, rival.variance, rival.variance) if axis else ""
        table.add_row(name, f"{rival.variance:,.4g}", f"{rival.size:,}", drawn, style=style)
    return table


def _beliefs(found: TrustComparison) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("reports", justify="right")
    table.add_column("randomised anew", justify="right")
    table.add_column("")
    table.add_column("remembered", justify="right")
    axis = axis_of([(1.0, 0.0, 1.0)], _WIDTH)
    for belief in found.beliefs:
        if belief.day in _SHOWN_DAYS:
            drawn = bar(axis, belief.fresh, belief.fresh, belief.fresh) if axis else ""
            table.add_row(str(belief.day), f"{belief.fresh:.1%}", drawn, f"{belief.remembered:.1%}")
    return table


def _points(error: float) -> str:
    """A share's error in percentage points, with two digits."""
    points = 100 * error
    if points > 100:
        return "> 100 points"
    return f"± {Decimal(f'{points:.2g}'):f} points"


def _many(people: float) -> str:
    if people > _HUMANITY:
        return "more people than there are"
    return f"{people:,.0f} people" if people < 1e7 else f"{people / 1e6:,.0f} million people"
