"""Private selection: which candidate has the best score, and nothing else.

Privacy
    Both mechanisms look at scores through a temperature b. Let R be the range of the moves of all
    scores that one person can cause (`ScoreSensitivity`). Then each pick is R/b-differentially private.
    *Exponential mechanism*, P(i) ∝ e^(score_i/b): McSherry & Talwar 2007 in the bounded-range form of
    Dong, Durfee, Rogers (arXiv 1909.13830v2); it is moreover (R/b)²/8-zCDP (Cesar & Rogers, arXiv
    2004.07223v3). *Permute-and-flip* (McKenna & Sheldon, arXiv 2010.12603v1) is report-noisy-max with
    exponential noise of mean b (Ding, Kifer, Steinke et al., arXiv 2105.07260v3), and that is R/b-DP:
    move all scores by a constant, which changes nothing, until one person's moves lie in [0, R]; now
    if i wins with noise r, then with noise r + R it wins on the neighbour, e^(−R/b) times as likely.

    Lecture 004's Lap(1/ε) noisy max is ε-DP only because counts under add/remove have R = 1. Under
    replace-one, or for scores that may move both ways, R is 2, and the noise must be doubled.

Accuracy
    The score of the pick is below the best by m or more with probability at most, for k candidates and
    x = e^(−m/b): (k − 1)x/(1 + (k − 1)x) for the exponential mechanism, 1 − (1 − (1 − x)^k)/(kx) for
    permute-and-flip, which is never worse. Both are attained when all others tie m below the best.

Both are drawn as the arg max of score/b + noise, exponential or Gumbel, in one vectorised pass.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from discreet.arrays import Integers
from discreet.errors import InvalidInput
from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SCALE_RANGE,
    Number,
    confidence_level,
    positive_count,
    positive_epsilon,
    positive_rho,
    positive_scale,
    round_down,
    whole,
)
from discreet.model.interval import Interval
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, score_sensitivity
from discreet.noise.argmax import EXPONENTIAL, GUMBEL, NoiseLaw, noisy_argmax
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.integers import as_integers
from discreet.noise.tails import largest


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(ABC):
    """What the two mechanisms share; only the noise and its tail differ."""

    temperature: Fraction
    _noise: ClassVar[NoiseLaw]

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", positive_scale(self.temperature, "temperature"))

    @staticmethod
    @abstractmethod
    def _miss(x: float, candidates: int) -> float:
        """The chance that the pick is not the best when all others are `gap` below it, x = e^(−gap/b)."""

    @classmethod
    def for_loss(cls, epsilon: Number, sensitivity: ScoreSensitivity, *, picks: int = 1) -> Self:
        """The sharpest selection whose picks cost at most ε together."""
        each = positive_epsilon(epsilon) / positive_count(picks, "picks")
        return cls(temperature=score_sensitivity(sensitivity).range / each)

    @classmethod
    def for_error(cls, error: int, confidence: Number, *, candidates: int) -> Self:
        """The least loss at which a pick is within `error` of the best at this confidence."""
        error = whole(error, "error", 0, LARGEST_SENSITIVITY)
        miss = float(1 - confidence_level(confidence))
        k = positive_count(candidates, "candidates")
        low, high = (float(end) for end in SCALE_RANGE)
        temperature = largest(lambda b: cls._miss(math.exp(-(error + 1) / b), k) <= miss, low, high)
        return cls(temperature=max(SCALE_RANGE[0], round_down(temperature)))

    def loss(self, sensitivity: ScoreSensitivity, *, picks: int = 1) -> PureLoss:
        """range/temperature for each pick, exactly."""
        return PureLoss(
            epsilon=positive_count(picks, "picks") * score_sensitivity(sensitivity).range / self.temperature
        )

    def interval(self, confidence: Number, *, candidates: int) -> Interval:
        """How far the score of one pick may be below the best."""
        level = confidence_level(confidence)
        k = positive_count(candidates, "candidates")
        miss, b = float(1 - level), float(self.temperature)
        low, high = 0, 1 + math.ceil(b * (math.log(k) - math.log(miss)))  # k·e^(−m/b) bounds both
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._miss(math.exp(-middle / b), k) <= miss
            low, high = (low, middle) if fits else (middle, high)
        return Interval(low=Fraction(1 - high), high=Fraction(0), confidence=level)

    def release(self, scores: Integers | list[int], *, entropy: Entropy = SYSTEM) -> int:
        """The position of the candidate that was picked."""
        return self.release_top(scores, 1, entropy=entropy)[0]

    def release_top(
        self, scores: Integers | list[int], picks: int, *, entropy: Entropy = SYSTEM
    ) -> list[int]:
        """Several candidates, each picked among those that are left."""
        values = as_integers(scores)
        if values.ndim != 1 or positive_count(picks, "picks") > len(values):
            raise InvalidInput(
                "Scores must be a list with at least as many candidates as picks.",
                remedy="Give one whole number for each candidate, or ask for fewer picks.",
            )
        left = np.arange(len(values))
        chosen: list[int] = []
        for _ in range(picks):
            pick = noisy_argmax(values[left], self.temperature, self._noise, entropy)
            chosen.append(int(left[pick]))
            left = np.delete(left, pick)
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip(Selection):
    """The better of the two at the same ε: report-noisy-max with exponential noise."""

    _noise: ClassVar[NoiseLaw] = EXPONENTIAL

    @staticmethod
    def _miss(x: float, candidates: int) -> float:
        """1 − (1 − (1 − x)^k)/(kx), which is ∫ (1 − (1 − xu)^(k−1)) du over [0, 1]."""
        k = candidates
        if k * x < 1e-4:
            return (k - 1) * x / 2  # at least the integral, as (1 − xu)^(k−1) ≥ 1 − (k − 1)xu
        kept = -math.expm1(k * math.log1p(-x)) if x < 1 else 1.0
        return 1 - kept / (k * x)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(Selection):
    """P(i) ∝ e^(score_i/temperature); the cheaper of the two where losses are concentrated."""

    _noise: ClassVar[NoiseLaw] = GUMBEL

    @staticmethod
    def _miss(x: float, candidates: int) -> float:
        return (candidates - 1) * x / (1 + (candidates - 1) * x)

    @classmethod
    def for_concentrated_loss(
        cls, rho: Number, sensitivity: ScoreSensitivity, *, picks: int = 1
    ) -> "ExponentialMechanism":
        """The sharpest selection whose picks cost at most ρ together."""
        each = positive_rho(rho) / positive_count(picks, "picks")
        reach = score_sensitivity(sensitivity).range
        # temperature² ≥ range²/(8ρ), rounded up in the 20th digit
        temperature = Fraction(math.isqrt(math.floor(reach**2 / (8 * each) * 10**40)) + 1, 10**20)
        return cls(temperature=temperature)

    def concentrated_loss(self, sensitivity: ScoreSensitivity, *, picks: int = 1) -> ConcentratedLoss:
        """ρ = (range/temperature)²/8 for each pick, a quarter of what any ε-DP pick costs."""
        each = (score_sensitivity(sensitivity).range / self.temperature) ** 2 / 8
        return ConcentratedLoss(rho=positive_count(picks, "picks") * each, delta=Fraction(0))
