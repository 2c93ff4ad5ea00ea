"""What a limit would leave out and what its noise would cost: which one is best for a question.

All of it follows from a profile, which was paid for, and from the question. So it is post-processing: two
neighbours with the same profile have the same plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from discreet.aggregates.vectors import Histogram, WeightedSum
from discreet.aggregates.weights import Unit, Weight
from discreet.arrays import Floats
from discreet.bounds.calibrate import Plan
from discreet.model.expression import Field, title
from discreet.model.policy import Dataset, PrivateTable
from discreet.model.privacy import ConcentratedLoss
from discreet.model.query import Filter, Lookup, Query, Relation, Scan, group_count
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.profile.profile_plan import EDGES
from discreet.profile.table_profile import NoisyBins, TableProfile

OTHER_LIMITS = (
    "The limits are the best ones by the profile. If a new profile finds others, the same question is charged"
    " anew."
)
_PRIVATE_GROUPS = 16
"""How many groups a question with private keys has, as far as anybody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitForecast:
    """What one limit does, in rows or in pairs of person and group."""

    limit: int
    left_out: float
    """Over all groups."""
    share: float
    """Of everything there is."""


def forecast(bins: NoisyBins, limit: int) -> LimitForecast:
    """What is left out of people who have more than this."""
    people, sizes = bins.cleaned(), _sizes(len(bins.people))
    everything = float(people @ sizes)
    lost = float(people @ np.maximum(sizes - limit, 0.0))
    return LimitForecast(limit=limit, left_out=lost, share=lost / everything if everything else 0.0)


def candidates(most: int) -> list[int]:
    """The limits that are tried: no more than the owner allows."""
    return [*(edge for edge in EDGES if edge < most), most]


def best_limit(bins: NoisyBins, most: int, noise: float, groups: int, power: float = 1.0) -> int:
    """The limit with the least error: noise that grows with it, to a power, and what it leaves out.

    `noise` is that of one group at the largest limit. What is left out is spread over groups unevenly, which
    nobody knows: the root of their number is between all in one group and the same in each.
    A profile that was too cheap to tell anything leaves the limit as it is.
    """
    if not bins.tells:
        return most

    def error(limit: int) -> float:
        return float(noise * (limit / most) ** power + forecast(bins, limit).left_out / groups**0.5)

    return min(candidates(most), key=error)


def with_best_limits(plan: Plan, dataset: Dataset, profiles: Mapping[str, TableProfile]) -> Dataset:
    """The policy with the limits that are best for a question; as it is where nothing is known.

    Only for questions about one table: in joins, limits also say who is joined at all.
    """
    scan = _only_scan(plan.bounded.query.source)
    profile = None if scan is None else profiles.get(scan.table.name)
    if scan is None or profile is None or scan.one_row_a_person:
        return dataset
    table = replace(scan.table, max_rows=_rows(plan, scan, profile), max_groups=_groups(plan, scan, profile))
    if (table.max_rows, table.max_groups) == (scan.table.max_rows, scan.table.max_groups):
        return dataset
    table = replace(table, limits_are_facts=False)  # a smaller limit is a choice
    return replace(dataset, tables={**dataset.tables, table.name: table})


def has_other_limits(plan: Plan, dataset: Dataset) -> bool:
    """Whether a profile chose limits for this plan that are not those of the policy."""
    scan = _only_scan(plan.bounded.query.source)
    table = None if scan is None else dataset.tables.get(scan.table.name)
    if scan is None or not isinstance(table, PrivateTable):
        return False
    return (scan.table.max_rows, scan.table.max_groups) != (table.max_rows, table.max_groups)


def forecast_notes(plan: Plan, profiles: Mapping[str, TableProfile]) -> tuple[str, ...]:
    """What the limits of a plan will leave out, as far as a profile tells."""
    scan = _only_scan(plan.bounded.query.source)
    profile = None if scan is None else profiles.get(scan.table.name)
    if scan is None or profile is None:
        return ()
    found = []
    if _noise(plan, Unit.ROWS) is not None:
        found.append((forecast(profile.rows, scan.max_rows), "all rows", "max_rows"))
    names = _key_names(plan.bounded.query)
    if _noise(plan, Unit.PEOPLE) is not None and len(names) == 1 and names[0] in profile.keys:
        found.append(
            (forecast(profile.keys[names[0]], scan.max_groups), f"people by {names[0]}", "max_groups")
        )
    return tuple(
        f"About {each.share:.1%} of {what} are beyond {limit} = {each.limit:,}, by the profile."
        for each, what, limit in found
    )


def _rows(plan: Plan, scan: Scan, profile: TableProfile) -> int:
    noise = _noise(plan, Unit.ROWS)
    if noise is None:
        return scan.table.max_rows
    return best_limit(profile.rows, scan.table.max_rows, noise, _group_count(plan.bounded.query))


def _groups(plan: Plan, scan: Scan, profile: TableProfile) -> int:
    """If people are counted by one column whose values are public."""
    query, noise = plan.bounded.query, _noise(plan, Unit.PEOPLE)
    names = _key_names(query)
    if noise is None or len(names) != 1 or len(query.keys) != 1 or names[0] not in profile.keys:
        return scan.table.max_groups
    power = 0.5 if isinstance(plan.loss, ConcentratedLoss) else 1.0  # Gaussian noise grows with √groups
    return best_limit(profile.keys[names[0]], scan.table.max_groups, noise, _group_count(query), power)


def _key_names(query: Query) -> list[str]:
    """The columns that a question groups by."""
    return [title(key.expression.name) for key in query.keys if isinstance(key.expression, Field)]


def _noise(plan: Plan, unit: Unit) -> float | None:
    """The noise of one group, as so many rows or people with the largest value; None if none is weighed."""
    for part, mechanism in zip(plan.bounded.parts, plan.mechanisms, strict=True):
        match part, mechanism:
            case WeightedSum(weight=Weight() as weight), DiscreteLaplace() | DiscreteGaussian() as noise:
                if weight.unit is unit and weight != Weight.one(unit):
                    reach = noise.interval(plan.request.confidence).high
                    return float(reach / (weight.whole * part.largest))
        if unit is Unit.ROWS and isinstance(part, Histogram) and part.weight is not None:
            for measure in plan.bounded.measures:
                if plan.bounded.parts[measure.parts[-1]] == part:
                    return float(plan.error(measure).high)
    return None


def _group_count(query: Query) -> int:
    return _PRIVATE_GROUPS if query.private_keys else max(1, group_count(query))


def _only_scan(relation: Relation) -> Scan | None:
    match relation:
        case Scan():
            return relation
        case Filter() | Lookup():
            return _only_scan(relation.source)
    return None


def _sizes(bins: int) -> Floats:
    """How much the people of each bin have, on average."""
    most = np.array([*EDGES, 2 * EDGES[-1]], dtype=np.float64)[:bins]
    least = np.array([1, *(edge + 1 for edge in EDGES)], dtype=np.float64)[:bins]
    sizes: Floats = (least + most) / 2
    return sizes
