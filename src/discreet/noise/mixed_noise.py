"""How far mixed noise reaches: a weighted sum of independent noise of one law. Nothing is drawn here.

It is for intervals of what is computed from several noisy numbers. Of Gaussian noise a sum is Gaussian. Of
Laplace noise with scale b the characteristic function is Π 1/(1 + (aᵢ·b·t)²), and the probability of a middle
follows by inversion (Gil-Pelaez 1951). Both are taken as continuous, for noise of several steps.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import fsum, log, pi, sqrt

import numpy as np

from discreet.arrays import Floats
from discreet.noise.additive import AdditiveNoise
from discreet.noise.laplace import DiscreteLaplace

_POINTS, _LAST = 4_000, 80.0
"""Of the characteristic function: how many, and up to where in standard deviations."""

_LEAST_MISS = Fraction(1, 10**4)
"""Smaller probabilities are below what the inversion can tell."""


@dataclass(frozen=True, slots=True)
class MixedNoise:
    """Σ aᵢ·ηᵢ with these weights a. All is told relative to one η."""

    weights: tuple[float, ...]
    times: tuple[int, ...]
    """How often each weight occurs."""

    @classmethod
    def of(cls, weights: Floats) -> "MixedNoise":
        found, times = np.unique(np.round(np.abs(weights), 12), return_counts=True)
        return cls(tuple(found.tolist()), tuple(times.tolist()))

    @property
    def spread(self) -> float:
        """Its standard deviation."""
        return sqrt(fsum(times * weight**2 for weight, times in zip(self.weights, self.times, strict=True)))

    def reach(self, law: AdditiveNoise, confidence: Fraction) -> float:
        """How far from 0 it is at most, with this probability."""
        far = confidence > 1 - _LEAST_MISS  # tails of a sum are lighter than those of one: this is enough
        if not isinstance(law, DiscreteLaplace) or far or not self.spread:
            return self.spread
        return _laplace_reach(self, float(confidence)) / -log(1 - confidence)


@lru_cache(maxsize=1024)
def _laplace_reach(mixed: MixedNoise, confidence: float) -> float:
    """For Laplace noise with a scale of 1."""
    spread = mixed.spread * sqrt(2)
    t = np.arange(1, _POINTS) * (_LAST / spread / _POINTS)
    squares = np.square(np.outer(mixed.weights, t))
    phi = np.exp(-(np.array(mixed.times) @ np.log1p(squares)))

    def middle(x: float) -> float:
        """The probability of lying between −x and x, by the trapezoidal rule."""
        return float(x / 2 + np.sum(phi * np.sin(x * t) / t)) * float(t[0]) * 2 / pi

    low, high = 0.0, spread * 50
    for _ in range(40):
        x = (low + high) / 2
        low, high = (x, high) if middle(x) < confidence else (low, x)
    return high
