"""Linear regression from noisy products: its intervals hold, and it leaves out what the noise drowns."""

import numpy as np
import pytest
from scipy.stats import binom

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import ONE, EncodedRows
from discreet.learn.least_squares.coefficients import regress
from discreet.learn.least_squares.sufficient_statistics import (
    FACTOR_ONE,
    Products,
    factor,
    norm,
    place_ends,
    product_sums,
)

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
    model.set_params(solver="statistics").fit(x, y).intervals(0.95)
    model.set_params(solver="descent").fit(x, y)
    with pytest.raises(InvalidInput, match="no intervals"):
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


def integer_rows(chance, count, width):
    values = chance.integers(-ONE, ONE + 1, size=(count, width)) * chance.integers(0, 2, size=(count, width))
    values[:, 0] = ONE
    return values.astype(float)


@pytest.mark.parametrize("order", [1, 2])
def test_no_row_of_any_length_adds_more_than_is_claimed(order):
    """In integers: the products of a row, times the factor of its place, for every usual length."""
    values = np.vstack([integer_rows(np.random.default_rng(5), 200, 6), np.full((1, 6), ONE)])
    ends = place_ends(6, order)
    upper = np.triu_indices(6)
    tightest = 0.0
    for row in values:
        formed = [int(a) * int(b) for a, b in zip(row[upper[0]], row[upper[1]], strict=True)]
        length = sum(abs(int(v)) ** order for v in row)
        end = next(end for end in ends if length <= end)
        for usual in ends:
            times, most = factor(usual, end, order), FACTOR_ONE * norm(usual, order)
            size = sum(abs(each) ** order for each in formed)
            assert times**order * size <= most**order
            tightest = max(tightest, (times**order * size / most**order) ** (1 / order))
    assert tightest > 0.9


@pytest.mark.parametrize("order", [1, 2])
def test_sums_by_place_are_those_of_the_rows(order):
    chance = np.random.default_rng(6)
    values = integer_rows(chance, 9000, 4)
    weights = chance.integers(0, 257, 9000) / 256
    found = product_sums(EncodedRows(values=values, weights=weights, rows_per_person=2), order)
    formed = (values.astype(int) * (weights * 256).astype(int)[:, None]).T @ values.astype(int)
    assert (found.by_place.sum(axis=0) == formed[np.triu_indices(4)]).all()
    assert np.count_nonzero(found.by_place[:, 0]) > 5
    assert found.rows_per_person == 2
