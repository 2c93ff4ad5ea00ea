"""Whole fits on samples: what they spend, what one person moves, that they learn, and what is refused."""

from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.descent import own_loss as own
from discreet.learn.descent.sampled_account import SampledAccount
from discreet.learn.estimators import base
from discreet.model.privacy import ApproximateLoss, PureLoss

KINDS = [
    learn.LogisticRegression,
    learn.LinearSVC,
    learn.LinearRegression,
    learn.Ridge,
    learn.PoissonRegression,
]


def some(kind, **settings):
    given = {"epsilon": 2, "delta": 1e-6, "bounds": (0, 10), "batch": 0.1} | settings
    if kind in (learn.LinearRegression, learn.Ridge):
        given = {"solver": "descent"} | given
    if kind in (learn.LogisticRegression, learn.LinearSVC):
        return kind(**{"classes": (0, 1)} | given)
    return kind(**{"target_bounds": (0, 1)} | given)


def table(rows=2000):
    chance = np.random.default_rng(1)
    x = chance.uniform(0, 10, size=(rows, 3))
    margin = x @ [0.5, -0.4, 0.0] - 0.5
    return x, margin, (chance.random(rows) < 1 / (1 + np.exp(-margin))).astype(int)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_for_is_what_is_spent(kind, neighbours):
    x, _, y = table()
    spent = some(kind, neighbours=neighbours).fit(x, y).loss_
    assert spent == ApproximateLoss(epsilon=spent.epsilon, delta=Fraction(1, 10**6))
    assert 1.99 < spent.epsilon <= 2
    pure = some(kind, delta=0, neighbours=neighbours).fit(x, y).loss_
    assert isinstance(pure, PureLoss)
    assert 1.999 < pure.epsilon <= 2


def noted(patch, modules):
    """The accounts that are opened."""
    found = []

    def opening(*args, **settings):
        found.append(SampledAccount(*args, **settings))
        return found[-1]

    for each in modules:
        patch.setattr(each, "SampledAccount", opening)
    return found


def test_only_the_steps_are_on_samples(monkeypatch):
    """Lengths, means and variances are of everyone and pay in full; steps are as many as are said."""
    x, _, y = table()
    accounts = noted(monkeypatch, [base])
    model = some(learn.LogisticRegression, batch=0.04).fit(x, y)
    assert len(accounts[0].losses) == 2
    assert len(accounts[0].sampled_losses) == model.n_iter_
    assert accounts[0].rate == Fraction(1, 25)
    whole = accounts[0].total.rho
    assert sum(loss.rho for loss in accounts[0].losses) == whole * Fraction(15, 100)
    some(learn.LogisticRegression, batch=0.04, steps=7).fit(x, y)
    assert len(accounts[1].sampled_losses) == 7


class Known(SampledAccount):
    """Coins by person that two fits share; what is released by the first is handed to the second."""

    def __init__(self, *args, labels, coins, opened, **settings):
        super().__init__(*args, **settings)
        assert self._persons == len(labels)
        self.labels, self.coins = labels, iter(coins)
        self.earlier = opened[0].taken if opened else None
        self.taken = []
        opened.append(self)

    def _draw_sample(self):
        return np.flatnonzero(next(self.coins)[self.labels][self._people])

    def _bought(self, size, reach, amount):
        mechanism, loss = super()._bought(size, reach, amount)
        return SimpleNamespace(release=partial(self._hand_out, mechanism, reach)), loss

    def _hand_out(self, mechanism, reach, exact, **options):
        noisy = mechanism.release(exact, **options)
        self.taken.append((exact.copy(), noisy.copy(), reach))
        return noisy if self.earlier is None else self.earlier[len(self.taken) - 1][1]


def moves(kind, patch, chance, removed, coins, delta):
    """How far each release moves when a person is removed, and how far it may."""
    people = np.array([0] * 9 + [1] * 4 + list(range(2, 26)))
    x = chance.choice([0.0, 3.0, 10.0, 99.0], size=(len(people), 3))
    y = chance.integers(0, 2, len(people)).astype(float)
    model = some(kind, delta=delta, batch=0.5, steps=len(coins), rows_per_person=3)
    opened = []
    for kept in (people >= 0, people != removed):
        labels = np.unique(people[kept])
        patch.setattr(base, "SampledAccount", partial(Known, labels=labels, coins=coins, opened=opened))
        model.fit(x[kept], y[kept], groups=people[kept])
    for one, other in zip(*(each.taken for each in opened), strict=True):
        apart = [int(a) - int(b) for a, b in zip(one[0].flat, other[0].flat, strict=True)]
        assert one[2] == other[2]
        yield (sum(map(abs, apart)) if delta == 0 else sum(m * m for m in apart) ** 0.5), one[2]


@pytest.mark.parametrize("delta", [0, 1e-5], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_person_moves_a_step_by_no_more_than_its_claim_and_only_if_sampled(kind, delta, monkeypatch):
    chance, moving = np.random.default_rng(2), 0
    for removed in (0, 1, 2, 7):
        coins = chance.random((20, 26)) < 0.5
        found = list(moves(kind, monkeypatch, chance, removed, coins, delta))
        assert all(far <= reach for far, reach in found)
        for sampled, (far, _) in zip(coins[:, removed], found[2:], strict=True):
            assert sampled or far == 0
            moving += far > 0
    assert moving > 10


def test_fits_on_samples_learn():
    """0.8555 is the best there is, from which noise takes off 10⁻⁴; 0.5 is a guess."""
    x, margin, y = table(20_000)
    for settings in ({}, {"batch": 0.01}, {"neighbours": "replace_one"}, {"delta": 0, "epsilon": 8}):
        model = some(learn.LogisticRegression, **settings).fit(x, y)
        assert roc_auc_score(y, model.decision_function(x)) > 0.84
    assert some(learn.LinearSVC).fit(x, y).score(x, y) > 0.75
    target = margin + np.random.default_rng(2).normal(size=len(margin))
    for kind in (learn.LinearRegression, learn.Ridge):
        model = some(kind, target_bounds=(-8, 8)).fit(x, target)
        assert model.coef_ == pytest.approx([0.5, -0.4, 0.0], abs=0.15)
    counts = np.random.default_rng(3).poisson(np.exp(0.2 * x[:, 0]))
    model = some(learn.PoissonRegression, target_bounds=(0, 15)).fit(x, counts)
    assert model.coef_ == pytest.approx([0.2, 0.0, 0.0], abs=0.08)


def test_several_classes_and_people_with_several_rows():
    chance = np.random.default_rng(4)
    y = chance.integers(0, 3, 12_000)
    x = np.array([[2, 2], [8, 2], [5, 8]])[y] + chance.normal(size=(12_000, 2))
    model = some(learn.LogisticRegression, classes=(0, 1, 2), rows_per_person=2)
    assert model.fit(x, y, groups=np.arange(12_000) // 2).score(x, y) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_hold_hardly_anyone_do_no_harm(kind):
    """30 rows at a rate of a thousandth: noise alone, but finite."""
    x, _, y = table(30)
    for epsilon in (1e-2, 1e3):
        model = some(kind, epsilon=epsilon, batch=0.001, steps=20).fit(x, y)
        assert np.isfinite(model.predict(x)).all()


def least_squares(weights, x, y):
    return (x @ weights - y)[:, None] * x


def test_own_gradients_descend_on_samples(monkeypatch):
    chance = np.random.default_rng(5)
    x = chance.uniform(-1, 1, size=(20_000, 2))
    settings = {"gradient": least_squares, "epsilon": 2, "clip": 1.5, "rows": 20_000, "steps": 60}
    accounts = noted(monkeypatch, [own])
    found = learn.PrivateDescent(**settings, delta=1e-6, batch=0.2).run(np.zeros(2), x, x @ [0.7, -0.3])
    assert found.weights == pytest.approx([0.7, -0.3], abs=0.05)
    assert found.loss == ApproximateLoss(epsilon=found.loss.epsilon, delta=Fraction(1, 10**6))
    assert 1.999 < found.loss.epsilon <= 2
    assert len(accounts[0].sampled_losses) == 60
    assert accounts[0].losses == []
    pure = learn.PrivateDescent(**settings, batch=0.2).run(np.zeros(2), x, x @ [0.7, -0.3])
    assert isinstance(pure.loss, PureLoss)
    assert pure.loss.epsilon <= 2
    people = np.arange(20_000) // 4
    learn.PrivateDescent(**settings, batch=0.2, rows_per_person=4).run(np.zeros(2), x, x[:, 0], people)
    assert accounts[2]._persons == 5000


def test_a_step_on_a_sample_goes_as_far_as_its_mean_gradient_says():
    """One step of own gradients that are all 1; and one of a model, which is shorter by the root of the rate.

    A mean over 4000 rows is off by a third with probability below 10⁻¹⁰⁰ (own), below 10⁻⁹ (the model).
    """
    settings = {"gradient": lambda w, x, y: 0 * w + x, "epsilon": 1e4, "clip": 1.0, "rows": 20_000}
    descent = learn.PrivateDescent(**settings, steps=1, batch=0.2)
    found = descent.run(np.zeros(1), np.ones((20_000, 1)), np.zeros(20_000))
    assert found.weights == pytest.approx([-1], rel=1 / 3)
    x, _, y = table(16_000)
    one = {"epsilon": 1e4, "steps": 1, "clip": 1.0}
    everyone = some(learn.LogisticRegression, batch=None, **one).fit(x, y).coef_[0, :2]
    sampled = some(learn.LogisticRegression, batch=0.25, **one).fit(x, y).coef_[0, :2]
    assert sampled / everyone == pytest.approx([0.5, 0.5], rel=1 / 3)


def test_own_gradients_are_asked_of_the_sampled_rows_alone():
    """Some 300 of 3000 in each of two steps, all rows of a person or none, and not the same in both."""
    seen = []

    def gradient(weights, x, _):
        seen.append(x[:, 0])
        return 0 * weights + x

    people = np.arange(3000) // 3
    learn.PrivateDescent(
        gradient=gradient, epsilon=1, clip=1.0, rows=3000, steps=2, rows_per_person=3, batch=0.1
    ).run(np.zeros(1), np.arange(3000.0)[:, None], np.zeros(3000), people)
    first, second = ({int(row) for row in rows} for rows in seen)
    for rows in (first, second):
        assert 90 < len(rows) < 600  # 30 or 200 people: beyond it with probability 10⁻¹⁷
        assert {row // 3 * 3 + other for row in rows for other in range(3)} == rows
    assert len(first & second) < 150  # 30 on average, 50 people with probability 10⁻¹⁵


@pytest.mark.parametrize("bad", [0, 1, 1.0, -0.1, 32, np.nan, True, "0.1"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_a_share_of_the_people(kind, bad):
    x, _, y = table(60)
    with pytest.raises(InvalidInput, match="batch"):
        some(kind, batch=bad).fit(x, y)


def test_what_has_no_batch_says_so():
    x, _, y = table(60)
    for solver in ("auto", "statistics"):
        with pytest.raises(InvalidInput, match="descent"):
            some(learn.LinearRegression, solver=solver).fit(x, y)
        with pytest.raises(InvalidInput, match="descent"):
            learn.outlook(some(learn.LinearRegression, solver=solver), rows=1000, features=3)
    with pytest.raises(InvalidInput, match="search"):
        learn.PrivateSearch(some(learn.LogisticRegression), {"steps": [5, 10]}).fit(x, y)
    searched = learn.PrivateSearch(some(learn.LogisticRegression, batch=None), {"batch": [0.1, 0.2]})
    with pytest.raises(InvalidInput, match="cost"):
        searched.fit(x, y)
    model = some(learn.LogisticRegression)
    with pytest.raises(InvalidInput, match="share a budget"):
        model.fit_within(PureLoss(epsilon=Fraction(1)), x, y, None)
    with pytest.raises(InvalidInput, match="steps"):
        some(learn.LogisticRegression, steps=-1).fit(x, y)


def test_people_with_several_rows_must_be_named():
    """Rows that are sampled one by one would take such a person in more often than is accounted for."""
    x, _, y = table(60)
    with pytest.raises(InvalidInput, match="groups"):
        some(learn.LogisticRegression, rows_per_person=3).fit(x, y)
    settings = {"gradient": least_squares, "epsilon": 1, "clip": 1.0, "rows": 60, "rows_per_person": 3}
    with pytest.raises(InvalidInput, match="groups"):
        learn.PrivateDescent(**settings, batch=0.5).run(np.zeros(3), x, y)


def test_own_descents_check_their_batch():
    settings = {"gradient": least_squares, "epsilon": 1, "clip": 1.0, "rows": 50}
    for bad in (0, 1, 20, "0.5"):
        with pytest.raises(InvalidInput, match="batch"):
            learn.PrivateDescent(**settings, batch=bad)
    with pytest.raises(InvalidInput, match="less than one row"):
        learn.PrivateDescent(**settings, batch=0.01)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_outlook_knows_of_samples(delta):
    everyone = learn.outlook(some(learn.LogisticRegression, batch=None, delta=delta), rows=5000, features=9)
    sampled = learn.outlook(some(learn.LogisticRegression, batch=0.01, delta=delta), rows=5000, features=9)
    assert everyone.noise < sampled.noise < 20 * everyone.noise
    with pytest.raises(InvalidInput, match="less than one row"):
        learn.outlook(some(learn.LogisticRegression, batch=0.001), rows=500, features=9)
