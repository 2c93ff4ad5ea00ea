"""How far odds move where there is a δ: the limits hold for the mechanisms that reach furthest. No chance
here: all laws are summed or in closed form."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.accounting.odds import odds_limit, rare_chance
from discreet.model.conversion import largest_rho
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss

RHOS = [Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 2), Fraction(5)]
CHANCES = [Fraction(1, 10**9), Fraction(1, 10**4), Fraction(1, 20)]


def concentrated(rho, chance, delta=Fraction(0)):
    return float(odds_limit(ConcentratedLoss(rho=rho, delta=delta), chance))


def gaussian_formula(rho, chance):
    """The limit for whoever sees the noisy number itself: its loss is normal with mean ρ and variance 2ρ."""
    return float(rho) + math.sqrt(2 * rho) * norm.isf(float(chance))


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("chance", CHANCES)
def test_gaussian_noise_is_within_the_limit_and_near_it(rho, chance):
    limit, exact = concentrated(rho, chance), gaussian_formula(rho, chance)
    assert norm.sf((limit - float(rho)) / math.sqrt(2 * rho)) <= chance
    assert exact < limit < 1.5 * exact


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("chance", CHANCES)
def test_a_threshold_exceeds_the_gaussian_formula_and_not_the_limit(rho, chance):
    """To learn only that a noisy number is above a threshold: of all thresholds the worst."""
    thresholds = np.linspace(-8, 12, 20001)
    passes = norm.logsf(thresholds - math.sqrt(2 * rho))
    losses = passes - norm.logsf(thresholds)
    exceeding = [passes[losses > c] for c in (gaussian_formula(rho, chance), concentrated(rho, chance))]
    assert np.exp(exceeding[0].max()) > chance
    assert np.exp(exceeding[1].max()) <= chance


@pytest.mark.parametrize("sigma", [0.7, 3, 40])
def test_discrete_gaussian_noise_is_within_the_limit(sigma):
    places = np.arange(-2000, 2001)
    law = np.exp(-((places / sigma) ** 2) / 2)
    law /= law.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(np.roll(law, 1) / law)
    rho = Fraction(1) / (2 * Fraction(str(sigma)) ** 2)
    for chance in CHANCES:
        assert np.roll(law, 1)[losses > concentrated(rho, chance)].sum() <= chance


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**8), Fraction(1, 1000)])
def test_some_mechanism_reaches_the_limit_of_epsilon_and_delta(epsilon, delta):
    """An outcome of probability t, and of t·e^(−c) if the person is not there: its hockey stick is δ."""
    chance = rare_chance(delta)
    limit = float(odds_limit(ApproximateLoss(epsilon=epsilon, delta=delta), chance))
    assert float(chance) * (1 - math.exp(float(epsilon) - limit)) == pytest.approx(float(delta), rel=1e-9)


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2)])
@pytest.mark.parametrize("share", [Fraction(1, 1000), Fraction(1, 200), Fraction(1, 3)])
def test_the_worst_use_of_a_delta_beside_rho_is_within_the_limit(rho, share):
    """Gaussian noise, and with probability δ whatever lifts the likeliest outcomes above the limit: from the
    top down, each outcome whose ratio is l gets e^(c−l) − 1 of itself more, while the δ lasts."""
    chance = Fraction(1, 10**4)
    delta, mean = chance * share, math.sqrt(2 * rho)
    limit = concentrated(rho, chance, delta)
    places = np.linspace(mean + 12, mean - 12, 200_001)
    law = norm.pdf(places - mean) * (places[0] - places[1])
    needed = np.maximum(np.exp(limit - (places * mean - mean**2 / 2)) - 1, 0) * law
    lifted = np.cumsum(needed) <= float(delta)
    found = (1 - float(delta)) * law[lifted].sum() + float(delta)
    assert float(chance) / 50 < found <= chance
    spare = float(chance - delta)
    kept = spare * np.linspace(0, 1, 10_001)[1:-1]
    curve = float(rho) + 2 * np.sqrt(float(rho) * -np.log(spare - kept)) + np.log1p(float(delta) / kept)
    assert curve.min() * (1 - 1e-9) <= limit <= curve.min() * 1.01


def test_a_budget_with_delta_is_exceeded_more_often_than_delta_and_not_more_than_stated():
    delta = Fraction(1, 10**6)
    rho = largest_rho(Fraction(1, 10), delta / 2)
    chance = rare_chance(delta)
    assert chance == Fraction(1, 10**4)

    def beyond(c):
        return norm.sf((c - float(rho)) / math.sqrt(2 * rho))

    assert beyond(0.1) == pytest.approx(22 * delta, rel=0.05)
    assert beyond(concentrated(rho, chance)) <= chance


def test_where_there_is_no_limit_and_where_none_is_needed():
    assert odds_limit(PureLoss(epsilon=Fraction(1, 2)), Fraction(0)) == Fraction(1, 2)
    assert concentrated(Fraction(0), Fraction(1, 10)) < 1e-29
    for loss in (ApproximateLoss, lambda epsilon, delta: ConcentratedLoss(rho=epsilon, delta=delta)):
        assert odds_limit(loss(epsilon=Fraction(1), delta=Fraction(1, 10)), Fraction(1, 10)) is None
    assert odds_limit(ConcentratedLoss(rho=Fraction(1), delta=Fraction(0)), Fraction(0)) is None
    assert rare_chance(Fraction(0)) == 0
    assert rare_chance(Fraction(1, 100)) == Fraction(1, 10)
