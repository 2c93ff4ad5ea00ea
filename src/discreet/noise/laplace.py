"""The discrete Laplace mechanism: integers plus two-sided geometric noise.

Privacy
    With scale b, P(x) ∝ e^(−|x|/b) on the integers, and neighbours at most Δ₁ apart in ℓ₁, a release
    is Δ₁/b-differentially private: the ratio of any two probabilities is at most e^(Δ₁/b), by the
    triangle inequality in each coordinate (Ghosh, Roughgarden, Sundararajan 2009 for one number;
    lectures 000, 001 and 004 for the continuous law). The textbook's mechanism on floats is not
    private (Mironov 2012); this one never sees a float.

Accuracy
    P(|X| ≥ m) = 2·q^m/(1 + q) for m ≥ 1, with q = e^(−1/b): exact, and below lecture 000's 2e^(−m/b).
    The draws are independent, so for k values at once P(all |X| ≤ t) = (1 − P(|X| ≥ t + 1))^k.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SCALE_RANGE,
    Number,
    confidence_level,
    positive_epsilon,
    positive_scale,
    round_down,
    whole,
)
from discreet.model.interval import Interval
from discreet.model.privacy import PureLoss
from discreet.model.sensitivity import Sensitivity, vector_sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.integers import ExactIntegers, add_noise, as_integers, like_input
from discreet.noise.sampling import discrete_laplace
from discreet.noise.tails import laplace_magnitude, laplace_tail, largest, miss_probability


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Adds integer noise with P(x) ∝ e^(−|x|/scale) to each value."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_scale(self.scale))

    @classmethod
    def for_loss(cls, epsilon: Number, sensitivity: Sensitivity) -> "DiscreteLaplace":
        """The least noise that costs at most ε: scale Δ₁/ε, exactly."""
        return cls(scale=vector_sensitivity(sensitivity).l1 / positive_epsilon(epsilon))

    @classmethod
    def for_error(cls, error: int, confidence: Number, *, values: int = 1) -> "DiscreteLaplace":
        """The most noise, hence the least loss, that keeps all values within ±error."""
        error = whole(error, "error", 0, LARGEST_SENSITIVITY)
        log_miss = math.log(miss_probability(confidence_level(confidence), values))
        low, high = (float(end) for end in SCALE_RANGE)
        scale = largest(lambda b: laplace_tail(b, error + 1) <= log_miss, low, high)
        return cls(scale=max(SCALE_RANGE[0], round_down(scale)))

    def loss(self, sensitivity: Sensitivity) -> PureLoss:
        """Δ₁/scale, exactly."""
        return PureLoss(epsilon=vector_sensitivity(sensitivity).l1 / self.scale)

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        """Where the noise of `values` draws lies, all at once: the least ±t on the grid."""
        level = confidence_level(confidence)
        reach = laplace_magnitude(float(self.scale), miss_probability(level, values)) - 1
        return Interval(low=Fraction(-reach), high=Fraction(reach), confidence=level)

    def release(self, exact: ExactIntegers, *, entropy: Entropy = SYSTEM) -> ExactIntegers:
        """The values plus noise, as integers on the same grid."""
        values = as_integers(exact)
        noise = discrete_laplace(self.scale, values.size, entropy)
        return like_input(exact, add_noise(values, noise))
