"""Does the time of a draw tell how large its noise is?

It must not: who times an answer would learn about the noise, and so about the data behind it.

The test is Spearman's rank correlation ρ between |noise| and nanoseconds, over scalar releases. Times are
ranked within blocks of consecutive draws, so that neither outliers nor a busy minute count. Were the two
independent, z = ρ·√(n−1) would be a standard normal: P(|z| ≥ 5) < 6·10⁻⁷ for each line, 7·10⁻⁶ for all
twelve together. At n = 30,000 it sees any |ρ| well above 0.03; that it can see at all, OpenDP's line shows.

The released number is public, and a small Python integer is made a few ns faster than a large or a negative
one. So the noise is added to 2⁴⁰, where the result always has the same shape, and to 0 as well.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import opendp_noise
from numpy.typing import NDArray
from timing import Figure, for_information, judge, show, time_each

from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

SCALES = {"1": 1, "1000": 1000, "2³⁰": 2**30}
COUNT, OPENDP_COUNT = 30_000, 10_000
BLOCK = 200
LIMIT = 5


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share their mean rank. They are centred: the mean is zero."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (last - (sizes + 1) / 2)[group] - (len(values) - 1) / 2


def z_score(magnitudes: NDArray[Any], nanoseconds: NDArray[Any]) -> tuple[float, float]:
    """Spearman's ρ with times ranked in their block, and z = ρ·√(n−1)."""
    times = np.concatenate([ranks(block) for block in nanoseconds.reshape(-1, BLOCK)])
    sizes = ranks(magnitudes)
    rho = float(sizes @ times / np.sqrt((sizes @ sizes) * (times @ times)))
    return rho, rho * (len(sizes) - 1) ** 0.5


def top_over_rest(magnitudes: NDArray[Any], nanoseconds: NDArray[Any]) -> tuple[float, float]:
    """Mean and median time of the draws in the top 1 % of |noise|, over those of the rest."""
    blocks = nanoseconds.reshape(-1, BLOCK)
    times = (blocks / np.median(blocks, axis=1, keepdims=True)).ravel()
    order = np.argsort(magnitudes, kind="stable")
    cut = len(order) - len(order) // 100
    top, rest = times[order[cut:]], times[order[:cut]]
    return float(top.mean() / rest.mean()), float(np.median(top) / np.median(rest))


def measure(release: Callable[[int], int], exact: int, count: int) -> tuple[float, float, float, float]:
    """Median µs, ρ, z, and the ratio of the top 1 %."""
    nanoseconds, released = time_each(count, lambda: release(exact))
    magnitudes = np.abs(np.array(released, dtype=np.int64) - exact)
    rho, z = z_score(magnitudes, nanoseconds)
    return float(np.median(nanoseconds)) / 1e3, rho, z, top_over_rest(magnitudes, nanoseconds)


def figures() -> list[Figure]:
    rows, found, opendp_scores = [], [], []
    for label, scale in SCALES.items():
        laplace, gaussian = (
            DiscreteLaplace(scale=Fraction(scale)),
            DiscreteGaussian(sigma_squared=Fraction(scale**2)),
        )
        lines = [
            ("DiscreteLaplace", "2⁴⁰", laplace.release, 2**40, COUNT),
            ("DiscreteLaplace", "0", laplace.release, 0, COUNT),
            ("DiscreteGaussian", "2⁴⁰", gaussian.release, 2**40, COUNT),
            ("DiscreteGaussian", "0", gaussian.release, 0, COUNT),
            ("OpenDP Laplace", "2⁴⁰", opendp_noise.scalar_laplace(float(scale)), 2**40, OPENDP_COUNT),
            ("OpenDP Gaussian", "2⁴⁰", opendp_noise.scalar_gaussian(float(scale)), 2**40, OPENDP_COUNT),
        ]
        for name, value, release, exact, count in lines:
            median, rho, z, ratio = measure(release, exact, count)
            rows.append([name, label, value, f"{median:.0f}", f"{rho:+.4f}", f"{z:+.1f}", f"{ratio:.3f}"])
            if name.startswith("OpenDP"):
                opendp_scores.append(z)
            else:
                text = f"z = {z:+.2f}; top 1 % {ratio:.3f}"
                title = f"{name}, scale {label}, on {value}: |noise| against time"
                found.append(Figure(title, f"|z| < {LIMIT}", text, abs(z) < LIMIT))
    columns = ("mechanism", "scale", "added to", "median µs", "ρ", "z", "top 1 % / rest")
    show("Does the time of a draw tell its noise?", columns, rows)
    span = f"z = {min(opendp_scores):+.1f} to {max(opendp_scores):+.1f}"
    return [*found, for_information("OpenDP, all scales: |noise| against time", span)]


if __name__ == "__main__":
    sys.exit(judge(figures()))
