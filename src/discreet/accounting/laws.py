"""The laws that a schedule is made of: what is known of one release before it is composed with others.

Each law describes one release between neighbours that are as far apart as the release's sensitivity
allows, whichever relation that sensitivity is for. ``renyi`` is its Rényi divergence at given orders, in
closed form and rounded up.

The additive laws are for one number, or for a vector of which one coordinate moves. If several move and the
law is not the continuous Gaussian, list one event for each coordinate, or use `AnyPure`. Do not list events
on a sample: there one coin decides for all coordinates of a person, but each event would toss its own.
Discrete Gaussian noise on vectors of integers costs at most as much as `GaussianNoise` with σ² less 5, on
samples too (`sampled_steps` has the proof).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SCALE_RANGE,
    exact_fraction,
    positive_epsilon,
    positive_scale,
    whole,
    within,
)

Orders: TypeAlias = npt.NDArray[np.float64]

_ROUNDING = 4e-15  # more than the logarithms below lose
_UP = 1 + _ROUNDING


class ReleaseLaw(Protocol):
    """How one release is distributed on two neighbours."""

    def renyi(self, orders: Orders) -> Orders:
        """The Rényi divergence of each order α > 1, rounded up."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """Continuous Laplace noise; scale is in units of the sensitivity, so that ε = 1/scale."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    def renyi(self, orders: Orders) -> Orders:
        """Mironov 2017, "Rényi Differential Privacy" (arXiv 1702.07476v3), Proposition 6."""
        epsilon = float(1 / self.scale)
        saved = np.log1p((orders - 1) * np.expm1(-epsilon * (2 * orders - 1)) / (2 * orders - 1))
        return _rounded(epsilon, saved, orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise:
    """Continuous Gaussian noise; sigma is in units of the ℓ₂ sensitivity. Also for vectors."""

    sigma: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive_scale(self.sigma, "sigma"))

    def renyi(self, orders: Orders) -> Orders:
        """α/2σ² (Mironov 2017, v3, Proposition 7)."""
        return orders * float(1 / (2 * self.sigma**2)) * _UP


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise:
    """Discrete Laplace noise of this scale on one integer that moves by at most `change`."""

    scale: Fraction
    change: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))
        object.__setattr__(self, "change", whole(self.change, "change", 1, LARGEST_SENSITIVITY))

    def renyi(self, orders: Orders) -> Orders:
        """ln(Σ P(x)^α·P(x − change)^(1−α))/(α − 1): three geometric sums.

        With q = e^(−1/scale) and r = q^(2α−1): e^((α−1)ε) times the bracket
        (1 + r^Δ)/(1 + q) outside [0, Δ], and (1 − q)/(1 + q)·(r + … + r^(Δ−1)) inside.
        """
        rate, steep = float(1 / self.scale), float(1 / self.scale) * (2 * orders - 1)
        between = np.exp(-steep) * np.expm1(-steep * (self.change - 1)) / np.expm1(-steep)
        bracket = 1 + np.exp(-steep * self.change) - math.expm1(-rate) * between
        return _rounded(self.change * rate, np.log(bracket / (1 + math.exp(-rate))), orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise:
    """Discrete Gaussian noise on one integer that moves by at most `change`."""

    sigma_squared: Fraction
    change: int

    def __post_init__(self) -> None:
        exact = within(self.sigma_squared, "sigma_squared", SCALE_RANGE[0] ** 2, SCALE_RANGE[1] ** 2)
        object.__setattr__(self, "sigma_squared", exact)
        object.__setattr__(self, "change", whole(self.change, "change", 1, LARGEST_SENSITIVITY))

    def renyi(self, orders: Orders) -> Orders:
        """At most αΔ²/2σ² (Canonne, Kamath, Steinke, arXiv 2004.00010v4, Theorem 4)."""
        return orders * float(self.change**2 / (2 * self.sigma_squared)) * _UP


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponseLaw:
    """A report of one of several categories: the true one with probability `keep`, else another, evenly.

    Neighbours differ in the person's category, so this is a claim under replace-one.
    """

    keep: Fraction
    categories: int

    def __post_init__(self) -> None:
        k = whole(self.categories, "categories", 2, 2**32)
        object.__setattr__(self, "categories", k)
        least, most = Fraction(1, k), 1 - Fraction(1, 10**15)
        keep = exact_fraction(self.keep, "keep")
        object.__setattr__(self, "keep", within(keep, "keep", least, most))

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """Of the true category, of one certain other, and of all the rest."""
        other = (1 - self.keep) / (self.categories - 1)
        return float(self.keep), float(other), float((self.categories - 2) * other)

    def renyi(self, orders: Orders) -> Orders:
        keep, other, _ = self.probabilities
        return _response_renyi(math.log(keep / other), self.probabilities, orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyPure:
    """Any ε-DP release, of which nothing else is known.

    Every such pair of distributions is a post-processing of binary randomized response with odds e^ε
    (Kairouz, Oh, Viswanath, arXiv 1311.0776v4), so this law is the worst of all.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """Of the true bit, of the other, and of nothing else."""
        odds = math.exp(-float(self.epsilon))
        return 1 / (1 + odds), odds / (1 + odds), 0.0

    def renyi(self, orders: Orders) -> Orders:
        return _response_renyi(float(self.epsilon), self.probabilities, orders)


def _response_renyi(epsilon: float, probabilities: tuple[float, float, float], orders: Orders) -> Orders:
    """ln(p·(p/q)^(α−1) + q·(q/p)^(α−1) + rest)/(α − 1), with the largest power, e^((α−1)ε), taken out."""
    keep, other, rest = probabilities
    down = np.exp(-epsilon * (orders - 1))
    return _rounded(epsilon, np.log(keep + other * down**2 + rest * down), orders)


def _rounded(epsilon: float, log_saved: Orders, orders: Orders) -> Orders:
    """ε + ln(…)/(α − 1), plus more than floating point can have lost."""
    return np.maximum(0, epsilon + log_saved / (orders - 1)) + _ROUNDING * (epsilon + 1 / (orders - 1))
