"""The discrete Gaussian mechanism: integers plus noise that is normal on the integers.

Privacy
    With variance parameter σ², P(x) ∝ e^(−x²/2σ²), and neighbours at most Δ₂ apart in ℓ₂, a release is
    Δ₂²/(2σ²)-zCDP (Canonne, Kamath, Steinke, arXiv 2004.00010v4, Theorem 4 for one number and
    Theorem 14 for vectors): the same as the continuous Gaussian. Lecture 004's variance
    (Δ/ε)²·ln(1/δ) is too small; `accounting.calibration` has the right one for a single (ε, δ).

Accuracy
    The tail is summed over the discrete law itself; the draws are independent, so for k values at once
    P(all |X| ≤ t) = (1 − P(|X| ≥ t + 1))^k.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SCALE_RANGE,
    Number,
    confidence_level,
    positive_rho,
    round_down,
    whole,
    within,
)
from discreet.model.interval import Interval
from discreet.model.privacy import ConcentratedLoss
from discreet.model.sensitivity import Sensitivity, vector_sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.integers import ExactIntegers, add_noise, as_integers, like_input
from discreet.noise.sampling import discrete_gaussian
from discreet.noise.tails import gaussian_magnitude, gaussian_tail, largest, miss_probability

_VARIANCE_RANGE = (SCALE_RANGE[0] ** 2, SCALE_RANGE[1] ** 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Adds integer noise with P(x) ∝ e^(−x²/(2·sigma_squared)) to each value."""

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        exact = within(self.sigma_squared, "sigma_squared", *_VARIANCE_RANGE)
        object.__setattr__(self, "sigma_squared", exact)

    @classmethod
    def for_loss(cls, rho: Number, sensitivity: Sensitivity) -> "DiscreteGaussian":
        """The least noise that costs at most ρ: σ² = Δ₂²/(2ρ), exactly."""
        return cls(sigma_squared=vector_sensitivity(sensitivity).l2_squared / (2 * positive_rho(rho)))

    @classmethod
    def for_error(cls, error: int, confidence: Number, *, values: int = 1) -> "DiscreteGaussian":
        """The most noise, hence the least loss, that keeps all values within ±error."""
        error = whole(error, "error", 0, LARGEST_SENSITIVITY)
        miss = miss_probability(confidence_level(confidence), values)
        low, high = float(SCALE_RANGE[0]), 4 * (error + 1) / float(miss)
        sigma = largest(lambda s: gaussian_tail(s, error + 1) <= miss, low, high)
        return cls(sigma_squared=max(_VARIANCE_RANGE[0], round_down(sigma) ** 2))

    @property
    def sigma(self) -> float:
        """σ, for display and for tails; privacy rests on the exact sigma_squared."""
        return math.sqrt(self.sigma_squared)

    def loss(self, sensitivity: Sensitivity) -> ConcentratedLoss:
        """ρ = Δ₂²/(2σ²), exactly, without a δ."""
        rho = vector_sensitivity(sensitivity).l2_squared / (2 * self.sigma_squared)
        return ConcentratedLoss(rho=rho, delta=Fraction(0))

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        """Where the noise of `values` draws lies, all at once: the least ±t on the grid."""
        level = confidence_level(confidence)
        reach = gaussian_magnitude(self.sigma, miss_probability(level, values)) - 1
        return Interval(low=Fraction(-reach), high=Fraction(reach), confidence=level)

    def release(self, exact: ExactIntegers, *, entropy: Entropy = SYSTEM) -> ExactIntegers:
        """The values plus noise, as integers on the same grid."""
        values = as_integers(exact)
        noise = discrete_gaussian(self.sigma_squared, values.size, entropy)
        return like_input(exact, add_noise(values, noise))
