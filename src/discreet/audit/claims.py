"""Every mechanism with what it claims, on the neighbours that are worst for it.

A claim says: run this on the two neighbours, and the outcomes are within this loss of each other. It
knows how to draw outcomes from the real mechanism, through its public `release`, and what their law
ought to be. `report` checks it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.laws import (
    Probabilities,
    exponential_law,
    gaussian_law,
    laplace_law,
    permute_and_flip_law,
    product_law,
    response_law,
    threshold_law,
)
from discreet.model.exact import ln_bounds
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, Loss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import QuantileTree
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip, Selection
from discreet.noise.threshold import StabilityThreshold

Side: TypeAlias = Literal[0, 1]
Outcomes: TypeAlias = NDArray[np.int64]

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A mechanism, two neighbours, and the loss between them that it must not exceed."""

    name: str
    claimed: Loss
    """What was asked for."""
    stated: Loss
    """What the mechanism says that it costs: not more than was asked for, not less than the truth."""
    law: Callable[[Side], Probabilities]
    draw: Callable[[Side, int], Outcomes]
    samples: int
    """Draws a side in a quick audit; a thorough one takes ten times as many."""


def registered_claims() -> Iterator[Claim]:
    """All of them, in the order in which they are shown."""
    yield from _laplace_claims()
    yield from _gaussian_claims()
    yield from _response_claims()
    yield from _selection_claims()
    yield from _threshold_claims()
    yield from _tree_claims()


def _laplace_claims() -> Iterator[Claim]:
    count = Sensitivity.scalar(1, ADD_REMOVE)
    cases = [
        ("count", Fraction(1), count, [0], [1]),
        ("count at ε = 0.01", Fraction(1, 100), count, [0], [1]),
        ("sum in [−3, 5]", Fraction(1, 2), Sensitivity.sum(-3, 5, ADD_REMOVE), [0], [5]),
        ("sum in [−3, 5], replace", Fraction(1, 2), Sensitivity.sum(-3, 5, REPLACE_ONE), [-3], [5]),
        ("histogram", Fraction(1), Sensitivity.histogram(ADD_REMOVE), [2, 1], [2, 2]),
        ("histogram, replace", Fraction(1), Sensitivity.histogram(REPLACE_ONE), [3, 1], [2, 2]),
        ("2 counting queries", Fraction(1), Sensitivity.counting_queries(2, ADD_REMOVE), [0, 0], [1, 1]),
    ]
    for name, epsilon, sensitivity, first, second in cases:
        mechanism = DiscreteLaplace.for_loss(epsilon, sensitivity)
        yield additive_claim(
            f"Laplace: {name}", mechanism, sensitivity, PureLoss(epsilon=epsilon), first, second
        )
    yield _object_claim()


def _object_claim() -> Claim:
    """Integers beyond 64 bits get noise like all others."""
    count = Sensitivity.scalar(1, ADD_REMOVE)
    mechanism = DiscreteLaplace.for_loss(1, count)
    window, far = Window.around(mechanism, [0], [1]), 10**30

    def draw(side: Side, count: int) -> Outcomes:
        noisy = mechanism.release(np.full((count, 1), far + side, dtype=object))
        return window.outcomes((noisy - far).astype(np.int64))

    return Claim(
        name="Laplace: count beyond 64 bits",
        claimed=PureLoss(epsilon=Fraction(1)),
        stated=mechanism.loss(count),
        law=lambda side: window.law(mechanism, side),
        draw=draw,
        samples=2**16,
    )


def _gaussian_claims() -> Iterator[Claim]:
    cases = [
        ("count", Fraction(1, 2), Sensitivity.scalar(1, ADD_REMOVE), [0], [1]),
        ("count, tiny σ", Fraction(8), Sensitivity.scalar(1, ADD_REMOVE), [0], [1]),
        ("sum in [0, 7]", Fraction(1, 10), Sensitivity.sum(0, 7, ADD_REMOVE), [0], [7]),
        ("histogram, replace", Fraction(1, 2), Sensitivity.histogram(REPLACE_ONE), [3, 1], [2, 2]),
        ("2 counting queries", Fraction(1, 2), Sensitivity.counting_queries(2, ADD_REMOVE), [0, 0], [1, 1]),
    ]
    for name, rho, sensitivity, first, second in cases:
        mechanism = DiscreteGaussian.for_loss(rho, sensitivity)
        claimed = ConcentratedLoss(rho=rho, delta=Fraction(0))
        yield additive_claim(f"Gaussian: {name}", mechanism, sensitivity, claimed, first, second)


def additive_claim(
    name: str,
    mechanism: AdditiveNoise,
    sensitivity: Sensitivity,
    claimed: Loss,
    first: list[int],
    second: list[int],
    *,
    stated: Loss | None = None,
) -> Claim:
    """Noise on a vector; what it states is its own loss, unless another statement is to be checked."""
    window = Window.around(mechanism, first, second)

    def law(side: Side) -> Probabilities:
        return product_law(*(window.law(mechanism, x) for x in (first, second)[side]))

    def draw(side: Side, count: int) -> Outcomes:
        return window.outcomes(mechanism.release(np.tile((first, second)[side], (count, 1))))

    return Claim(
        name=name,
        claimed=claimed,
        stated=stated or mechanism.loss(sensitivity),
        law=law,
        draw=draw,
        samples=2**22 // len(first) ** 2,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The range of integers that outcomes are clipped to."""

    low: int
    high: int

    @classmethod
    def around(cls, mechanism: AdditiveNoise, first: list[int], second: list[int]) -> "Window":
        spread = mechanism.scale if isinstance(mechanism, DiscreteLaplace) else mechanism.sigma
        reach = min(400, int(4 * spread) + 2) if len(first) == 1 else min(12, int(4 * spread) + 2)
        return cls(low=min(first + second) - reach, high=max(first + second) + reach)

    def law(self, mechanism: AdditiveNoise, centre: int) -> Probabilities:
        if isinstance(mechanism, DiscreteLaplace):
            return laplace_law(float(mechanism.scale), centre, self.low, self.high)
        return gaussian_law(float(mechanism.sigma_squared), centre, self.low, self.high)

    def outcomes(self, released: NDArray[np.int64]) -> Outcomes:
        """One number for each row of released values, the last column running fastest."""
        size = self.high - self.low + 1
        digits = np.clip(released, self.low, self.high) - self.low
        return digits @ (size ** np.arange(released.shape[1])[::-1])


def _response_claims() -> Iterator[Claim]:
    ln3 = ln_bounds(Fraction(3), 40)[1]
    cases = [
        ("coin toss", ln3, RandomizedResponse(categories=2, keep=Fraction(3, 4))),
        ("yes or no", Fraction(1), RandomizedResponse.for_loss(1)),
        ("one of 5", Fraction(2), RandomizedResponse.for_loss(2, categories=5)),
    ]
    for name, epsilon, mechanism in cases:
        yield Claim(
            name=f"Randomized response: {name}",
            claimed=PureLoss(epsilon=epsilon),
            stated=mechanism.loss(),
            law=partial(response_law, float(mechanism.keep), mechanism.categories),
            draw=partial(_draw_responses, mechanism),
            samples=2**20,
        )


def _draw_responses(mechanism: RandomizedResponse, side: Side, count: int) -> Outcomes:
    return mechanism.release(np.full(count, side))


def _selection_claims() -> Iterator[Claim]:
    counts = ScoreSensitivity.counts(ADD_REMOVE), [[2, 3, 3], [2, 4, 4]]
    replaced = ScoreSensitivity.counts(REPLACE_ONE), [[1, 3, 3], [2, 2, 2]]
    general = ScoreSensitivity.bounded(1, ADD_REMOVE), [[1, 5, 5], [2, 4, 4]]
    for mechanism, law in ((PermuteAndFlip, permute_and_flip_law), (ExponentialMechanism, exponential_law)):
        title = "Permute-and-flip" if mechanism is PermuteAndFlip else "Exponential mechanism"
        for name, (sensitivity, scores) in {
            "counts": counts,
            "counts, replace": replaced,
            "general scores": general,
        }.items():
            yield _selection(f"{title}: {name}", mechanism, law, sensitivity, scores, picks=1)
        counts_only, _ = counts
        yield _selection(
            f"{title}: top 3", mechanism, law, counts_only, [[2, 2, 2, 4], [2, 2, 2, 5]], picks=3
        )
        many = [[1, *[2] * 79], [1, *[3] * 79]]
        yield _selection(f"{title}: one of 80", mechanism, law, counts_only, many, picks=1)


def _selection(
    name: str,
    kind: type[Selection],
    single: Callable[[list[int], float], Probabilities],
    sensitivity: ScoreSensitivity,
    scores: list[list[int]],
    *,
    picks: int,
) -> Claim:
    mechanism = kind.for_loss(1, sensitivity, picks=picks)
    size = len(scores[0])

    def law(side: Side) -> Probabilities:
        return _law_of_picks(single, scores[side], float(mechanism.temperature), picks)

    def draw(side: Side, count: int) -> Outcomes:
        chosen = [mechanism.release_top(scores[side], picks) for _ in range(count)]
        return np.array(chosen) @ (size ** np.arange(picks)[::-1])

    return Claim(
        name=name,
        claimed=PureLoss(epsilon=Fraction(1)),
        stated=mechanism.loss(sensitivity, picks=picks),
        law=law,
        draw=draw,
        samples=2**13,
    )


def _law_of_picks(
    single: Callable[[list[int], float], Probabilities], scores: list[int], temperature: float, picks: int
) -> Probabilities:
    """Picks one after the other among those that are left; picking one twice has probability 0."""
    law = single(scores, temperature)
    if picks == 1:
        return law
    joint = np.zeros((len(scores),) * picks)
    for i, probability in enumerate(law):
        rest = _law_of_picks(single, scores[:i] + scores[i + 1 :], temperature, picks - 1)
        left = [j for j in range(len(scores)) if j != i]
        joint[np.ix_([i], *[left] * (picks - 1))] = probability * rest.reshape(
            (1, *[len(left)] * (picks - 1))
        )
    return joint.ravel()


def _threshold_claims() -> Iterator[Claim]:
    delta = Fraction(1, 1000)  # large, so that a wrong δ shows in few draws
    once, twice = Sensitivity.histogram(ADD_REMOVE), Sensitivity.histogram(ADD_REMOVE, max_rows=2)
    replaced = Sensitivity.histogram(REPLACE_ONE)
    cases = [
        ("a key of one person", once, [0], [1]),
        ("another key of one person", replaced, [1, 0], [0, 1]),
        ("a key of many", once, [4], [5]),
        ("two keys of one person", twice, [0, 0], [1, 1]),
        ("one key, two rows", twice, [0, 3], [2, 3]),
    ]
    for name, sensitivity, first, second in cases:
        noise = DiscreteLaplace.for_loss(1, sensitivity)
        claimed = ApproximateLoss(epsilon=Fraction(1), delta=delta)
        yield _threshold(f"Laplace threshold: {name}", noise, sensitivity, claimed, first, second)
    for name, sensitivity, first, second in cases:
        normal = DiscreteGaussian.for_loss(Fraction(1, 2), sensitivity)
        concentrated = ConcentratedLoss(rho=Fraction(1, 2), delta=delta)
        yield _threshold(f"Gaussian threshold: {name}", normal, sensitivity, concentrated, first, second)


def _threshold(
    name: str,
    noise: AdditiveNoise,
    sensitivity: Sensitivity,
    claimed: ApproximateLoss | ConcentratedLoss,
    first: list[int],
    second: list[int],
) -> Claim:
    mechanism = StabilityThreshold.for_delta(claimed.delta, sensitivity, noise)
    low, high = -40, mechanism.threshold + 8
    size = high - mechanism.threshold + 2

    def law_of_key(count: int) -> Probabilities:
        noisy = Window(low=low, high=high).law(noise, count)
        named = threshold_law(noisy, low, mechanism.threshold)
        return named if count else np.eye(1, size)[0]

    def law(side: Side) -> Probabilities:
        return product_law(*(law_of_key(x) for x in (first, second)[side]))

    def draw(side: Side, count: int) -> Outcomes:
        outcomes = np.zeros(count, dtype=np.int64)
        for exact in (first, second)[side]:
            named, noisy = mechanism.release(np.full(count, exact))
            digit = np.zeros(count, dtype=np.int64)
            digit[named] = np.minimum(noisy, high) - mechanism.threshold + 1
            outcomes = outcomes * size + digit
        return outcomes

    return Claim(
        name=name,
        claimed=claimed,
        stated=mechanism.loss(sensitivity),
        law=law,
        draw=draw,
        samples=2**20,
    )


def _tree_claims() -> Iterator[Claim]:
    """A tree over four leaves has nodes 0, 1 above and 2, 3, 4, 5 below."""
    pure, concentrated = (
        PureLoss(epsilon=Fraction(1)),
        ConcentratedLoss(rho=Fraction(1, 2), delta=Fraction(0)),
    )
    for title, loss in (("Laplace", pure), ("Gaussian", concentrated)):
        for name, relation, second in (
            ("a row more", ADD_REMOVE, [2, 0, 0, 1]),
            ("a row elsewhere", REPLACE_ONE, [0, 0, 0, 2]),
        ):
            mechanism = QuantileTree.for_loss(loss, leaves=4, neighbours=relation, branching=2)
            first = [1, 0, 0, 1]
            yield _tree(f"{title} quantile tree: {name}", mechanism, relation, loss, first, second)


def _tree(
    name: str,
    mechanism: QuantileTree,
    relation: Neighbours,
    claimed: Loss,
    first: list[int],
    second: list[int],
) -> Claim:
    nodes = [mechanism.shape.count(np.array(histogram)) for histogram in (first, second)]
    moved = np.flatnonzero(nodes[0] != nodes[1])
    moved = moved if len(moved) > 2 else np.union1d(moved, [1])  # and a node that does not move
    window = Window(low=-3, high=5)

    def law(side: Side) -> Probabilities:
        return product_law(*(window.law(mechanism.noise, int(x)) for x in nodes[side][moved]))

    def draw(side: Side, count: int) -> Outcomes:
        histogram = np.array((first, second)[side])
        released = [mechanism.release(histogram).noisy[moved] for _ in range(count)]
        return window.outcomes(np.array(released))

    return Claim(
        name=name,
        claimed=claimed,
        stated=mechanism.loss(relation),
        law=law,
        draw=draw,
        samples=2**12,
    )
