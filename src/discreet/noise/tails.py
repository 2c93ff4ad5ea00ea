"""Tails of the noise laws, for intervals: how likely a draw is to be at least m in size.

Everything is rounded so that an interval is never too short; it is the least one on the grid, unless
the tail meets the confidence to twelve digits.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.model.exact import positive_count

_SLACK = 1 + 1e-12
SUMMED_SIGMA = 512  # up to here the law is summed term by term, beyond it is bounded by the normal


def miss_probability(confidence: Fraction, values: int) -> float:
    """How often one of `values` independent draws may miss if all shall hold at this confidence."""
    k = positive_count(values, "values")
    miss = float(1 - confidence)
    return -math.expm1(math.log1p(-miss) / k) / _SLACK


def laplace_tail(scale: float, m: float) -> float:
    """ln P(|X| ≥ m) for m ≥ 1: ln(2·q^m/(1 + q)) with q = e^(−1/scale)."""
    rate = 1 / scale
    return math.log(2) - m * rate - math.log1p(math.exp(-rate))


def laplace_magnitude(scale: float, miss: float) -> int:
    """The least m ≥ 1 with P(|X| ≥ m) ≤ miss."""
    m = scale * (math.log(2) - math.log1p(math.exp(-1 / scale)) - math.log(miss))
    return max(1, math.ceil(m * _SLACK))


def gaussian_tail(sigma: float, m: int) -> float:
    """An upper bound on P(|X| ≥ m) for m ≥ 1, exact but for rounding up to σ = 512.

    Beyond, with f(x) = e^(−x²/2σ²): f is convex for x ≥ σ, so f(x) ≤ ∫f over [x − ½, x + ½], and
    the normaliser Σf ≥ ∫f (Poisson summation), hence P(|X| ≥ m) ≤ P(|N(0, σ²)| ≥ m − ½) for
    m ≥ σ + ½. Nearer the middle f decreases, so m − 1 serves in the place of m − ½.
    """
    if sigma <= SUMMED_SIGMA:
        weights = np.exp(-0.5 * (np.arange(1, 40 * sigma + 12) / sigma) ** 2)
        return min(1.0, _SLACK * 2 * float(weights[m - 1 :].sum()) / (1 + 2 * float(weights.sum())))
    edge = m - 0.5 if m >= sigma + 1 else m - 1
    return _SLACK * math.erfc(edge / (sigma * math.sqrt(2)))


@lru_cache(maxsize=4096)
def gaussian_magnitude(sigma: float, miss: float) -> int:
    """The least m ≥ 1 with P(|X| ≥ m) ≤ miss."""
    low, high = 0, math.ceil(40 * sigma) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gaussian_tail(sigma, middle) <= miss else (middle, high)
    return high


def laplace_log_survival(scale: float, m: int) -> float:
    """ln P(X ≥ m), for any m: q^m/(1 + q) for m ≥ 1, and by symmetry below."""
    if m < 1:
        return math.log1p(-math.exp(laplace_log_survival(scale, 1 - m)))
    return laplace_tail(scale, m) - math.log(2)


def gaussian_log_survival(sigma: float, m: int) -> float:
    """ln P(X ≥ m), for any m, to within 0.001.

    Up to σ = 512 the law is summed. Beyond, the normal law from m − ½ stands for it: the midpoint rule on
    f(x) = e^(−x²/2σ²) is off by a factor of 1 + (x/σ)²/(24σ²) at most, less than 0.001 up to x = 70 σ. Beyond
    the table, and beyond what erfc can tell from 0, the first term of Mills's ratio is the tail.
    """
    if m < 1:
        return math.log1p(-math.exp(gaussian_log_survival(sigma, 1 - m)))
    if sigma <= SUMMED_SIGMA:
        sums, every = _gaussian_sums(sigma)
        if m < len(sums) and sums[m - 1] > 0:
            return math.log(sums[m - 1] / every)
        return -0.5 * (m / sigma) ** 2 - math.log(-math.expm1(-(m + 0.5) / sigma**2)) - math.log(every)
    x = (m - 0.5) / (sigma * math.sqrt(2))
    if x < 20:
        return math.log(math.erfc(x) / 2)
    return -x * x - math.log(2 * x * math.sqrt(math.pi))


@lru_cache(maxsize=16)
def _gaussian_sums(sigma: float) -> tuple[Floats, float]:
    """[m − 1] = Σ f(x) over x ≥ m, and Σ f(x) over all x."""
    weights = np.exp(-0.5 * (np.arange(1, 38 * sigma + 12) / sigma) ** 2)
    sums: Floats = np.cumsum(weights[::-1])[::-1]  # the least first: each has all its digits
    return sums, 1 + 2 * float(sums[0])


def largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The largest x in [low, high] that fits, to ten digits from below, when smaller ones fit too."""
    while high / low > 1 + 1e-10:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
