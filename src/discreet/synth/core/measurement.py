"""A marginal with exact noise: all that the fit ever sees of the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sinh
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.model.privacy import Spend, share_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import additive
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.synth.core.domain import Marginal

ExactMarginals: TypeAlias = Callable[[Sequence[Marginal]], Sequence[NDArray[np.int64]]]
"""The exact counts of marginals, in units that one person moves by no more than the sensitivity."""

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
    loss: Spend,
    sensitivity: Sensitivity,
    unit: int = 1,
    entropy: Entropy = SYSTEM,
) -> Measurement:
    """Costs the loss (`DiscreteLaplace`, `DiscreteGaussian`). Exact counts are in 1/unit of a person."""
    noisy = additive(loss, sensitivity).release(exact, entropy=entropy)
    return Measurement(
        marginal=marginal,
        counts=np.asarray(noisy, dtype=np.float64) / unit,
        variance=noise(loss, sensitivity, unit),
    )


def distances(
    exact: Sequence[NDArray[np.int64]],
    expected: Sequence[NDArray[np.int64]],
    *,
    loss: Spend,
    sensitivity: Sensitivity,
    unit: int = 1,
    entropy: Entropy = SYSTEM,
) -> NDArray[np.float64]:
    """How far each table is from whole numbers known before, in ℓ₁: one noisy number a table, in people.

    Costs the loss, of which each number has an equal part. By the triangle inequality one person moves a
    distance by no more than the table, in ℓ₁. The numbers of a table add up to less than 2^62.
    """
    sums = [int(np.abs(counts - known).sum()) for counts, known in zip(exact, expected, strict=True)]
    mechanism = additive(share_of(loss, Fraction(1, len(sums))), _of_distance(sensitivity))
    noisy = mechanism.release(np.array(sums, dtype=np.int64), entropy=entropy)
    return np.asarray(noisy, dtype=np.float64) / unit


@dataclass(frozen=True, slots=True)
class MarginalReader:
    """Exact counts, which only leave with noise, and what may be spent on them."""

    exact: ExactMarginals
    loss: Spend
    sensitivity: Sensitivity
    unit: int

    def measure(
        self, marginals: Sequence[Marginal], share: Fraction, shares: Sequence[Fraction] = ()
    ) -> list[Measurement]:
        """Measure all of them for a share of the loss. Each gets its own of `shares`, or all get the same."""
        shares = shares or [Fraction(1, len(marginals))] * len(marginals)
        return [
            measure(
                marginal,
                counts,
                loss=share_of(self.loss, share * own),
                sensitivity=self.sensitivity,
                unit=self.unit,
            )
            for marginal, counts, own in zip(marginals, self.exact(marginals), shares, strict=True)
        ]

    def distances(
        self, marginals: Sequence[Marginal], expected: Sequence[NDArray[np.int64]], share: Fraction
    ) -> NDArray[np.float64]:
        """How far each is from what was expected, in people; all of them for a share of the loss."""
        return distances(
            self.exact(marginals),
            expected,
            loss=share_of(self.loss, share),
            sensitivity=self.sensitivity,
            unit=self.unit,
        )

    def sigma(self, share: Fraction, tables: int = 1) -> float:
        """The standard deviation of a count, if so many tables have a share of the loss."""
        return float(noise(share_of(self.loss, share / tables), self.sensitivity, self.unit) ** 0.5)

    def sigma_of_distance(self, share: Fraction, tables: int) -> float:
        """The standard deviation of a distance, if those of so many tables have a share of the loss."""
        each = share_of(self.loss, share / tables)
        return float(noise(each, _of_distance(self.sensitivity), self.unit) ** 0.5)


def noise(loss: Spend, sensitivity: Sensitivity, unit: int = 1) -> float:
    """The variance of a count of people that is measured at this loss. It reads no data."""
    mechanism = additive(loss, sensitivity)
    if isinstance(mechanism, DiscreteGaussian):
        variance = float(mechanism.sigma_squared)
    else:  # of P(x) ∝ q^|x| it is 2q/(1 − q)², with q = e^(−1/scale)
        variance = 0.5 / sinh(min(_STEEP, 0.5 / float(mechanism.scale))) ** 2
    return max(_LEAST_VARIANCE, variance / unit**2)


def combined(first: Measurement, second: Measurement) -> Measurement:
    """Two measurements of the same, each with the weight that gives the least variance."""
    share = second.variance / (first.variance + second.variance)
    return Measurement(
        marginal=first.marginal,
        counts=share * first.counts + (1 - share) * second.counts,
        variance=share * first.variance,
    )


def _of_distance(sensitivity: Sensitivity) -> Sensitivity:
    return Sensitivity.scalar(sensitivity.l1, sensitivity.neighbours)
