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
    `chance(count)` says how likely a key with that many is to be named. Where a count is near τ, only those
    that the noise raised are seen: a released count Y of a key that has μ follows the law of μ + X *given*
    μ + X ≥ τ. `passed_interval` inverts that law: it keeps each μ with P(Y ≥ y) ≥ α/2 and P(Y ≤ y) ≥ α/2.
    The true μ is left out with probability α at most, whatever μ is. Both laws are log-concave, so these
    probabilities rise and fall with μ (monotone likelihood ratio), and what is kept is an interval
    (Lehmann & Romano, Testing Statistical Hypotheses, 3rd ed. 2005, Theorem 3.4.1 and Corollary 3.5.1). A key
    that is named occurs, so that μ ≥ 1.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import InvalidInput
from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SMALLEST_DELTA,
    Number,
    confidence_level,
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
from discreet.noise.tails import (
    SUMMED_SIGMA,
    gaussian_log_survival,
    gaussian_tail,
    laplace_log_survival,
    laplace_tail,
)

_STEPS_OF_SIGMA = 64
"""Noisy counts are read in steps of σ/64, rounded outward, so that few of them have to be inverted."""
_SHARE_FAR = Fraction(1, 50)
"""Of a miss: how often the law of a count is taken for untouched by the threshold although it is not."""


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
        """The lowest threshold, hence the most keys, at which unique keys pass with probability at most δ."""
        target = positive_delta(delta)
        vector_sensitivity(sensitivity)
        return cls.least(noise, lambda threshold: threshold.delta_of(sensitivity) <= target)

    @classmethod
    def least(
        cls, noise: DiscreteLaplace | DiscreteGaussian, enough: Callable[["StabilityThreshold"], bool]
    ) -> "StabilityThreshold":
        """The lowest threshold that is `enough`, given that all higher ones are."""
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

    def passed_interval(self, noisy: Integers, confidence: Number) -> tuple[Floats, Floats]:
        """Where the exact counts of keys lie that were named with these; each at this confidence.

        Far above the threshold the law is that of the noise alone. Let P(|X| > r) be 1/50 of a miss. A noisy
        count of τ + 2r or more then comes from a μ ≥ τ + r, which passes, or from noise above r.
        """
        level = confidence_level(confidence)
        counts = as_integers(noisy)
        reach = int(self.noise.interval(level).high)
        far = self.far_above(level)
        low, high = (counts + side * reach for side in (-1, 1))
        step = max(1, math.floor(self._deviation / _STEPS_OF_SIGMA))
        near = counts < far
        above = counts[near] - self.threshold
        low[near] = _each(above // step, lambda k: self._least_count(self.threshold + k * step, level))
        high[near] = _each(
            -(-above // step), lambda k: self._most_count(self.threshold + k * step, level, reach)
        )
        ends = np.maximum(low, 1), np.maximum(high, np.maximum(counts, 1))
        return ends[0].astype(np.float64), ends[1].astype(np.float64)

    def far_above(self, confidence: Number) -> int:
        """From which noisy count on the threshold leaves no trace, at this confidence."""
        rare = (1 - confidence_level(confidence)) * _SHARE_FAR
        most = 1 - Fraction(1, 10**15)
        return self.threshold + 2 * int(self.noise.interval(min(most, 1 - rare)).high)

    def chance(self, count: int) -> float:
        """How likely a key with this exact count is to be named."""
        exact = whole(count, "count", 0, LARGEST_SENSITIVITY)
        return self._passes(exact) if exact else 0.0

    def release(
        self, exact: Integers | list[int], *, entropy: Entropy = SYSTEM
    ) -> tuple[NDArray[np.intp], Integers]:
        """The positions of the keys that pass, and their noisy counts.

        A count of zero or less means that the key does not occur: it is never named. How many keys there
        are is private, so an empty result is an answer too. Positions are private: show keys instead.
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
        """The most likely that a key of one person alone is to pass, from the norms of what they bring."""
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

    def _least_count(self, noisy: int, confidence: Fraction) -> int:
        """The least μ ≥ 1 with P(Y ≥ noisy | Y ≥ τ) ≥ α/2."""
        limit = math.log(float(1 - confidence) / 2) - self._rounding

        def kept(count: int) -> bool:
            passed = self._log_survival(self.threshold - count)
            return self._log_survival(noisy - count) - passed >= limit

        if kept(1):
            return 1
        return _first(kept, 1, max(2, noisy))

    def _most_count(self, noisy: int, confidence: Fraction, reach: int) -> int:
        """The largest μ with P(Y ≤ noisy | Y ≥ τ) ≥ α/2; no more than without a threshold."""
        most = math.log1p(-float(1 - confidence) / 2) + self._rounding

        def beyond(count: int) -> bool:
            passed = self._log_survival(self.threshold - count)
            return self._log_survival(noisy + 1 - count) - passed > most

        return _first(beyond, 0, noisy + reach + 1) - 1

    @property
    def _deviation(self) -> float:
        """About that of the noise."""
        return float(self.noise.scale) if isinstance(self.noise, DiscreteLaplace) else self.noise.sigma

    @property
    def _rounding(self) -> float:
        """By how much the logarithm of a ratio of tails may be off: intervals reach so much further."""
        summed = isinstance(self.noise, DiscreteLaplace) or self.noise.sigma <= SUMMED_SIGMA
        return 1e-9 if summed else 2e-3

    def _log_survival(self, m: int) -> float:
        """ln P(X ≥ m)."""
        if isinstance(self.noise, DiscreteLaplace):
            return laplace_log_survival(float(self.noise.scale), m)
        return gaussian_log_survival(self.noise.sigma, m)

    def _passes(self, count: int) -> float:
        """P(count + X ≥ threshold), rounded up where the count is below the threshold."""
        need = self.threshold - count
        return self._one_sided(need) if need > 0 else 1 - self._one_sided(1 - need)

    def _one_sided(self, m: int) -> float:
        """P(X ≥ m) for m ≥ 1, rounded up."""
        if isinstance(self.noise, DiscreteLaplace):
            return math.exp(laplace_tail(float(self.noise.scale), m)) / 2 * (1 + 1e-9)
        return gaussian_tail(self.noise.sigma, m) / 2


def _each(numbers: Integers, function: Callable[[int], int]) -> Integers:
    """Of each number, computed once for those that are equal."""
    different, places = np.unique(numbers, return_inverse=True)
    return np.array([function(int(each)) for each in different], dtype=numbers.dtype)[places]


def _first(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The first number after low that fits, when all after it do, and high does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
