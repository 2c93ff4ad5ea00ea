"""Measures from noisy vectors: an average is a noisy sum over a noisy count. All of it is post-processing.

An interval is the exact tail of the noise where a measure is a count or a sum, and that of the ranks where it
is a quantile. Elsewhere the known noise is drawn many times more and taken off the noisy vectors: the middle
of what comes out is the interval. Those draws protect nobody, so they come from numpy's fast generator, and
from a seed that follows from the noisy numbers: an interval that is computed again is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.bounds.bound import BoundedMeasure
from discreet.bounds.calibrate import Plan
from discreet.bounds.vectors import Histogram, WeightedSum, known
from discreet.functions.registry import range_of
from discreet.model.query import Aggregate
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree

COUNTS = (Aggregate.COUNT, Aggregate.PEOPLE, Aggregate.DISTINCT)
_LINEAR = (*COUNTS, Aggregate.SUM)


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
    if measure.measure.aggregate is Aggregate.QUANTILE:
        return _quantiles(plan, measure, noisy)
    return _from_sums(plan, measure, [noisy.sums[i] for i in measure.parts])


def reach(plan: Plan, measure: BoundedMeasure, values: Floats, noisy: Noisy) -> tuple[Floats, Floats] | None:
    """Where the truth of a measure lies, if its noise alone says so; None where it has to be simulated."""
    aggregate = measure.measure.aggregate
    if aggregate is Aggregate.QUANTILE:
        return _quantile_reach(plan, measure, noisy)
    if aggregate not in _LINEAR:
        return None
    error = float(plan.error(measure).high)
    least = 0.0 if aggregate in COUNTS else -np.inf
    return np.maximum(values - error, least), np.maximum(values + error, least)


def draw(
    plan: Plan,
    measure: BoundedMeasure,
    noisy: Noisy,
    at: NDArray[np.int64],
    drawn: Mapping[int, Floats],
    generator: np.random.Generator,
) -> Floats:
    """What a measure may be in truth, for each group in `at`, given sums with other noise taken off."""
    if measure.measure.aggregate is not Aggregate.QUANTILE:
        return _from_sums(plan, measure, [drawn[i] for i in measure.parts])
    values = _quantiles(plan, measure, noisy)[at]
    low, high = (end[at] for end in _quantile_reach(plan, measure, noisy))
    deviation = NormalDist().inv_cdf((1 + float(plan.request.confidence)) / 2)
    normal = generator.standard_normal(len(at))
    return values + np.where(normal < 0, values - low, high - values) * normal / deviation


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


def _from_sums(plan: Plan, measure: BoundedMeasure, parts: list[Floats]) -> Floats:
    match measure.measure.aggregate:
        case Aggregate.AVERAGE:
            count, total = parts
            part = known(WeightedSum, plan.bounded.parts[measure.parts[1]])
            return _clamped(_ratio(total, count) + float(part.offset), measure)
        case Aggregate.VARIANCE:
            count, total, squares = parts
            return np.maximum(_ratio(squares, count) - _ratio(total, count) ** 2, 0.0)
    return parts[0]


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator >= 0.5)


def _clamped(values: Floats, measure: BoundedMeasure) -> Floats:
    """An average, or a quantile, lies within the bounds: to cut off what does not is free, and no worse."""
    span = None if measure.measure.argument is None else range_of(measure.measure.argument)
    return values if span is None else np.clip(values, float(span.low), float(span.high))


def _quantiles(plan: Plan, measure: BoundedMeasure, noisy: Noisy) -> Floats:
    part, trees, share = _tree(plan, measure, noisy)
    positions = [tree.quantile(share) if part.points else tree.position(share) for tree in trees]
    return _clamped(np.array([part.value_at(position) for position in positions], dtype=np.float64), measure)


def _quantile_reach(plan: Plan, measure: BoundedMeasure, noisy: Noisy) -> tuple[Floats, Floats]:
    part, trees, share = _tree(plan, measure, noisy)
    confidence = plan.request.confidence
    if part.points:
        intervals = [tree.interval(share, confidence) for tree in trees]
        ends = [(float(each.low), float(each.high)) for each in intervals]
    else:
        ends = [tree.position_interval(share, confidence) for tree in trees]
    found = np.array([[part.value_at(low), part.value_at(high)] for low, high in ends], dtype=np.float64)
    low, high = _clamped(found.reshape(-1, 2), measure).T
    return low, high


def _tree(plan: Plan, measure: BoundedMeasure, noisy: Noisy) -> tuple[Histogram, list[NoisyTree], Fraction]:
    (position,) = measure.parts
    part = known(Histogram, plan.bounded.parts[position])
    return part, noisy.trees[position], known(Fraction, measure.measure.share)
