"""Steps on samples whose number is fixed: the lemma by quadrature, the noise against dp-accounting alone."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import logsumexp

from discreet.accounting import sampled_steps
from discreet.accounting.amplification import renyi_step_rho
from discreet.accounting.sampled_steps import MOST_STEPS, SMOOTHING, largest_step_rho
from discreet.errors import InvalidInput

accounting = pytest.importorskip("dp_accounting")


def rounded_law(s, r, integers):
    """Of the integer that continuous noise N(0, s²) is rounded to with width r, by the trapezoid rule.

    Its error is e^(−2π²·w²/h²) with w the width of what is integrated, at h = 1/40: nothing.
    """
    y = np.arange(-60, 60, 1 / 40)
    weights = np.exp(-((integers[:, None] - y) ** 2) / (2 * r**2))
    lattice = np.arange(-90, 91)
    weights /= np.exp(-((lattice[:, None] - y) ** 2) / (2 * r**2)).sum(axis=0)
    return weights @ np.exp(-(y**2) / (2 * s**2)) / (40 * s * math.sqrt(2 * math.pi))


def discrete_law(variance, integers):
    law = np.exp(-(np.arange(-200, 201) ** 2) / (2 * variance))
    return np.exp(-(integers**2) / (2 * variance)) / law.sum()


@pytest.mark.parametrize("s", [0.6, 1.0, 2.5, 5.0])
def test_discrete_noise_is_continuous_noise_that_was_rounded(s):
    """To twelve digits; and it is not where the rounding is too narrow to smooth the lattice."""
    integers = np.arange(-12, 13)
    ratios = rounded_law(s, math.sqrt(SMOOTHING), integers) / discrete_law(s**2 + SMOOTHING, integers)
    assert np.abs(ratios - 1).max() < 1e-12
    ratios = rounded_law(s, math.sqrt(0.05), integers) / discrete_law(s**2 + 0.05, integers)
    assert np.abs(ratios - 1).max() > 1e-3


def test_the_lattice_shows_less_than_the_margin():
    """κ of the longest fits, with N = 10¹⁸ integers."""
    eta = 2.01 * math.exp(-2 * math.pi**2 * SMOOTHING)
    assert 3 * 10**18 * eta < 1e-23
    assert MOST_STEPS == 10**6


CASES = [
    (1, 1e-5, 0.1, 95, 0),
    (0.1, 1e-6, 0.01, 300, 1e-5),
    (8, 1e-5, 0.5, 40, 0.1),
    (1, 1e-5, 0.002, 500, 0),
]


@pytest.mark.parametrize("case", CASES)
def test_the_noise_is_enough_and_a_hundredth_less_would_not_be(case):
    """By dp-accounting's own accountant, given nothing of ours but the noise."""
    epsilon, delta, rate, steps, everyone = case
    sigma = math.sqrt(1 / (2 * largest_step_rho(epsilon, delta, rate, steps, everyone)))

    def cost(noise):
        accountant = accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
        step = accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(noise))
        accountant.compose(step, steps)
        if everyone:
            accountant.compose(accounting.GaussianDpEvent(math.sqrt(1 / (2 * everyone))))
        return accountant.get_epsilon(delta)

    assert cost(sigma) <= epsilon * (1 + 1e-6)
    assert cost(sigma * 0.99) > epsilon


def tilted_delta(sigma, rate, steps, epsilon, sign):
    """δ at ε of removing (1) or adding (−1) a person, by a convolution of our own.

    Losses on a grid, their means kept, are weighted with e^(θ·loss) such that ε is the mean of their sum:
    so ε is no tail, and rounding costs nothing even where δ is 10⁻¹². The grid costs less than a thousandth.
    """
    edges = np.linspace(-30 * sigma, 30 * sigma + 1, 200_001)
    x = (edges[1:] + edges[:-1]) / 2
    loss = sign * np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2)))
    without, taken = (np.diff(edges) * stats.norm.pdf(x, at, sigma) for at in (0, 1))
    log = np.log((1 - rate) * without + rate * taken if sign > 0 else without)

    def tilted(theta):
        total = logsumexp(log + theta * loss)
        return total, np.exp(log + theta * loss - total)

    theta = brentq(lambda theta: steps * float(tilted(theta)[1] @ loss) - epsilon, 0, 1e5)
    total, law = tilted(theta)
    kept = law > 1e-40
    loss, law = loss[kept], law[kept]
    mean = law @ loss
    points = 2**19
    reach = 12 * math.sqrt(steps * float(law @ (loss - mean) ** 2)) + 2 * np.abs(loss - mean).max()
    grid = 3 * float(reach) / points
    place, part = np.divmod(loss / grid, 1)
    place = place.astype(int)
    once = np.bincount(place % points, law * (1 - part), points)
    once += np.bincount((place + 1) % points, law * part, points)
    summed = np.fft.irfft(np.fft.rfft(once) ** steps, points)
    places = round(epsilon / grid) + np.arange(-points // 2, points // 2)
    beyond = places[places * grid > epsilon]
    losses = beyond * grid
    weights = np.exp(steps * total - theta * losses) * -np.expm1(epsilon - losses)
    return float(summed[beyond % points] @ weights)


@pytest.mark.parametrize(
    ("case", "least"),
    [
        ((1, 1e-5, 0.1, 95), 0.97),
        ((3, 1e-6, 0.9, 5), 0.97),
        ((0.05, 1e-8, 0.001, 10**4), 0.85),
        ((1, 7e-10, 0.01, 10**5), 0.7),
        ((0.01, 1.4e-12, 0.5, 10), 0.8),
    ],
)
def test_delta_is_kept_by_an_account_of_our_own(case, least):
    """Without dp-accounting, down to the smallest δ that it is asked about; and not much is given away."""
    epsilon, delta, rate, steps = case
    sigma = math.sqrt(1 / (2 * largest_step_rho(*case)))
    removed, added = (tilted_delta(sigma, rate, steps, epsilon, sign) for sign in (1, -1))
    assert added <= removed
    assert least * delta < removed <= delta * (1 + 1e-3)


@pytest.mark.parametrize("case", CASES)
def test_it_is_less_noise_than_divergences_need(case):
    epsilon, delta, rate, steps, everyone = case
    ratio = largest_step_rho(epsilon, delta, rate, steps, everyone) / renyi_step_rho(
        epsilon, delta, rate, steps, Fraction(everyone)
    )
    assert 1.1 < ratio < 4


@pytest.mark.parametrize(
    "case",
    [(1, 1e-14, 0.1, 50), (5000, 1e-6, 0.5, 10)],
    ids=["a delta too small to tell from 0", "a loss too large"],
)
def test_where_distributions_cannot_tell_divergences_do(case):
    assert largest_step_rho(*case) == renyi_step_rho(*case)


def test_what_distributions_told_is_kept_where_they_cannot_tell_of_less_noise():
    """They refuse a loss in the hundreds, which less noise would have."""
    case = (300, 1e-5, 0.1, 95)
    assert largest_step_rho(*case) > 2 * renyi_step_rho(*case)


def test_without_dp_accounting_divergences_do(monkeypatch):
    largest_step_rho.cache_clear()
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    assert largest_step_rho(1, 1e-5, 0.1, 50) == renyi_step_rho(1, 1e-5, 0.1, 50)
    largest_step_rho.cache_clear()


def test_more_steps_and_more_on_everyone_leave_less_for_each():
    def found(steps, everyone):
        return largest_step_rho(1, 1e-5, 0.1, steps, everyone)

    assert found(10, 0) > found(20, 0) > found(40, 0)
    assert found(20, 0) > found(20, 0.005) > found(20, 0.01)
    with pytest.raises(InvalidInput, match="no account"):
        found(20, 1)


def test_noise_is_never_taken_for_more_than_it_is(monkeypatch):
    """Neither that of the steps, of which the ρ is given back, nor that of releases on everyone."""
    tried, honest = [], sampled_steps.pld_epsilon

    def noted(events, delta, **options):
        tried.append([event.law.sigma for event in events])
        return honest(events, delta, **options)

    monkeypatch.setattr(sampled_steps, "pld_epsilon", noted)
    everyone = Fraction(1, 300)
    rho = largest_step_rho(1, 1e-5, Fraction(1, 7), 11, everyone)
    steps, others = zip(*tried, strict=True)
    assert 1 / (2 * rho) in [sigma**2 for sigma in steps]
    assert all(1 - 1e-9 < sigma**2 * 2 * everyone <= 1 for sigma in others)


def test_what_is_given_back_was_tried():
    """The search never ends on noise that it has not seen to be enough."""
    tried = {}

    def cost(sigma):
        tried[sigma] = 3 / sigma**1.3 + 0.2 * (sigma < 2.5)
        return tried[sigma]

    for most in (0.1, 0.5, 1.0, 1.2, 2.0):
        found = sampled_steps._least(cost, most, (6 / most) ** (1 / 1.3))
        assert tried[min(tried, key=lambda each: abs(each - found))] <= most
        tried.clear()


def test_noise_that_hardly_matters_is_not_searched_for_long():
    """Where even an eighth of what is enough would do, as with fewer people than δ allows for."""
    tried = []

    def cost(sigma):
        tried.append(sigma)
        return 0.0

    assert sampled_steps._least(cost, 1.0, 40.0) == pytest.approx(5.0)
    assert len(tried) <= 6


def test_rates_next_to_1_are_nearly_everyone():
    """Also one that is 1 as a float."""
    nearly = largest_step_rho(1, 1e-5, 1 - Fraction(1, 10**20), 30)
    assert nearly == pytest.approx(largest_step_rho(1, 1e-5, 1 - Fraction(1, 10**9), 30), rel=0.01)


@pytest.mark.parametrize(
    "bad",
    [(0, 1e-5, 0.1, 5), (1, 0, 0.1, 5), (1, 1e-5, 1, 5), (1, 1e-5, 0.1, 0), (1, 1e-5, 0.1, MOST_STEPS + 1)],
)
def test_arguments_are_checked(bad):
    with pytest.raises(InvalidInput):
        largest_step_rho(*bad)
