"""Whole fits on neighbours: no release of any fit moves by more than its noise was made for.

Both neighbours are handed the same noisy releases, so that the sums that follow may be compared, in Python's
integers. There is nothing random in the claim, and no false alarm.
"""

import numpy as np
import pytest

import discreet.learn as learn
from discreet.learn.descent import own_loss as own
from discreet.learn.estimators import base
from tests.learn.replay import accounts, excess

ROWS, WIDTH = 37, 3
CLASSIFIERS = [learn.LogisticRegression, learn.LinearSVC]
REGRESSORS = [learn.LinearRegression, learn.Ridge, learn.PoissonRegression]


def model(kind, classes=(0, 1), **settings):
    given = {"epsilon": 3, "delta": 1e-5, "bounds": (-1, 1)} | settings
    if kind is learn.LogisticRegression:
        given["solver"] = "descent"  # test_objective.py has the other
    if kind in CLASSIFIERS:
        return kind(classes=classes, **given)
    return kind(target_bounds=(0, 4), **given)


def data(chance, classes):
    """Rows of all lengths: some at the corner of the bounds, some at zero, some beyond."""
    x = chance.choice([-1.0, 0.0, 0.3, 1.0, 99.0], size=(ROWS, WIDTH))
    return x, chance.integers(0, classes, ROWS).astype(float)


def moved(kind, patch, chance, *, people=None, classes=2, removed=0, **settings):
    x, y = data(chance, classes)
    kept = (np.arange(ROWS) if people is None else people) != removed
    opened, start, replay = accounts(patch, base)
    start()
    each = model(kind, tuple(range(classes)), **settings)
    each.fit(x, y, groups=people)
    recorded = opened[-1]
    replay()
    each.fit(x[kept], y[kept], groups=None if people is None else people[kept])
    return excess(recorded, opened[-1], recorded.order)


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_one_row_moves_no_release_by_more_than_its_claim(kind, delta, monkeypatch):
    chance = np.random.default_rng(1)
    for removed in range(0, ROWS, 3):
        moved(kind, monkeypatch, chance, removed=removed, delta=delta)


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_with_several_classes_as_well(kind, delta, monkeypatch):
    chance = np.random.default_rng(2)
    for removed in range(0, ROWS, 5):
        moved(kind, monkeypatch, chance, removed=removed, delta=delta, classes=4)


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_one_person_with_many_rows_moves_no_release_by_more_than_its_claim(kind, delta, monkeypatch):
    chance = np.random.default_rng(3)
    people = np.array([0] * 12 + [1] * 5 + [2] * 2 + list(range(3, ROWS - 16)))
    for most in (1, 3):
        for removed in (0, 1, 2, 3):
            moved(
                kind, monkeypatch, chance, people=people, removed=removed, delta=delta, rows_per_person=most
            )


@pytest.mark.parametrize(("delta", "epsilon"), [(0, 25), (1e-5, 300)], ids=["Laplace", "Gaussian"])
def test_steps_and_clip_follow_from_the_noisy_number_of_rows(delta, epsilon, monkeypatch):
    """At an ε at which they depend on it: neighbours that are told the same number do the same steps."""
    chance = np.random.default_rng(6)
    for removed in range(0, ROWS, 3):
        asked = epsilon * (1 + removed / 20)
        moved(learn.LogisticRegression, monkeypatch, chance, removed=removed, delta=delta, epsilon=asked)


def test_the_claims_are_not_idle(monkeypatch):
    """Some neighbour uses nearly all of what a release claims: a claim that is too small would show."""
    chance = np.random.default_rng(4)
    used = [moved(learn.LogisticRegression, monkeypatch, chance, removed=i, steps=5) for i in range(ROWS)]
    assert np.max(used, axis=0).min() > 0.9
    used = [moved(learn.LinearRegression, monkeypatch, chance, removed=i) for i in range(ROWS)]
    assert np.max(used, axis=0).min() > 0.9


def least_squares(weights, x, y):
    return (x @ weights - y)[:, None] * x


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("size", [1e-200, 1e-3, 1.0, 1e200])
def test_own_gradients_move_no_step_by_more_than_its_claim(delta, size, monkeypatch):
    chance = np.random.default_rng(5)
    x, y = data(chance, 3)
    people = np.arange(ROWS) // 4
    descent = learn.PrivateDescent(
        gradient=lambda weights, rows, targets: size * least_squares(weights, rows, targets),
        epsilon=3,
        delta=delta,
        clip=0.7,
        rows=ROWS,
        steps=4,
        rows_per_person=3,
    )
    for removed in range(5):
        kept = people != removed
        opened, start, replay = accounts(monkeypatch, own)
        start()
        descent.run(np.zeros(WIDTH), x, y, people)
        recorded = opened[-1]
        replay()
        descent.run(np.zeros(WIDTH), x[kept], y[kept], people[kept])
        excess(recorded, opened[-1], recorded.order)


def test_gradients_that_are_not_finite_count_as_zero():
    grid = own.on_clipped_grid(np.array([[np.nan, 1], [np.inf, 1], [3.0, 4.0]]), np.ones(3), 5.0, 2)
    assert grid == pytest.approx(np.array([0.6, 0.8]) * own.GRID, abs=2)


def test_gradients_that_are_held_at_once_are_few():
    assert [own.block_rows(size) for size in (1, 1024, 5000, 10**6, 10**9)] == [1024, 1024, 128, 1, 1]
