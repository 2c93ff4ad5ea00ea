"""The minimum is where it is said to be: checked in exact fractions, whatever the rows."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.learn.core.encoding import ONE
from discreet.learn.objective import minimum
from discreet.learn.objective.minimum import (
    FLAT,
    HALF_BITS,
    POINT_BITS,
    RESIDUAL_ERROR,
    RIDGE_BITS,
    STEEPER,
    Perturbed,
    minimise,
)

UNIT = Fraction(1, 2**POINT_BITS)


def integers(values):
    return np.array([int(each) for each in values], dtype=object)


def problem(values, labels, *, noise=None, caps=None, ridge=2.0, noise_bits=60):
    width = values.shape[1]
    longest = max(1.0, float(np.sqrt((values**2).sum(axis=1)).max(initial=0.0)))
    return Perturbed(
        values=values,
        labels=labels,
        caps=np.full(len(values), 2.0**HALF_BITS) if caps is None else caps,
        ridge=integers([ridge * 2**RIDGE_BITS] * width),
        noise=integers(np.zeros(width) if noise is None else noise * 2.0**noise_bits),
        noise_bits=noise_bits,
        farthest=minimum.FARTHEST_POINT * ONE / longest,
    )


def exact_gradient(given, point):
    """Of the loss that the module describes, in fractions."""
    table, _ = minimum._logistic_table()
    total = [
        Fraction(int(r), 2**RIDGE_BITS) * int(t) * UNIT + Fraction(int(b), 2**given.noise_bits)
        for r, t, b in zip(given.ridge, point, given.noise, strict=True)
    ]
    for row, label, cap in zip(given.values, given.labels, given.caps, strict=True):
        x = [Fraction(int(z), ONE) for z in row]
        c = Fraction(int(cap), 2**HALF_BITS)
        shift = Fraction(float(minimum._about_logarithm(np.array([float(c)]))[0]))
        sign = 1 if label == 0 else -1
        margin = sum(a * int(t) * UNIT for a, t in zip(x, point, strict=True))
        place = max(Fraction(-32), min(Fraction(32), sign * margin - shift)) * 1024 + 32 * 1024
        cell = min(int(place // 1), len(table) - 2)
        low, high = Fraction(float(table[cell])), Fraction(float(table[cell + 1]))
        size = c * (low + (high - low) * (place - cell))
        total = [t + sign * size * a for t, a in zip(total, x, strict=True)]
    return total


def length(values):
    return float(sum(float(each) ** 2 for each in values)) ** 0.5


def some(rows, width, seed, spread=1.0):
    chance = np.random.default_rng(seed)
    values = np.rint(chance.normal(size=(rows, width)) * spread * ONE).clip(-32 * ONE, 32 * ONE)
    labels = chance.integers(0, 2, rows).astype(float)
    caps = np.floor(chance.uniform(0.3, 1, rows) * 2**HALF_BITS)
    return values, labels, caps, chance


@pytest.mark.parametrize("size", [1e-6, 1.0, 300.0])
@pytest.mark.parametrize("spread", [0.1, 9.0])
def test_the_gradient_is_exact_but_for_the_error_that_is_stated(size, spread):
    values, labels, caps, chance = some(60, 3, 1, spread)
    given = problem(values, labels, caps=caps, noise=chance.normal(size=3) * 5)
    point = integers(chance.normal(size=3) * size * 2.0**POINT_BITS)
    found = [Fraction(int(each), 2**given.unit_bits) for each in given.gradient(point)]
    off = [a - b for a, b in zip(found, exact_gradient(given, point), strict=True)]
    reach = (np.sqrt((values**2).sum(axis=1)) / ONE).sum()
    assert length(off) <= reach * RESIDUAL_ERROR


def test_margins_that_cancel_are_exact_as_far_out_as_points_may_be():
    values, labels = np.array([[1023.0, -1021.0], [1021.0, -1023.0]]), np.array([0.0, 1.0])
    given = problem(values, labels)
    for far in (1.0, 1e3, 1.4e6):
        whole = int(far * 2**42)
        point = np.array([1021 * whole + 987_654_321_987, 1023 * whole + 123_456_789_123], dtype=object)
        assert length([int(each) * UNIT for each in point]) <= given.farthest
        found = [Fraction(int(each), 2**given.unit_bits) for each in given.gradient(point)]
        off = [a - b for a, b in zip(found, exact_gradient(given, point), strict=True)]
        assert length(off) <= 2 * 1.42 * RESIDUAL_ERROR


def test_the_order_of_the_rows_changes_no_bit():
    values, labels, caps, chance = some(5000, 4, 2)
    order = chance.permutation(5000)
    point = integers(chance.normal(size=4) * 2.0**POINT_BITS)
    one = problem(values, labels, caps=caps).gradient(point)
    other = problem(values[order], labels[order], caps=caps[order]).gradient(point)
    assert (one == other).all()


CASES = {
    "ordinary": some(40, 3, 3),
    "long rows": some(40, 3, 4, spread=12.0),
    "separable": (np.full((50, 2), float(ONE)), np.ones(50), np.full(50, 2.0**HALF_BITS), None),
    "one row": some(1, 2, 5),
    "nobody": some(0, 2, 6),
    "rows of nothing": (np.zeros((9, 2)), np.ones(9), np.full(9, 2.0**HALF_BITS), None),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ridge", [0.01, 5.0])
@pytest.mark.parametrize("noise", [0.0, 300.0])
def test_what_is_found_is_as_near_to_the_minimum_as_is_said(case, ridge, noise):
    """By strong convexity a gradient of g is within g/λ: so the exact gradient is looked at."""
    values, labels, caps, _ = CASES[case]
    given = problem(values, labels, caps=caps, ridge=ridge, noise=np.full(values.shape[1], noise))
    tolerance = 1e-9
    point = minimise(given, tolerance)
    reach = (np.sqrt((values**2).sum(axis=1)) / ONE).sum()
    assert length(exact_gradient(given, point)) <= tolerance + reach * RESIDUAL_ERROR


def test_it_is_the_minimum_of_logistic_regression():
    values, labels, _, _ = some(300, 3, 7)
    from sklearn.linear_model import LogisticRegression

    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12, max_iter=10_000)
    theirs.fit(values / ONE, labels)
    ours = minimise(problem(values, labels, ridge=2.0), 1e-9).astype(float) / 2**POINT_BITS
    assert ours == pytest.approx(theirs.coef_[0], abs=1e-6)


def test_a_person_with_a_cap_pulls_no_harder():
    values, labels, _, _ = some(30, 2, 8)
    for share in (0.3, 0.7):
        given = problem(values, labels, caps=np.full(30, np.floor(share * 2**HALF_BITS)))
        for _, residuals, _ in given._blocks(integers([9 * 2.0**POINT_BITS, -7 * 2.0**POINT_BITS])):
            assert (np.abs(residuals) <= share).all()
            assert (residuals * (1 - 2 * labels) >= 0).all()  # of one sign, which the label decides


def test_the_table_is_as_steep_as_is_said_and_no_steeper():
    table, steps = minimum._logistic_table()
    assert len(table) == len(steps) == 64 * 1024 + 1
    assert (steps >= 0).all()
    assert steps[-1] == 0
    assert (table[:-1] + steps[:-1] == table[1:]).all()
    points = np.arange(-32 * 1024, 32 * 1024 + 1) / 1024
    assert table == pytest.approx(1 / (1 + np.exp(-points)), abs=1e-14)
    within = np.linspace(0, 1, 5)[:, None]
    between = table[:-1] + within * steps[:-1]
    most = float(STEEPER) * between * (1 - between) + FLAT
    assert (steps[:-1] * 1024 <= most * (1 + 1e-12)).all()
    assert (steps[:-1] * 1024 <= 0.25).all()


def test_what_stands_for_a_logarithm_is_one():
    c = np.linspace(0.25, 1, 100)
    assert minimum._about_logarithm(c) == pytest.approx(np.log(c), abs=4e-3)
    assert minimum._about_logarithm(np.ones(1))[0] == 0


def test_a_table_that_is_too_steep_is_refused(monkeypatch):
    """Whatever the machine takes e^x for, no fit goes on with a loss that the proof is not about."""
    honest = np.exp
    monkeypatch.setattr(np, "exp", lambda x: honest(1.01 * x))
    with pytest.raises(ArithmeticError):
        minimum._logistic_table.__wrapped__()
