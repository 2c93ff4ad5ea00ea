"""Keys that are private themselves: a key is named only if enough people have it.

Privacy
    Each key that occurs gets a noisy count; it is released, with that count, if the count reaches the
    threshold τ. On keys that both neighbours have, this is post-processing of the noise's own loss. A
    key that only one neighbour has betrays it if it passes; that happens with probability at most δ
    over all such keys together (Korolova et al. 2009; Google, "Delta for thresholding" 2020). So Laplace
    noise gives (ε, δ)-DP, and Gaussian noise δ-approximate ρ-zCDP.

    One person brings at most l₀ such keys, with counts cᵢ ≤ l∞ that sum to at most l₁. None passes with
    probability ∏ F(cᵢ), F(c) = P(c + X < τ). The laws are log-concave, so g = −ln F is convex and below
    its chord on [0, l∞], hence Σ g(cᵢ) ≤ l₀·g(0) + (l₁/l∞)·(g(l∞) − g(0)) and δ = 1 − e^(−that).

Accuracy
    `chance(count)` says how likely a key with that many is to be named. The noise of released counts is
    that of the mechanism, but where a count is near τ, only those that the noise raised are seen.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import InvalidInput
from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SMALLEST_DELTA,
    Number,
    positive_delta,
    round_up,
    whole,
)
from discreet.model.interval import Interval
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss
from discreet.model.sensitivity import Sensitivity, vector_sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.integers import as_integers
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.tails import gaussian_tail, laplace_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityThreshold:
    """Names the keys whose noisy count is at least `threshold`, with that count."""

    noise: DiscreteLaplace | DiscreteGaussian
    threshold: int

    def __post_init__(self) -> None:
        if not isinstance(self.noise, DiscreteLaplace | DiscreteGaussian):
            raise InvalidInput(
                "The noise of a threshold must be a mechanism.",
                remedy="Give a DiscreteLaplace or a DiscreteGaussian.",
            )
        object.__setattr__(self, "threshold", whole(self.threshold, "threshold", 2, LARGEST_SENSITIVITY))

    @classmethod
    def for_delta(
        cls, delta: Number, sensitivity: Sensitivity, noise: DiscreteLaplace | DiscreteGaussian
    ) -> "StabilityThreshold":
        """The lowest threshold, hence the most keys, at which unique keys pass with at most δ."""
        target = positive_delta(delta)
        vector_sensitivity(sensitivity)
        return cls.least(noise, lambda threshold: threshold.delta_of(sensitivity) <= target)

    @classmethod
    def least(
        cls, noise: DiscreteLaplace | DiscreteGaussian, enough: Callable[["StabilityThreshold"], bool]
    ) -> "StabilityThreshold":
        """The lowest threshold that is high enough, where all above are."""
        low, high = 1, 2
        while not enough(cls(noise=noise, threshold=high)):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(cls(noise=noise, threshold=middle)) else (middle, high)
        return cls(noise=noise, threshold=high)

    def loss(self, sensitivity: Sensitivity) -> ApproximateLoss | ConcentratedLoss:
        """The noise's own loss, and δ for keys that one person alone brings."""
        own = self.noise.loss(sensitivity)
        delta = self.delta_of(sensitivity)
        if isinstance(own, ConcentratedLoss):
            return ConcentratedLoss(rho=own.rho, delta=delta)
        return ApproximateLoss(epsilon=own.epsilon, delta=delta)

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        """Where the noise of `values` counts lies, all at once, whether or not they pass."""
        return self.noise.interval(confidence, values=values)

    def chance(self, count: int) -> float:
        """How likely a key with this exact count is to be named."""
        exact = whole(count, "count", 0, LARGEST_SENSITIVITY)
        return self._passes(exact) if exact else 0.0

    def release(
        self, exact: Integers | list[int], *, entropy: Entropy = SYSTEM
    ) -> tuple[NDArray[np.intp], Integers]:
        """The positions of the keys that pass, and their noisy counts.

        A count of zero or less means that the key does not occur: it is never named. How many keys there
        are is private, so no keys are an answer like any other; and so are positions: show keys instead.
        """
        if np.size(exact) == 0:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        counts = as_integers(exact)
        if counts.ndim != 1:
            raise InvalidInput("Counts must be one list.", remedy="Give one count for each key.")
        noisy = self.noise.release(counts, entropy=entropy)
        named = ((noisy >= self.threshold) & (counts > 0)).nonzero()[0]
        return named, noisy[named]

    def delta_of(self, sensitivity: Sensitivity) -> Fraction:
        """How likely a key that one person alone brings passes at most, from norms of what they bring."""
        if sensitivity.linf >= self.threshold:
            return Fraction(1)
        at_zero, at_most = self._passes(0), self._passes(sensitivity.linf)
        miss_zero, miss_most = -math.log1p(-at_zero), -math.log1p(-at_most)
        share = sensitivity.l1 / sensitivity.linf
        exponent = sensitivity.l0 * miss_zero + share * (miss_most - miss_zero)
        return min(Fraction(1), max(SMALLEST_DELTA, round_up(-math.expm1(-exponent))))

    def delta_of_profiles(self, profiles: Iterable[tuple[int, int]]) -> Fraction:
        """The same, exactly, where a person brings m keys with at most c each, for one of the (m, c)."""
        worst = Fraction(0)
        for keys, count in profiles:
            if count >= self.threshold:
                return Fraction(1)
            if count > 0:
                miss = keys * math.log1p(-self._passes(count))
                worst = max(worst, round_up(-math.expm1(miss)))
        return min(Fraction(1), max(SMALLEST_DELTA, worst))

    def _passes(self, count: int) -> float:
        """P(count + X ≥ threshold), rounded up where the count is below the threshold."""
        need = self.threshold - count
        return self._one_sided(need) if need > 0 else 1 - self._one_sided(1 - need)

    def _one_sided(self, m: int) -> float:
        """P(X ≥ m) for m ≥ 1, rounded up."""
        if isinstance(self.noise, DiscreteLaplace):
            return math.exp(laplace_tail(float(self.noise.scale), m)) / 2 * (1 + 1e-9)
        return gaussian_tail(self.noise.sigma, m) / 2
