"""Sums of privacy losses are never too small: their error is bounded, and exact sums keep the bound."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import convolution
from discreet.accounting.convolution import LossStep, summed

GRID = 2.0**-10


def step(weights, times=1, lowest=0, infinite=0.0):
    """Probabilities are whole numbers by a power of two, so that they are exact."""
    return LossStep(
        lowest=lowest, probabilities=np.array(weights, dtype=float), infinite=infinite, times=times
    )


def exact_law(steps):
    """{place: probability} of the sum as fractions, and the probability of an infinite loss."""
    law, finite = {0: Fraction(1)}, Fraction(1)
    for each in steps:
        finite *= (1 - Fraction(each.infinite)) ** each.times
        for _ in range(each.times):
            longer = {}
            for place, probability in law.items():
                for i, more in enumerate(each.probabilities):
                    at = place + each.lowest + i
                    longer[at] = longer.get(at, 0) + probability * Fraction(float(more))
            law = longer
    return law, 1 - finite


def exact_delta(law, infinite, epsilon):
    with mpmath.workdps(40):
        terms = (
            (1 - mpmath.exp(mpmath.mpf(epsilon) - place * mpmath.mpf(GRID)))
            * probability.numerator
            / probability.denominator
            for place, probability in law.items()
            if place * GRID > epsilon
        )
        return mpmath.fsum(terms) + mpmath.mpf(infinite.numerator) / infinite.denominator


@st.composite
def schedules(draw):
    """Up to three laws of up to 24 losses, a few times each."""
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        weights = draw(st.lists(st.integers(0, 2**10), min_size=1, max_size=24).filter(any))
        infinite = draw(st.sampled_from([0.0, 2.0**-12]))
        total = 2 ** (sum(weights) - 1).bit_length()
        weights[0] += total - sum(weights)
        probabilities = np.array(weights) / total * (1 - infinite)
        lowest, times = draw(st.integers(-20, 20)), draw(st.integers(1, 4))
        steps.append(step(probabilities, times, lowest, infinite))
    return steps


@given(schedules(), st.floats(-0.2, 0.3))
@settings(max_examples=150, deadline=None)
def test_item9_no_delta_is_below_the_exact_one_nor_far_above(steps, epsilon):
    found = summed(steps, GRID)
    exact = exact_delta(*exact_law(steps), epsilon)
    assert exact <= found.delta(epsilon) * (1 + 1e-15)
    assert found.delta(epsilon) <= exact * (1 + 1e-9) + 2 * found.error + 2.0**-59


@given(schedules(), st.floats(1e-6, 0.5))
@settings(max_examples=150, deadline=None)
def test_item9_no_epsilon_is_below_the_exact_one(steps, delta):
    law, infinite = exact_law(steps)
    epsilon = summed(steps, GRID).epsilon(delta)
    if math.isfinite(epsilon):
        assert exact_delta(law, infinite, epsilon + 1e-15) <= delta * (1 + 1e-12)
        assert epsilon == 0 or exact_delta(law, infinite, epsilon - 1e-6) > delta * (1 - 1e-6)
    else:
        assert infinite >= delta * (1 - 1e-9)


@pytest.mark.parametrize("times", [1000, 10**5, 10**6])
@pytest.mark.parametrize("weights", [(1, 1), (7, 1), (1, 0, 0, 0, 0, 0, 1), (2**20 - 1, 0, 0, 1)])
def test_item9_the_bound_holds_after_a_million_releases(weights, times):
    """Sums of two losses are binomial: their δ is known to 40 digits, wherever rounding is largest."""
    total, top = sum(weights), len(weights) - 1
    found = summed([step(np.array(weights) / total, times)], GRID)
    chance = Fraction(weights[-1], total)
    deviation = math.sqrt(times * chance * (1 - chance))
    for z in (-4, 0, 4):
        epsilon = max(0.0, (float(times * chance) + z * deviation) * top * GRID)
        exact = binomial_delta(times, chance, top, epsilon)
        assert exact <= found.delta(epsilon) * (1 + 1e-15)
        assert found.delta(epsilon) <= exact * (1 + 1e-9) + 2 * found.error + 2.0**-59
    if np.finfo(np.longdouble).nmant >= 63:
        assert found.error < 1e-15 * times


def binomial_delta(times, chance, top, epsilon):
    with mpmath.workdps(40):
        p = mpmath.mpf(chance.numerator) / chance.denominator
        first = math.floor(epsilon / (top * GRID)) + 1
        last = min(times, math.ceil(times * chance + 14 * math.sqrt(times * chance * (1 - chance)) + 40))
        logs = mpmath.loggamma(times + 1) - mpmath.loggamma(first + 1) - mpmath.loggamma(times - first + 1)
        term = mpmath.exp(logs + first * mpmath.log(p) + (times - first) * mpmath.log(1 - p))
        found = mpmath.mpf(0)
        for k in range(first, last + 1):
            found += term * (1 - mpmath.exp(mpmath.mpf(epsilon) - k * top * mpmath.mpf(GRID)))
            term *= mpmath.mpf(times - k) / (k + 1) * p / (1 - p)
        return found


def test_item9_the_bound_is_of_the_precision_that_is_computed_with(monkeypatch):
    """With doubles, as where long doubles are no longer, the bound is 2,000 times as large and holds."""
    monkeypatch.setattr(convolution, "_Long", np.float64)
    monkeypatch.setattr(convolution, "_ROUNDOFF", 2.0**-53)
    found = summed([step([0.875, 0.125], 10**5)], GRID)
    assert 1e-11 < found.error < 1e-7
    exact = binomial_delta(10**5, Fraction(1, 8), 1, 12.2)
    assert abs(found.delta(12.2) - found.error - exact) < found.error


def test_item9_what_a_step_may_be_short_of_is_counted_as_often_as_it_is_repeated():
    exact, short = step([0.5, 0.5], 100), step([0.5, 0.5], 100)
    object.__setattr__(short, "error", 1e-9)
    more = summed([short], GRID).error - summed([exact], GRID).error
    assert more == pytest.approx(1e-7)


@pytest.mark.parametrize(("sigma", "rate"), [(20, 1), (600, 1), (1, Fraction(1, 100)), (3, Fraction(1, 10))])
def test_item9_one_release_is_short_by_less_than_is_counted(sigma, rate):
    """Of Gaussian noise, with and without sampling: the δ of what dp-accounting gives against the formula."""
    pytest.importorskip("dp_accounting")
    from discreet.accounting import schedule
    from discreet.accounting.laws import GaussianNoise

    event = schedule.Event(law=GaussianNoise(sigma=sigma), sampling_probability=Fraction(rate))
    grid = max(1e-4, 1 / (200 * sigma)) if rate == 1 else 1e-3
    given = schedule._distribution(event, grid)
    for adding, pmf in ((False, given._pmf_remove), (True, given._pmf_add)):
        one = schedule._step(pmf, 1)
        with mpmath.workdps(40):
            upper, lower = mpmath.mpf(one.infinite), mpmath.mpf(0)
            for place in range(len(one.probabilities) - 1, 0, -1):
                factor = mpmath.exp((one.lowest + place) * mpmath.mpf(grid))
                stated = upper - factor * lower
                exact = sampled_delta(sigma, Fraction(rate), mpmath.log(factor), adding=adding)
                assert exact - stated < schedule._STEP_ERROR
                upper += float(one.probabilities[place])
                lower += float(one.probabilities[place]) / factor


def sampled_delta(sigma, rate, epsilon, *, adding):
    """P − e^ε·Q integrated where it is positive; P is with the person and Q without, or the reverse."""
    q, s = mpmath.mpf(rate.numerator) / rate.denominator, mpmath.mpf(sigma)
    upper = mpmath.exp(-epsilon) if adding else mpmath.exp(epsilon)
    if upper <= 1 - q:
        return mpmath.mpf(0) if adding else 1 - mpmath.exp(epsilon)
    at = s**2 * mpmath.log((upper - 1 + q) / q) + mpmath.mpf(1) / 2  # where the mixture is `upper` times Q
    with_person = q * mpmath.ncdf((1 - at) / s) + (1 - q) * mpmath.ncdf(-at / s)
    without = mpmath.ncdf(-at / s)
    if adding:
        return (1 - without) - mpmath.exp(epsilon) * (1 - with_person)
    return with_person - mpmath.exp(epsilon) * without
