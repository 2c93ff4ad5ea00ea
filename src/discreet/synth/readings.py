"""What was paid for: noisy counts, and the best estimate that they allow.

Tables of several attribute sets, each with its own noise, are joined by weighted least squares, exactly and
in closed form. The part of a question on a subset U (`question`) is measured by every table T that contains
U, independently, with a variance proportional to σ_T²·N_T/N_U, N the number of cells; the parts of one
table are uncorrelated, because they are orthogonal and its noise is the same in all cells. So each part is
the average of its tables, weighted by 1/variance, and the estimate is the sum over parts: the best linear
unbiased one (Gauss-Markov). All variances are known before anything is measured, and depend on no data.

The tail of an estimate: normal for Gaussian noise; for Laplace noise that of a sum of as many equal draws as
its variance holds of the largest (`noise.sums`). Half a grid step is added for the lattice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log, prod, sqrt
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level, positive_count, round_down
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sums import laplace_deviations
from discreet.synth.question import Attributes, Mask, Question
from discreet.synth.records import Floats

Noise: TypeAlias = DiscreteLaplace | DiscreteGaussian
Coefficients: TypeAlias = dict[Attributes, Floats]

_SMOOTH = 1 + 1e-6  # a Gaussian's σ² on the grid, from where on its lattice hardly shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What one person moves, and in which currency it is paid: ρ with Gaussian noise, or ε with Laplace."""

    concentrated: bool
    table: Sensitivity
    """Of all cells of a table of counts, whatever its attributes."""
    single: Sensitivity
    """Of the count in any set of cells."""
    unit: int = 1
    """Counts are in 1/unit of a person."""

    def __post_init__(self) -> None:
        positive_count(self.unit, "unit")

    def noise(self, variance: float) -> Noise:
        """The most noise with at most this variance, in people."""
        if self.concentrated:
            return DiscreteGaussian(sigma_squared=round_down(variance * self.unit**2))
        return DiscreteLaplace(scale=round_down(sqrt(variance / 2) * self.unit))

    def table_variance(self, amount: Fraction) -> float:
        """Of each count, in people, in a table that costs this much ε or ρ."""
        if self.concentrated:
            return float(self.table.l2_squared / (2 * amount)) / self.unit**2
        return 2 * (float(self.table.l1 / amount) / self.unit) ** 2

    def loss(self, noise: Noise, *, table: bool) -> PureLoss | ConcentratedLoss:
        return noise.loss(self.table if table else self.single)

    def spread(self, noise: Noise) -> "Spread":
        """Of one draw. The variance of a discrete law is at most that of the continuous one."""
        if isinstance(noise, DiscreteGaussian) != self.concentrated:
            raise InvalidInput(
                "A reading was paid in another currency.", remedy="Keep ε and ρ in caches of their own."
            )
        if isinstance(noise, DiscreteGaussian):
            return self.spread_at(float(noise.sigma_squared) / self.unit**2)
        return self.spread_at(2 * (float(noise.scale) / self.unit) ** 2)

    def spread_at(self, variance: float) -> "Spread":
        """Of one draw with this variance."""
        laplace = 0.0 if self.concentrated else sqrt(variance / 2)
        smooth = not self.concentrated or variance * self.unit**2 >= _SMOOTH
        return Spread(variance=variance, largest=laplace, smooth=smooth, step=1 / self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How an estimate spreads around the truth."""

    variance: float
    largest: float
    """The scale of the largest Laplace draw in it; 0 if its noise is Gaussian."""
    smooth: bool
    """False if Gaussian noise is in it that is so small that the lattice shows."""
    step: float
    """Of the grid, in people."""

    def reach(self, miss: float) -> float:
        """t with P(|estimate − truth| > t) ≤ miss."""
        if self.variance == 0:
            return 0.0
        if self.largest:
            draws = int(min(max(self.variance / (2 * self.largest**2), 1), 32))
            deviations = float(laplace_deviations(miss / 2)[draws - 1])
        elif self.smooth:
            deviations = -NormalDist().inv_cdf(miss / 2)
        else:
            deviations = sqrt(2 * log(2 / miss))
        return deviations * sqrt(self.variance) + self.step / 2

    def joined(self, other: "Spread") -> "Spread":
        """Of the average of two independent estimates, weighted by 1/variance."""
        share = self.share(other)
        return Spread(
            variance=share * self.variance,
            largest=max(share * self.largest, (1 - share) * other.largest),
            smooth=self.smooth and other.smooth,
            step=self.step,
        )

    def share(self, other: "Spread") -> float:
        """The weight of this one in their average."""
        return other.variance / (self.variance + other.variance)


EXACT = Spread(variance=0.0, largest=0.0, smooth=True, step=0.0)


def miss_of(confidence: Number, values: int) -> float:
    """How often one of `values` estimates may miss: they are not independent, so parts are added up."""
    return float((1 - confidence_level(confidence)) / positive_count(values, "values"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Noisy counts that were paid for: of every cell of a table, or of one question."""

    attributes: Attributes
    mask: Mask | None
    """The question's cells; None for a whole table."""
    noise: Noise
    counts: NDArray[np.int64]
    """In 1/unit of a person, in the order of the cells; one number for a question."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """All readings of the same thing as one: their average, weighted by 1/variance."""

    counts: Floats
    spread: Spread

    def joined(self, other: "Known") -> "Known":
        share = self.spread.share(other.spread)
        return Known(
            counts=share * self.counts + (1 - share) * other.counts, spread=self.spread.joined(other.spread)
        )


def coefficients(
    question: Question,
    tables: Mapping[Attributes, Spread],
    sizes: tuple[int, ...],
    parts: Mapping[Attributes, Floats] | None = None,
) -> Coefficients | None:
    """By which each table's counts are multiplied, on the attributes it shares with the question.

    None if no table contains one of the parts. The question's parts may be given if they are at hand.
    """
    found: Coefficients = {}
    for subset, values in (parts or question.parts()).items():
        precisions = {
            each: _cells(subset, sizes) / (_cells(each, sizes) * spread.variance)
            for each, spread in tables.items()
            if set(subset) <= set(each)
        }
        if not precisions:
            return None
        for each, precision in precisions.items():
            shared = tuple(attribute for attribute in question.attributes if attribute in each)
            shape = [sizes[attribute] if attribute in subset else 1 for attribute in shared]
            part = values.reshape(shape) * (precision / sum(precisions.values()))
            found[each] = found.get(each, np.zeros([sizes[attribute] for attribute in shared])) + part
    return found


def spread_of(weights: Coefficients, tables: Mapping[Attributes, Spread], sizes: tuple[int, ...]) -> Spread:
    """Of the estimate with these coefficients: every cell of a table has a draw of its own."""
    variance, largest, smooth, step = 0.0, 0.0, True, 0.0
    for each, values in weights.items():
        spread, flat = tables[each], values.reshape(-1)
        repeats = _cells(each, sizes) / flat.size  # cells that have the same coefficient
        variance += spread.variance * repeats * float(flat @ flat)
        largest = max(largest, spread.largest * float(np.abs(flat).max()))
        smooth, step = smooth and spread.smooth, spread.step
    return Spread(variance=variance, largest=largest, smooth=smooth, step=step)


def _cells(attributes: Attributes, sizes: tuple[int, ...]) -> int:
    return prod(sizes[each] for each in attributes)
