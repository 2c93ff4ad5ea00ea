"""Binomial probabilities and tails, certain to 10⁻⁹ of themselves, of as many trials as there are people.

For a stated loss that no rounding may make too small. `binomial_law` sums a whole law; here single values of
very long laws are needed, many at once.

The probability of a point is Loader's ("Fast and accurate computation of binomial probabilities", 2000):

    P(X = k) = exp(s(n) − s(k) − s(n−k) − D),  s(m) = ln(m! / (m/e)^m),  D = n · KL(k/n ‖ p).

No large numbers cancel in it: s is Stirling's series, and D, of at most a thousand where the probability is
one that a float can hold, is summed from terms that are as small as itself.

The tail is the continued fraction of the incomplete beta function of Didonato and Morris ("Algorithm 708",
1992; BFRAC): P(X ≥ k) = P(X = k) · k · (1−p) · F with F = a₁/(b₁ + a₂/(b₂ + …)) and, for λ = k − (n+1)p ≥ 0,

    a₁ = 1,  aᵢ₊₁ = i · (n−k+1−i) · (k+i−1) · (n+i) · p² / (k+2i−1)²,
    bᵢ₊₁ = i + i · (n−k+1−i) · p/(k+2i−1) + (k+i)/(k+2i+1) · (λ + 1 + i·(2−p)).

It ends at i = n−k+1. All terms are positive. So to stop after an odd number gives too much, after an even
number too little, and no rounding is larger than that of the last operations.

Floats: with 4 units in the last place for each exp and log, the exponent is off by at most
10⁻¹³ + 10⁻¹³·D, and F by 10⁻¹² of itself. What is called a bound allows for ten times that (`MARGIN` in all,
where the probability is at least 10⁻³⁰⁰).
"""

from math import factorial, log, pi

import numpy as np

from discreet.arrays import Floats

MARGIN = 2e-9
"""A probability that is called the largest possible is at most this share of itself too large."""

_TERMS = 30
_TABLE = 16
_SMALL = np.array([0.0] + [log(factorial(m)) - m * log(m) + m for m in range(1, _TABLE)])


def point_bound(trials: Floats, successes: Floats, excess: Floats, chance: float) -> Floats:
    """At least P(X = successes); `excess` is successes − trials · chance, to the last digit."""
    misses = trials - successes
    divergence = _divergence(successes, trials * chance, excess)
    divergence += _divergence(misses, trials * (1 - chance), -excess)
    exponent = _stirling(trials) - _stirling(successes) - _stirling(misses) + 1e-12
    return np.exp(exponent - divergence * (1 - 1e-12))


def tail_fraction(
    least: Floats, rest: Floats, chance: Floats | float, beyond: Floats, *, over: bool
) -> Floats:
    """F of P(X ≥ least) = P(X = least) · least · (1 − chance) · F; at least F if `over`, else at most.

    `rest` is trials − least + 1 and `beyond` is λ.
    """
    found = np.zeros_like(least)
    for i in range(_TERMS if over else _TERMS - 1, 0, -1):
        width = least + 2 * i - 1
        left = i * np.maximum(rest - i, 0)
        below = i + left * chance / width + (least + i) / (width + 2) * (beyond + 1 + i * (2 - chance))
        above = left * ((least + i - 1) / width) * ((least + rest + i - 1) / width) * chance**2
        found = above / (below + found)
    first = least / (least + 1) * (beyond + 1)
    return 1 / (first + found) * (1 + 1e-12 if over else 1 - 1e-12)


def _stirling(m: Floats) -> Floats:
    """ln(m! / (m/e)^m): m = 0 … 15 from a table, then five terms of the series, off by at most 10⁻¹⁴."""
    large = np.maximum(m, _TABLE)
    square = 1 / (large * large)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / large
    small = _SMALL[np.minimum(m, _TABLE - 1).astype(np.int64)]
    return np.where(m < _TABLE, small, 0.5 * np.log(2 * pi * large) + series)


def _divergence(value: Floats, mean: Floats, excess: Floats) -> Floats:
    """value · ln(value/mean) + mean − value, of which no digits cancel; excess is value − mean.

    With v = excess/(value + mean), ln(value/mean) = 2·artanh(v), a series for small v.
    """
    half = excess / np.maximum(value + mean, 1e-300)
    square = half * half
    series = np.zeros_like(half)
    for power in range(19, 1, -2):
        series = square * (series + 1 / power)
    near = excess * half + 2 * value * half * series
    ratio = np.maximum(value, 1e-300) / np.maximum(mean, 1e-300)
    return np.where(np.abs(half) < 0.1, near, value * np.log(ratio) - excess)
