"""Stage 4: mechanisms, price and error. `explain` stops here: the data is untouched, nothing is spent.

A dataset without a δ is charged in pure ε, and everything gets discrete Laplace noise. One with a δ is
charged in ρ, and everything gets discrete Gaussian noise: at the same ρ its error is smaller, at every
confidence above one half. The price is split over the parts so that the errors of the measures are least
(see `split_price`). What is asked for is exactly what is spent.

A private key is shown if its noisy count passes a threshold (see `noise.threshold`). A question pays the same
fraction of the δ that is kept for this as it pays of the budget's ρ, so that both last equally long.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import TypeAlias

from discreet.accounting.filters import ConcentratedFilter
from discreet.aggregates.aggregate import VectorNoise
from discreet.aggregates.joint import JointSum
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import Histogram, LeftOut, Part, Scores, WeightedSum, known
from discreet.aggregates.weights import Norm, Unit, together
from discreet.bounds.bound import Bounded, BoundedMeasure, MeasuredVector, without_left_out
from discreet.bounds.split_price import split
from discreet.errors import QueryRefused
from discreet.model.interval import Interval
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Dataset
from discreet.model.privacy import (
    AMOUNT_UNITS,
    DELTA_UNITS,
    ConcentratedLoss,
    PureLoss,
    Spend,
    amount_of,
    share_of,
    spend_of,
)
from discreet.model.request import ByEpsilon, ByRho, Request, Within
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import AdditiveNoise, additive, law_for
from discreet.noise.combined_noise import CombinedNoise, NoiseTerm
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.noise.quantile import QuantileTree
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

QuestionMechanism: TypeAlias = AdditiveNoise | QuantileTree | PermuteAndFlip | ExponentialMechanism

_ROUNDING = Fraction(1, 10**6)
_PRICES = range(-24 * 1024, 24 * 1024)
"""Prices of families: so many 1024ths of powers of two."""
THRESHOLD_SHARE = Fraction(1, 2)
"""The share of a dataset's δ that is kept for private keys; the rest turns ε into ρ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be run: a bounded query and a mechanism for each of its parts."""

    bounded: Bounded
    mechanisms: tuple[QuestionMechanism, ...]
    threshold: StabilityThreshold | None
    """With private keys: how large the noisy count of a key must be for the key to be shown."""
    request: Request
    _loss_found: list[Spend] = field(default_factory=list, init=False, compare=False, repr=False)
    """Once it was asked for: many ask."""

    @property
    def loss(self) -> Spend:
        """Derived from the same bounds that `emit_sql` writes into the SQL, so that the two always agree."""
        if not self._loss_found:
            self._loss_found.append(self._derived_loss())
        return self._loss_found[0]

    def _derived_loss(self) -> Spend:
        losses = [self.loss_of(block) for block in self.bounded.blocks]
        pure = [loss.epsilon for loss in losses if isinstance(loss, PureLoss)]
        if len(pure) == len(losses):
            return PureLoss(epsilon=sum(pure, Fraction(0)))
        rho = sum((loss.rho for loss in losses if isinstance(loss, ConcentratedLoss)), Fraction(0))
        return ConcentratedLoss(rho=rho, delta=self._delta())

    def loss_of(self, block: Sequence[int]) -> Spend:
        """Of parts that have one price: those of a family lose together what one of them does (`joint`)."""
        losses = [_loss(self.mechanisms[i], self.bounded.parts[i], self.bounded) for i in block]
        return max(losses, key=amount_of)

    def _delta(self) -> Fraction:
        selector = self.bounded.selector
        if self.threshold is None or selector is None:
            return Fraction(0)
        return unique_key_delta(known(WeightedSum, self.bounded.parts[selector]), self.threshold)

    def error(self, measure: BoundedMeasure, *, cells: int = 1) -> Interval:
        """The error of a count or sum, known before any data is read.

        Of an average: that of its numerator, to be divided by the rows. Of a quantile: that of its rank.
        """
        last = measure.vectors[-1]
        definition = AGGREGATES[measure.measure.aggregate]
        return definition.error(last.vector, self.noise_of(last), self.request.confidence, cells=cells)

    def noise_of(self, each: MeasuredVector, mixed: Mapping[int, MixedNoise] | None = None) -> VectorNoise:
        """The noise of a vector, in steps of it. `mixed` says of which parts it was reconciled, and how."""
        first, _ = each.terms[0]
        if self.bounded.parts[first] != each.vector or mixed:
            return _combined(each, self.bounded.parts, self.mechanisms, mixed or {})
        noise = self.mechanisms[first]
        if isinstance(noise, PermuteAndFlip | ExponentialMechanism):
            raise TypeError("A selection has no error of a number.")
        return noise


def unique_key_delta(part: WeightedSum, threshold: StabilityThreshold) -> Fraction:
    """An upper bound on the probability that a key which one person alone has is shown.

    It is the same under both relations: each of two neighbours has at most one such person, and approximate
    zCDP conditions on two events, one for each side (Bun & Steinke 2016, definition 8.1).
    """
    weight = part.weighing
    if weight.norm is Norm.L2 and weight.unit is Unit.PEOPLE:
        return threshold.delta_of_profiles(weight.profiles())
    return threshold.delta_of(part.sensitivity(Neighbours.ADD_REMOVE))


def budget_of(dataset: Dataset) -> Spend:
    """The whole budget in the currency that the dataset is charged in."""
    return charge_for(dataset, dataset.epsilon)


def analyst_cap_of(dataset: Dataset) -> Spend:
    return charge_for(dataset, dataset.analyst_epsilon)


def calibrate(
    bounded: Bounded,
    request: Request,
    dataset: Dataset,
    *,
    in_order_asked: bool = False,
    at_any_price: bool = False,
) -> Plan:
    """Choose the noise for each part. `in_order_asked` is for answers of older versions, see `split`.

    `at_any_price` is for a plan that may still change: its price is checked when it no longer does.
    """
    match request.price:
        case Within(error=error):
            plan = _for_error(bounded, error, request, dataset)
            plan = replace(plan, mechanisms=_at_least(plan, least_amount(dataset)))
        case ByEpsilon() | ByRho() as price:
            shares = split(bounded, concentrated=dataset.delta > 0, in_order_asked=in_order_asked)
            mechanisms = _for_charge(bounded, charge_of(price, dataset), shares)
            plan = Plan(bounded=bounded, mechanisms=mechanisms, threshold=None, request=request)
    if plan.bounded.selector is not None:
        threshold = _threshold(plan, plan.bounded.selector, dataset)
        plan = replace(plan, threshold=threshold)
    if not at_any_price:
        check_cap(plan.loss, dataset)
    return plan


def charge_for(dataset: Dataset, epsilon: Fraction) -> Spend:
    """An ε in the dataset's own currency, in whole units, so that one question can spend the whole budget."""
    if dataset.delta == 0:
        return PureLoss(epsilon=_whole_units(epsilon, AMOUNT_UNITS))
    spending = ConcentratedFilter.for_budget(epsilon, dataset.delta, threshold_share=THRESHOLD_SHARE)
    return ConcentratedLoss(
        rho=_whole_units(spending.rho, AMOUNT_UNITS), delta=_whole_units(spending.delta, DELTA_UNITS)
    )


def charge_of(price: ByEpsilon | ByRho, dataset: Dataset) -> Spend:
    """What a question at this price pays."""
    if isinstance(price, ByEpsilon):
        return charge_for(dataset, price.epsilon)
    if dataset.delta == 0:
        raise QueryRefused(
            "This dataset is charged in pure ε, because its budget has no δ.",
            remedy="Ask with epsilon= instead of rho=.",
        )
    return ConcentratedLoss(rho=price.rho, delta=Fraction(0))


def _whole_units(amount: Fraction, units: int) -> Fraction:
    return Fraction(floor(amount * units), units)


def _loss(mechanism: QuestionMechanism, part: Part, bounded: Bounded) -> Spend:
    match mechanism, part:
        case ((PermuteAndFlip() | ExponentialMechanism()), Scores()):
            picks = _picks(bounded)
            sensitivity = part.sensitivity(bounded.neighbours)
            if isinstance(mechanism, ExponentialMechanism):
                return mechanism.concentrated_loss(sensitivity, picks=picks)
            return mechanism.loss(sensitivity, picks=picks)
        case QuantileTree(noise=noise, height=height), Histogram():
            return noise.loss(_levels(part.histogram_sensitivity(bounded.neighbours), height))
        case ((DiscreteLaplace() | DiscreteGaussian()), part) if not isinstance(part, Histogram | Scores):
            return mechanism.loss(part.sensitivity(bounded.neighbours))
    raise TypeError("A part met a mechanism that is not for it.")


def _levels(histogram: Sensitivity, height: int) -> Sensitivity:
    """A row is in one node of each level of a tree."""
    return together([histogram] * height)


def _picks(bounded: Bounded) -> int:
    query = bounded.query
    groups = 1
    for key in query.keys:
        groups *= len(key.values or ())
    return min(groups, query.picks.count) if query.picks is not None else 1


def _for_charge(bounded: Bounded, charge: Spend, shares: Sequence[Fraction]) -> tuple[QuestionMechanism, ...]:
    return tuple(
        _mechanism(part, share_of(charge, share), bounded)
        for part, share in zip(bounded.parts, shares, strict=True)
    )


def _mechanism(part: Part, spend: Spend, bounded: Bounded) -> QuestionMechanism:
    neighbours = bounded.neighbours
    if isinstance(part, Scores):
        scores, picks = part.sensitivity(neighbours), _picks(bounded)
        if isinstance(spend, PureLoss):
            return PermuteAndFlip.for_loss(spend.epsilon, scores, picks=picks)
        return ExponentialMechanism.for_concentrated_loss(spend.rho, scores, picks=picks)
    if isinstance(part, Histogram):
        tree = QuantileTree.for_loss(spend, leaves=part.leaves, neighbours=neighbours)
        sensitivity = _levels(part.histogram_sensitivity(neighbours), tree.height)
        return QuantileTree(noise=additive(spend, sensitivity), leaves=tree.leaves, branching=tree.branching)
    return additive(spend, part.sensitivity(neighbours))


def _for_error(bounded: Bounded, error: Fraction, request: Request, dataset: Dataset) -> Plan:
    """Vectors together or apart: whichever costs less."""
    if not all(AGGREGATES[m.measure.aggregate].known_before for m in bounded.measures):
        raise QueryRefused(
            "The error of an average or a quantile depends on the data, which is private.",
            remedy="Ask with epsilon=, or ask for the sum and the count within= an error.",
        )
    if bounded.query.picks is not None:
        raise QueryRefused(
            "How close the picked groups come depends on the data, which is private.",
            remedy="Ask with epsilon=, or ask for the counts too.",
        )
    ways = [
        _each_within(each, error, request, dataset) for each in (bounded, bounded.apart) if each is not None
    ]
    return min(ways, key=lambda way: amount_of(way.loss))


def _each_within(bounded: Bounded, error: Fraction, request: Request, dataset: Dataset) -> Plan:
    """The most noise with which each vector keeps within an error. What is left out costs its share too."""
    law, measured = law_for(budget_of(dataset)), without_left_out(bounded)
    noise: dict[int, QuestionMechanism] = {}
    for block in measured.blocks:
        if isinstance(measured.parts[block[0]], JointSum):
            noise |= _family_within(measured, block, error, request, budget_of(dataset))
        else:
            steps = floor(error / measured.parts[block[0]].scale)
            noise[block[0]] = law.for_error(steps, request.confidence)
    mechanisms = tuple(noise[i] for i in range(len(measured.parts)))
    plan = Plan(bounded=measured, mechanisms=mechanisms, threshold=None, request=request)
    lost = [part for part in bounded.parts if isinstance(part, LeftOut)]
    if lost:
        beside = share_of(plan.loss, bounded.left_out_share / (1 - bounded.left_out_share) / len(lost))
        mechanisms += tuple(additive(beside, part.sensitivity(bounded.neighbours)) for part in lost)
    return replace(plan, bounded=bounded, mechanisms=mechanisms)


def _family_within(
    bounded: Bounded, block: Sequence[int], error: Fraction, request: Request, budget: Spend
) -> dict[int, QuestionMechanism]:
    """The noise with which all that is computed from a family keeps within an error: the least price, to a
    thousandth, at which it does.
    """
    vectors = {each for measure in bounded.measures for each in measure.vectors if each.terms[0][0] in block}

    def noise(place: int) -> dict[int, QuestionMechanism]:
        amount = Fraction(1024 + place % 1024, 1024) * Fraction(2) ** (place // 1024)
        spend = spend_of(amount, concentrated=isinstance(budget, ConcentratedLoss))
        return {i: _mechanism(bounded.parts[i], spend, bounded) for i in block}

    def is_within(place: int) -> bool:
        found = noise(place)
        return all(
            _combined(each, bounded.parts, found, {}).interval(request.confidence).high * each.vector.scale
            <= error
            for each in vectors
        )

    return noise(bisect_left(_PRICES, True, key=is_within) + _PRICES.start)


def _combined(
    each: MeasuredVector,
    parts: Sequence[Part],
    mechanisms: Mapping[int, QuestionMechanism] | Sequence[QuestionMechanism],
    mixed: Mapping[int, MixedNoise],
) -> CombinedNoise:
    """The noise of a vector that is computed from several parts, in steps of it."""
    return CombinedNoise(
        tuple(
            NoiseTerm(float(weight * parts[i].scale / each.vector.scale), _added(mechanisms[i]), mixed.get(i))
            for i, weight in each.terms
        )
    )


def _at_least(plan: Plan, least: Fraction) -> tuple[QuestionMechanism, ...]:
    """Less noise, if the least price buys more accuracy than was asked for."""
    paid = amount_of(plan.loss)
    if paid >= least:
        return plan.mechanisms
    return tuple(_less_noise(_added(each), paid / least) for each in plan.mechanisms)


def _less_noise(noise: AdditiveNoise, times: Fraction) -> AdditiveNoise:
    """The noise whose loss is 1/times as large, in the currency of its law."""
    if isinstance(noise, DiscreteGaussian):
        return DiscreteGaussian(sigma_squared=noise.sigma_squared * times)
    return DiscreteLaplace(scale=noise.scale * times)


def _added(mechanism: QuestionMechanism) -> AdditiveNoise:
    if not isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        raise TypeError("Only added noise is made for an error.")
    return mechanism


def _threshold(plan: Plan, selector: int, dataset: Dataset) -> StabilityThreshold:
    budget, loss = known(ConcentratedLoss, budget_of(dataset)), known(ConcentratedLoss, plan.loss)
    delta = budget.delta * min(Fraction(1), loss.rho / budget.rho)
    part = known(WeightedSum, plan.bounded.parts[selector])
    noise = known(DiscreteGaussian, plan.mechanisms[selector])
    return StabilityThreshold.least(noise, lambda threshold: unique_key_delta(part, threshold) <= delta)


def check_cap(loss: Spend, dataset: Dataset) -> None:
    """Refuse a loss above the most, or below the least, that one question may cost."""
    cap = charge_for(dataset, dataset.question_epsilon)
    if amount_of(loss) > amount_of(cap):
        raise too_dear(dataset)
    least = least_amount(dataset)
    if amount_of(loss) < least * (1 - _ROUNDING):
        told = _least_in_words(least, dataset)
        raise QueryRefused(
            f"One question costs at least {told} here, as how long it takes may tell something too.",
            remedy=f"Ask with epsilon={told.split()[2]} or more: then the answer is more accurate as well.",
        )


def too_dear(dataset: Dataset) -> QueryRefused:
    """The refusal of a question that costs more than one question, or all of them, may cost."""
    most = f"{float(dataset.question_epsilon):g}"
    problem = f"One question may cost at most ε = {most} here."
    if dataset.question_epsilon == dataset.epsilon:
        problem = f"This costs more than the whole budget: at most ε = {most} for all questions together."
    return QueryRefused(
        problem, remedy=f"Ask for less accuracy, at epsilon={most} or below, or for fewer things at once."
    )


def least_amount(dataset: Dataset) -> Fraction:
    """The least ε or ρ that a question costs, in whole units; no more than a question may cost."""
    least = _whole_units(amount_of(budget_of(dataset)) * dataset.least_price, AMOUNT_UNITS)
    return min(least, amount_of(charge_for(dataset, dataset.question_epsilon)))


def _least_in_words(least: Fraction, dataset: Dataset) -> str:
    if dataset.delta == 0:
        return f"ε = {_rounded_up(least)}"
    loss = ConcentratedLoss(rho=least, delta=Fraction(0))
    epsilon = loss.epsilon_at(dataset.delta * (1 - THRESHOLD_SHARE))
    return f"ε = {_rounded_up(epsilon)} (ρ = {_rounded_up(least)})"


def _rounded_up(amount: Fraction) -> str:
    """With two significant digits, rounded up so that the number shown is enough."""
    step = Fraction(10) ** (floor(log10(amount)) - 1)
    return f"{float(ceil(amount / step) * step):.6g}"
