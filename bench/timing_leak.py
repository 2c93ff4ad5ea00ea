"""Does the time of a draw tell its noise?

It must not: whoever times an answer would learn about the noise, and so about the data behind it.

The test is Spearman's rank correlation ρ of the time with |noise|, and with the signed noise, over scalar
releases. Times are ranked within blocks of consecutive draws, so that neither outliers nor a busy minute
count. Were they independent, z = ρ·√(n−1) would be a standard normal: P(|z| ≥ 5) < 6·10⁻⁷ for each z,
7·10⁻⁶ for all twelve together. At n = 30,000 it finds any |ρ| well above 0.03. OpenDP's lines show that
it can find something.

The noise is added to 2⁴⁰, so that the result, which is public, always has the same shape: a small Python
integer is made some ns faster than a large one, and that says nothing that the answer does not say.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
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
EXACT = 2**40
LIMIT = 5


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share their mean rank. They are centred: the mean is zero."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (last - (sizes + 1) / 2)[group] - (len(values) - 1) / 2


def z_score(noise: NDArray[Any], nanoseconds: NDArray[Any]) -> tuple[float, float]:
    """Spearman's ρ with times ranked in their block, and z = ρ·√(n−1)."""
    times = np.concatenate([ranks(block) for block in nanoseconds.reshape(-1, BLOCK)])
    sizes = ranks(noise)
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


@dataclass(frozen=True)
class Reading:
    """What the times of one mechanism tell."""

    median_microseconds: float
    rho: float
    z_size: float
    z_signed: float
    top_mean: float
    top_median: float

    def cells(self) -> list[str]:
        scores = [f"{self.rho:+.4f}", f"{self.z_size:+.1f}", f"{self.z_signed:+.1f}"]
        return [f"{self.median_microseconds:.0f}", *scores, f"{self.top_mean:.3f}", f"{self.top_median:.3f}"]


def read(release: Callable[[int], int], count: int) -> Reading:
    nanoseconds, released = time_each(count, lambda: release(EXACT))
    noise = np.array(released, dtype=np.int64) - EXACT
    rho, z_size = z_score(np.abs(noise), nanoseconds)
    _, z_signed = z_score(noise, nanoseconds)
    median = float(np.median(nanoseconds)) / 1e3
    return Reading(median, rho, z_size, z_signed, *top_over_rest(np.abs(noise), nanoseconds))


def figures() -> list[Figure]:
    rows, found, opendp_scores = [], [], []
    for label, scale in SCALES.items():
        ours = {
            "DiscreteLaplace": DiscreteLaplace(scale=Fraction(scale)),
            "DiscreteGaussian": DiscreteGaussian(sigma_squared=Fraction(scale**2)),
        }
        for name, mechanism in ours.items():
            reading = read(mechanism.release, COUNT)
            rows.append([name, label, *reading.cells()])
            title = f"time of {name}, scale {label}: z with |noise|, noise; top 1 % mean, median"
            top = f"{reading.top_mean:.2f}×, {reading.top_median:.3f}×"
            measured = f"{reading.z_size:+.1f}, {reading.z_signed:+.1f}; {top}"
            holds = max(abs(reading.z_size), abs(reading.z_signed)) < LIMIT
            found.append(Figure(title, f"|z| < {LIMIT}", measured, holds))
        opendp = {
            "OpenDP Laplace": opendp_noise.scalar_laplace,
            "OpenDP Gaussian": opendp_noise.scalar_gaussian,
        }
        for name, make in opendp.items():
            reading = read(make(float(scale)), OPENDP_COUNT)
            rows.append([name, label, *reading.cells()])
            opendp_scores.append(reading.z_size)
    columns = (
        "mechanism",
        "scale",
        "median µs",
        "ρ",
        "z |noise|",
        "z noise",
        "top 1 %, mean",
        "top 1 %, median",
    )
    show("Does the time of a draw tell its noise?", columns, rows)
    span = f"{min(opendp_scores):+.1f} to {max(opendp_scores):+.1f}"
    return [*found, for_information("time of OpenDP, all scales: z with |noise|", span)]


if __name__ == "__main__":
    sys.exit(judge(figures()))
