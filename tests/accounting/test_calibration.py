"""The exact δ of Gaussian noise, and the least noise for one (ε, δ)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erfcx

from discreet.accounting.calibration import (
    discrete_gaussian_delta,
    gaussian_delta,
    smallest_sigma_squared,
)
from discreet.errors import InvalidInput
from discreet.model.conversion import largest_rho
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity

ONE = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
NOT_NUMBERS = [math.nan, math.inf, 0, -1, True, "1", None, 1e-320, 1e300]


def mills(x):
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def hockey_stick(sigma_squared, change, epsilon):
    """Σ (P(x) − e^ε·P(x + change))⁺ over all integers that matter: the definition of δ."""
    sigma = math.sqrt(sigma_squared)
    x = np.arange(-math.ceil(40 * sigma) - change, math.ceil(40 * sigma) + change + 1)
    p = np.exp(-(x**2) / (2 * sigma_squared))
    q = np.exp(-((x + change) ** 2) / (2 * sigma_squared))
    return float(np.maximum(0, p - math.exp(epsilon) * q).sum() / p.sum())


def test_the_lectures_variance_is_too_small():
    """Lecture 004: σ² = (Δ/ε)²·ln(1/δ), at ε = 0.9 and δ = 10⁻⁶, has a real δ of 9·10⁻⁶."""
    variance = math.log(1e6) / 0.9**2
    assert float(gaussian_delta(math.sqrt(variance), 1, 0.9)) == pytest.approx(9.11e-6, rel=1e-2)
    assert float(discrete_gaussian_delta(variance, 1, 0.9)) == pytest.approx(9.1e-6, rel=2e-2)
    assert smallest_sigma_squared(0.9, 1e-6, ONE) > variance


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10, 100])
@pytest.mark.parametrize("ratio", [0.2, 1, 3])
def test_the_continuous_delta_is_the_closed_form(epsilon, ratio):
    """φ(a)·(R(a) − R(b)), R the Mills ratio: the same theorem, stable where a is not far below 0."""
    sigma = ratio * math.sqrt(1 / epsilon)
    a, b = epsilon * sigma - 1 / (2 * sigma), epsilon * sigma + 1 / (2 * sigma)
    closed = math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * (mills(a) - mills(b))
    computed = float(gaussian_delta(sigma, 1, epsilon))
    assert closed * (1 - 1e-12) <= computed <= closed * (1 + 1e-9)


def test_the_continuous_delta_keeps_its_digits_far_out():
    """At δ near 10⁻³⁰⁰ still the leading term, and beyond it never 0."""
    a = 36.5 - 0.5
    leading = math.exp(-a * a / 2) / math.sqrt(2 * math.pi) / (a * (a + 1))
    assert float(gaussian_delta(1, 1, 36.5)) == pytest.approx(leading, rel=1e-2)
    assert gaussian_delta(1, 1, 10**6) > 0
    assert discrete_gaussian_delta(100, 1, 10**6) > 0
    assert gaussian_delta(Fraction(1, 2**50), 1, 1) == 1


@pytest.mark.parametrize("sigma_squared", [0.01, 0.3, 1, 2.5, 40, 900])
@pytest.mark.parametrize("change", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 4])
def test_the_discrete_delta_is_the_hockey_stick_divergence(sigma_squared, change, epsilon):
    brute = hockey_stick(sigma_squared, change, epsilon)
    computed = float(discrete_gaussian_delta(sigma_squared, change, epsilon))
    assert computed >= brute - 1e-15
    assert computed == pytest.approx(brute, rel=1e-9, abs=1e-14)


def test_a_smaller_move_never_costs_more():
    deltas = [discrete_gaussian_delta(50, change, 0.7) for change in range(1, 30)]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-4, 1e-3, 3e-3])
@pytest.mark.parametrize("change", [1, 100])
def test_large_scales_are_bounded_from_above_and_closely(epsilon, change):
    """Just above σ = 4096 the sum is bounded instead of summed: no lower than the truth, 1 % higher."""
    bounded = float(discrete_gaussian_delta(4096**2 + 1, change, epsilon))
    steps = np.arange(40 * 4096)
    variance = 4096**2 + 1
    start = epsilon * variance / change - change / 2
    first = math.floor(start) + 1
    terms = np.exp(-((first + steps) ** 2) / (2 * variance)) * -np.expm1(
        -(first - start + steps) * change / variance
    )
    summed = float(terms.sum()) / math.sqrt(2 * math.pi * variance)
    assert summed * (1 - 1e-9) <= bounded <= summed * 1.01


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10, 100])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12, 1e-30])
def test_the_least_noise_holds_and_a_thousandth_less_does_not(epsilon, delta):
    variance = smallest_sigma_squared(epsilon, delta, ONE)
    assert discrete_gaussian_delta(variance, 1, epsilon) <= Fraction(repr(delta))
    assert discrete_gaussian_delta(variance * Fraction(999, 1000), 1, epsilon) > Fraction(repr(delta))


def test_the_least_noise_is_less_than_concentrated_privacy_needs():
    for delta in (1e-3, 1e-6, 1e-12):
        concentrated = 1 / (2 * largest_rho(Fraction(1), Fraction(repr(delta))))
        assert 0.7 * concentrated < smallest_sigma_squared(1, delta, ONE) < 0.95 * concentrated


def test_more_privacy_needs_more_noise():
    by_epsilon = [smallest_sigma_squared(e, 1e-6, ONE) for e in (0.01, 0.1, 0.5, 1, 2, 5, 20)]
    by_delta = [smallest_sigma_squared(1, d, ONE) for d in (1e-30, 1e-12, 1e-6, 1e-2)]
    by_change = [
        smallest_sigma_squared(1, 1e-6, Sensitivity.scalar(c, Neighbours.ADD_REMOVE)) for c in (9, 3, 1)
    ]
    for variances in (by_epsilon, by_delta, by_change):
        assert variances == sorted(variances, reverse=True)


def test_noise_for_a_large_sensitivity_is_scaled_noise():
    """For σ far above the grid the discrete law is as good as the continuous one, which scales."""
    one, large = (
        smallest_sigma_squared(0.01, 1e-6, Sensitivity.scalar(change, Neighbours.ADD_REMOVE))
        for change in (1, 2**40)
    )
    assert float(large / one / 2**80) == pytest.approx(1, rel=1e-3)


def test_a_histogram_under_add_remove_is_as_cheap_as_one_number_and_under_replace_one_is_a_vector():
    assert smallest_sigma_squared(1, 1e-6, Sensitivity.histogram(Neighbours.ADD_REMOVE)) == (
        smallest_sigma_squared(1, 1e-6, ONE)
    )
    rho = largest_rho(Fraction(1), Fraction(1, 10**6))
    replaced = Sensitivity.histogram(Neighbours.REPLACE_ONE)
    assert smallest_sigma_squared(1, 1e-6, replaced) == replaced.l2_squared / (2 * rho)


@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_bad_numbers_are_refused(bad):
    for call in (
        lambda: gaussian_delta(bad, 1, 1),
        lambda: gaussian_delta(1, bad, 1),
        lambda: gaussian_delta(1, 1, bad),
        lambda: discrete_gaussian_delta(bad, 1, 1),
        lambda: discrete_gaussian_delta(1, bad, 1),
        lambda: discrete_gaussian_delta(1, 1, bad),
        lambda: smallest_sigma_squared(bad, 1e-6, ONE),
        lambda: smallest_sigma_squared(1, bad, ONE),
        lambda: smallest_sigma_squared(1, 1e-6, bad),
    ):
        with pytest.raises(InvalidInput):
            call()
