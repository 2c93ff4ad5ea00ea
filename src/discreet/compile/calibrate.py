"""Stage 4: mechanisms, price and error. `explain` stops here: the data is untouched, nothing is spent.

A dataset without a δ is charged in pure ε, and every sum gets discrete Laplace noise. One with a δ is charged
in ρ, and every sum gets discrete Gaussian noise: at the same ρ its error is always the smaller one. The price
is split evenly over the sums, and what is asked for is exactly what is spent.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TypeAlias

from discreet.accounting.filters import ConcentratedFilter
from discreet.compile.bound import Bounded, BoundedMeasure
from discreet.errors import QueryRefused
from discreet.model.interval import Interval
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.query import Aggregate
from discreet.model.request import ByEpsilon, ByRho, Request, Within
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

Mechanism: TypeAlias = DiscreteLaplace | DiscreteGaussian
Charge: TypeAlias = PureLoss | ConcentratedLoss

THRESHOLD_SHARE = Fraction(1, 2)
"""Of a dataset's δ, kept for private keys; the rest turns ε into ρ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be run: a bounded query and a mechanism for each of its sums."""

    bounded: Bounded
    mechanisms: tuple[Mechanism, ...]
    request: Request

    @property
    def loss(self) -> Charge:
        """Derived from the very bounds that `emit_sql` writes into the SQL, so that the two cannot drift."""
        losses = [
            mechanism.loss(part.sensitivity(self.bounded.neighbours))
            for mechanism, part in zip(self.mechanisms, self.bounded.sums, strict=True)
        ]
        if isinstance(losses[0], PureLoss):
            return PureLoss(
                epsilon=sum((loss.epsilon for loss in losses if isinstance(loss, PureLoss)), Fraction(0))
            )
        rho = sum((loss.rho for loss in losses if isinstance(loss, ConcentratedLoss)), Fraction(0))
        return ConcentratedLoss(rho=rho, delta=Fraction(0))

    def error(self, measure: BoundedMeasure, *, cells: int = 1) -> Interval:
        """The error of a count or sum, known before any data is read; of an average's numerator."""
        part = measure.parts[-1]
        noise = self.mechanisms[part].interval(self.request.confidence, values=cells)
        scale = self.bounded.sums[part].scale
        return Interval(low=noise.low * scale, high=noise.high * scale, confidence=noise.confidence)


def budget_of(dataset: Dataset) -> Charge:
    """The whole budget in the currency that the dataset is charged in."""
    return _charge_for(dataset, dataset.epsilon)


def analyst_cap_of(dataset: Dataset) -> Charge:
    return _charge_for(dataset, dataset.analyst_epsilon)


def calibrate(bounded: Bounded, request: Request, dataset: Dataset) -> Plan:
    """Choose the noise for each sum."""
    match request.price:
        case Within(error=error):
            mechanisms = _for_error(bounded, error, request, dataset)
        case ByEpsilon(epsilon=epsilon):
            mechanisms = _for_charge(bounded, _charge_for(dataset, epsilon))
        case ByRho(rho=rho):
            if dataset.delta == 0:
                raise QueryRefused(
                    "This dataset is charged in pure ε, because its budget has no δ.",
                    remedy="Ask with epsilon= instead of rho=.",
                )
            mechanisms = _for_charge(bounded, ConcentratedLoss(rho=rho, delta=Fraction(0)))
    plan = Plan(bounded=bounded, mechanisms=mechanisms, request=request)
    _check_cap(plan, dataset)
    return plan


def _charge_for(dataset: Dataset, epsilon: Fraction) -> Charge:
    if dataset.delta == 0:
        return PureLoss(epsilon=epsilon)
    spending = ConcentratedFilter.for_budget(epsilon, dataset.delta, threshold_share=THRESHOLD_SHARE)
    return ConcentratedLoss(rho=spending.rho, delta=spending.delta)


def _for_charge(bounded: Bounded, charge: Charge) -> tuple[Mechanism, ...]:
    count = len(bounded.sums)
    sensitivities = [part.sensitivity(bounded.neighbours) for part in bounded.sums]
    if isinstance(charge, PureLoss):
        return tuple(DiscreteLaplace.for_loss(charge.epsilon / count, s) for s in sensitivities)
    return tuple(DiscreteGaussian.for_loss(charge.rho / count, s) for s in sensitivities)


def _for_error(
    bounded: Bounded, error: Fraction, request: Request, dataset: Dataset
) -> tuple[Mechanism, ...]:
    if any(m.measure.aggregate in (Aggregate.AVERAGE, Aggregate.VARIANCE) for m in bounded.measures):
        raise QueryRefused(
            "The error of an average depends on how many people there are, which is private.",
            remedy="Ask with epsilon=, or ask for the sum and the count within= an error.",
        )
    law = DiscreteLaplace if dataset.delta == 0 else DiscreteGaussian
    return tuple(law.for_error(floor(error / part.scale), request.confidence) for part in bounded.sums)


def _check_cap(plan: Plan, dataset: Dataset) -> None:
    cap, loss = _charge_for(dataset, dataset.question_epsilon), plan.loss
    if isinstance(loss, PureLoss) and isinstance(cap, PureLoss):
        over = loss.epsilon > cap.epsilon
    else:
        over = isinstance(loss, ConcentratedLoss) and isinstance(cap, ConcentratedLoss) and loss.rho > cap.rho
    if over:
        raise QueryRefused(
            f"One question may cost at most ε = {float(dataset.question_epsilon):g} here.",
            remedy="Ask for less accuracy, or for fewer things at once.",
        )
