"""What releases cost together when their number and their losses are fixed in advance.

For questions whose cost may depend on earlier answers, see `filters`; for the tightest ε of a known
schedule, see `schedule`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidInput
from discreet.model.exact import (
    Number,
    positive_count,
    positive_delta,
    positive_epsilon,
    round_up,
    within,
)
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss

_NOTHING: Loss = PureLoss(epsilon=Fraction(0))


def basic(losses: Iterable[Loss]) -> Loss:
    """The sum of the losses; see each loss's ``compose`` for its theorem. No losses cost nothing."""
    total = _NOTHING
    for loss in _checked(losses):
        total = total.compose(loss)
    return total


def advanced(epsilon: Number, delta: Number, times: int, slack: Number) -> ApproximateLoss:
    """The cost of `times` adaptive releases, each (ε, δ)-DP, with `slack` more δ in all; rounded up.

    It grows with √times instead of times (Dwork, Rothblum, Vadhan 2010). The constants are those of
    Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy" (arXiv 1311.0776v4),
    Theorem 3.4, which are below the textbook's kε(e^ε − 1) + ε√(2k·ln(1/δ′)):

        ε′ = kε·(e^ε − 1)/(e^ε + 1) + ε√(2k·ln(min(1/δ′, e + ε√k/δ′))),    δ total ≤ kδ + δ′

    Where plain summing is better, its (kε, kδ) is returned and the slack is not spent.
    """
    each, k, spare = positive_epsilon(epsilon), positive_count(times, "times"), positive_delta(slack)
    total_delta = k * within(delta, "delta", Fraction(0), Fraction(1))
    e, s = float(each), float(spare)
    inverse = min(1 / s, math.e + e * math.sqrt(k) / s)
    spent = round_up(k * e * math.tanh(e / 2) + e * math.sqrt(2 * k * math.log(inverse)))
    if spent >= k * each:
        return ApproximateLoss(epsilon=k * each, delta=min(Fraction(1), total_delta))
    return ApproximateLoss(epsilon=spent, delta=min(Fraction(1), total_delta + spare))


def parallel(losses: Iterable[Loss], neighbours: Neighbours) -> Loss:
    """The cost of releases from disjoint parts, each loss being for one person more or less in its part.

    Adding or removing a person changes one part, so the worst loss is the cost (McSherry 2009,
    "Privacy Integrated Queries", Theorem 4). Replacing a person takes one from a part and puts one
    into another, or into the same: twice the worst loss, as for a group of two. Which part a person
    is in must depend on that person alone.
    """
    given = _checked(losses)
    if not given:
        return _NOTHING
    if not isinstance(neighbours, Neighbours):
        raise InvalidInput(
            "Parallel composition must know which neighbours it is for.",
            remedy="Give Neighbours.ADD_REMOVE or Neighbours.REPLACE_ONE.",
        )
    worst = _worst(given)
    return worst.for_group(2) if neighbours is Neighbours.REPLACE_ONE else worst


@dataclass(frozen=True, slots=True, kw_only=True)
class TheoremComparison:
    """The ε of one schedule at one δ, by three theorems. All three are true; the least one counts."""

    basic: Fraction
    advanced: Fraction
    concentrated: Fraction


def compare(loss: PureLoss, times: int, delta: Number) -> TheoremComparison:
    """The ε, at δ, of `times` releases that each cost this pure loss, by each theorem."""
    k, at = positive_count(times, "times"), positive_delta(delta)
    if not isinstance(loss, PureLoss):
        raise InvalidInput("Only pure losses are compared.", remedy="Give PureLoss(epsilon=…).")
    total = loss.concentrated()
    return TheoremComparison(
        basic=k * loss.epsilon,
        advanced=advanced(loss.epsilon, 0, k, at).epsilon,
        concentrated=ConcentratedLoss(rho=k * total.rho, delta=total.delta).epsilon_at(at),
    )


def _worst(losses: list[Loss]) -> Loss:
    """A loss at least as large as each, in the strongest currency that can express all of them."""
    pure = [loss for loss in losses if isinstance(loss, PureLoss)]
    if len(pure) == len(losses):
        return PureLoss(epsilon=max(loss.epsilon for loss in pure))
    delta = max(loss.delta for loss in losses)
    if any(isinstance(loss, ConcentratedLoss) for loss in losses):
        rhos = (
            loss.rho if isinstance(loss, ConcentratedLoss) else loss.concentrated().rho for loss in losses
        )
        return ConcentratedLoss(rho=max(rhos), delta=delta)
    epsilons = (loss.epsilon for loss in losses if not isinstance(loss, ConcentratedLoss))
    return ApproximateLoss(epsilon=max(epsilons), delta=delta)


def _checked(losses: Iterable[Loss]) -> list[Loss]:
    given = list(losses)
    for loss in given:
        if not isinstance(loss, PureLoss | ApproximateLoss | ConcentratedLoss):
            raise InvalidInput(
                f"A loss is expected, not a {type(loss).__name__}.",
                remedy="Give PureLoss, ApproximateLoss or ConcentratedLoss.",
            )
    return given
