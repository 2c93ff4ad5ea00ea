"""Binomial laws, summed: for intervals around counts of coins."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.model.exact import positive_count, whole


def binomial_law(trials: int, p: float) -> tuple[int, NDArray[np.float64]]:
    """The probabilities of first, first + 1, …; what lies outside has less than 10⁻³⁰ together.

    Built from the ratios of neighbouring terms, outwards from the mode, so no factorial is needed.
    """
    if p <= 0 or trials == 0:
        return 0, np.ones(1)
    if p >= 1:
        return trials, np.ones(1)
    reach = int(12 * np.sqrt(trials * p * (1 - p)) + 60)
    first, last = max(0, int(trials * p) - reach), min(trials, int(trials * p) + reach)
    k = np.arange(first, last, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1) * (p / (1 - p))))])
    law = np.exp(logs - logs.max())
    return first, law / law.sum()


def mixture_law(ones: int, total: int, keep: float, flip: float) -> tuple[int, NDArray[np.float64]]:
    """How many reports are positive when `ones` of `total` are kept and the others flipped."""
    first, kept = binomial_law(ones, keep)
    start, flipped = binomial_law(total - ones, flip)
    size = len(kept) + len(flipped) - 1
    if size < 2000:
        return first + start, np.convolve(kept, flipped)
    padded = 1 << size.bit_length()
    product = np.fft.rfft(kept, padded) * np.fft.rfft(flipped, padded)
    return first + start, np.clip(np.fft.irfft(product, padded)[:size], 0.0, None)


def tail_at_least(law: tuple[int, NDArray[np.float64]], k: int) -> float:
    """P(X ≥ k)."""
    first, probabilities = law
    return float(probabilities[max(0, k - first) :].sum()) if k <= first + len(probabilities) else 0.0


def clopper_pearson(successes: int, trials: int, miss: float) -> tuple[float, float]:
    """Bounds on p, each of which fails with probability at most `miss`.

    Clopper & Pearson 1934: the lower bound is the p at which that many successes have probability miss.
    """
    n = positive_count(trials, "trials")
    k = whole(successes, "successes", 0, n)
    return _lower_bound(k, n, miss), 1 - _lower_bound(n - k, n, miss)


def _lower_bound(successes: int, trials: int, miss: float) -> float:
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(60):
        middle = (low + high) / 2
        if tail_at_least(binomial_law(trials, middle), successes) <= miss:
            low = middle
        else:
            high = middle
    return low


def least_ones(positive: int, total: int, keep: Fraction, flip: Fraction, miss: float) -> int:
    """The least number of ones that makes at least `positive` reports more likely than `miss`."""
    p, q = float(keep), float(flip)
    low, high = -1, total
    while high - low > 1:
        middle = (low + high) // 2
        if tail_at_least(mixture_law(middle, total, p, q), positive) > miss:
            high = middle
        else:
            low = middle
    return high
