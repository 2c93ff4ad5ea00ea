"""Exact, vectorised samplers: the law is the stated one, to the last bit.

- Bernoulli(p), Bernoulli(e^−γ); uniform integers
- geometric: P(G ≥ k) = e^(−k/b) as ⌊−b·ln U⌋
- discrete Laplace, P(x) ∝ e^(−|x|/b): a geometric magnitude and an exact sign coin, no rejection
- discrete Gaussian, P(x) ∝ e^(−x²/2σ²): rejection from a discrete Laplace
  (Canonne, Kamath, Steinke, arXiv 2004.00010v4, Algorithm 3)

Scales are in grid units, any positive rational from 2⁻⁵⁰ to 2¹⁰⁰. Results are int64, or Python integers in
an object array where 64 bits might not hold them. Arguments are validated by the mechanisms.

The number of draws, and hence the time, does not depend on the values drawn, but for the rare
doubtful ones that `uniform` resolves (about b·2⁻⁴⁷ of them).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import floor, isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.model.exact import exp_bounds
from discreet.noise.entropy import Entropy
from discreet.noise.uniform import LazyUniform, exponentials

CHUNK = 2**14
"""Draws at a time: the work arrays stay in the processor's cache."""

DIRECT_BITS = 31  # up to this scale a geometric is one filtered logarithm; beyond it is split
_INT64_BITS = 62


def bernoulli(p: Fraction, count: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Coins that are true with probability exactly p, 0 ≤ p ≤ 1."""
    if p == 1:
        return np.ones(count, dtype=np.bool_)
    threshold = floor(p * 2**64)
    return _threshold_coins(threshold, count, entropy, lambda word: LazyUniform(word, entropy).below(p))


def exponential_coins(
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    entropy: Entropy,
) -> NDArray[np.bool_]:
    """A coin for each γ, true with probability exactly e^−γ.

    γ is given in floats with a bound on their error, and exactly for the few that are in doubt.
    """
    words = entropy.words(len(gamma))
    value, doubt = exponentials(words)
    doubt += error
    value -= gamma
    heads: NDArray[np.bool_] = value > 0
    np.abs(value, out=value)
    for index in (~(value > doubt)).nonzero()[0]:
        heads[index] = LazyUniform(words[index], entropy).exponential_above(exact(int(index)))
    return heads


def uniform_integers(bound: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Integers from 0 to bound − 1, each equally likely; 1 ≤ bound ≤ 2⁶³."""
    limit = 2**64 // bound * bound  # words from here on would favour small integers
    out = np.empty(count, dtype=np.uint64)
    pending = np.arange(count)
    while len(pending):
        words = entropy.words(len(pending))
        fair = words <= np.uint64(limit - 1)
        out[pending[fair]] = words[fair] % np.uint64(bound)
        pending = pending[~fair]
    return out.astype(np.int64)


def geometric(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    """Integers with P(G ≥ k) = e^(−k/scale)."""
    return _in_chunks(lambda n: _geometric(scale, n, entropy), count)


def discrete_laplace(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    """Integers with P(x) ∝ e^(−|x|/scale)."""
    return _in_chunks(lambda n: _discrete_laplace(scale, n, entropy), count)


def discrete_gaussian(sigma_squared: Fraction, count: int, entropy: Entropy) -> Integers:
    """Integers with P(x) ∝ e^(−x²/(2·sigma_squared))."""
    proposal_scale = isqrt(floor(sigma_squared)) + 1
    parts: list[Integers] = []
    missing = count
    while missing:
        # At least 46 % of the proposals are accepted, 76 % for large σ.
        proposals = _discrete_laplace(
            Fraction(proposal_scale), min(CHUNK, missing + missing // 2 + 8), entropy
        )
        accepted = gaussian_acceptance(proposals, proposal_scale, sigma_squared, entropy)
        part = proposals[accepted][:missing]
        parts.append(part)
        missing -= len(part)
    return np.concatenate(parts)


def gaussian_acceptance(
    proposals: Integers, proposal_scale: int, sigma_squared: Fraction, entropy: Entropy
) -> NDArray[np.bool_]:
    """Keep y with probability exp(−(|y| − σ²/t)²/(2σ²)), t the scale of the Laplace proposals."""

    def exact(index: int) -> Fraction:
        distance = abs(int(proposals[index])) - sigma_squared / proposal_scale
        return distance**2 / (2 * sigma_squared)

    shift, factor = _acceptance_floats(sigma_squared, proposal_scale)
    magnitude = np.abs(proposals).astype(np.float64)
    gamma = magnitude - shift
    gamma *= gamma
    gamma *= factor
    # Each of |y|, the shift, their difference, its square and the factor is off by a relative 2⁻⁵³;
    # relative to (|y| + shift)²/σ², which bounds them all, that is less than 2⁻⁵⁰ together.
    error = magnitude + shift
    error *= error
    error *= 2.0**-48 * factor
    return exponential_coins(gamma, error, exact, entropy)


@lru_cache(maxsize=4096)
def _acceptance_floats(sigma_squared: Fraction, proposal_scale: int) -> tuple[float, float]:
    """σ²/t and 1/(2σ²), correctly rounded."""
    return float(sigma_squared / proposal_scale), float(1 / (2 * sigma_squared))


def _geometric(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    split = floor(scale).bit_length() - DIRECT_BITS
    if split <= 0:
        return _direct_geometric(scale, count, entropy)
    # With m = 2^split: G = m·H + R, H geometric of scale b/m, R < m with P(r) ∝ e^(−r/b), independent.
    high = _direct_geometric(scale / 2**split, count, entropy)
    low = _truncated_geometric(scale, split, count, entropy)
    if int(high.max()).bit_length() + split > _INT64_BITS:
        high = high.astype(object)
    total: Integers = high * 2**split + low
    return total


def _direct_geometric(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    words = entropy.words(count)
    value, error = exponentials(words)
    factor = float(scale)
    value *= factor
    error *= factor
    with np.errstate(invalid="ignore"):
        low = np.floor(value - error)
        value += error
        high = np.floor(value, out=value)
        out: Integers = low.astype(np.int64)
    for index in (~(low == high)).nonzero()[0]:
        exact = LazyUniform(words[index], entropy).floor_exponential(scale)
        if exact.bit_length() > _INT64_BITS:
            out = out.astype(object)
        out[index] = exact
    return out


def _truncated_geometric(scale: Fraction, bits: int, count: int, entropy: Entropy) -> Integers:
    """Integers 0 ≤ r < 2^bits with P(r) ∝ e^(−r/scale), for 2^bits ≤ scale·2⁻³⁰.

    Uniform integers, kept with probability e^(−r/scale), which is nearly always.
    """
    out: Integers = np.zeros(count, dtype=np.int64 if bits <= _INT64_BITS else object)
    pending = np.arange(count)
    while len(pending):
        drawn = _random_bits(bits, len(pending), entropy)
        gamma = drawn.astype(np.float64) * float(1 / scale)
        exact = partial(_ratio, drawn, scale)
        kept = exponential_coins(gamma, gamma * 2.0**-50, exact, entropy)
        out[pending[kept]] = drawn[kept]
        pending = pending[~kept]
    return out


def _ratio(numerators: Integers, denominator: Fraction, index: int) -> Fraction:
    return int(numerators[index]) / denominator


def _random_bits(bits: int, count: int, entropy: Entropy) -> Integers:
    if bits <= _INT64_BITS:
        return (entropy.words(count) >> np.uint64(64 - bits)).astype(np.int64)
    high = _random_bits(bits - _INT64_BITS, count, entropy).astype(object)
    joined: Integers = high * 2**_INT64_BITS + _random_bits(_INT64_BITS, count, entropy)
    return joined


def _discrete_laplace(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    """G ≥ 0 with probability 1/(1 + q), −1 − G with q/(1 + q), q = e^(−1/scale): no zero twice."""
    magnitude = _geometric(scale, count, entropy)
    negative = _threshold_coins(
        _negative_threshold(scale),
        count,
        entropy,
        lambda word: LazyUniform(word, entropy).logit_above(1 / scale),
    )
    if magnitude.dtype == object:
        return np.where(negative, ~magnitude, magnitude)
    magnitude ^= -negative.astype(np.int64)  # flips all bits, that is −1 − G, where negative
    return magnitude


@lru_cache(maxsize=4096)
def _negative_threshold(scale: Fraction) -> int:
    """⌊2⁶⁴·q/(1 + q)⌋ = ⌊2⁶⁴/(1 + e^(1/scale))⌋."""
    if 1 / scale > 100:
        return 0
    digits = 30
    while True:
        low, high = exp_bounds(1 / scale, digits)
        if floor(2**64 / (1 + high)) == floor(2**64 / (1 + low)):
            return floor(2**64 / (1 + low))
        digits *= 2


def _threshold_coins(
    threshold: int, count: int, entropy: Entropy, resolve: Callable[[int], bool]
) -> NDArray[np.bool_]:
    """True below the threshold, false above it; on it, more bits decide."""
    words = entropy.words(count)
    below: NDArray[np.bool_] = words < np.uint64(threshold)
    for index in (words == np.uint64(threshold)).nonzero()[0]:
        below[index] = resolve(words[index])
    return below


def _in_chunks(draw: Callable[[int], Integers], count: int) -> Integers:
    if count <= CHUNK:
        return draw(count)
    out: Integers = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK):
        part = draw(min(CHUNK, count - start))
        if part.dtype != out.dtype:
            out = out.astype(object)
        out[start : start + len(part)] = part
    return out
