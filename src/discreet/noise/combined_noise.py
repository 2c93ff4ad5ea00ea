"""Noise of what is computed from several noisy numbers: a weighted sum of independent draws of one law.

Its interval is exact where all weights are alike and the noise is small: the law on the integers is convolved
with itself. Else it is that of `MixedNoise`, which takes the laws as continuous. A continuous Laplace draw is
a discrete one plus an independent part (see `sum_tails`), and so reaches further.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt

import numpy as np

from discreet.arrays import Floats
from discreet.model.exact import Number, confidence_level
from discreet.model.interval import Interval
from discreet.noise.additive import AdditiveNoise
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.noise.tails import gaussian_magnitude, laplace_magnitude, miss_probability

_SMALL = 50.0
"""Up to this scale, the law is convolved; beyond, it is as good as continuous."""
_LEAST_MISS = 1e-9
"""What a convolution in doubles can tell. Below, each draw keeps within its own interval."""


@dataclass(frozen=True, slots=True)
class NoiseTerm:
    """One of the draws: its weight in the sum, and its law."""

    weight: float
    noise: AdditiveNoise
    mixed: MixedNoise | None = None
    """Where it is itself mixed from draws of this law."""

    @property
    def scale(self) -> float:
        """Its b or σ, weighted."""
        return abs(self.weight) * scale_of(self.noise)


@dataclass(frozen=True, slots=True)
class CombinedNoise:
    """Σ weight·noise. All are Laplace noise, or all are Gaussian."""

    terms: tuple[NoiseTerm, ...]

    def interval(self, confidence: Number, *, values: int = 1) -> Interval:
        """Where so many of these sums lie, all at once, if they are independent or not less likely so."""
        level = confidence_level(confidence)
        reach = Fraction(self._reach(miss_probability(level, values)))
        return Interval(low=-reach, high=reach, confidence=level)

    def _reach(self, miss: float) -> float:
        first, *others = self.terms
        alike = all(each.noise == first.noise and abs(each.weight) == abs(first.weight) for each in others)
        mixed = any(each.mixed is not None for each in self.terms)
        if alike and not mixed and scale_of(first.noise) <= _SMALL and miss >= _LEAST_MISS:
            return abs(first.weight) * _convolved_reach(first.noise, len(self.terms), miss)
        if miss < _LEAST_MISS:
            return sum(
                abs(each.weight) * _own_reach(each.noise, miss / len(self.terms)) for each in self.terms
            )
        return self._continuous_reach(miss)

    def _continuous_reach(self, miss: float) -> float:
        """Relative to the largest of the terms, as if all had its law."""
        largest = max(self.terms, key=lambda each: each.scale)
        weights: list[Floats] = []
        for each in self.terms:
            inner = each.mixed or MixedNoise((1.0,), (1,))
            ratio = each.scale / largest.scale
            weights.append(ratio * np.repeat(inner.weights, inner.times))
        level = Fraction(1 - miss)
        one = abs(largest.weight) * float(largest.noise.interval(level).high)
        return one * MixedNoise.of(np.concatenate(weights)).reach(largest.noise, level)


def _own_reach(noise: AdditiveNoise, miss: float) -> int:
    """How far one draw reaches but for so small a probability, which no confidence in doubles can say."""
    find = laplace_magnitude if isinstance(noise, DiscreteLaplace) else gaussian_magnitude
    return find(scale_of(noise), miss) - 1


def scale_of(noise: AdditiveNoise) -> float:
    """b or σ, in steps."""
    return float(noise.scale) if isinstance(noise, DiscreteLaplace) else noise.sigma


@lru_cache(maxsize=256)
def _convolved_reach(noise: AdditiveNoise, draws: int, miss: float) -> int:
    """The least t with P(|X₁ + … + Xₙ| > t) ≤ miss, to nine digits of the probability."""
    scale = scale_of(noise)
    each = (
        ceil(45 * scale + 3)
        if isinstance(noise, DiscreteLaplace)
        else ceil(sqrt(-2 * log(1e-16)) * scale + 3)
    )
    values = np.arange(-each, each + 1)
    exponent = -np.abs(values) / scale if isinstance(noise, DiscreteLaplace) else -0.5 * (values / scale) ** 2
    law = np.exp(exponent)
    law /= law.sum()
    length = 2 * each * draws + 1
    size = 1 << (length - 1).bit_length()
    summed = np.fft.irfft(np.fft.rfft(law, size) ** draws, size)[:length]
    beyond = np.cumsum(summed[::-1])[: each * draws + 1]  # beyond[i] = P(X ≥ the i-th largest value)
    tails = 2 * beyond[::-1]  # tails[m] = P(|X| ≥ m), for m ≥ 1
    fits = np.flatnonzero(tails[1:] * (1 + 1e-9) + 1e-13 <= miss)
    return int(fits[0]) if len(fits) else each * draws
