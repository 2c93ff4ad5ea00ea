"""Estimates from several noisy tables: the best there are, and as good as they say."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.synth.domain import Domain
from discreet.synth.question import Question
from discreet.synth.readings import Pricing, Spread, coefficients, miss_of, spread_of

SIZES = (3, 4, 2)
DOMAIN = Domain(sizes=SIZES)
TABLE = Sensitivity.histogram(Neighbours.ADD_REMOVE)
SINGLE = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)


def spread(variance):
    return Spread(variance=variance, largest=0.0, smooth=True, step=1.0)


def design(attributes):
    """Each cell of a table as a sum of records."""
    columns = np.unravel_index(np.arange(DOMAIN.cells), SIZES)
    shape = [SIZES[a] for a in attributes]
    place = np.ravel_multi_index([columns[a] for a in attributes], shape) if attributes else 0 * columns[0]
    return np.eye(int(np.prod(shape)))[place].T


TABLES = [
    {(0, 1): 2.0},
    {(0, 1): 2.0, (1, 2): 5.0},
    {(0, 1): 2.0, (1, 2): 0.5, (0, 2): 30.0, (1,): 1.0},
    {(0, 1, 2): 3.0, (): 0.1, (0, 1): 2.0},
]


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_that_of_weighted_least_squares(tables, seed):
    """By a dense pseudo-inverse over all records: the same coefficients, hence the same variance."""
    chance = np.random.default_rng(seed)
    question = Question.about(DOMAIN, (0, 1), chance.random((3, 4)) < 0.5)
    spreads = {each: spread(variance) for each, variance in tables.items()}
    found = coefficients(question, spreads, SIZES)
    rows = np.vstack([design(each) / np.sqrt(v) for each, v in tables.items()])
    asked = question.mask.reshape(-1) @ design(question.attributes)
    precise = np.linalg.pinv(rows.T @ rows)
    assert spread_of(found, spreads, SIZES).variance == pytest.approx(asked @ precise @ asked)
    total = np.zeros(DOMAIN.cells)  # the estimate's expectation, as a function of the records
    for each, values in found.items():
        shared = [SIZES[a] if a in question.attributes else 1 for a in each]
        wide = np.broadcast_to(values.reshape(shared), [SIZES[a] for a in each]).reshape(-1)
        total += wide @ design(each)
        dense = precise @ asked
        assert np.allclose(wide, design(each) @ dense / tables[each])
    assert np.allclose(total, asked)


def test_what_no_table_holds_has_no_estimate():
    question = Question.where(DOMAIN, {0: [0], 2: [1]})
    assert coefficients(question, {(0, 1): spread(1.0), (1, 2): spread(1.0)}, SIZES) is None
    assert coefficients(question, {}, SIZES) is None


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
    squares, most = float(np.sum(np.square(weights))), max(abs(w) for w in weights)
    whole = Spread(
        variance=one.variance * squares, largest=one.largest * most, smooth=one.smooth, step=one.step
    )
    errors = sum(w * noise.release(np.zeros(draws, np.int64)) for w in weights)
    missed = (np.abs(errors) > whole.reach(miss)).sum()
    assert missed <= draws * miss + 6 * np.sqrt(draws * miss) + 6


@pytest.mark.parametrize("concentrated", [True, False])
@pytest.mark.parametrize("unit", [1, 2**10])
def test_noise_has_at_most_the_variance_that_was_asked_for(concentrated, unit):
    pricing = Pricing(concentrated=concentrated, table=TABLE, single=SINGLE, unit=unit)
    for variance in (0.7, 100.0, 1e9):
        found = pricing.spread(pricing.noise(variance))
        assert variance * (1 - 1e-9) <= found.variance <= variance


@pytest.mark.parametrize("concentrated", [True, False])
def test_loss_is_that_of_the_mechanism(concentrated):
    table = Sensitivity.histogram(Neighbours.REPLACE_ONE, max_rows=3)
    single = Sensitivity.scalar(3, Neighbours.REPLACE_ONE)
    pricing = Pricing(concentrated=concentrated, table=table, single=single)
    noise = pricing.noise(50.0)
    if concentrated:
        assert pricing.loss(noise, table=True).rho == Fraction(18) / (2 * noise.sigma_squared)
        assert pricing.loss(noise, table=False).rho == Fraction(9) / (2 * noise.sigma_squared)
    else:
        assert pricing.loss(noise, table=True).epsilon == 6 / noise.scale
        assert pricing.loss(noise, table=False).epsilon == 3 / noise.scale


def test_currencies_are_not_mixed():
    pricing = Pricing(concentrated=True, table=TABLE, single=SINGLE)
    with pytest.raises(InvalidInput, match="currency"):
        pricing.spread(DiscreteLaplace(scale=1))


def test_answers_that_shall_hold_at_once_share_the_misses():
    assert miss_of(Fraction(95, 100), 10) == pytest.approx(0.005)
