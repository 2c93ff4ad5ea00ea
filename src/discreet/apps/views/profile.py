"""A profile of a table on the screen: what limits would leave out, and what noise would cost."""

from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from discreet.answers.json_text import charge_json
from discreet.answers.wording import charge_text, number_text, visible_text
from discreet.apps.views.escape import write_json
from discreet.bounds.calibrate import charge_for
from discreet.curator import Curator
from discreet.model.exact import Number
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import additive
from discreet.profile.limits import LimitForecast, forecast
from discreet.profile.table_profile import NoisyBins, TableProfile

_CONFIDENCE = Fraction(95, 100)
_PART_OF_BUDGET = Fraction(1, 100)
_LIMITS = [2**i for i in range(21)]
_NOTHING = 0.001
_ODD = ("below its bounds", "above its bounds", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """One limit: what it leaves out, and the error that noise makes of a count."""

    forecast: LimitForecast
    noise: float


def take_profile(curator: Curator, table: str | None, *, epsilon: Number) -> list[TableProfile]:
    """Of one table, or of all tables about people in which a person can have several rows."""
    names = [
        name
        for name, each in curator.dataset.tables.items()
        if isinstance(each, PrivateTable) and not each.one_row_a_person
    ]
    return [curator.profile(name, epsilon=epsilon) for name in ([table] if table else names)]


def show_profile(curator: Curator, found: TableProfile, output: str) -> None:
    """All that follows from a profile; the rest of the policy is public."""
    if output == "json":
        write_json(_facts(curator, found))
        return
    console = Console(highlight=False, markup=False)
    off = 2 * found.rows.deviation * len(found.rows.people) ** 0.5
    people = number_text(found.people, off)
    console.print(f"{visible_text(found.table)}: {people} ± {number_text(off, off)} people.")
    price = charge_text(charge_for(curator.dataset, curator.dataset.epsilon * _PART_OF_BUDGET))
    _print_limits(console, "max_rows", lines_of(found.rows, curator.dataset), f"noise of a count at {price}")
    for name, bins in found.keys.items():
        title = f"max_groups, people by {visible_text(name)}"
        _print_limits(console, title, lines_of(bins, curator.dataset), f"noise at {price}")
    for name, column in found.values.items():
        for place, odd in enumerate(_ODD):
            share, reach = column.share(place)
            if share > reach:
                console.print(
                    f"{share:.0%} ± {reach:.0%} of people have a {visible_text(name)} that is {odd}."
                )
    console.print(f"Cost {charge_text(found.loss)}, once. Questions use the limits that are best for them,")
    console.print("up to those of the policy. Raise these if much is left out.")


def lines_of(bins: NoisyBins, dataset: Dataset) -> list[LimitLine]:
    """Limits from one up to the first that leaves nothing out."""
    charge = charge_for(dataset, dataset.epsilon * _PART_OF_BUDGET)
    lines: list[LimitLine] = []
    for limit in _LIMITS:
        noise = additive(charge, Sensitivity.scalar(limit, dataset.neighbours))
        lines.append(LimitLine(forecast=forecast(bins, limit), noise=float(noise.interval(_CONFIDENCE).high)))
        if lines[-1].forecast.share < _NOTHING:
            break
    return lines


def _print_limits(console: Console, title: str, lines: list[LimitLine], noise: str) -> None:
    table = Table(box=None, pad_edge=False)
    for name in (title, "left out", noise):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            f"{line.forecast.limit:,}",
            f"{line.forecast.share:.1%}",
            f"± {number_text(line.noise, line.noise)}",
        )
    console.print(table)
    console.print()


def _facts(curator: Curator, found: TableProfile) -> dict[str, object]:
    def limits(bins: NoisyBins) -> list[dict[str, float]]:
        return [
            {"limit": line.forecast.limit, "left_out": line.forecast.share, "noise": line.noise}
            for line in lines_of(bins, curator.dataset)
        ]

    return {
        "table": found.table,
        "people": found.people,
        "max_rows": limits(found.rows),
        "max_groups": {name: limits(bins) for name, bins in found.keys.items()},
        "values": {
            name: {odd: column.share(place)[0] for place, odd in enumerate(("below", "above", "missing"))}
            for name, column in found.values.items()
        },
        "charged": charge_json(found.loss),
    }
