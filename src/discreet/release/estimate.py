"""Measures from noisy vectors, as their aggregates say (`aggregates`). All of it is post-processing.

An interval is the exact tail of the noise where a measure is a count or a sum, and that of the ranks where it
is a quantile. A count that names private keys is seen only where it passed a threshold, and so its law is the
one given that it passed. Elsewhere the known noise is drawn many times more and taken off the noisy vectors
(`intervals`). Those draws protect nobody, so they come from numpy's fast generator, and from a seed that
follows from the noisy numbers: an interval that is computed again is the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.aggregate import AggregateDefinition, NoisyMeasure
from discreet.aggregates.left_out import Lost, estimate_lost
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import LeftOut, known
from discreet.aggregates.weights import Unit
from discreet.arrays import Floats
from discreet.bounds.bound import BoundedMeasure, MeasuredVector, left_out_of
from discreet.bounds.calibrate import Plan, QuestionMechanism
from discreet.model.query import group_count
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.noise.quantile import NoisyTree
from discreet.noise.threshold import StabilityThreshold

_SMOOTH = 50.0
"""Beyond this scale, the rounded continuous laws are as good as the discrete ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedErrors:
    """The errors of sums that were reconciled, relative to those that were drawn."""

    laws: tuple[MixedNoise, ...]
    law_of: NDArray[np.intp]
    """Which of them is that of each group."""
    _reaches: dict[tuple[bool, Fraction], Floats] = field(default_factory=dict, init=False, repr=False)

    def spread(self) -> Floats:
        """Of each group."""
        return np.array([law.spread for law in self.laws])[self.law_of]

    def reach(self, noise: AdditiveNoise, confidence: Fraction) -> Floats:
        """Of each group, at this confidence."""
        known_as = isinstance(noise, DiscreteLaplace), confidence
        if known_as not in self._reaches:
            reaches = np.array([law.reach(noise, confidence) for law in self.laws])
            self._reaches[known_as] = reaches[self.law_of]
        return self._reaches[known_as]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noisy:
    """What was released of the groups that are shown."""

    sums: Mapping[int, Floats]
    """By part: one number for each group, in the units of the question."""
    trees: Mapping[int, list[NoisyTree]]
    """By part that is a histogram: one tree for each group."""
    left_out: Mapping[int, Floats]
    """By part that is `LeftOut`: how many people are in each of its bins."""
    seed: int
    """The seed of simulations. It follows from what was drawn, so that they come out the same each time."""
    check_time: Callable[[], None] = lambda: None
    """Raises if time is up. To be called every few hundred trees."""
    mixed: Mapping[int, MixedErrors] = field(default_factory=dict)
    """By part whose sums were reconciled (`reconcile`)."""
    questions: int = 1
    """How many questions share the limits on what intervals may take: all those of a report."""


def estimate(plan: Plan, measure: BoundedMeasure, noisy: Noisy) -> Floats:
    """A measure of each group; NaN where a noisy count is too small to divide by."""
    as_drawn = noisy_measure(plan, measure, noisy, noisy.sums, plan.request.confidence)
    return _definition(measure).estimate(as_drawn)


def reach(
    plan: Plan, measure: BoundedMeasure, values: Floats, noisy: Noisy, confidence: Fraction | None = None
) -> tuple[Floats, Floats] | None:
    """Where the truth of a measure lies, if its noise alone says so; None where it has to be simulated."""
    level = plan.request.confidence if confidence is None else confidence
    if plan.threshold is not None and measure.parts == (plan.bounded.selector,):
        return _reach_of_passed(plan, noisy, level)
    return _definition(measure).reach(noisy_measure(plan, measure, noisy, noisy.sums, level), values)


def lost_by_measure(plan: Plan, noisy: Noisy) -> dict[str, Lost]:
    """What limits leave out of each measure; it is not among them if nothing can be, or nothing is known."""
    parts = {plan.bounded.parts[i]: i for i in noisy.left_out}
    generator = np.random.default_rng([noisy.seed, 1])
    found: dict[int, Lost] = {}
    lost: dict[str, Lost] = {}
    for measure in plan.bounded.measures:
        for each in measure.vectors:
            lost_of = left_out_of(each.vector)
            place = None if lost_of is None else parts.get(lost_of)
            if place is None:
                continue
            if place not in found:
                found[place] = _estimated(plan, place, noisy.left_out[place], generator)
            lost[measure.measure.name] = found[place]
    return lost


def _estimated(plan: Plan, place: int, people: Floats, generator: np.random.Generator) -> Lost:
    noise = added_noise(plan.mechanisms[place])
    part, query = known(LeftOut, plan.bounded.parts[place]), plan.bounded.query
    by_group = part.weight.unit is Unit.PEOPLE and part.distinct is None and not query.private_keys
    most = group_count(query) if by_group else None
    return estimate_lost(part, people, noise, float(plan.request.confidence), generator, most)


def guess(plan: Plan, measure: BoundedMeasure, noisy: Noisy, values: Floats, lost: Lost) -> Floats:
    """The likeliest answer without limits.

    With private keys, or grouping sets, what is left out of the groups that are shown is not known.
    """
    query = plan.bounded.query
    if query.private_keys or len(query.sets) > 1:
        return values
    of_measure = noisy_measure(plan, measure, noisy, noisy.sums, plan.request.confidence)
    return _definition(measure).guess(of_measure, values, lost)


def with_left_out(
    plan: Plan, measure: BoundedMeasure, noisy: Noisy, reach: tuple[Floats, Floats], lost: Lost
) -> tuple[Floats, Floats]:
    """Where the answer without limits lies, given where the one with limits does."""
    of_measure = noisy_measure(plan, measure, noisy, noisy.sums, plan.request.confidence)
    return _definition(measure).with_left_out(of_measure, reach, lost)


def ends_of(
    plan: Plan, measure: BoundedMeasure, noisy: Noisy, confidence: Fraction
) -> tuple[NoisyMeasure, NoisyMeasure]:
    """A measure whose vectors are where they end, each at this confidence, by the tails of their noise."""
    low: list[Floats] = []
    high: list[Floats] = []
    for each in measure.vectors:
        part, _ = each.terms[0]
        if part in noisy.trees:
            continue
        if part == plan.bounded.selector and plan.threshold is not None:
            ends = _reach_of_passed(plan, noisy, confidence)
        else:
            found = plan.noise_of(each).interval(confidence)
            error = float(found.high * each.vector.scale) * _mixed_reach(plan, each, noisy, confidence)
            middle = _sums(each, noisy.sums)
            ends = middle - error, middle + error
        low.append(ends[0])
        high.append(ends[1])
    one, other = (_noisy_measure(plan, measure, noisy, tuple(sums), confidence) for sums in (low, high))
    return one, other


def near_threshold(plan: Plan, noisy: Noisy, confidence: Fraction) -> NDArray[np.bool_]:
    """Which groups would not be seen had their noise been a little smaller, with private keys."""
    selector, threshold = known(int, plan.bounded.selector), known(StabilityThreshold, plan.threshold)
    far = threshold.far_above(confidence) * float(plan.bounded.parts[selector].scale)
    near: NDArray[np.bool_] = noisy.sums[selector] < far
    return near


def _reach_of_passed(plan: Plan, noisy: Noisy, confidence: Fraction) -> tuple[Floats, Floats]:
    """Of the count that names private keys: it is seen only where it passed."""
    selector, threshold = known(int, plan.bounded.selector), known(StabilityThreshold, plan.threshold)
    scale = float(plan.bounded.parts[selector].scale)
    counts = np.rint(noisy.sums[selector] / scale).astype(np.int64)
    if len(counts) == 0:
        return np.empty(0), np.empty(0)
    low, high = threshold.passed_interval(counts, confidence)
    return low * scale, high * scale


def draw_sums(
    plan: Plan, noisy: Noisy, parts: set[int], at: NDArray[np.int64], generator: np.random.Generator
) -> dict[int, Floats]:
    """The noisy sums of some parts, of each group in `at`, less other noise of the same law."""
    drawn: dict[int, Floats] = {}
    for i in sorted(parts & set(noisy.sums)):
        noise = _like(added_noise(plan.mechanisms[i]), len(at), generator)
        if i in noisy.mixed:
            noise = noise * noisy.mixed[i].spread()[at]
        drawn[i] = noisy.sums[i][at] - noise * float(plan.bounded.parts[i].scale)
    return drawn


def _like(mechanism: AdditiveNoise, size: int, generator: np.random.Generator) -> Floats:
    """Draws of the same law, on the integers: a continuous law misses more often where noise is small."""
    if isinstance(mechanism, DiscreteLaplace):
        scale = float(mechanism.scale)
        if scale > _SMOOTH:
            return np.rint(generator.laplace(scale=scale, size=size))
        chance = -np.expm1(-1 / scale)  # the difference of two geometric ones is discrete Laplace
        difference: Floats = np.float64(1) * generator.geometric(chance, size)
        return difference - generator.geometric(chance, size)
    sigma = mechanism.sigma
    if sigma > _SMOOTH:
        return np.rint(generator.normal(scale=sigma, size=size))
    most = np.ceil(9 * sigma + 1)
    values = np.arange(-most, most + 1)
    sums = np.cumsum(np.exp(-0.5 * (values / sigma) ** 2))
    found: Floats = values[np.searchsorted(sums, generator.random(size) * sums[-1], side="right")]
    return found


def _definition(measure: BoundedMeasure) -> AggregateDefinition:
    return AGGREGATES[measure.measure.aggregate]


def noisy_measure(
    plan: Plan, measure: BoundedMeasure, noisy: Noisy, sums: Mapping[int, Floats], confidence: Fraction
) -> NoisyMeasure:
    """A measure with these sums of parts, which may be the noisy ones, or others that are as likely."""
    vectors = tuple(_sums(each, sums) for each in measure.vectors if each.terms[0][0] in sums)
    return _noisy_measure(plan, measure, noisy, vectors, confidence)


def _noisy_measure(
    plan: Plan, measure: BoundedMeasure, noisy: Noisy, sums: tuple[Floats, ...], confidence: Fraction
) -> NoisyMeasure:
    return NoisyMeasure(
        measure=measure.measure,
        vectors=tuple(each.vector for each in measure.vectors),
        noise=tuple(plan.noise_of(each) for each in measure.vectors),
        sums=sums,
        trees=tuple(noisy.trees[i] for i in measure.parts if i in noisy.trees),
        confidence=confidence,
        grouped=bool(plan.bounded.query.keys),
        check_time=noisy.check_time,
        reach=_mixed_reach(plan, measure.vectors[-1], noisy, confidence),
    )


def _sums(each: MeasuredVector, sums: Mapping[int, Floats]) -> Floats:
    """A vector, computed from the parts."""
    (first, weight), *others = each.terms
    found = sums[first] if weight == 1 else sums[first] * float(weight)
    for part, weight in others:
        found = found + sums[part] * float(weight)
    return found


def _mixed_reach(plan: Plan, each: MeasuredVector, noisy: Noisy, confidence: Fraction) -> Floats | float:
    """How far the error of a vector reaches, relative to its noise, if its parts were reconciled."""
    mixed = {i: noisy.mixed[i] for i, _ in each.terms if i in noisy.mixed}
    if not mixed:
        return 1.0
    if len(each.terms) == 1:
        ((only, _),) = each.terms
        return mixed[only].reach(added_noise(plan.mechanisms[only]), confidence)
    first = next(iter(mixed.values()))
    drawn = float(plan.noise_of(each).interval(confidence).high)
    by_table = [
        float(
            plan.noise_of(each, {i: errors.laws[table] for i, errors in mixed.items()})
            .interval(confidence)
            .high
        )
        for table in range(len(first.laws))
    ]
    return np.array(by_table)[first.law_of] / max(drawn, 1e-300)


def added_noise(mechanism: QuestionMechanism) -> AdditiveNoise:
    """The noise of a part that is a sum, or a histogram of people."""
    if not isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        raise TypeError("Noise is added to sums alone.")
    return mechanism
