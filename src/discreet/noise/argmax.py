"""The arg max of scores plus noise, exactly: who wins is decided in the reals, not in floats.

Floats with certified error decide almost always; rivals within the error of each other are compared
with more random bits and exact arithmetic, as far as it takes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.model.exact import ln_bounds
from discreet.noise.entropy import Entropy, Words
from discreet.noise.uniform import LOG_ERROR, LazyUniform, exponentials

Enclosure: TypeAlias = tuple[Fraction | None, Fraction | None]
"""Below and above; None where the bits known so far give no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """A law as a decreasing function of U: in floats with a bound on the error, and enclosed."""

    floats: Callable[[Words], tuple[Floats, Floats]]
    enclose: Callable[[LazyUniform], Enclosure]


def noisy_argmax(scores: Integers, temperature: Fraction, noise: NoiseLaw, entropy: Entropy) -> int:
    """The position of the largest score/temperature + noise."""
    gaps = _gaps_below_best(scores)
    words = entropy.words(len(gaps))
    values, error = noise.floats(words)
    distance = gaps.astype(np.float64) * float(1 / temperature)
    with np.errstate(invalid="ignore"):
        error += distance * 2.0**-50
        values -= distance
        low, high = values - error, values + error
    low[np.isnan(low)], high[np.isnan(high)] = -np.inf, np.inf
    rivals = (high >= low.max()).nonzero()[0]
    if len(rivals) == 1:
        return int(rivals[0])
    uniforms = [LazyUniform(words[i], entropy) for i in rivals]
    exact_gaps = [int(gaps[i]) / temperature for i in rivals]
    return int(rivals[_resolve(uniforms, exact_gaps, noise)])


def _resolve(uniforms: list[LazyUniform], gaps: list[Fraction], noise: NoiseLaw) -> int:
    rivals = list(range(len(gaps)))
    while True:
        bounds = {i: noise.enclose(uniforms[i]) for i in rivals}
        floors = [low - gaps[i] for i, (low, _) in bounds.items() if low is not None]
        if floors:
            best = max(floors)
            rivals = [i for i in rivals if (high := bounds[i][1]) is None or high - gaps[i] >= best]
        if len(rivals) == 1:
            return rivals[0]
        for i in rivals:
            uniforms[i].extend()


def _gaps_below_best(scores: Integers) -> Integers:
    best = int(scores.max())
    if scores.dtype != object and best - int(scores.min()) >= 2**63:
        scores = scores.astype(object)
    gaps: Integers = best - scores
    return gaps


def _gumbel_floats(words: Words) -> tuple[Floats, Floats]:
    """−ln E for E = −ln U. An error e in E is one of at most e/(E − e) in ln E."""
    value, error = exponentials(words)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(error < value, error / (value - error), np.inf)
        value = -np.log(value)
    error += 2 * LOG_ERROR * (np.abs(value) + 1)
    return value, error


def _gumbel_bounds(uniform: LazyUniform) -> Enclosure:
    low, high = uniform.exponential()
    return (
        None if high is None else -ln_bounds(high, 40 + uniform.bits // 2)[1],
        None if low <= 0 else -ln_bounds(low, 40 + uniform.bits // 2)[0],
    )


EXPONENTIAL = NoiseLaw(floats=exponentials, enclose=LazyUniform.exponential)
"""Noise −ln U: P(noise > t) = e^−t."""

GUMBEL = NoiseLaw(floats=_gumbel_floats, enclose=_gumbel_bounds)
"""Noise −ln(−ln U): its arg max picks i with probability in proportion to e^(score_i)."""
