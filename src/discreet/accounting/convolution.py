"""Sums of independent privacy losses by Fourier transforms, with a proven bound on how rounding lowers δ.

The transform of a sum is the product of the transforms, so a million steps cost one transform forward and
one back. Rounding in between moves δ(ε) = Σ w·P(loss), where the weights w = (1 − e^(ε−loss))⁺ grow from 0 to
at most 1. Let u be the unit roundoff, N = 2^L points, f the transform of a step, F = Π f^n that of the sum.

Lemma (error)
    1. Forward. Between a probability and its transform lie L butterflies, each with a product by a root of
       unity and a sum. A complex product is off by √5·u at most (Brent, Percival, Zimmermann, "Error
       Bounds on Complex Floating-Point Multiplication", 2007, Theorem 2), a sum by u, and a root of unity is
       assumed to be right within 8u: together 16u. As probabilities add up to at most 1, each f is off by at
       most e = (1 + 16u)^L − 1, and |f| ≤ 1.
    2. Powers. By squaring, n factors are n − 1 products: f^n is off by n·(e + √5·u) to first order, F by the
       sum of these over all steps. This is Σn·(e + 3u)·(1 + 10⁻³), as Σn·e is below 10⁻³ (checked).
    3. Effect on δ. An error E(k) of F moves it by |Σ_k E(k)·W(k)|/N, W the transform of the weights.
       As these grow, |W(k)| ≤ 1/|sin(πk/N)| (Abel's summation), so that |W(k)|/N ≤ min(1, 1/2k) for k ≤ N/2.
       Where |F| is below 2⁻¹³⁰ it is taken as 0.
    4. Back. In the Euclidean norm a butterfly is off by √2·16u of its input (Higham, "Accuracy and Stability
       of Numerical Algorithms", 2nd edition, Theorem 24.2), and all of them by less than 24u·L of the norm.
       With N weights up to 1 that is at most 24u·L·‖F‖₂.
    5. Losses outside the N points wrap around. Losses above have probability at most 2⁻⁶⁰ by Chernoff's
       bound, and count as infinite. Losses below count as higher ones. ∎

With 64 bits of precision (x86) a million steps are off by less than 10⁻⁹, and a thousand by less than 10⁻¹².
Where long doubles are no longer than doubles the bound is 2,000 times larger, and still holds.

The distribution of one step is taken as given, and the `error`s of the steps add up: if the δ(ε) of a step is
too small by at most η for every ε, moving η of its probability to infinity makes it dominate the step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput

_Long = np.longdouble
_ROUNDOFF = float(np.finfo(np.longdouble).eps) / 2
_TAIL = 2.0**-60
_NOTHING = -130.0
"""Transforms whose logarithm (base 2) is at most this are taken as 0."""
_MOST_POINTS = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStep:
    """A step, done `times` times: probabilities of the losses (lowest + i)·grid and of an infinite loss."""

    lowest: int
    probabilities: NDArray[np.float64]
    infinite: float
    times: int
    error: float = 0.0
    """By how much any δ(ε) of one step may be too small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The distribution of the total loss. It gives an upper bound on every δ, up to `error`."""

    lowest: int
    grid: float
    probabilities: NDArray[Any]
    infinite: float
    error: float
    """By how much any δ(ε) of the sum may be too small."""

    def delta(self, epsilon: float) -> float:
        """An upper bound on the δ at ε."""
        losses = self._losses()
        above = losses > epsilon
        found = np.sum(self.probabilities[above] * -np.expm1(_Long(epsilon) - losses[above]))
        return float(self.infinite + found * (1 + self._slack())) + self.error

    def epsilon(self, delta: float) -> float:
        """An upper bound on the least ε ≥ 0 whose δ is at most `delta`; infinite if there is none.

        Between two points of the grid δ(ε) = upper − e^ε·lower, both sums over the losses above.
        """
        room = delta - self.error - self.infinite
        if room <= 0:
            return math.inf
        losses = self._losses()
        moderate = np.clip(losses, -700, 700)  # so that exponentials are finite; both ends err upwards
        upper = np.cumsum(self.probabilities[::-1])[::-1] * (1 + self._slack())
        lower = np.cumsum((self.probabilities * np.exp(-moderate))[::-1])[::-1] * (1 - self._slack())
        enough = np.append(upper[1:] - np.exp(moderate[:-1]) * lower[1:], 0) <= room
        place = int(np.argmax(enough))
        if upper[place] <= room:
            return 0.0
        if lower[place] <= 0:  # e^−loss underflows
            return max(0.0, float(losses[place]))
        return max(0.0, float(np.log((upper[place] - room) / lower[place])))

    def _losses(self) -> NDArray[Any]:
        return (self.lowest + np.arange(len(self.probabilities), dtype=_Long)) * _Long(self.grid)

    def _slack(self) -> float:
        """The largest relative error of a sum of so many terms, with their exponentials."""
        return 4 * (len(self.probabilities) + 1000) * _ROUNDOFF


def summed(steps: Sequence[LossStep], grid: float) -> Losses:
    """The losses of all steps together. No steps lose nothing."""
    if not steps:
        return Losses(lowest=0, grid=grid, probabilities=np.ones(1, dtype=_Long), infinite=0.0, error=0.0)
    infinite = -math.expm1(math.fsum(each.times * math.log1p(-each.infinite) for each in steps))
    lowest = sum(each.times * each.lowest for each in steps)
    given = math.fsum(each.times * each.error for each in steps)
    if len(steps) == 1 and steps[0].times == 1:
        alone = steps[0].probabilities.astype(_Long)
        return Losses(lowest=lowest, grid=grid, probabilities=alone, infinite=infinite, error=given)
    first, last = _reach(steps)
    points = 1 << max(1, max(last - first, *(len(each.probabilities) for each in steps)).bit_length())
    if points > _MOST_POINTS:
        raise InvalidInput(
            "This schedule has too many different losses to be added up.", remedy="Use rdp_epsilon."
        )
    found, error = _convolved(steps, points)
    placed = np.maximum(np.roll(found, -(first % points)), 0)
    return Losses(
        lowest=lowest + first,
        grid=grid,
        probabilities=placed,
        infinite=infinite * (1 + 1e-12) + _TAIL,
        error=given + error,
    )


def _convolved(steps: Sequence[LossStep], points: int) -> tuple[NDArray[Any], float]:
    """The probabilities of the sums modulo `points`, and the error bound of the lemma."""
    stages, times = points.bit_length() - 1, sum(each.times for each in steps)
    forth = math.expm1(stages * math.log1p(16 * _ROUNDOFF))
    if times * forth > 1e-3:
        raise InvalidInput("These are too many releases for floating point.", remedy="Use rdp_epsilon.")
    transforms = [np.fft.rfft(each.probabilities.astype(_Long), points) for each in steps]
    logarithms = np.zeros(points // 2 + 1)
    for each, step in zip(transforms, steps, strict=True):
        logarithms += step.times * np.log2(np.abs(each) + forth).astype(float)
    kept = np.flatnonzero(logarithms > _NOTHING)
    product = np.zeros(points // 2 + 1, dtype=transforms[0].dtype)
    product[kept] = 1
    for each, step in zip(transforms, steps, strict=True):
        product[kept] *= _power(each[kept], step.times)
    back = np.fft.irfft(product, points)
    if back.dtype != _Long:
        raise AssertionError("transforms of another precision than the bound is for")
    heard = float(np.sum(1 / np.maximum(1, 2 * kept))) * 2  # k and N − k
    norm = math.sqrt(2 * float(np.sum(np.abs(product[kept]) ** 2)))
    error = 1.001 * times * (forth + 3 * _ROUNDOFF) * heard
    return back, error + 24 * _ROUNDOFF * stages * norm + points * 2.0**_NOTHING


def _power(base: NDArray[Any], times: int) -> NDArray[Any]:
    """By squaring."""
    if times == 1:
        return base
    half = _power(base, times // 2)
    squared: NDArray[Any] = half * half
    return squared * base if times % 2 else squared


def _reach(steps: Sequence[LossStep]) -> tuple[int, int]:
    """The range of sums of places with at most 2⁻⁶⁰ of the probability beyond either end (Chernoff's bound).

    Any order gives a valid bound; the margin is for the rounding of logarithms.
    """
    places = [np.arange(len(each.probabilities)) for each in steps]
    means = [float(np.sum(p * each.probabilities)) for p, each in zip(places, steps, strict=True)]
    variance = sum(
        each.times * float(np.sum((p - mean) ** 2 * each.probabilities))
        for p, mean, each in zip(places, means, steps, strict=True)
    )
    middle = math.fsum(each.times * mean for mean, each in zip(means, steps, strict=True))
    ends = [0, sum(each.times * (len(each.probabilities) - 1) for each in steps)]
    wanted = -math.log(_TAIL) + 1
    for order in np.geomspace(0.5, 200, 40) / math.sqrt(variance + 1):
        for side, sign in enumerate((-1, 1)):
            logs = sum(
                each.times * _log_moment(sign * order * (p - mean), each.probabilities)
                for p, mean, each in zip(places, means, steps, strict=True)
            )
            end = middle + sign * (logs + wanted) / order
            ends[side] = max(ends[0], math.floor(end)) if sign < 0 else min(ends[1], math.ceil(end))
    return ends[0], ends[1]


def _log_moment(exponents: NDArray[np.float64], probabilities: NDArray[np.float64]) -> float:
    there = probabilities > 0
    most = float(exponents[there].max())
    return most + math.log(float(np.sum(np.exp(exponents[there] - most) * probabilities[there])))
