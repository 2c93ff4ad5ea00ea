"""Logistic regression by its two solvers: what each does, refuses and spends, and that no data chooses."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

import discreet.learn as learn
from discreet.audit.statistics import epsilon_lower_bound
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import RowOwners
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss


def table(rows=4000, seed=1):
    chance = np.random.default_rng(seed)
    x = chance.uniform(0, 10, size=(rows, 3))
    return x, (chance.random(rows) < expit(x @ [0.5, -0.4, 0.0] - 0.5)).astype(int)


def some(**settings):
    given = {"epsilon": 2, "delta": 1e-6, "bounds": (0, 10), "classes": (0, 1), "solver": "objective"}
    return learn.LogisticRegression(**given | settings)


def test_it_learns_and_says_what_it_spent():
    x, y = table(20_000)
    model = some().fit(x, y)
    assert model.coef_[0] == pytest.approx([0.5, -0.4, 0.0], abs=0.1)
    assert model.intercept_[0] == pytest.approx(-0.5, abs=0.5)
    assert model.loss_ == ApproximateLoss(epsilon=Fraction(2), delta=Fraction(1, 10**6))
    assert model.rows_ == pytest.approx(20_000, rel=0.1)
    assert model.n_iter_ == 1
    replaced = some(neighbours="replace_one").fit(x, y)
    assert replaced.loss_ == model.loss_
    without = some(fit_intercept=False).fit(x, y)
    assert without.intercept_[0] == 0
    assert without.score(x, y) > 0.7
    assert np.abs(some(penalty=10.0).fit(x, y).coef_).max() < 0.05
    assert clone(model).solver == "objective"


def test_a_fit_on_nobody_is_mere_noise():
    model = some()
    model.learn(
        np.zeros((0, 3)),
        np.zeros(0),
        RowOwners(weights=np.zeros(0), rows_per_person=1),
        budget=model.own_budget(),
        deadline=None,
    )
    assert np.isfinite(model.coef_).all()
    assert model.coef_.shape == (1, 3)
    assert (model.coef_ != 0).all()


def hits(people, fits):
    x, y = np.ones((people, 1)), np.ones(people, dtype=int)
    model = some(epsilon=1, delta=1e-2, bounds=(-1, 1), fit_intercept=False)
    return sum(model.fit(x, y).coef_[0, 0] > 2.0 for _ in range(fits))


def test_a_canary_shows_no_more_than_the_claim():
    """One person or two: the bound is above the claim with probability 10⁻⁶ if the claim is right."""
    fits = 600
    assert epsilon_lower_bound(hits(2, fits), hits(1, fits), fits, 1e-2) <= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delta": 0}, "delta above 0"),
        ({"noise": "laplace"}, "delta above 0"),
        ({"classes": (0, 1, 2)}, "two classes"),
        ({"rows_per_person": 2}, "one row each"),
        ({"batch": 0.1}, "no batch"),
        ({"steps": 10}, "Steps and clip"),
        ({"clip": 1.0}, "Steps and clip"),
        ({"epsilon": 31}, "no account"),
        ({"delta": 1e-41}, "no account"),
        ({"delta": 1e-60, "neighbours": "replace_one"}, "no account"),
        ({"solver": "magic"}, "no such solver"),
    ],
)
def test_what_it_cannot_do_it_refuses_kindly(settings, words):
    x, y = table(50)
    with pytest.raises(InvalidInput, match=words) as refused:
        some(**settings).fit(x, y)
    assert refused.value.remedy
    if "solver" not in settings:
        fitted = some(**settings | {"solver": "auto"}).fit(x, y)
        assert not isinstance(fitted.loss_, ApproximateLoss) or "batch" in settings


def test_people_with_groups_go_by_descent():
    x, y = table(50)
    with pytest.raises(InvalidInput, match="one row each"):
        some().fit(x, y, groups=np.arange(50))
    assert isinstance(some(solver="auto").fit(x, y, groups=np.arange(50)).loss_, ConcentratedLoss)
    with pytest.raises(InvalidInput, match="share a budget"):
        learn.PrivateSearch(some(), {"penalty": [0.0, 1.0]}).fit(x, y)


def test_too_many_features_are_refused():
    with pytest.raises(InvalidInput, match="1000 features"):
        some().fit(np.ones((4, 1001)), np.array([0, 1, 0, 1]))


def test_the_choice_reads_no_data():
    """The same declarations, and rows of all kinds: always the same way."""
    chance = np.random.default_rng(3)
    for rows in (2, 30, 500):
        for x in (np.zeros((rows, 3)), chance.normal(size=(rows, 3)), np.full((rows, 3), 1e9)):
            for y in (np.zeros(rows, int), chance.integers(0, 2, rows), np.full(rows, 7)):
                model = some(solver="auto").fit(x, y)
                assert isinstance(model.loss_, ApproximateLoss)
                model = some(solver="auto", delta=0).fit(x, y)
                assert not isinstance(model.loss_, ApproximateLoss)
