"""What was paid for: noisy counts, their price, and how far estimates from them spread.

The tail of an estimate is normal for Gaussian noise. For Laplace noise it is at most that of sums of any
number of equal draws, which is widest, in standard deviations, for few of them (`noise.sum_tails`). Half a
step of the grid is added for the lattice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level, positive_count, round_down
from discreet.model.privacy import Spend, amount_of, spend_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import AdditiveNoise, additive
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sum_tails import laplace_deviations
from discreet.synth.cached.counting_question import Attributes, Mask
from discreet.synth.cached.resolutions import Levels

_SMOOTH = 1 + 1e-6  # a Gaussian's σ² on the grid, from which on its lattice hardly shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What one person moves, and in which currency it is paid: ρ with Gaussian noise, or ε with Laplace."""

    concentrated: bool
    table: Sensitivity
    """The sensitivity of all cells of a table of counts, whatever its attributes and however coarse."""
    single: Sensitivity
    """The sensitivity of the count in any set of cells."""
    unit: int = 1
    """Counts are in 1/unit of a person."""
    least: Fraction = Fraction(0)
    """The least ε or ρ of one payment. What would cost less gets less noise instead."""

    def __post_init__(self) -> None:
        positive_count(self.unit, "unit")

    def single_noise(self, variance: float) -> AdditiveNoise:
        """The most noise with at most this variance, in people."""
        if self.concentrated:
            return DiscreteGaussian(sigma_squared=round_down(variance * self.unit**2))
        return DiscreteLaplace(scale=round_down(sqrt(variance / 2) * self.unit))

    def single_noise_at_least(self, variance: float) -> AdditiveNoise:
        """The same, or so little noise that it costs the least price."""
        noise = self.single_noise(variance)
        paid = amount_of(self.loss(noise, table=False))
        if paid >= self.least:
            return noise
        return additive(self._spend(self.least), self.single)

    def table_noise(self, amount: float) -> AdditiveNoise:
        """The least noise of a table that costs at most this ε or ρ."""
        return additive(self._spend(round_down(amount)), self.table)

    def precision(self, amounts: Floats) -> Floats:
        """1/variance of each count, in people, for tables that cost these amounts."""
        if self.concentrated:
            return amounts * (2 * self.unit**2 / self.table.l2_squared)
        per_epsilon = self.unit / self.table.l1
        return (amounts * per_epsilon) ** 2 / 2

    def loss(self, noise: AdditiveNoise, *, table: bool) -> Spend:
        return noise.loss(self.table if table else self.single)

    def sum(self, losses: Sequence[Spend]) -> Spend:
        return self._spend(sum((amount_of(loss) for loss in losses), Fraction(0)))

    def _spend(self, amount: Fraction) -> Spend:
        return spend_of(amount, concentrated=self.concentrated)

    def spread(self, noise: AdditiveNoise) -> "Spread":
        """The spread of one draw."""
        if isinstance(noise, DiscreteGaussian) != self.concentrated:
            raise InvalidInput(
                "A reading was paid in another currency.", remedy="Keep ε and ρ in caches of their own."
            )
        if isinstance(noise, DiscreteGaussian):
            return self.spread_at(float(noise.sigma_squared) / self.unit**2)
        return self.spread_at(2 * (float(noise.scale) / self.unit) ** 2)

    def spread_at(self, variance: float) -> "Spread":
        """The spread of one draw. The variance is the continuous law's; the discrete one's is no larger."""
        smooth = not self.concentrated or variance * self.unit**2 >= _SMOOTH
        return Spread(variance=variance, laplace=not self.concentrated, smooth=smooth, step=1 / self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How an estimate spreads around the truth."""

    variance: float
    laplace: bool
    smooth: bool
    """False if it has Gaussian noise so small that the lattice shows."""
    step: float
    """The step of the grid, in people."""

    def reach(self, miss: float) -> float:
        """t with P(|estimate − truth| > t) ≤ miss."""
        if self.variance == 0:
            return 0.0
        if self.laplace:
            deviations = float(laplace_deviations(miss / 2)[0])
        elif self.smooth:
            deviations = -NormalDist().inv_cdf(miss / 2)
        else:
            deviations = sqrt(2 * log(2 / miss))
        return deviations * sqrt(self.variance) + self.step / 2

    def joined(self, other: "Spread") -> "Spread":
        """The spread of the average of two independent estimates, weighted by 1/variance."""
        return Spread(
            variance=self.share(other) * self.variance,
            laplace=self.laplace,
            smooth=self.smooth and other.smooth,
            step=self.step,
        )

    def share(self, other: "Spread") -> float:
        """The weight of this one in their average."""
        return other.variance / (self.variance + other.variance)


EXACT = Spread(variance=0.0, laplace=False, smooth=True, step=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Noisy counts that were paid for: of every cell of a table, or of one question."""

    attributes: Attributes
    levels: Levels | None
    """The level of each attribute of a table; None for a question."""
    mask: Mask | None
    """The cells of a question; None for a table."""
    noise: AdditiveNoise
    counts: NDArray[np.int64]
    """In 1/unit of a person, in the order of the cells; one number for a question."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragedReadings:
    """All readings of the same thing as one: their average, weighted by 1/variance."""

    values: Floats
    spread: Spread

    def joined(self, other: "AveragedReadings") -> "AveragedReadings":
        share = self.spread.share(other.spread)
        return AveragedReadings(
            values=share * self.values + (1 - share) * other.values, spread=self.spread.joined(other.spread)
        )


def miss_of(confidence: Number, values: int) -> float:
    """How often one of `values` estimates may miss: they are not independent, so misses are added up."""
    return float((1 - confidence_level(confidence)) / positive_count(values, "values"))
