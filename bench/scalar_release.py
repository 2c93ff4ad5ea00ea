"""One number, one release: what the noise of a single count costs.

The median of many, in the best of many rounds. From scale 2³⁰ on the geometric is drawn in two parts;
that is shown without a target.
"""

import sys
from fractions import Fraction

import numpy as np
import opendp_noise
from timing import Figure, at_most, for_information, judge, show, time_each

from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

SCALES = {"1": 1, "100": 100, "2²⁰": 2**20, "2³⁰": 2**30}
BEYOND = "2³⁰"
ROUNDS, COUNT = 12, 200
LIMIT_MICROSECONDS = 100


def contestants() -> dict[tuple[str, str], opendp_noise.Measurement]:
    """Everyone's release, by name and scale."""
    found: dict[tuple[str, str], opendp_noise.Measurement] = {}
    for label, scale in SCALES.items():
        found["DiscreteLaplace", label] = DiscreteLaplace(scale=Fraction(scale)).release
        found["OpenDP DiscreteLaplace", label] = opendp_noise.scalar_laplace(float(scale))
        found["DiscreteGaussian", label] = DiscreteGaussian(sigma_squared=Fraction(scale**2)).release
        found["OpenDP DiscreteGaussian", label] = opendp_noise.scalar_gaussian(float(scale))
    return found


def median_microseconds(
    releases: dict[tuple[str, str], opendp_noise.Measurement],
) -> dict[tuple[str, str], float]:
    """The median time of each, in its best round."""
    best = dict.fromkeys(releases, float("inf"))
    for _ in range(ROUNDS):
        for name, release in releases.items():
            nanoseconds, _ = time_each(COUNT, lambda release=release: release(5))
            best[name] = min(best[name], float(np.median(nanoseconds)) / 1e3)
    return best


def figures() -> list[Figure]:
    rows, beyond = [], []
    worst = {"DiscreteLaplace": 0.0, "DiscreteGaussian": 0.0}
    medians = median_microseconds(contestants())
    for label in SCALES:
        for name in worst:
            ours, theirs = medians[name, label], medians[f"OpenDP {name}", label]
            rows.append([name, label, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}×"])
            if label == BEYOND:
                beyond.append(for_information(f"{name}.release(5), scale {label}, median", f"{ours:.3g} µs"))
            else:
                worst[name] = max(worst[name], ours)
    show("One release: median µs", ("mechanism", "scale", "ours", "OpenDP", "OpenDP / ours"), rows)
    targets = [
        at_most(f"{name}.release(5), worst scale up to 2²⁰, median", value, LIMIT_MICROSECONDS, " µs")
        for name, value in worst.items()
    ]
    return targets + beyond


if __name__ == "__main__":
    sys.exit(judge(figures()))
