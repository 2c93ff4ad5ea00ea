"""Layer 2, deterministic: at which random word does the decision of a sampler flip?

Every exact sampler decides something about a uniform U ∈ (0, 1) that it sees as 64-bit words. As the word
grows, the decision flips once, and the law says at which word. Bisection over prepared words finds the flip,
without statistics or false alarms. It notices a scale that is off in its fifteenth digit. A stratified grid
then checks that the vectorised path agrees with the law as a whole.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.model.exact import exp_bounds, ln_bounds
from discreet.noise.entropy import ScriptedEntropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.randomized_response import RandomizedResponse
from discreet.noise.sampling import CHUNK, DIRECT_BITS, gaussian_acceptance
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

_HIGH, _HALF = 2**64 - 1, 2**63
_STRATA = (np.arange(CHUNK, dtype=np.uint64) << np.uint64(50)) + np.uint64(2**49)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCheck:
    """A decision that a mechanism makes on one word, and where its law says that it flips."""

    name: str
    decide: Callable[[int], bool]
    """True for words below the flip, false from there on."""
    expected: tuple[Fraction, Fraction]
    """Bounds on 2⁶⁴ times the probability of True."""
    allowed: int = 1
    """How many words the flip may be off: 1, as on the word of the flip the bits that follow decide."""

    def found(self) -> int:
        """The number of words on which the decision is True."""
        low, high = 0, 2**64
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.decide(middle) else (low, middle)
        return low

    def deviation(self) -> Fraction:
        """How many words the flip is away from where it belongs."""
        low, high = self.expected
        found = self.found()
        return max(low - found, found - high, Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedCheck:
    """The largest difference between the survival function on the grid and the law, in strata."""

    name: str
    deviation: Callable[[], float]
    """At most ½ for an exact sampler."""


def registered_decisions() -> Iterator[DecisionCheck]:
    for scale in (
        Fraction(1, 8),
        Fraction(1),
        Fraction(10),
        Fraction(10**6),
        Fraction(2**40),
        Fraction(2**70),
    ):
        yield from _laplace_decisions(scale)
    for scale in (Fraction(2**40), Fraction(2**70)):
        yield from _low_part_decisions(scale)
    for sigma_squared in (Fraction(1, 4), Fraction(100), Fraction(10**12), Fraction(2**140)):
        yield from _gaussian_decisions(sigma_squared)
    for epsilon, categories in ((Fraction(1), 2), (Fraction(1, 100), 2), (Fraction(3), 7)):
        yield _response_decision(epsilon, categories)
    yield from _selection_decisions()
    yield _threshold_decision()


def registered_strata() -> Iterator[StratifiedCheck]:
    for scale in (Fraction(1, 8), Fraction(1), Fraction(10), Fraction(10**6)):
        yield StratifiedCheck(
            name=f"Laplace sampler: grid, scale {scale}", deviation=partial(_laplace_grid, scale)
        )


def _laplace_decisions(scale: Fraction) -> Iterator[DecisionCheck]:
    mechanism = DiscreteLaplace(scale=scale)
    unit = _unit(scale)

    def reaches(magnitude: int, word: int) -> bool:
        return mechanism.release(0, entropy=_laplace_words(scale, word, _HIGH)) >= magnitude

    # As far out as 64 bits reach: 40 scales have probability e⁻⁴⁰, 78 words of 2⁶⁴.
    for steps in {1, *(round(times * scale / unit) for times in (1, 5, 40))} - {0}:
        magnitude = steps * unit
        yield DecisionCheck(
            name=f"Laplace sampler: magnitude ≥ {magnitude}, scale {scale}",
            decide=partial(reaches, magnitude),
            expected=_words(exp_bounds(-magnitude / scale, 40)),
        )
    low, high = exp_bounds(1 / scale, 40)
    yield DecisionCheck(
        name=f"Laplace sampler: sign, scale {scale}",
        decide=lambda word: mechanism.release(0, entropy=_laplace_words(scale, _HIGH, word)) < 0,
        expected=_words((1 / (1 + high), 1 / (1 + low))),
    )


def _low_part_decisions(scale: Fraction) -> Iterator[DecisionCheck]:
    """With the high part fixed, the low part of a large draw is uniform down to its last bit."""
    mechanism, unit = DiscreteLaplace(scale=scale), _unit(scale)
    base = mechanism.release(0, entropy=_laplace_words(scale, _HALF, _HIGH))

    def below(least: int, word: int) -> bool:
        entropy = ScriptedEntropy([_HALF], [word], [_HALF], [_HIGH])
        return mechanism.release(0, entropy=entropy) < base + least

    for least in (1, unit // 2, unit - 1):
        yield DecisionCheck(
            name=f"Laplace sampler: low part ≥ {least}, scale {scale}",
            decide=partial(below, least),
            expected=_words((Fraction(least, unit), Fraction(least, unit))),
        )


def _unit(scale: Fraction) -> int:
    """Large scales are drawn in two parts. The first part decides a multiple of this."""
    return int(2 ** max(0, math.floor(scale).bit_length() - DIRECT_BITS))


def _laplace_words(scale: Fraction, magnitude: int, sign: int) -> ScriptedEntropy:
    """The words of one draw; the second part of a large one, if any, is 0 and kept."""
    second_part = [[0], [_HALF]] if _unit(scale) > 1 else []
    return ScriptedEntropy([magnitude], *second_part, [sign])


def _gaussian_decisions(sigma_squared: Fraction) -> Iterator[DecisionCheck]:
    """Which proposals are accepted, and that an accepted proposal is what is released."""
    scale = math.isqrt(math.floor(sigma_squared)) + 1
    mechanism = DiscreteGaussian(sigma_squared=sigma_squared)

    def accepts(value: int, word: int) -> bool:
        entropy = ScriptedEntropy([word])
        proposal = np.array([value], dtype=object if value.bit_length() > 62 else np.int64)
        return bool(gaussian_acceptance(proposal, scale, sigma_squared, entropy)[0])

    def reaches(magnitude: int, word: int) -> bool:
        second_part = [[0] * 9, [_HALF] * 9] if _unit(Fraction(scale)) > 1 else []
        entropy = ScriptedEntropy([word] * 9, *second_part, [_HIGH] * 9, [1] * 9)  # coins that accept
        return mechanism.release(0, entropy=entropy) >= magnitude

    for value in {0, scale, -3 * scale, 8 * scale}:
        gamma = (abs(value) - sigma_squared / scale) ** 2 / (2 * sigma_squared)
        if gamma < 40:
            yield DecisionCheck(
                name=f"Gaussian sampler: accept {value}, σ² = {sigma_squared}",
                decide=partial(accepts, value),
                expected=_words(exp_bounds(-gamma, 40)),
            )
    unit = _unit(Fraction(scale))
    if sigma_squared >= 1:
        for times in (1, 8):  # eight standard deviations are still reached
            magnitude = times * scale // unit * unit
            yield DecisionCheck(
                name=f"Gaussian sampler: release ≥ {magnitude}, σ² = {sigma_squared}",
                decide=partial(reaches, magnitude),
                expected=_words(exp_bounds(-Fraction(magnitude, scale), 40)),
            )


def _response_decision(epsilon: Fraction, categories: int) -> DecisionCheck:
    """The keep probability must be the one for ε, rounded down: so nothing above is allowed."""
    mechanism = RandomizedResponse.for_loss(epsilon, categories=categories)
    weight, _ = exp_bounds(epsilon, 60)
    exact = math.floor(2**64 * weight / (weight + categories - 1))
    return DecisionCheck(
        name=f"Randomized response: keep, ε = {float(epsilon):g}, one of {categories}",
        decide=lambda word: mechanism.release(0, entropy=ScriptedEntropy([word])) == 0,
        expected=(Fraction(exact), Fraction(exact)),
        allowed=0,
    )


def _selection_decisions() -> Iterator[DecisionCheck]:
    """Two candidates, the second 3 ahead with its noise fixed: the first wins if its word is extreme."""
    gap, temperature, rival = 3, Fraction(2), _HALF + 2**61
    low, high = (-bound for bound in reversed(ln_bounds(Fraction(rival, 2**64), 40)))
    flip = PermuteAndFlip(temperature=temperature)
    yield DecisionCheck(
        name="Permute-and-flip: who wins",
        decide=lambda word: flip.release([0, gap], entropy=ScriptedEntropy([word, rival])) == 0,
        expected=_words(
            (exp_bounds(-high - gap / temperature, 40)[0], exp_bounds(-low - gap / temperature, 40)[1])
        ),
    )
    exponential = ExponentialMechanism(temperature=temperature)
    weight_low, weight_high = exp_bounds(-gap / temperature, 40)
    yield DecisionCheck(
        name="Exponential mechanism: who wins",
        decide=lambda word: exponential.release([0, gap], entropy=ScriptedEntropy([word, rival])) == 1,
        expected=_words((exp_bounds(-high * weight_high, 40)[0], exp_bounds(-low * weight_low, 40)[1])),
    )


def _threshold_decision() -> DecisionCheck:
    """A key with count 4 and threshold 9 is named if its noise reaches 5."""
    scale = Fraction(2)
    mechanism = StabilityThreshold(noise=DiscreteLaplace(scale=scale), threshold=9)

    def named(word: int) -> bool:
        positions, _ = mechanism.release([4], entropy=_laplace_words(scale, word, _HIGH))
        return len(positions) == 1

    return DecisionCheck(
        name="Threshold: named or not", decide=named, expected=_words(exp_bounds(-5 / scale, 40))
    )


def _words(probability: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return 2**64 * probability[0], 2**64 * probability[1]


def _laplace_grid(scale: Fraction) -> float:
    """Feed the middle of each stratum as magnitude, plus as sign, and compare survival functions."""
    mechanism = DiscreteLaplace(scale=scale)
    signs = np.full(CHUNK, _HIGH, dtype=np.uint64)
    drawn = np.sort(mechanism.release(np.zeros(CHUNK, np.int64), entropy=ScriptedEntropy(_STRATA, signs)))
    levels = np.unique(drawn[drawn > 0])
    if len(levels) == 0:
        return 0.0
    survivors = CHUNK - np.searchsorted(drawn, levels)
    return float(np.abs(survivors - CHUNK * np.exp(-levels / float(scale))).max())
