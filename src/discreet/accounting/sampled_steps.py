"""The least noise for a fixed number of steps on secret samples, such as a training run.

Privacy loss distributions are the tightest account of Gaussian noise on Poisson samples (Zhu, Dong, Wang,
"Optimal Accounting of Differential Privacy via Characteristic Function", arXiv 2106.08567: dominating pairs
for releases on samples, for adding and removing separately, and for adaptive compositions). They are for
continuous noise, which is the same in all directions. Discrete noise is not, but it is very nearly rounded
continuous noise:

Lemma (smoothing)
    Let x be an integer, Y normal around x with variance s², and K the integer k with probability
    proportional to e^(−(k−Y)²/2r²). Then K is distributed as discrete Gaussian noise of variance parameter
    σ² = s² + r² around x, but for a factor between (1 − η)/(1 + η) and 1 + η, η = 2·Σ_{m≥1} e^(−2π²r²m²).
    Proof. By Poisson's formula Σ_k e^(−(k−y)²/2r²) = r√(2π)·(1 + 2·Σ_m e^(−2π²r²m²)·cos(2πmy)), which is
    within 1 ± η of r√(2π) for all y. So P(K = k) is within 1/(1 ± η) of
    ∫ φ_s(y − x)·e^(−(k−y)²/2r²)/(r√(2π)) dy = e^(−(k−x)²/2σ²)/(σ√(2π)), and the discrete law has
    Σ_k e^(−k²/2σ²), which is between 1 and 1 + η times σ√(2π), in place of the last divisor. ∎

With r² = 5 (`SMOOTHING`) η is below 10⁻⁴². A fit releases at most N = 10¹⁸ integers (`MOST_STEPS` times the
longest vector). Given the coins and the earlier releases, each has the law of the lemma. So, whatever the
coins, and on average over them, the probability of all releases together is within a factor e^(±κ),
κ = 3Nη < 10⁻²³, of that of a function of continuous noise of variance s² on the same samples. If the latter
has δ(ε), the former has at most e^κ·δ(ε − 2κ); the margin for rounding covers the difference.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.amplification import renyi_step_rho, sampling_rate
from discreet.accounting.laws import GaussianNoise
from discreet.accounting.schedule import Event, pld_epsilon
from discreet.errors import InvalidInput, MissingExtra
from discreet.model.exact import (
    Number,
    exact_fraction,
    positive_delta,
    positive_epsilon,
    round_down,
    round_up,
    whole,
)

MOST_STEPS = 10**6
SMOOTHING = 5
"""r²: discrete noise whose variance parameter is larger by this is as private as continuous noise."""
_MARGIN = 1 - Fraction(1, 10**9)
_TRIES = 10
_MANY = 2 * 10**5  # steps; a try with more of them takes seconds
_CLOSE = 2e-3
_POINTS = 50_000


@lru_cache(maxsize=1024, typed=True)
def largest_step_rho(
    epsilon: Number, delta: Number, rate: Number, steps: int, everyone: Number = 0
) -> Fraction:
    """The largest ρ of one step on a sample, if `steps` steps are (ε, δ)-DP together.

    The budget also pays for Gaussian releases on everyone that cost the ρ `everyone` together. The noise of a
    step has σ² = Δ²/2ρ + `SMOOTHING`. It is found by privacy loss distributions. If δ is too small or ε too
    large for those, or dp-accounting is not installed, it is found by Rényi divergences.
    """
    at, lost, gamma = positive_epsilon(epsilon), positive_delta(delta), sampling_rate(rate)
    times, before = whole(steps, "steps", 1, MOST_STEPS), exact_fraction(everyone, "everyone")
    safe = renyi_step_rho(at, lost, gamma, times, before)

    def cost(sigma: float) -> float:
        events = [Event(law=GaussianNoise(sigma=round_up(sigma)), times=times, sampling_probability=gamma)]
        if before:
            events.append(Event(law=GaussianNoise(sigma=round_down(math.sqrt(1 / (2 * before))))))
        spread = math.sqrt(times * (float(gamma) / sigma) ** 2 + 2 * float(before))
        try:
            return float(pld_epsilon(events, lost * _MARGIN, grid=_grid(at, times, sigma, spread)))
        except InvalidInput:  # δ is too small or the loss too large for distributions
            return math.inf

    try:
        tries = _TRIES if times <= _MANY else 3
        sigma = _least(cost, float(at * _MARGIN), math.sqrt(1 / (2 * safe)), tries)
    except MissingExtra:
        return safe
    return max(safe, 1 / (2 * round_up(sigma) ** 2))


def _grid(epsilon: Fraction, steps: int, sigma: float, spread: float) -> float:
    """The distance of grid points: a thousandth of ε, and less if there are many steps to add up.

    But fifty thousand points are enough for the losses of one step, and half a million for all losses
    together. Their standard deviation is about `spread`, which with a large δ is far beyond ε.
    """
    fine = min(1e-3, float(epsilon) / (1000 * max(1.0, math.sqrt(steps) / 30)))
    return max(fine, (10 / sigma + 0.5 / sigma**2) / _POINTS, 3 * spread / _POINTS)


def _least(cost: Callable[[float], float], most: float, enough: float, tries: int = _TRIES) -> float:
    """About the least noise that costs at most `most`, from an eighth of `enough` up to `enough`.

    The secant method on logarithms aims at a cost a little below `most`. Noise that was not tried is never
    returned.
    """
    least, high = math.log(enough / 8), math.log(enough)
    low, at, slope = least - _CLOSE / 2, high, -1.5
    found = _logarithm(cost(enough), most)
    for _ in range(tries):
        if -_CLOSE < found <= 0 or high - low < _CLOSE:
            break
        new = max(at - 0.5, at - (found + _CLOSE / 2) / slope, least)
        new = new if low < new < high else (low + high) / 2
        before, found = found, _logarithm(cost(math.exp(new)), most)
        if found == math.inf:
            break
        slope = min(-0.5, (found - before) / (new - at))
        low, high, at = (new, high, new) if found > 0 else (low, new, new)
    return math.exp(high)


def _logarithm(cost: float, most: float) -> float:
    return math.log(max(cost, 1e-300) / most)
