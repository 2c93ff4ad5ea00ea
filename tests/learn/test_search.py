"""One of several models for one price; descent with a gradient of one's own; what to expect at which ε."""

from fractions import Fraction

import numpy as np
import pytest

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.estimators import search
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.noise.selection import Selection


def table(rows=3000):
    chance = np.random.default_rng(1)
    x = chance.uniform(-1, 1, size=(rows, 2))
    return x, (x[:, 0] > 0).astype(int)


def logistic(**settings):
    return learn.LogisticRegression(
        **{"epsilon": 3, "delta": 1e-6, "bounds": (-1, 1), "classes": (0, 1)} | settings
    )


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])
def test_all_fits_together_cost_what_one_would(delta):
    """People are in the fits or in the scores: the dearer of the two is the price."""
    x, y = table()
    model = logistic(delta=delta)
    total = logistic(delta=delta, solver="descent").fit(x, y).loss_
    found = learn.PrivateSearch(model, {"steps": [3, 20], "penalty": [0.0, 0.1, 1.0]}).fit(x, y)
    part = found.best_estimator_.loss_
    if delta:
        assert part == ConcentratedLoss(rho=total.rho / 6, delta=Fraction(0))
    else:
        assert part == PureLoss(epsilon=total.epsilon / 6)
    assert found.loss_ == total
    assert set(found.best_params_) == {"steps", "penalty"}
    assert found.predict(x).shape == (len(x),)


def test_the_better_candidate_is_picked():
    """Without an intercept a fifth more rows are wrong: about 100 of those judged."""
    x, _ = table()
    y = (x[:, 0] > 0.5).astype(int)
    for kind in (logistic(epsilon=20), learn.LinearSVC(epsilon=20, bounds=(-1, 1), classes=(0, 1))):
        for _ in range(10):
            found = learn.PrivateSearch(kind, {"fit_intercept": [False, True]}).fit(x, y)
            assert found.best_params_ == {"fit_intercept": True}


@pytest.mark.parametrize("kind", [learn.LinearRegression, learn.Ridge, learn.PoissonRegression])
def test_regressors_are_searched_as_well(kind):
    x, y = table()
    model = kind(epsilon=20, delta=1e-6, bounds=(-1, 1), target_bounds=(0, 1))
    found = learn.PrivateSearch(model, {"fit_intercept": [True, False]}).fit(x, y)
    assert np.isfinite(found.predict(x)).all()


def test_a_person_is_in_one_part_only(monkeypatch):
    people = np.repeat(np.arange(500), 4)
    judging = search._draw_coins(people)
    assert all(len(set(judging[people == person])) == 1 for person in range(500))
    assert 0.1 < judging.mean() < 0.3  # 20 %, off by 10 with probability 10⁻⁷
    seen = []
    honest = learn.LogisticRegression.fit_within

    def noted(self, budget, x, y, groups):
        seen.append(set(groups))
        return honest(self, budget, x, y, groups)

    judged = []
    honest_scores = learn.LogisticRegression.row_scores

    def noted_scores(self, x, y):
        judged.append(x)
        return honest_scores(self, x, y)

    monkeypatch.setattr(learn.LogisticRegression, "fit_within", noted)
    monkeypatch.setattr(learn.LogisticRegression, "row_scores", noted_scores)
    monkeypatch.setattr(search, "_draw_coins", lambda people: people % 5 == 0)
    x, y = table(2000)
    model = logistic(rows_per_person=4)
    learn.PrivateSearch(model, {"steps": [2, 3]}).fit(x, y, groups=people)
    assert seen == [{person for person in range(500) if person % 5}] * 2
    assert len(judged) == 2
    assert all(np.array_equal(rows, x[people % 5 == 0]) for rows in judged)


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize(("neighbours", "times"), [("add_remove", 1), ("replace_one", 2)])
def test_the_selection_costs_what_a_fit_would_and_no_more(delta, neighbours, times, monkeypatch):
    """Replacing a person can take three rows off one candidate's score and add three to another's."""
    seen = []
    honest = Selection.release

    def noted(self, scores):
        seen.append(self)
        return honest(self, scores)

    monkeypatch.setattr(Selection, "release", noted)
    x, y = table(200)
    model = logistic(delta=delta, neighbours=neighbours, rows_per_person=3)
    total = learn.PrivateSearch(model, {"steps": [2, 3]}).fit(x, y).loss_
    (mechanism,) = seen
    loss = times * 3 * search.SCORE_ONE / mechanism.temperature
    if delta == 0:
        assert loss == total.epsilon == 3
    else:
        assert 0.999 * total.rho < loss**2 / 8 <= total.rho


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [learn.LinearRegression, learn.PoissonRegression, learn.LogisticRegression])
def test_a_row_whose_prediction_overflows_does_not_show(kind, monkeypatch):
    """∞ − ∞ in the score of one row would end the search, or warn, and tell that the row is there."""
    x, y = table(200)
    x[0] = 1.7e308, -1.7e308
    honest = kind.learn

    def steep(self, *rows, **payment):
        honest(self, *rows, **payment)
        self.coef_ = np.full_like(self.coef_, 5.0)

    monkeypatch.setattr(kind, "learn", steep)
    monkeypatch.setattr(search, "_draw_coins", lambda people: people % 5 == 0)
    target = {"classes": (0, 1)} if kind is learn.LogisticRegression else {"target_bounds": (0, 1)}
    model = kind(epsilon=3, delta=1e-6, bounds=(-1, 1), **target)
    assert learn.PrivateSearch(model, {"fit_intercept": [True, False]}).fit(x, y).loss_ is not None


def test_scores_of_one_person_are_within_their_claim():
    """In whole numbers between 0 and SCORE_ONE times the rows that are declared."""
    x, y = table(50)
    model = logistic().fit(x, y)
    for count, most in ((1, 1), (7, 1), (7, 3), (2, 3)):
        weights = search.person_weights(np.zeros(count), count, most)
        score = search._score(model, x[:count], model.predict(x[:count]), weights)
        assert 0 <= score <= search.SCORE_ONE * most


def test_what_cannot_be_searched():
    x, y = table(50)
    for model, grid in ((logistic(), {}), (logistic(), {"epsilon": [1, 2]}), (object(), {"steps": [1]})):
        with pytest.raises(InvalidInput):
            learn.PrivateSearch(model, grid).fit(x, y)


def test_what_is_only_judged_is_refused_without_a_value_as_well(monkeypatch):
    x, y = table(50)
    monkeypatch.setattr(search, "_draw_coins", lambda people: people < 10)
    regressor = learn.LinearRegression(epsilon=3, delta=1e-6, bounds=(-1, 1), target_bounds=(0, 1))
    for model, spoilt in ((logistic(), x.astype(object)), (regressor, y.astype(object))):
        spoilt[(7, 1)[: spoilt.ndim]] = "seven"
        given = (spoilt, y) if spoilt.ndim == 2 else (x, spoilt)
        with pytest.raises(InvalidInput, match="not numbers"):
            learn.PrivateSearch(model, {"fit_intercept": [True, False]}).fit(*given)


def least_squares(weights, x, y):
    return (x @ weights - y)[:, None] * x


def test_own_gradients_descend():
    chance = np.random.default_rng(2)
    x = chance.uniform(-1, 1, size=(20_000, 2))
    descent = learn.PrivateDescent(
        gradient=least_squares, epsilon=2, delta=1e-6, clip=1.5, rows=20_000, steps=40
    )
    found = descent.run(np.zeros(2), x, x @ [0.7, -0.3])
    assert found.weights == pytest.approx([0.7, -0.3], abs=0.05)
    assert found.loss.epsilon_at(1e-6) <= 2
    pure = learn.PrivateDescent(gradient=least_squares, epsilon=2, clip=2.0, rows=20_000, steps=10)
    assert pure.run(np.zeros(2), x, x @ [0.7, -0.3]).loss == PureLoss(epsilon=Fraction(2))


def test_own_gradients_are_checked():
    x, y = np.zeros((5, 2)), np.zeros(5)
    for settings in ({"steps": 0}, {"clip": 0}, {"rows": 0}, {"epsilon": 0}, {"momentum": 1}, {"rate": -1}):
        with pytest.raises(InvalidInput):
            learn.PrivateDescent(
                **{"gradient": least_squares, "epsilon": 1, "clip": 1.0, "rows": 5} | settings
            )
    descent = learn.PrivateDescent(gradient=lambda w, x, y: w, epsilon=1, clip=1.0, rows=5)
    with pytest.raises(InvalidInput, match="shape"):
        descent.run(np.zeros(2), x, y)
    with pytest.raises(InvalidInput, match="rows"):
        descent.run(np.zeros(2), x, y[:-1])


def test_accuracy_grows_along_the_curve():
    """50 guesses are right more than 0.9 of the time with probability e^(−2·50·0.16) (Hoeffding)."""
    x, y = table()
    found = learn.curve(logistic(), x, y, [0.001, 10], fits=50)
    assert [each.epsilon for each in found] == [0.001, 10]
    assert found[1].mean > 0.9 > found[0].mean
    assert all(each.worst <= each.mean <= each.best for each in found)
    with pytest.raises(InvalidInput):
        learn.curve(logistic(), x[:3], y[:3], [1])
    with pytest.raises(InvalidInput):
        learn.curve(logistic(), x, y, [0])
