"""Tails of weighted sums of noise, for the errors of estimates that add up many noisy counts.

How far can Σ cᵥ·Xᵥ be from 0, when the Xᵥ are independent draws of one law and Σ cᵥ² and |cᵥ| ≤ 1 are known?

Gaussian
    Normal with variance σ²·Σcᵥ², but for the lattice, which ½ accounts for. Below σ = 1, where the
    lattice is coarse, the bound e^(−t²/(2σ²·Σcᵥ²)) of every sub-Gaussian sum is used:
    E e^(sX) = e^(s²σ²/2) · Σₓe^(−(x−sσ²)²/2σ²) / Σₓe^(−x²/2σ²), and by Poisson summation no shifted
    lattice sums to more than the one through 0.

Laplace
    A continuous Laplace draw is a discrete one plus an independent symmetric part, since an
    exponential variable's whole and fractional parts are independent; so the continuous sum is the wider
    one. Given its mixing weights it is normal, and its tail is the heavier the more uneven the weights are.
    With |cᵥ| ≤ 1 no weights are more uneven than m = ⌊Σcᵥ²⌋ equal ones and a remainder, and a sum of m
    equal draws has the closed tail

        P(X₁ + … + X_m > t·b) = Σ_{k<m} C(m−1+k, k)·2^(−m−k)·P(Poisson(t) < m − k)

    The reach is the largest one, at this confidence, over m, m + 1, … equal draws up to the normal law.
    That nothing in between reaches further is measured, not proved: tests compare every edge of small trees.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

_LATTICE = 0.5
_SMOOTH_SIGMA = 1.0
_MOST_DRAWS = 32  # sums of more equal draws than this are hardly told apart from normal ones


def one_sided_reach(noise: DiscreteLaplace | DiscreteGaussian, squares: Floats, miss: float) -> Floats:
    """t with P(Σ cᵥXᵥ > t) ≤ miss, for each value of Σcᵥ²."""
    deviations: Floats | np.float64
    if isinstance(noise, DiscreteLaplace):
        draws = np.clip(squares, 1, _MOST_DRAWS).astype(np.int64)
        deviations = math.sqrt(2) * float(noise.scale) * laplace_deviations(miss)[draws - 1]
    elif noise.sigma >= _SMOOTH_SIGMA:
        deviations = np.float64(-NormalDist().inv_cdf(miss) * noise.sigma)
    else:
        deviations = np.float64(math.sqrt(-2 * math.log(miss)) * noise.sigma)
    reach: Floats = deviations * np.sqrt(squares) + _LATTICE
    return reach


@lru_cache(maxsize=64)
def laplace_deviations(miss: float) -> Floats:
    """For m = 1, 2, …: in standard deviations, the reach of at least m equal Laplace draws."""
    low, high = np.zeros(_MOST_DRAWS), np.full(_MOST_DRAWS, 8 * (_MOST_DRAWS - math.log(miss)))
    for _ in range(60):
        middle = (low + high) / 2
        above = laplace_sum_tails(middle) > miss
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    deviations = high / np.sqrt(2 * np.arange(1, _MOST_DRAWS + 1))
    deviations = np.maximum(deviations, -NormalDist().inv_cdf(miss))
    largest: Floats = np.maximum.accumulate(deviations[::-1])[::-1]
    return largest


def laplace_sum_tails(t: Floats) -> Floats:
    """P(X₁ + … + X_m > t_m) for m = 1, 2, … as many as there are t, of scale 1."""
    counts = np.arange(len(t))
    with np.errstate(divide="ignore"):
        logs = counts * np.log(t)[:, np.newaxis] if t.all() else np.where(counts, -np.inf, 0.0)
    poisson = np.exp(logs - t[:, np.newaxis] - _log_factorials(len(t)))
    below = np.cumsum(poisson, axis=1)  # [m − 1, j] = P(Poisson(t_m) ≤ j)
    tails: Floats = (_mixture(len(t)) * below).sum(axis=1)
    return tails


@lru_cache(maxsize=4)
def _mixture(most: int) -> Floats:
    """[m − 1, j]: how often the sum of m draws is above 0 and distributed as a Gamma(j + 1)."""
    weights = np.zeros((most, most))
    for m in range(1, most + 1):
        for k in range(m):
            weights[m - 1, m - k - 1] = math.comb(m - 1 + k, k) / 2 ** (m + k)
    return weights


@lru_cache(maxsize=4)
def _log_factorials(most: int) -> Floats:
    return np.array([math.lgamma(j + 1) for j in range(most)])
