"""Sums, differences and ratios of noisy numbers hold what they promise."""

import math

import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from discreet.apps.server.console.answer_views.combining import LEAST_CONFIDENCE, NoisyNumber, combined, ratio


def around(value, half):
    return NoisyNumber(value=value, low=value - half, high=value + half)


def test_independent_errors_add_up_as_squares():
    total, difference = combined([around(10, 3), around(20, 4)], independent=True)
    assert (total.number.value, total.number.half) == (30, pytest.approx(5))
    assert (difference.number.value, difference.number.half) == (-10, pytest.approx(5))


def test_the_worst_case_adds_ends():
    total, difference, quotient = combined([around(10, 3), around(20, 4)], independent=False)
    assert (total.number.low, total.number.high) == (23, 37)
    assert (difference.number.low, difference.number.high) == (-17, -3)
    assert (quotient.number.low, quotient.number.high) == (7 / 24, 13 / 16)


def test_a_divisor_that_may_be_zero_gives_no_bound():
    found = ratio(around(10, 3), around(1, 2))
    assert (found.low, found.high) == (-math.inf, math.inf)


def above(limit, a, b):
    """P(|X + Y| > limit) for Laplace noise of scales a > b, exactly."""
    return (a * a * math.exp(-limit / a) - b * b * math.exp(-limit / b)) / (a * a - b * b)


@pytest.mark.parametrize("confidence", [LEAST_CONFIDENCE, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])
def test_squares_hold_for_laplace_noise(confidence, share):
    alpha = 1 - confidence
    limit = math.log(1 / alpha) * math.hypot(1, share)
    assert above(limit, 1, share) <= alpha * (1 + 1e-9)


def test_they_would_not_at_a_lower_confidence():
    assert above(math.log(10) * math.hypot(1, 0.7), 1, 0.7) > 0.1


@pytest.mark.parametrize("count", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("confidence", [LEAST_CONFIDENCE, 0.99])
def test_squares_hold_for_many_numbers(count, confidence):
    """The sum of n Laplace draws is the difference of two gamma draws of shape n."""
    limit = math.log(1 / (1 - confidence)) * math.sqrt(count)
    chance, _ = quad(lambda y: gamma.sf(limit + y, count) * gamma.pdf(y, count), 0, 20 + 4 * count)
    assert 2 * chance <= 1 - confidence
