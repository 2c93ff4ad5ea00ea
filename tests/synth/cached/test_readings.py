"""Readings: what they cost, and how far estimates from them spread."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.cached.readings import Pricing, Spread, miss_of

TABLE = Sensitivity.histogram(Neighbours.ADD_REMOVE)
SINGLE = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)


def spread(variance):
    return Spread(variance=variance, laplace=False, smooth=True, step=1.0)


def test_two_estimates_are_joined_by_inverse_variance():
    joined = spread(2.0).joined(spread(6.0))
    assert joined.variance == pytest.approx(1 / (1 / 2 + 1 / 6))
    assert spread(2.0).share(spread(6.0)) == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "noise", [DiscreteGaussian(sigma_squared=Fraction(1, 3)), DiscreteGaussian(sigma_squared=400)]
)
@pytest.mark.parametrize("miss", [0.05, 0.001])
def test_the_reach_of_gaussian_estimates_holds(noise, miss):
    _reach_holds(noise, miss, [1.0, 0.3, -0.7, 0.05])


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [1.0, 0.2, -0.5], [0.1] * 30, [1.0] + [0.1] * 20])
@pytest.mark.parametrize("miss", [0.05, 0.001])
@pytest.mark.parametrize("scale", [Fraction(1, 2), 20])
def test_the_reach_of_laplace_estimates_holds(weights, miss, scale):
    _reach_holds(DiscreteLaplace(scale=scale), miss, weights)


def _reach_holds(noise, miss, weights):
    """Misses in 10⁵ draws; one more than six deviations above their mean has probability below 10⁻⁶."""
    pricing = Pricing(concentrated=isinstance(noise, DiscreteGaussian), table=TABLE, single=SINGLE)
    one, draws = pricing.spread(noise), 100_000
    whole = replace(one, variance=one.variance * float(np.sum(np.square(weights))))
    errors = sum(w * noise.release(np.zeros(draws, np.int64)) for w in weights)
    missed = (np.abs(errors) > whole.reach(miss)).sum()
    assert missed <= draws * miss + 6 * np.sqrt(draws * miss) + 6


@pytest.mark.parametrize("concentrated", [True, False])
@pytest.mark.parametrize("unit", [1, 2**10])
def test_noise_has_at_most_the_variance_that_was_asked_for(concentrated, unit):
    pricing = Pricing(concentrated=concentrated, table=TABLE, single=SINGLE, unit=unit)
    for variance in (0.7, 100.0, 1e9):
        found = pricing.spread(pricing.single_noise(variance))
        assert variance * (1 - 1e-9) <= found.variance <= variance


@pytest.mark.parametrize("concentrated", [True, False])
def test_loss_is_that_of_the_mechanism(concentrated):
    table = Sensitivity.histogram(Neighbours.REPLACE_ONE, max_rows=3)
    single = Sensitivity.scalar(3, Neighbours.REPLACE_ONE)
    pricing = Pricing(concentrated=concentrated, table=table, single=single)
    noise = pricing.single_noise(50.0)
    if concentrated:
        assert pricing.loss(noise, table=True).rho == Fraction(18) / (2 * noise.sigma_squared)
        assert pricing.loss(noise, table=False).rho == Fraction(9) / (2 * noise.sigma_squared)
    else:
        assert pricing.loss(noise, table=True).epsilon == 6 / noise.scale
        assert pricing.loss(noise, table=False).epsilon == 3 / noise.scale


@pytest.mark.parametrize("concentrated", [True, False])
@pytest.mark.parametrize("unit", [1, 2**10])
def test_a_table_costs_what_it_is_given_and_is_as_precise_as_it_says(concentrated, unit):
    table = Sensitivity.histogram(Neighbours.REPLACE_ONE, max_rows=3 * unit)
    pricing = Pricing(concentrated=concentrated, table=table, single=SINGLE, unit=unit)
    for paid in (0.001, 0.7):
        noise = pricing.table_noise(paid)
        assert paid * (1 - 1e-9) <= amount_of(pricing.loss(noise, table=True)) <= Fraction(paid)
        (precision,) = pricing.precision(np.array([paid]))
        assert 1 / pricing.spread(noise).variance == pytest.approx(precision)


def test_currencies_are_not_mixed():
    pricing = Pricing(concentrated=True, table=TABLE, single=SINGLE)
    with pytest.raises(InvalidInput, match="currency"):
        pricing.spread(DiscreteLaplace(scale=1))


def test_answers_that_shall_hold_at_once_share_the_misses():
    assert miss_of(Fraction(95, 100), 10) == pytest.approx(0.005)
