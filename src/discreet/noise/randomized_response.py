"""Randomized response: each person reports their category, or now and then another one.

Privacy
    A person with category x reports x with probability p and each of the k − 1 others with
    (1 − p)/(k − 1). Whatever x is replaced by, no report becomes more than e^ε times as likely, with
    e^ε = p·(k − 1)/(1 − p) (Warner 1965; Kairouz, Oh, Viswanath, arXiv 1407.1338v3 for k > 2). This is
    local privacy: it needs no trust in whoever collects the reports, and counts as replace-one.

    The coin toss of lecture 002 is p = ¾ with k = 2: ε = ln 3. Lecture 003's Bern(½ + εb) keeps the
    truth with p = ½ + ε, so its true loss is ln((1 + 2ε)/(1 − 2ε)) ≥ 4ε, not 2ε. For a given ε, p is
    rounded *down* to a multiple of 2⁻⁶⁴, so that the loss never exceeds what was asked for.

Accuracy
    If c of n reports name a category, (c − n·q)/(p − q) is an unbiased estimate of how many people have
    it, q = (1 − p)/(k − 1). Its interval inverts the law of c itself, a sum of two binomials.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import (
    Number,
    confidence_level,
    exact_fraction,
    exp_bounds,
    ln_bounds,
    positive_count,
    positive_epsilon,
    whole,
)
from discreet.model.interval import Interval
from discreet.model.privacy import PureLoss
from discreet.noise.binomial import least_ones
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.integers import ExactIntegers, as_integers, like_input
from discreet.noise.sampling import bernoulli, uniform_integers

_LARGEST_CATEGORIES = 2**31
_LARGEST_EPSILON = 40  # beyond, 2⁻⁶⁴ cannot tell p from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """Keeps a category with probability `keep`, else reports one of the others, each as likely."""

    categories: int
    keep: Fraction

    def __post_init__(self) -> None:
        k = whole(self.categories, "categories", 2, _LARGEST_CATEGORIES)
        keep = exact_fraction(self.keep, "keep")
        if not Fraction(1, k) < keep <= 1 - Fraction(1, 2**64):
            raise InvalidInput(
                "keep must be above 1/categories (or reports say nothing) and below 1 (or all).",
                remedy="Use RandomizedResponse.for_loss(epsilon, categories=k).",
            )
        object.__setattr__(self, "categories", k)
        object.__setattr__(self, "keep", keep)

    @classmethod
    def for_loss(cls, epsilon: Number, *, categories: int = 2) -> "RandomizedResponse":
        """The most truthful reports that cost at most ε."""
        k = whole(categories, "categories", 2, _LARGEST_CATEGORIES)
        weight, _ = exp_bounds(min(positive_epsilon(epsilon), Fraction(_LARGEST_EPSILON)), 60)
        return cls(categories=k, keep=Fraction(floor(2**64 * weight / (weight + k - 1)), 2**64))

    @property
    def flip(self) -> Fraction:
        """The probability of each report that is not the truth."""
        return (1 - self.keep) / (self.categories - 1)

    def loss(self) -> PureLoss:
        """ln(keep/flip), rounded up."""
        return PureLoss(epsilon=ln_bounds(self.keep / self.flip, 40)[1])

    def release(self, exact: ExactIntegers, *, entropy: Entropy = SYSTEM) -> ExactIntegers:
        """One report a person, for categories 0, 1, …, categories − 1."""
        truth = as_integers(exact)
        if truth.min() < 0 or truth.max() >= self.categories:
            raise InvalidInput(
                f"A category is outside 0 … {self.categories - 1}.",
                remedy="Number the categories from 0, and declare as many as there can be.",
            )
        truth = truth.astype(np.int64)
        kept = bernoulli(self.keep, truth.size, entropy).reshape(truth.shape)
        others = uniform_integers(self.categories - 1, truth.size, entropy).reshape(truth.shape)
        others += others >= truth  # skip the truth
        return like_input(exact, np.where(kept, truth, others))

    def estimate(self, reported: NDArray[np.int64] | list[int]) -> NDArray[np.float64]:
        """How many people have each category, from how many reports name it: unbiased.

        An estimate may be negative or above the total; `interval` stays within what is possible.
        """
        counts = as_integers(reported)
        if counts.shape != (self.categories,) or counts.min() < 0:
            raise InvalidInput(
                f"There must be {self.categories} counts of reports, none negative.",
                remedy="Count the reports of each category, those that nobody sent too.",
            )
        flip = float(self.flip)
        reports = counts.astype(np.float64)
        estimates: NDArray[np.float64] = (reports - reports.sum() * flip) / (float(self.keep) - flip)
        return estimates

    def interval(self, reported: int, total: int, confidence: Number, *, values: int = 1) -> Interval:
        """How many of `total` people have a category that `reported` reports name.

        For several categories at once give their number as `values`: each may then miss with
        probability (1 − confidence)/values.
        """
        level = confidence_level(confidence)
        n = positive_count(total, "total")
        c = whole(reported, "reported", 0, n)
        miss = float(1 - level) / (2 * positive_count(values, "values"))
        low = least_ones(c, n, self.keep, self.flip, miss)
        high = n - least_ones(n - c, n, 1 - self.flip, 1 - self.keep, miss)
        return Interval(low=Fraction(min(low, high)), high=Fraction(max(low, high)), confidence=level)
