"""Integer thresholds for a loss of at most ε."""

from fractions import Fraction
from math import floor

from discreet.local.mechanisms.randomness import RANGE
from discreet.model.exact import Number, exp_bounds, within

EPSILONS = Fraction(1, 10**6), Fraction(16)
"""Per question. Beyond 16 a report is as good as the truth."""

_DIGITS = 40


def epsilon_in_range(epsilon: Number) -> Fraction:
    return within(epsilon, "epsilon", *EPSILONS)


def weight_of(epsilon: Fraction) -> Fraction:
    """e^ε, rounded down."""
    return exp_bounds(epsilon, _DIGITS)[0]


def keep_threshold(epsilon: Fraction, favoured: int, others: int) -> int:
    """How many of 2⁴⁸ draws go to the favoured reports, each of them e^ε times as likely as each other."""
    weight: Fraction = weight_of(epsilon) * favoured
    share: Fraction = weight / (weight + others)
    threshold: int = floor(RANGE * share)
    return min(threshold, RANGE - 1)


def odds_of(keep: int, favoured: int, others: int) -> Fraction:
    """How many times likelier each favoured report is than each other."""
    return Fraction(keep * others, (RANGE - keep) * favoured)
