"""What a question would cost and how accurate it would be: from the policy and the text alone."""

import math
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.odds import odds_limit, rare_chance
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import WeightedSum, known
from discreet.aggregates.weights import Norm, Unit
from discreet.answers.explanation import ErrorStatement, Explanation, PrivateGroups
from discreet.bounds.bound import Bounded, OneValue, bound
from discreet.bounds.calibrate import THRESHOLD_SHARE, Plan, calibrate
from discreet.bounds.one_value import fields_with_one_value
from discreet.errors import DiscreetError
from discreet.model.expression import fields_of, title
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend, amount_of
from discreet.model.query import Filter, Lookup, Query, Relation, Scan, group_count
from discreet.model.request import ByEpsilon, ByRho, Price, Request
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.release.notes.answer_notes import notes_of

_PEOPLE = (5, 10, 20, 50)
_WORTH_A_WORD = 0.95
"""Errors that are less than 5 % smaller are not worth another question."""


def explain(plan: Plan, dataset: Dataset, *, budget: Spend, left: Spend) -> Explanation:
    """Describe a plan."""
    groups = _groups(plan)
    loss = plan.loss
    epsilon = epsilon_of(loss, dataset)
    return Explanation(
        loss=loss,
        epsilon=epsilon,
        share=float(amount_of(loss) / amount_of(budget)),
        questions_left=_questions_left(loss, left),
        groups=groups,
        noise=_noise(plan),
        weights=_weights(plan),
        shares=_shares(plan),
        errors=_errors(plan, groups),
        private_groups=_private_groups(plan),
        confidence=float(plan.request.confidence),
        posterior=posterior_of(loss, dataset),
        posterior_chance=float(rare_chance(dataset.delta)),
        alternatives=tuple(_alternatives(plan, dataset)),
        notes=notes_of(plan),
    )


def priced(
    found: Explanation,
    loss: Spend,
    dataset: Dataset,
    *,
    budget: Spend,
    left: Spend,
    way: str,
    reach: float,
) -> Explanation:
    """The same question answered in another way, at another price."""
    epsilon = epsilon_of(loss, dataset)
    return replace(
        found,
        loss=loss,
        epsilon=epsilon,
        share=float(amount_of(loss) / amount_of(budget)),
        questions_left=_questions_left(loss, left) if amount_of(loss) else None,
        errors=tuple(replace(error, each=reach, all=reach) for error in found.errors),
        posterior=posterior_of(loss, dataset),
        alternatives=(),
        way=way,
    )


def epsilon_of(loss: Spend, dataset: Dataset) -> float:
    """The loss as ε. A ρ is converted at the dataset's δ, less the part that is kept for thresholds."""
    if isinstance(loss, ConcentratedLoss):
        plain = ConcentratedLoss(rho=loss.rho, delta=Fraction(0))
        return float(plain.epsilon_at(dataset.delta * (1 - THRESHOLD_SHARE)))
    return float(loss.epsilon)


def posterior_of(loss: Spend, dataset: Dataset) -> float:
    """What even odds become at most, but for `rare_chance` (`discreet.accounting.odds`)."""
    limit = odds_limit(loss, rare_chance(dataset.delta))
    return 1.0 if limit is None else 1 / (1 + math.exp(-float(limit)))


def _groups(plan: Plan) -> int | None:
    query = plan.bounded.query
    return None if query.private_keys else group_count(query)


def _questions_left(loss: Spend, left: Spend) -> int:
    fits = int(amount_of(left) / amount_of(loss))
    if isinstance(loss, ConcentratedLoss) and isinstance(left, ConcentratedLoss) and loss.delta:
        fits = min(fits, int(left.delta / loss.delta))
    return fits


def _noise(plan: Plan) -> str:
    match plan.mechanisms[0]:
        case PermuteAndFlip():
            return "permute-and-flip"
        case ExponentialMechanism():
            return "exponential mechanism"
    return "discrete Laplace" if isinstance(plan.loss, PureLoss) else "discrete Gaussian"


def _weights(plan: Plan) -> str:
    parts = plan.bounded.measured_parts
    weighed = [p.weight for p in parts if isinstance(p, WeightedSum) and p.weight is not None]
    if not weighed:
        return "not needed" if plan.bounded.query.source.one_row_a_person else "ℓ₁"
    return " and ".join(norm.value for norm in Norm if any(weight.norm is norm for weight in weighed))


def _shares(plan: Plan) -> dict[str, float]:
    """The share of the price that the parts of each measure get. A part of two measures counts for both."""
    total, blocks = amount_of(plan.loss), plan.bounded.blocks
    shares = [amount_of(plan.loss_of(block)) / total for block in blocks]
    return {
        title_of(plan, measure.measure.name): float(
            sum(share for block, share in zip(blocks, shares, strict=True) if {*block} & {*measure.parts})
        )
        for measure in plan.bounded.measures
    }


def _errors(plan: Plan, groups: int | None) -> tuple[ErrorStatement, ...]:
    return tuple(
        ErrorStatement(
            measure=title_of(plan, measure.measure.name),
            each=float(plan.error(measure).high),
            all=float(plan.error(measure, cells=groups or 1).high),
            of=AGGREGATES[measure.measure.aggregate].error_of,
        )
        for measure in plan.bounded.measures
    )


def _private_groups(plan: Plan) -> PrivateGroups | None:
    """For people with one row each, who are in no more groups than count fully."""
    threshold, selector = plan.threshold, plan.bounded.selector
    if threshold is None or selector is None:
        return None
    whole = known(WeightedSum, plan.bounded.parts[selector]).weighing.whole
    return PrivateGroups(
        people=-(-threshold.threshold // whole),
        chances={people: threshold.chance(people * whole) for people in _PEOPLE},
    )


def _alternatives(plan: Plan, dataset: Dataset) -> list[str]:
    """Computed, not guessed: each is a plan of its own."""
    found = []
    half = plan.loss.epsilon / 2 if isinstance(plan.loss, PureLoss) else None
    price: Price = ByEpsilon(epsilon=half) if half is not None else ByRho(rho=amount_of(plan.loss) / 4)
    if plan.bounded.measures and _calibrated(plan.bounded, replace(plan.request, price=price), dataset):
        share = "half" if half is not None else "a quarter"
        found.append(f"For {share} of this price, every error is twice as large.")
    if len(plan.bounded.measures) > 1:
        first = plan.bounded.measures[0]
        query = replace(plan.bounded.query, measures=(first.measure,), outputs=(), having=None, order=())
        alone = _planned(query, plan.request, dataset)
        name = title_of(plan, first.measure.name)
        if alone is not None and plan.error(first).high > 0:
            ratio = float(alone.error(alone.bounded.measures[0]).high / plan.error(first).high)
            if ratio < _WORTH_A_WORD:
                found.append(f"Asked alone at this price, {name} is off by {1 - ratio:.0%} less.")
    if plan.bounded.query.private_keys:
        found.append("With keys that are listed, no group is left out and no δ is spent: WHERE … IN (…).")
    found += _one_value(plan, dataset)
    groups = _groups(plan)
    if plan.bounded.measures and groups is not None and groups >= 20 and plan.bounded.query.limit is None:
        found.append(
            "To learn only which groups are the largest, leave the count out:"
            " SELECT key … ORDER BY count(*) DESC LIMIT 3."
        )
    return found


def _one_value(plan: Plan, dataset: Dataset) -> list[str]:
    """What people by group would gain, if a person has one value of all that it is grouped by."""
    query = plan.bounded.query
    people = [m for m in plan.bounded.measures if AGGREGATES[m.measure.aggregate].counts is Unit.PEOPLE]
    known_ones, declarable = fields_with_one_value(query.source), _columns(query.source)
    keys = {field.name for key in query.keys for field in fields_of(key.expression)} - known_ones
    if not people or not keys or not keys <= declarable:
        return []
    better = _planned(query, plan.request, dataset, lambda _: known_ones | keys)
    if better is None:
        return []
    (other,) = [each for each in better.bounded.measures if each.measure == people[0].measure]
    ratio = float(better.error(other).high / plan.error(people[0]).high)
    names = " and one ".join(sorted(title(key) for key in keys))
    if ratio > _WORTH_A_WORD:
        return []
    return [
        f"If a person has one {names} only, the owner can declare per_person = true for it:"
        f" {title_of(plan, people[0].measure.name)} is then off by {1 - ratio:.0%} less."
    ]


def _columns(relation: Relation) -> set[str]:
    """The columns of a question about one table, which can be declared as what a person has one of."""
    while isinstance(relation, Filter | Lookup):
        relation = relation.source
    if not isinstance(relation, Scan):
        return set()
    return {f"{relation.alias}.{column}" for column in relation.table.columns}


def _planned(
    query: Query, request: Request, dataset: Dataset, one_value: OneValue = fields_with_one_value
) -> Plan | None:
    """Another question; None if that cannot be asked."""
    try:
        return calibrate(bound(query, dataset, one_value), request, dataset)
    except DiscreetError:
        return None


def _calibrated(bounded: Bounded, request: Request, dataset: Dataset) -> Plan | None:
    """The same at another price; None if that is not taken."""
    try:
        return calibrate(bounded, request, dataset)
    except DiscreetError:
        return None


def title_of(plan: Plan, name: str) -> str:
    """The name that the question gives to a measure, or its function."""
    for output in plan.bounded.query.outputs:
        if getattr(output.expression, "name", None) == name:
            return output.name
    return next(m.aggregate.value for m in plan.bounded.query.measures if m.name == name)
