"""Linear regression from noisy products: its intervals hold, and it leaves out what the noise drowns."""

import numpy as np
import pytest
from scipy.stats import binom

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.linear import regress
from discreet.learn.statistics import Products, triangle_norms

FITS, LEVEL = 400, 0.95


def test_intervals_hold_as_often_as_they_say():
    """Fewer than the limit hold with probability 10⁻⁶ if each holds with 95 %."""
    chance = np.random.default_rng()
    least = binom.ppf(1e-6, FITS, LEVEL)
    for epsilon in (0.3, 10):
        model = learn.LinearRegression(epsilon=epsilon, delta=1e-5, bounds=(-1, 1), target_bounds=(-4, 4))
        holds = 0
        for _ in range(FITS):
            x = chance.uniform(-1, 1, size=(2000, 2))
            y = x @ [1.0, -0.5] + 0.3 + chance.normal(size=2000) * 0.5
            low, high = model.fit(x, y).intervals(LEVEL)[0]
            holds += low <= 1.0 <= high
        assert holds >= least


def test_intervals_are_not_idle():
    """With little noise they are about as wide as those of ordinary regression."""
    chance = np.random.default_rng(1)
    x = chance.uniform(-1, 1, size=(5000, 2))
    y = x @ [1.0, -0.5] + chance.normal(size=5000) * 0.5
    model = learn.LinearRegression(epsilon=1000, delta=1e-5, bounds=(-1, 1), target_bounds=(-4, 4)).fit(x, y)
    low, high = model.intervals(LEVEL)[0]
    ordinary = 1.96 * 0.5 / np.sqrt(5000 / 3)
    assert high - low == pytest.approx(2 * ordinary, rel=0.15)


def test_descent_has_no_intervals():
    x, y = np.zeros((20, 1)), np.zeros(20)
    model = learn.LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1), solver="descent").fit(
        x, y
    )
    with pytest.raises(InvalidInput, match="statistics"):
        model.intervals(0.95)


def products(x, y, deviation=0.0):
    rows = np.column_stack([np.ones(len(x)), x, y])
    return Products(sums=rows.T @ rows, deviation=deviation)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_it_is_ordinary_regression(intercept):
    chance = np.random.default_rng(2)
    x = chance.uniform(-1, 1, size=(500, 3))
    y = x @ [0.5, -0.2, 0.0] + 0.1 * intercept + chance.normal(size=500) / 10
    found = regress(products(x, y), intercept=intercept)
    columns = np.column_stack([x, np.ones(500) * intercept])
    expected = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert found.coefficients == pytest.approx(expected[:3], abs=1e-6)
    assert found.intercept == pytest.approx(expected[3] * intercept, abs=1e-6)


def test_a_penalty_is_that_of_ridge_regression():
    chance = np.random.default_rng(3)
    x = chance.uniform(-1, 1, size=(500, 3))
    x -= x.mean(axis=0)
    y = x @ [0.5, -0.2, 0.0]
    expected = np.linalg.solve(x.T @ x + 40 * np.eye(3), x.T @ y)
    assert regress(products(x, y - y.mean()), penalty=40).coefficients == pytest.approx(expected, abs=1e-6)


def test_directions_below_the_noise_are_left_out():
    chance = np.random.default_rng(4)
    x = np.column_stack([chance.uniform(-1, 1, 1000), chance.uniform(-0.01, 0.01, 1000)])
    found = regress(products(x, 0.5 * x[:, 0] + 0.5 * x[:, 1], deviation=5.0))
    assert found.coefficients[0] == pytest.approx(0.5, abs=0.01)
    assert abs(found.coefficients[1]) < 0.01


@pytest.mark.parametrize("order", [1, 2])
def test_norms_of_products_are_those_of_the_products(order):
    chance = np.random.default_rng(5)
    values = chance.integers(-1024, 1025, size=(50, 6)).astype(float)
    upper = np.triu_indices(6)
    formed = np.array([np.outer(row, row)[upper] for row in values])
    assert triangle_norms(values, order) == pytest.approx(np.linalg.norm(formed, ord=order, axis=1))
