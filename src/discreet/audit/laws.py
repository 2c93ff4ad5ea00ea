"""The laws that the mechanisms claim to follow, written down a second time, from the papers.

A law is an array of probabilities: of the outcomes 0, 1, 2, … of a claim. Noisy integers become outcomes
by clipping them to a window, which is post-processing and so can only hide, never invent, a loss.
"""

from math import erf, exp

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float64]


def laplace_law(scale: float, centre: int, low: int, high: int) -> Probabilities:
    """P(clip(centre + X)) for low … high, P(X = x) = (1 − q)/(1 + q)·q^|x|."""
    q = exp(-1 / scale)
    x = np.abs(np.arange(low, high + 1) - centre)
    law = (1 - q) / (1 + q) * q**x
    law[0] = q ** (centre - low) / (1 + q)
    law[-1] = q ** (high - centre) / (1 + q)
    return law


def gaussian_law(sigma_squared: float, centre: int, low: int, high: int) -> Probabilities:
    """P(clip(centre + X)) for low … high, P(X = x) ∝ e^(−x²/2σ²), summed far beyond the window."""
    reach = int(40 * sigma_squared**0.5) + 20
    x = np.arange(-reach, reach + 1)
    law = np.exp(-(x**2) / (2 * sigma_squared))
    law /= law.sum()
    clipped = np.clip(x + centre, low, high) - low
    return np.bincount(clipped, weights=law, minlength=high - low + 1).astype(np.float64)


def laplace_below(scale: float, centre: int, edges: NDArray[np.int64]) -> Probabilities:
    """P(centre + X < edge) for each edge: a geometric series on either side of the centre."""
    q = exp(-1 / scale)
    x = (edges - centre).astype(np.float64)
    return np.where(x <= 0, q ** (1 - np.minimum(x, 0)), 1 + q - q ** np.maximum(x, 0)) / (1 + q)


def gaussian_below(sigma_squared: float, centre: int, edges: NDArray[np.int64]) -> Probabilities:
    """The same for discrete Gaussian noise.

    Above σ = 1,000 it is that of a normal law at edges between integers: they differ by less than 10⁻⁷.
    """
    x, sigma = (edges - centre).astype(np.float64), sigma_squared**0.5
    if sigma > 1000:
        return np.array([(1 + erf((each - 0.5) / (sigma * 2**0.5))) / 2 for each in x])
    reach = int(40 * sigma) + 20
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma_squared))
    below = np.concatenate([[0.0], np.cumsum(law / law.sum())])
    return below[np.clip(x.astype(np.int64) + reach, 0, len(below) - 1)]


def product_law(*laws: Probabilities) -> Probabilities:
    """Independent outcomes side by side, the last one running fastest."""
    joint = np.ones(1)
    for law in laws:
        joint = np.outer(joint, law).ravel()
    return joint


def response_law(keep: float, categories: int, truth: int) -> Probabilities:
    """Randomized response: the truth with probability `keep`, the others equally likely."""
    law = np.full(categories, (1 - keep) / (categories - 1))
    law[truth] = keep
    return law


def exponential_law(scores: list[int], temperature: float) -> Probabilities:
    """P(i) ∝ e^(score_i/temperature)."""
    weights = np.exp((np.array(scores) - max(scores)) / temperature)
    return np.asarray(weights / weights.sum())


def permute_and_flip_law(scores: list[int], temperature: float) -> Probabilities:
    """P(i) = p_i·∫₀¹ ∏_{j≠i} (1 − p_j·u) du, p_i = e^((score_i − best)/temperature).

    u is the share of the others that come before i in the random order. The integrand is a polynomial, on
    which this rule is exact up to degree 127.
    """
    coins = np.exp((np.array(scores) - max(scores)) / temperature)
    points, weights = np.polynomial.legendre.leggauss(64)
    refused = 1 - np.outer((points + 1) / 2, coins)
    others = np.array([np.delete(refused, i, axis=1).prod(axis=1) for i in range(len(coins))])
    return np.asarray(coins * (others @ weights) / 2)


def threshold_law(noisy: Probabilities, low: int, threshold: int) -> Probabilities:
    """Outcome 0: the key is not named; then one outcome for each noisy count from the threshold on."""
    named = noisy[threshold - low :]
    return np.concatenate([[1 - named.sum()], named])


def favoured_law(weight: float, favoured: NDArray[np.bool_], possible: NDArray[np.bool_]) -> Probabilities:
    """Possible outcomes, each favoured one `weight` times as likely as each other."""
    weights = np.where(favoured, weight, 1.0) * possible
    return np.asarray(weights / weights.sum())
