"""What follows from a profile, for who decides about limits: what each leaves out, and what noise costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.json_text import charge_json
from discreet.bounds.calibrate import charge_for
from discreet.model.policy import Dataset
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import additive
from discreet.profile.limits import LimitForecast, forecast
from discreet.profile.table_profile import NoisyBins, TableProfile

PART_OF_BUDGET = Fraction(1, 100)
"""The noise is that of a question at such a part of the budget."""

_CONFIDENCE = Fraction(95, 100)
_LIMITS = [2**i for i in range(21)]
_NOTHING = 0.001
_ODD = {"below": "below its bounds", "above": "above its bounds", "missing": "missing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """One limit: what it leaves out, and the error that noise makes of a count."""

    forecast: LimitForecast
    noise: float


def lines_of(bins: NoisyBins, dataset: Dataset) -> list[LimitLine]:
    """Limits from one up to the first that leaves nothing out."""
    charge = charge_for(dataset, dataset.epsilon * PART_OF_BUDGET)
    lines: list[LimitLine] = []
    for limit in _LIMITS:
        noise = additive(charge, Sensitivity.scalar(limit, dataset.neighbours))
        lines.append(LimitLine(forecast=forecast(bins, limit), noise=float(noise.interval(_CONFIDENCE).high)))
        if lines[-1].forecast.share < _NOTHING:
            break
    return lines


def people_found(profile: TableProfile) -> tuple[float, float]:
    """How many people there are, and how far that may be off."""
    return profile.people, 2 * profile.rows.deviation * len(profile.rows.people) ** 0.5


def odd_values(profile: TableProfile) -> Iterator[tuple[str, str, float, float]]:
    """Columns, what is odd about values of them, the share of people with such, and how far it may be off."""
    for name, column in profile.values.items():
        for place, odd in enumerate(_ODD.values()):
            share, reach = column.share(place)
            if share > reach:
                yield name, odd, share, reach


def profile_json(profile: TableProfile, dataset: Dataset) -> dict[str, object]:
    def limits(bins: NoisyBins) -> list[dict[str, float]]:
        return [
            {"limit": line.forecast.limit, "left_out": line.forecast.share, "noise": line.noise}
            for line in lines_of(bins, dataset)
        ]

    return {
        "table": profile.table,
        "people": profile.people,
        "max_rows": limits(profile.rows),
        "max_groups": {name: limits(bins) for name, bins in profile.keys.items()},
        "values": {
            name: {odd: column.share(place)[0] for place, odd in enumerate(_ODD)}
            for name, column in profile.values.items()
        },
        "charged": charge_json(profile.loss),
    }
