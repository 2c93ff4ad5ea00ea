"""Intervals of coefficients hold what the regression would find without noise, or say that noise drowned it.

Draws are seeded: a test that passes goes on passing. If each interval holds with 95 %, a seed fails a test
with less than the stated probability.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet.learn as learn
from discreet.learn.core.account import FitAccount, loss_of
from discreet.learn.core.encoding import RowOwners, on_grid
from discreet.learn.least_squares.intervals import coefficient_intervals
from discreet.learn.least_squares.sufficient_statistics import Products, product_sums, release_products
from discreet.model.neighbours import Neighbours

FITS, LEVEL = 300, 0.95
DROWNED = [-np.inf, np.inf]


class Seeded:
    """Words of a generator that can be repeated, for tests alone."""

    def __init__(self, seed):
        self._chance = np.random.default_rng(seed)

    def words(self, count):
        return self._chance.integers(0, 2**64, size=count, dtype=np.uint64)


def even(chance, count):
    return chance.uniform(-1, 1, size=(count, 3)), [0.3, -0.2, 0.0]


def weak(chance, count):
    """The second feature hardly varies, and matters most."""
    x, _ = even(chance, count)
    return x * [1, 0.15, 1], [0.3, 0.8, -0.1]


def marks(chance, count):
    """Four values, one of them rare, and two numbers."""
    value = chance.choice(4, size=count, p=[0.4, 0.3, 0.2, 0.1])
    x = np.column_stack([value == 1, value == 2, value == 3, *even(chance, count)[0].T[:2] / 2])
    return x.astype(float), [0.1, 0.2, -0.3, 0.2, 0.4]


def alike(chance, count):
    """The first two features say nearly the same."""
    x = chance.normal(0, 0.4, size=(count, 3))
    x[:, 1] = 0.8 * x[:, 0] + 0.3 * x[:, 1]
    return x.clip(-1, 1), [0.3, -0.3, 0.2]


def rows_of(design, count, chance):
    x, weights = design(chance, count)
    return x, (x @ weights + 0.1 + chance.normal(0, 0.2, count)).clip(-1, 1)


def exact_sums(x, y, order):
    values = on_grid(np.column_stack([np.ones(len(x)), x, y]), np.zeros(1), np.ones(1))
    return product_sums(RowOwners(weights=np.ones(len(x)), rows_per_person=1).rows(values), order)


def intervals(exact, epsilon, delta, entropy):
    account = FitAccount(loss_of(epsilon, delta, "auto"), neighbours=Neighbours.ADD_REMOVE, entropy=entropy)
    return coefficient_intervals(release_products(exact, account, Fraction(1)), 1 - LEVEL)


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("count", [300, 1000, 10_000])
@pytest.mark.parametrize("design", [even, weak, marks, alike])
def test_they_hold_the_coefficients_without_noise(design, count, delta):
    """Fewer than the limit hold with probability 10⁻⁶, for each coefficient at each ε. An interval without
    end holds; `test_clear_coefficients_have_narrow_intervals` says where there must be one."""
    chance, entropy, least = np.random.default_rng(1), Seeded(2), binom.ppf(1e-6, FITS, LEVEL)
    for epsilon in (0.5, 1, 5):
        holds = 0
        for fit in range(FITS):
            if fit % 30 == 0:
                x, y = rows_of(design, count, chance)
                exact = exact_sums(x, y, 2 if delta else 1)
                ordinary = np.linalg.lstsq(np.column_stack([np.ones(count), x]), y)[0][1:]
            low, high = intervals(exact, epsilon, delta, entropy).T
            holds = holds + ((low <= ordinary) & (ordinary <= high))
        assert holds.min() >= least


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["laplace", "gaussian"])
def test_what_the_noise_drowned_has_no_interval(delta):
    """The direction's size is a tenth of the noise. What passes for data is four deviations of Gaussian noise
    and five of Laplace noise, with a probability below 10⁻³; 20 of 100 do with one below 10⁻³⁰."""
    x, y = rows_of(weak, 1000, np.random.default_rng(3))
    exact, entropy = exact_sums(x * [1, 0.3, 1], y, 2 if delta else 1), Seeded(4)
    found = [intervals(exact, 1, delta, entropy).tolist() for _ in range(100)]
    assert sum(each == [DROWNED] * 3 for each in found) > 80


def test_clear_coefficients_have_narrow_intervals():
    """Where features vary, there is an interval at ε = 1 from 1,000 people on, and it is no idle one."""
    chance, entropy = np.random.default_rng(5), Seeded(6)
    for count, widest in ((1000, 0.2), (10_000, 0.03)):
        exact = exact_sums(*rows_of(even, count, chance), 2)
        for _ in range(20):
            low, high = intervals(exact, 1, 1e-6, entropy).T
            assert (high - low < 2 * widest).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_they_are_little_wider_than_the_spread_where_features_are_far_from_zero(intercept):
    """Of 2,000 draws the spread is known to 2 %. The middle is where a regression without regularisation
    would be; the interval reaches 1.96 of its deviations, and up to a half more for what is bounded."""
    chance = np.random.default_rng(7)
    x = (chance.random((20_000, 3)) < [0.5, 0.8, 0.9]).astype(float)
    rows = np.column_stack([np.ones(len(x)), x, x @ [0.3, -0.2, 0.1] - 0.6 * intercept])
    exact, found = rows.T @ rows, []
    for _ in range(2000):
        noise = np.triu(chance.normal(scale=4.0, size=(5, 5)))
        noisy = Products(sums=exact + noise + np.triu(noise, 1).T, deviation=4.0)
        found.append(coefficient_intervals(noisy, 1 - LEVEL, intercept=intercept))
    middle, half = np.mean(found, axis=2), np.diff(found, axis=2)[:, :, 0] / 2
    assert middle.mean(axis=0) == pytest.approx([0.3, -0.2, 0.1], abs=0.001)
    reach = half.mean(axis=0) / middle.std(axis=0)
    assert ((reach > 1.96 * 0.95) & (reach < 1.96 * 1.5)).all()


def test_a_penalty_above_the_noise_keeps_intervals_and_they_are_of_ridge_regression():
    """Fewer than the limit hold with probability 10⁻⁶ for each coefficient."""
    chance, entropy, penalty = np.random.default_rng(8), Seeded(9), 300.0
    x, y = rows_of(weak, 1000, chance)
    x, y = (x + 1) / 2, (y + 1) / 2  # an intercept that is penalised too would show
    centred = x - x.mean(axis=0)
    ridge = np.linalg.solve(centred.T @ centred + penalty * np.eye(3), centred.T @ (y - y.mean()))
    exact, holds = exact_sums(x, y, 2), 0
    for _ in range(FITS):
        account = FitAccount(loss_of(1, 1e-6, "auto"), neighbours=Neighbours.ADD_REMOVE, entropy=entropy)
        low, high = coefficient_intervals(
            release_products(exact, account, Fraction(1)), 1 - LEVEL, penalty=penalty
        ).T
        assert np.isfinite(low).all()
        holds = holds + ((low <= ridge) & (ridge <= high))
    assert holds.min() >= binom.ppf(1e-6, FITS, LEVEL)


def test_laplace_noise_reaches_further():
    """Of one Laplace draw 2.5 % are beyond ln(20)/√2 standard deviations, of a normal one beyond 1.96."""
    x, y = rows_of(even, 100_000, np.random.default_rng(11))
    rows = np.column_stack([np.ones(len(x)), x, y])
    normal, laplace = (
        coefficient_intervals(Products(sums=rows.T @ rows, deviation=50.0, laplace=each), 1 - LEVEL)
        for each in (False, True)
    )
    assert np.diff(laplace) / np.diff(normal) == pytest.approx(np.log(20) / 2**0.5 / 1.96, rel=0.01)


def test_a_model_has_them_in_the_units_of_its_columns():
    """Little noise: in other units the coefficients would not be near."""
    chance = np.random.default_rng(10)
    x, y = chance.uniform(0, 50, size=(5000, 2)), chance.normal(100, 1, 5000)
    y += x @ [2.0, -1.0]
    model = learn.Ridge(epsilon=20_000, delta=1e-6, bounds=(0, 50), target_bounds=(0, 300), alpha=0).fit(x, y)
    low, high = model.intervals(LEVEL).T
    assert (low + high) / 2 == pytest.approx([2, -1], abs=0.02)
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(5000 * 50**2 / 12), rel=0.3)
