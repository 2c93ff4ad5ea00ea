"""The least Gaussian noise for one release at one (ε, δ), and the exact δ of given noise.

Lecture 004's variance (Δ/ε)²·ln(1/δ) is too small: at ε = 0.9 and δ = 10⁻⁶ the real δ is 9·10⁻⁶. The
exact conditions are

    continuous   δ = P[Z > a] − e^ε·P[Z > b],  a = εσ/Δ − Δ/2σ,  b = εσ/Δ + Δ/2σ,  Z standard normal
                 Balle & Wang, "Improving the Gaussian Mechanism" (arXiv 1805.06530v2), Theorem 8
    discrete     δ = P[Y > m] − e^ε·P[Y > m + Δ],  m = εσ²/Δ − Δ/2,  Y discrete Gaussian
                 Canonne, Kamath, Steinke (arXiv 2004.00010v4), Theorem 7

Written as they stand, both lose all digits when δ is small. Both are E[(1 − e^(ε − L))⁺] of the privacy
loss L, a sum of positive terms, and are computed as that.
"""

import math
from fractions import Fraction

import numpy as np

from discreet.errors import InvalidInput
from discreet.model.conversion import largest_rho
from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    SCALE_RANGE,
    Number,
    positive_delta,
    positive_epsilon,
    positive_scale,
    round_up,
    whole,
    within,
)
from discreet.model.sensitivity import Sensitivity

_SLACK = 1 + 1e-11  # exponents reach 800, so that e^x loses up to 1e-13 of itself
_SUMMED_SIGMA = 4096  # up to here the discrete law is summed term by term, beyond it is bounded
_REACH = 800.0  # e^-800 is zero in floating point
_LEAST = Fraction(1, 10**300)
_VARIANCE_RANGE = (SCALE_RANGE[0] ** 2, SCALE_RANGE[1] ** 2)


def gaussian_delta(sigma: Number, sensitivity: Number, epsilon: Number) -> Fraction:
    """The least δ (rounded up) at which continuous Gaussian noise of this σ is (ε, δ)-DP.

    For a vector, the sensitivity is the one in ℓ₂. This is the reference that others calibrate by;
    discreet adds discrete noise, see `discrete_gaussian_delta`.
    """
    sigma, epsilon = positive_scale(sigma, "sigma"), positive_epsilon(epsilon)
    change = float(within(sensitivity, "sensitivity", SCALE_RANGE[0], Fraction(LARGEST_SENSITIVITY)) / sigma)
    return _rounded(_continuous(float(epsilon) / change - change / 2, change))


def discrete_gaussian_delta(sigma_squared: Number, change: int, epsilon: Number) -> Fraction:
    """The least δ (rounded up) at which one integer that moves by at most `change` is (ε, δ)-DP.

    Smaller moves cost less: the law is log-concave, so likelihood ratios are monotone, the worst event
    is a half-line, and its probability grows with the move.
    """
    variance = within(sigma_squared, "sigma_squared", *_VARIANCE_RANGE)
    change = whole(change, "change", 1, LARGEST_SENSITIVITY)
    start = positive_epsilon(epsilon) * variance / change - Fraction(change, 2)
    if variance <= _SUMMED_SIGMA**2:
        return _rounded(_summed(variance, change, start))
    return _rounded(_bounded(math.sqrt(variance), change, float(start)))


def smallest_sigma_squared(epsilon: Number, delta: Number, sensitivity: Sensitivity) -> Fraction:
    """The least σ² (rounded up) of discrete Gaussian noise for one release at (ε, δ).

    Where one person moves one coordinate (a number; a histogram of unique people under add/remove), the
    exact theorem for one number applies. Where several move, it does not: unlike the continuous law, the
    discrete one on vectors is not the same in all directions. There σ² = Δ₂²/2ρ, with the largest ρ whose
    zCDP implies (ε, δ). That holds for vectors and is a little more noise.
    """
    epsilon, delta = positive_epsilon(epsilon), positive_delta(delta)
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidInput(
            "A sensitivity is expected.", remedy="Give Sensitivity.scalar(…) or Sensitivity.histogram(…)."
        )
    concentrated = sensitivity.l2_squared / (2 * largest_rho(epsilon, delta))
    if sensitivity.l0 > 1:
        return concentrated
    change = sensitivity.linf

    def fits(variance: float | Fraction) -> bool:
        return discrete_gaussian_delta(variance, change, epsilon) <= delta

    high, low = float(concentrated), float(concentrated) / 4
    while low > _VARIANCE_RANGE[0] and fits(low):
        high, low = low, low / 4
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    stated = round_up(high)
    return stated if stated < concentrated and fits(stated) else concentrated


def _continuous(a: float, change: float) -> float:
    """∫₀^∞ φ(a + t)·(1 − e^(−change·t)) dt, by the trapezium rule in ln t.

    In ln t the integrand is analytic and falls off at both ends, so the rule's error falls
    geometrically with the step (Trefethen & Weideman 2014); at 1/64 it is far below 10⁻¹³.
    """
    if a < -8:
        return 1.0  # the truth is above 1 − 10⁻¹⁴
    top = math.log(2 * _REACH / (a + math.sqrt(a * a + 2 * _REACH)))
    t = np.exp(np.arange(top - 48, top, 1 / 64))
    terms = np.exp(-t * (a + t / 2)) * -np.expm1(-change * t) * t
    return math.exp(-min(a * a, 1400) / 2) / math.sqrt(2 * math.pi) * float(terms.sum()) / 64


def _summed(variance: Fraction, change: int, start: Fraction) -> float:
    """Σ over integers x > start of P[Y = x]·(1 − e^(−(x − start)·change/σ²)), term by term."""
    sigma = math.sqrt(variance)
    first = max(math.floor(start) + 1, -math.ceil(41 * sigma))
    if first > 41 * sigma:
        return 0.0
    steps = np.arange(math.ceil(82 * sigma) + 2)
    weights = np.exp(-0.5 * ((first + steps) / sigma) ** 2)
    losses = float((first - start) * change / variance) + steps * float(change / variance)
    normaliser = 1 + 2 * float(np.exp(-0.5 * (np.arange(1, 41 * sigma + 2) / sigma) ** 2).sum())
    return float((weights * -np.expm1(-losses)).sum()) / normaliser


def _bounded(sigma: float, change: int, start: float) -> float:
    """An upper bound on the same sum where σ is large: its integral plus its largest term.

    The term f(x) = e^(−x²/2σ²)·(1 − e^(−(x − start)·change/σ²)) is log-concave, so it rises and then
    falls, and Σf ≤ ∫f + max f. The normaliser is at least σ√(2π), by Poisson summation. With
    y = x − start, f ≤ (change/σ²)·y·e^(−x²/2σ²), where y·e^(−y·start/σ² − y²/2σ²) ≤ σ²/(e·start) and
    ≤ σ/√e for start ≥ 0.
    """
    ratio = change / sigma
    if start >= 0:
        a = start / sigma
        height = math.exp(-a * a / 2) * ratio * min(1 / (math.e * a) if a else math.inf, math.exp(-0.5))
    else:
        height = min(1.0, ratio * (-start / sigma + math.exp(-0.5)))
    return _continuous(start / sigma, ratio) + height / (sigma * math.sqrt(2 * math.pi))


def _rounded(delta: float) -> Fraction:
    """Rounded up, and never 0: a δ that underflows is still positive."""
    return min(Fraction(1), max(_LEAST, round_up(delta * _SLACK)))
