"""Measures from noisy vectors, as their aggregates say (`aggregates`). All of it is post-processing.

An interval is the exact tail of the noise where a measure is a count or a sum, and that of the ranks where it
is a quantile. Elsewhere the known noise is drawn many times more and taken off the noisy vectors: the middle
of what comes out is the interval. Those draws protect nobody, so they come from numpy's fast generator, and
from a seed that follows from the noisy numbers: an interval that is computed again is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.aggregate import AggregateDefinition, NoisyMeasure, VectorNoise
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import known
from discreet.arrays import Floats
from discreet.bounds.bound import BoundedMeasure
from discreet.bounds.calibrate import Plan, QuestionMechanism
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noisy:
    """What was released of the groups that are shown."""

    sums: Mapping[int, Floats]
    """By part: one number for each group, in the units of the question."""
    trees: Mapping[int, list[NoisyTree]]
    """By part that is a histogram: one tree for each group."""
    seed: int
    """Of simulations, from what was drawn: they come out the same each time."""


def estimate(plan: Plan, measure: BoundedMeasure, noisy: Noisy) -> Floats:
    """A measure of each group; NaN where a noisy count is too small to divide by."""
    return _definition(measure).estimate(_noisy_measure(plan, measure, noisy, noisy.sums))


def reach(plan: Plan, measure: BoundedMeasure, values: Floats, noisy: Noisy) -> tuple[Floats, Floats] | None:
    """Where the truth of a measure lies, if its noise alone says so; None where it has to be simulated."""
    return _definition(measure).reach(_noisy_measure(plan, measure, noisy, noisy.sums), values)


def draw(
    plan: Plan,
    measure: BoundedMeasure,
    noisy: Noisy,
    at: NDArray[np.int64],
    drawn: Mapping[int, Floats],
    generator: np.random.Generator,
) -> Floats:
    """What a measure may be in truth, for each group in `at`, given sums with other noise taken off."""
    return _definition(measure).draw(_noisy_measure(plan, measure, noisy, drawn), at, generator)


def draw_sums(
    plan: Plan, noisy: Noisy, at: NDArray[np.int64], generator: np.random.Generator
) -> dict[int, Floats]:
    """The noisy sums of each group in `at`, less other noise of the same law."""
    drawn: dict[int, Floats] = {}
    for i, sums in noisy.sums.items():
        mechanism, scale = plan.mechanisms[i], float(plan.bounded.parts[i].scale)
        if isinstance(mechanism, DiscreteLaplace):
            noise = generator.laplace(scale=float(mechanism.scale) * scale, size=len(at))
        else:
            sigma = known(DiscreteGaussian, mechanism).sigma
            noise = generator.normal(scale=sigma * scale, size=len(at))
        drawn[i] = sums[at] - noise
    return drawn


def _definition(measure: BoundedMeasure) -> AggregateDefinition:
    return AGGREGATES[measure.measure.aggregate]


def _noisy_measure(
    plan: Plan, measure: BoundedMeasure, noisy: Noisy, sums: Mapping[int, Floats]
) -> NoisyMeasure:
    return NoisyMeasure(
        measure=measure.measure,
        vectors=tuple(plan.bounded.parts[i] for i in measure.parts),
        noise=tuple(_vector_noise(plan.mechanisms[i]) for i in measure.parts),
        sums=tuple(sums[i] for i in measure.parts if i in sums),
        trees=tuple(noisy.trees[i] for i in measure.parts if i in noisy.trees),
        confidence=plan.request.confidence,
    )


def _vector_noise(mechanism: QuestionMechanism) -> VectorNoise:
    if isinstance(mechanism, PermuteAndFlip | ExponentialMechanism):
        raise TypeError("No number is computed from a selection.")
    return mechanism
