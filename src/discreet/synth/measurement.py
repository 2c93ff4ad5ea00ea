"""A marginal with exact noise: all that the fit ever sees of the data."""

from dataclasses import dataclass
from fractions import Fraction
from math import sinh
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.domain import Marginal

Budget: TypeAlias = PureLoss | ConcentratedLoss
"""What may be spent: Laplace noise for a pure ε, Gaussian noise for a ρ, whose δ is not touched."""

_LEAST_VARIANCE = 1e-4  # of a count of people: below, noise is hardly ever anything but 0
_STEEP = 300.0  # sinh of more is beyond a float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy counts of people in each cell, all with the same variance."""

    marginal: Marginal
    counts: NDArray[np.float64]
    variance: float


def measure(
    marginal: Marginal,
    exact: NDArray[np.int64],
    *,
    loss: Budget,
    sensitivity: Sensitivity,
    unit: int = 1,
    entropy: Entropy = SYSTEM,
) -> Measurement:
    """Costs the loss (`DiscreteLaplace`, `DiscreteGaussian`). Exact counts are in 1/unit of a person."""
    noisy = _mechanism(loss, sensitivity).release(exact, entropy=entropy)
    return Measurement(
        marginal=marginal,
        counts=np.asarray(noisy, dtype=np.float64) / unit,
        variance=noise(loss, sensitivity, unit),
    )


def noise(loss: Budget, sensitivity: Sensitivity, unit: int = 1) -> float:
    """The variance of a count of people that is measured at this loss. It reads no data."""
    mechanism = _mechanism(loss, sensitivity)
    if isinstance(mechanism, DiscreteGaussian):
        variance = float(mechanism.sigma_squared)
    else:  # of P(x) ∝ q^|x| it is 2q/(1 − q)², with q = e^(−1/scale)
        variance = 0.5 / sinh(min(_STEEP, 0.5 / float(mechanism.scale))) ** 2
    return max(_LEAST_VARIANCE, variance / unit**2)


def part(loss: Budget, share: Fraction) -> Budget:
    """A share of a loss: shares that add up to 1 compose to the whole, in either currency."""
    if isinstance(loss, PureLoss):
        return PureLoss(epsilon=loss.epsilon * share)
    return ConcentratedLoss(rho=loss.rho * share, delta=Fraction(0))


def combined(first: Measurement, second: Measurement) -> Measurement:
    """Two measurements of the same, each with the weight that gives the least variance."""
    share = second.variance / (first.variance + second.variance)
    return Measurement(
        marginal=first.marginal,
        counts=share * first.counts + (1 - share) * second.counts,
        variance=share * first.variance,
    )


def _mechanism(loss: Budget, sensitivity: Sensitivity) -> DiscreteLaplace | DiscreteGaussian:
    if isinstance(loss, PureLoss):
        return DiscreteLaplace.for_loss(loss.epsilon, sensitivity)
    return DiscreteGaussian.for_loss(loss.rho, sensitivity)
