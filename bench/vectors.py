"""Noise for a whole vector: ours, numpy's (fast, but neither exact nor secret) and OpenDP's (exact).

Samplers are compared with numpy's samplers, and releases (values in, noisy values out) with OpenDP's.
OpenDP is measured at 10³ and 10⁴ values only, since 10⁷ would take minutes: its cost per sample is the same
at both, which is shown, and the lower of the two is what ours is compared with at every size.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import opendp_noise
from timing import Figure, at_least, at_most, best_of_rounds, for_information, judge, show

from discreet.noise.entropy import SYSTEM
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sampling import discrete_gaussian, discrete_laplace

SCALES = {"1": 1, "100": 100, "2²⁰": 2**20}
SIZES = {10**5: "10⁵", 10**6: "10⁶", 10**7: "10⁷"}
ROUNDS = {10**5: 15, 10**6: 7, 10**7: 3}
OPENDP_SIZES = (10**3, 10**4)
NUMPY = np.random.default_rng()


@dataclass(frozen=True)
class Contest:
    """The same noise from everyone, each as a function of the scale."""

    name: str
    numpy_name: str
    sampler: Callable[[int, int], Any]
    mechanism: Callable[[int], DiscreteLaplace | DiscreteGaussian]
    numpy: Callable[[int, int], Any]
    opendp: Callable[[float], opendp_noise.Measurement]
    numpy_limit: float
    opendp_target: float | None


LAPLACE = Contest(
    name="discrete Laplace",
    numpy_name="Generator.laplace",
    sampler=lambda scale, size: discrete_laplace(Fraction(scale), size, SYSTEM),
    mechanism=lambda scale: DiscreteLaplace(scale=Fraction(scale)),
    numpy=lambda scale, size: NUMPY.laplace(scale=scale, size=size),
    opendp=opendp_noise.vector_laplace,
    numpy_limit=3,
    opendp_target=100,
)
GAUSSIAN = Contest(
    name="discrete Gaussian",
    numpy_name="Generator.normal",
    sampler=lambda sigma, size: discrete_gaussian(Fraction(sigma**2), size, SYSTEM),
    mechanism=lambda sigma: DiscreteGaussian(sigma_squared=Fraction(sigma**2)),
    numpy=lambda sigma, size: NUMPY.normal(scale=sigma, size=size),
    opendp=opendp_noise.vector_gaussian,
    numpy_limit=10,
    opendp_target=None,
)


def measure(contest: Contest, scale: int, size: int) -> dict[str, float]:
    """Nanoseconds per sample of each contestant."""
    values = np.zeros(size, dtype=np.int64)
    mechanism = contest.mechanism(scale)
    calls: dict[str, Callable[[], object]] = {
        "sampler": lambda: contest.sampler(scale, size),
        "numpy": lambda: contest.numpy(scale, size),
        "release": lambda: mechanism.release(values),
        "numpy sum": lambda: values + contest.numpy(scale, size),
    }
    sizes = dict.fromkeys(calls, size)
    if size == min(SIZES):
        opendp = contest.opendp(float(scale))
        for some in OPENDP_SIZES:
            sizes[f"opendp {some}"] = some
            calls[f"opendp {some}"] = lambda some=some: opendp(values[:some])
    best = best_of_rounds(ROUNDS[size], calls)
    return {name: seconds * 1e9 / sizes[name] for name, seconds in best.items()}


def figures_for(contest: Contest) -> list[Figure]:
    flatness, opendp, rows = [], {}, []
    worst: dict[int, tuple[float, float, float]] = {}
    for size in SIZES:
        ratios = []
        for label, scale in SCALES.items():
            ns = measure(contest, scale, size)
            if size == min(SIZES):
                small, large = (ns[f"opendp {some}"] for some in OPENDP_SIZES)
                opendp[label] = min(small, large)
                flatness.append(large / small)
            ratio = (
                ns["sampler"] / ns["numpy"],
                ns["release"] / ns["numpy sum"],
                opendp[label] / ns["release"],
            )
            ratios.append(ratio)
            times = [f"{ns[name]:.1f}" for name in ("sampler", "numpy", "release", "numpy sum")]
            row = [
                *times,
                f"{opendp[label]:,.0f}",
                f"{ratio[0]:.2f}×",
                f"{ratio[1]:.2f}×",
                f"{ratio[2]:.0f}×",
            ]
            rows.append([SIZES[size], label, *row])
        samplers, releases, gains = zip(*ratios, strict=True)
        worst[size] = max(samplers), max(releases), min(gains)
    columns = ["n", "scale", "sampler", "numpy", "release", "numpy sum", "OpenDP"]
    ratio_columns = ["sampler / numpy", "release / sum", "OpenDP / release"]
    show(f"{contest.name}: ns per sample, and ratios", columns + ratio_columns, rows)
    flat = f"{min(flatness):.2f} to {max(flatness):.2f}"
    figures = [for_information(f"{contest.name}: OpenDP's time per sample, at 10⁴ over at 10³", flat)]
    for size, (sampler, release, gain) in worst.items():
        where = f"n = {SIZES[size]}, worst scale"
        figures.append(
            at_most(f"{contest.name} / {contest.numpy_name}, {where}", sampler, contest.numpy_limit, "×")
        )
        figures.append(
            for_information(f"… release / (values + {contest.numpy_name}), {where}", f"{release:.3g}×")
        )
        name = f"OpenDP / {contest.name}, {where}"
        if contest.opendp_target is None:
            figures.append(for_information(name, f"{gain:.3g}×"))
        else:
            figures.append(at_least(name, gain, contest.opendp_target, "×"))
    return figures


def figures() -> list[Figure]:
    return [*figures_for(LAPLACE), *figures_for(GAUSSIAN)]


if __name__ == "__main__":
    sys.exit(judge(figures()))
