"""The estimators keep scikit-learn's contract, spend what was asked for, and learn nothing for free."""

import copy
import pickle
import subprocess
import sys
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.estimator_checks import check_estimator

import discreet.learn as learn
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import person_weights, persons
from discreet.learn.estimators.clones import FittedOnce
from discreet.model.conversion import largest_rho
from discreet.model.privacy import ConcentratedLoss, PureLoss

MUCH = {"epsilon": 10**5, "delta": 1e-6, "bounds": (-10, 10)}
CHECKED = {
    "logistic": learn.LogisticRegression(**MUCH, classes=(0, 1)),
    "objective": learn.LogisticRegression(
        epsilon=30, delta=1e-6, bounds=(-10, 10), classes=(0, 1), solver="objective"
    ),
    "softmax": learn.LogisticRegression(**MUCH, classes=(0, 1, 2)),
    "sampled": learn.LogisticRegression(**MUCH, classes=(0, 1), batch=0.5),
    "hinge": learn.LinearSVC(**MUCH, classes=(0, 1)),
    "linear": learn.LinearRegression(**MUCH, target_bounds=(-200, 200)),
    "descent": learn.LinearRegression(**MUCH, target_bounds=(-200, 200), solver="descent"),
    "ridge": learn.Ridge(**MUCH, target_bounds=(-200, 200)),
    "poisson": learn.PoissonRegression(**MUCH, target_bounds=(0, 50)),
}
NOISE = "two fits never agree: each has fresh noise, and there is no seed to repeat it"
CLASSES = "classes are declared, not learnt: other labels than the declared ones count for nothing"
FORBIDDEN = {
    "check_fit_idempotent": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_regressors_int": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_classifiers_classes": CLASSES,
    "check_classifiers_train": CLASSES,
    "check_decision_proba_consistency": CLASSES,
}
OF_CLASSES = {"check_classifiers_classes", "check_classifiers_train"}
OF_NUMBERS = {"check_fit_idempotent", "check_regressors_int"}


@pytest.mark.parametrize("name", CHECKED)
def test_scikit_learn_s_checks_fail_only_where_privacy_forbids(name, monkeypatch):
    """With clones that can all be fitted: the checks clone one model and fit it hundreds of times."""
    monkeypatch.delattr(FittedOnce, "__sklearn_clone__")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(CHECKED[name], on_fail=None, on_skip=None)
    failed = {each["check_name"] for each in results if each["status"] == "failed"}
    assert failed <= set(FORBIDDEN)
    assert failed >= (OF_CLASSES if hasattr(CHECKED[name], "classes") else OF_NUMBERS)
    assert sum(each["status"] == "passed" for each in results) >= 40


def table(rows=4000, seed=1):
    chance = np.random.default_rng(seed)
    x = chance.uniform(0, 10, size=(rows, 3))
    margin = x @ [0.5, -0.4, 0.0] - 0.5
    return x, margin, (chance.random(rows) < 1 / (1 + np.exp(-margin))).astype(int)


def some(kind, **settings):
    given = {"epsilon": 2, "delta": 1e-6, "bounds": (0, 10)} | settings
    if kind not in (learn.LinearRegression, learn.Ridge, learn.LogisticRegression):
        given.pop("solver", None)
    if kind in (learn.LogisticRegression, learn.LinearSVC):
        return kind(**{"classes": (0, 1)} | given)
    return kind(**{"target_bounds": (0, 1)} | given)


KINDS = [
    learn.LogisticRegression,
    learn.LinearSVC,
    learn.LinearRegression,
    learn.Ridge,
    learn.PoissonRegression,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_what_is_asked_for_is_what_is_spent(kind, neighbours):
    x, _, y = table()
    rho = largest_rho(Fraction(2), Fraction(1, 10**6))
    solver = "descent" if kind is learn.LogisticRegression else "auto"
    concentrated = some(kind, neighbours=neighbours, solver=solver).fit(x, y).loss_
    assert concentrated == ConcentratedLoss(rho=rho, delta=Fraction(0))
    assert concentrated.epsilon_at(1e-6) <= 2
    pure = some(kind, delta=0, neighbours=neighbours).fit(x, y).loss_
    assert pure == PureLoss(epsilon=Fraction(2))
    assert some(kind, noise="laplace").fit(x, y).loss_ == PureLoss(epsilon=Fraction(2))


def test_models_learn():
    x, margin, y = table(20_000)
    assert some(learn.LogisticRegression).fit(x, y).score(x, y) > 0.75
    assert some(learn.LinearSVC).fit(x, y).score(x, y) > 0.75
    assert some(learn.LogisticRegression, delta=0).fit(x, y).score(x, y) > 0.75
    target = margin + np.random.default_rng(2).normal(size=len(margin))
    for solver in ("statistics", "descent"):
        model = some(learn.LinearRegression, target_bounds=(-8, 8), solver=solver).fit(x, target)
        assert model.coef_ == pytest.approx([0.5, -0.4, 0.0], abs=0.1)
    counts = np.random.default_rng(3).poisson(np.exp(0.2 * x[:, 0]))
    model = some(learn.PoissonRegression, target_bounds=(0, 15)).fit(x, counts)
    assert model.coef_ == pytest.approx([0.2, 0.0, 0.0], abs=0.05)


def test_several_classes_are_told_apart():
    chance = np.random.default_rng(4)
    y = chance.integers(0, 3, 12_000)
    x = np.array([[2, 2], [8, 2], [5, 8]])[y] + chance.normal(size=(12_000, 2))
    names = np.array(["ant", "bee", "cat"])[y]
    for kind in (learn.LogisticRegression, learn.LinearSVC):
        model = some(kind, classes=("cat", "ant", "bee")).fit(x, names)
        assert model.classes_.tolist() == ["ant", "bee", "cat"]
        assert model.coef_.shape == (3, 2)
        assert model.score(x, names) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_learnt_for_free(kind):
    """All fitted attributes are declared, or differ between two fits: nothing exact is kept.

    How much noise there is follows from a length that is one of a few, picked by noisy counts.
    """
    x, _, y = table(500)
    first, second = (some(kind).fit(x, y) for _ in range(2))
    declared = {"classes_", "n_features_in_", "loss_", "n_iter_", "product_noise_"}
    for name, value in vars(first).items():
        if name.endswith("_") and name not in declared:
            assert not np.any(np.asarray(value) == np.asarray(getattr(second, name))), name
    assert {name for name in vars(first) if not name.endswith("_")} == set(first.get_params())


def test_labels_that_are_not_declared_count_for_nothing():
    x, _, y = table()
    odd = np.where(np.arange(len(y)) % 2 == 0, y, 7)
    model = some(learn.LogisticRegression, epsilon=100).fit(x, odd)
    assert model.classes_.tolist() == [0, 1]
    assert model.rows_ == pytest.approx(len(y) / 2, rel=0.1)
    one_class = some(learn.LogisticRegression).fit(x, np.zeros(len(y)))
    assert set(one_class.predict(x)) <= {0, 1}


def test_tables_with_names():
    x, _, y = table()
    names = ["a", "b", "c"]
    bounds = {"c": (0, 10), "a": (0, 10), "b": (0, 10)}
    for frame in (pd.DataFrame(x, columns=names), pl.DataFrame(x, schema=names)):
        model = some(learn.LogisticRegression, bounds=bounds).fit(frame, y)
        assert list(model.feature_names_in_) == names
        assert model.predict(frame).shape == (len(y),)


def test_pipelines_and_clones():
    x, _, y = table(20_000)
    model = some(learn.LogisticRegression, bounds=[(0, 1)] * 3)
    pipeline = make_pipeline(FunctionTransformer(lambda values: values / 10), clone(model))
    assert pipeline.fit(x, y).score(x, y) > 0.75


def test_searches_that_do_not_say_their_price_are_refused():
    x, _, y = table(400)
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        GridSearchCV(some(learn.LogisticRegression), {"steps": [5, 10]}, error_score="raise").fit(x, y)
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        BaggingClassifier(some(learn.LogisticRegression), n_estimators=2).fit(x, y)
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        cross_val_score(make_pipeline(some(learn.LogisticRegression)), x, y, error_score="raise")
    searched = learn.PrivateSearch(some(learn.LogisticRegression), {"steps": [5, 10]})
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        cross_val_score(searched, x, y, scoring=lambda *_: 0.0, error_score="raise")


def test_all_clones_together_can_be_fitted_once():
    """Also clones of clones; a model that somebody made can be fitted as often as they like."""
    x, _, y = table(100)
    model = some(learn.LogisticRegression)
    first, second, third = clone(model), clone(model), clone(clone(model))
    with pytest.raises(ValueError, match="NaN"):
        second.fit(np.where(x > 9, np.nan, x), y)  # nothing was spent: another can be fitted
    with pytest.raises(InvalidInput, match="bounds"):
        third.set_params(bounds=None).fit(x, y)
    first.fit(x, y)
    for _ in range(2):
        model.fit(x, y)
    third.set_params(bounds=(0, 10))
    for other in (first, second, third, clone(first)):
        with pytest.raises(InvalidInput, match="epsilon again"):
            other.fit(x, y)
    some(learn.LogisticRegression).fit(x, y)


def test_what_fits_one_clone_again_and_again_is_refused():
    x, _, y = table(200)
    y[::3] = -1  # no label
    with pytest.raises(InvalidInput, match="PrivateSearch"):
        SelfTrainingClassifier(some(learn.LogisticRegression)).fit(x, y)


def test_no_clone_is_fitted_in_another_process():
    x, _, y = table(100)
    first = clone(some(learn.LogisticRegression))
    sent = pickle.dumps(first)
    with pytest.raises(InvalidInput, match="epsilon again"):
        pickle.loads(sent).fit(x, y)  # noqa: S301
    assert pickle.loads(pickle.dumps(first.fit(x, y))).coef_.shape == (1, 3)  # noqa: S301
    with pytest.raises(InvalidInput, match="n_jobs"):
        cross_val_score(some(learn.LogisticRegression), x, y, n_jobs=2, error_score="raise")


def test_g1_workers_that_clone_what_they_are_sent_fit_nothing():
    x, _, y = table(100)
    with pytest.raises(InvalidInput, match="n_jobs"):
        OneVsRestClassifier(some(learn.LogisticRegression), n_jobs=2).fit(x, np.arange(100) % 3)
    model = pickle.loads(pickle.dumps(some(learn.LogisticRegression)))  # noqa: S301
    with pytest.raises(InvalidInput, match="epsilon again"):
        clone(model).fit(x, y)
    model.fit(x, y)  # by whoever has it, as a new one


def test_g1_copies_of_a_clone_share_its_one_fit():
    x, _, y = table(100)
    first = clone(some(learn.LogisticRegression))
    copies = [copy.deepcopy(first), copy.copy(first), first]
    copies[0].fit(x, y)
    for other in copies[1:]:
        with pytest.raises(InvalidInput, match="epsilon again"):
            other.fit(x, y)


@pytest.mark.parametrize("kind", KINDS)
def test_values_beyond_the_bounds_are_clamped(kind):
    """What a far value does is what the bound itself does: the fit cannot tell them apart."""
    x, _, y = table(300)
    far = np.where(x > 9, 1e300, x)
    model = some(kind).fit(far, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(x)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_warning_tells_of_a_value_far_beyond_its_bounds(kind):
    x, _, y = table(60)
    x[3], settings = np.finfo(float).max, {"bounds": (0, 0.25)}
    if not hasattr(some(kind), "classes"):
        y, settings["target_bounds"] = x[:, 0], (0, 0.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some(kind, **settings).fit(x, y)


BAD = {
    "NaN in X": (lambda x, y: (np.where(x > 9, np.nan, x), y), {}),
    "infinity in X": (lambda x, y: (np.where(x > 9, np.inf, x), y), {}),
    "NaN in y": (lambda x, y: (x, np.where(y > 0, np.nan, y)), {}),
    "sparse": (lambda x, y: (sparse.csr_matrix(x), y), {}),
    "text in X": (lambda x, y: (np.where(x > 9, "seven", "8"), y), {}),
    "complex numbers in X": (lambda x, y: (x + 0.777j, y), {}),
    "complex numbers in y": (lambda x, y: (x, y + 0.777j), {}),
    "lengths": (lambda x, y: (x, y[:-1]), {}),
    "epsilon": (lambda x, y: (x, y), {"epsilon": 0}),
    "delta": (lambda x, y: (x, y), {"delta": 1}),
    "no delta": (lambda x, y: (x, y), {"delta": 0, "noise": "gaussian"}),
    "noise": (lambda x, y: (x, y), {"noise": "none"}),
    "bounds": (lambda x, y: (x, y), {"bounds": (1, 0)}),
    "bounds of others": (lambda x, y: (x, y), {"bounds": [(0, 1)] * 2}),
    "bounds by name": (lambda x, y: (x, y), {"bounds": {"a": (0, 1)}}),
    "bounds missing": (lambda x, y: (x, y), {"bounds": None}),
    "steps": (lambda x, y: (x, y), {"steps": 0, "solver": "descent"}),
    "clip": (lambda x, y: (x, y), {"clip": 0.0, "solver": "descent"}),
    "large clip": (lambda x, y: (x, y), {"clip": 1e9, "solver": "descent"}),
    "rows_per_person": (lambda x, y: (x, y), {"rows_per_person": 0}),
    "neighbours": (lambda x, y: (x, y), {"neighbours": "next door"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_without_a_value_from_the_data(kind, name):
    spoil, settings = BAD[name]
    x, _, y = table(60)
    with pytest.raises((ValueError, TypeError)) as refused:
        some(kind, **settings).fit(*spoil(x, y.astype(float)))
    assert "seven" not in str(refused.value)
    assert "777" not in str(refused.value)


def test_declarations_of_the_target_are_checked():
    x, _, y = table(60)
    for classes in (None, "01", (1,), (1, 1), ((0, 1),), ("a", "b")):
        with pytest.raises(InvalidInput):
            some(learn.LogisticRegression, classes=classes).fit(x, y)
    for bounds in (None, (0, 0), (0, np.inf), ((0, 1), (0, 1))):
        with pytest.raises(InvalidInput):
            some(learn.LinearRegression, target_bounds=bounds).fit(x, y)
    with pytest.raises(InvalidInput, match="target are not declared") as undeclared:
        some(learn.LinearRegression, target_bounds=None).fit(x, y)
    assert "target_bounds=(low, high)" in undeclared.value.remedy
    with pytest.raises(InvalidInput, match="features are not declared"):
        some(learn.LinearRegression, bounds=None).fit(x, y)
    with pytest.raises(InvalidInput, match="Counts start at 0"):
        some(learn.PoissonRegression, target_bounds=(1, 2)).fit(x, y)
    with pytest.raises(InvalidInput, match="solver"):
        some(learn.LinearRegression, solver="magic").fit(x, y)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_need_a_fit(kind):
    with pytest.raises(NotFittedError):
        some(kind).predict(np.zeros((1, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_and_few_rows_do_no_harm(kind):
    """Also where ε is far too small: noise alone, but finite and of ordinary size."""
    x, _, y = table(30)
    x[:, 1] = 3.0
    for epsilon in (1e-3, 1e3):
        model = some(kind, epsilon=epsilon).fit(x, y)
        assert np.isfinite(model.predict(x)).all()


def test_linear_regression_never_blows_up():
    """Ten thousand times too little privacy budget: predictions stay near the declared range."""
    chance = np.random.default_rng(5)
    x = chance.uniform(0, 1, size=(200, 40))
    for epsilon in (1e-4, 1e-2, 1):
        model = some(learn.LinearRegression, bounds=(0, 1), epsilon=epsilon).fit(x, x[:, 0])
        assert np.abs(model.predict(x)).max() < 30


def test_ridge_shrinks():
    x, margin, _ = table()
    sizes = [
        np.abs(some(learn.Ridge, epsilon=100, target_bounds=(-8, 8), alpha=alpha).fit(x, margin).coef_).sum()
        for alpha in (0, 1e3, 1e5)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_ridge_by_descent_is_ridge_by_statistics():
    x, margin, _ = table(20_000)
    settings = {"epsilon": 1000, "target_bounds": (-8, 8), "alpha": 2000.0}
    by_statistics = some(learn.Ridge, solver="statistics", **settings).fit(x, margin).coef_
    by_descent = some(learn.Ridge, solver="descent", steps=100, **settings).fit(x, margin).coef_
    assert by_descent == pytest.approx(by_statistics, abs=0.03)
    assert by_statistics[0] < 0.4  # without a penalty it is 0.5


@pytest.mark.parametrize("penalty", [1.0, 1e5])
def test_no_penalty_makes_descent_unstable(penalty):
    x, _, y = table()
    model = some(learn.LogisticRegression, epsilon=100, penalty=penalty).fit(x, y)
    assert np.abs(model.coef_).max() < 0.5
    assert model.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=0.5)


def test_people_with_many_rows():
    """A person's rows share their weight, so that the number of rows by weight is known beforehand."""
    x, _, y = table(3000)
    people = np.repeat(np.arange(300), 10)
    model = some(learn.LogisticRegression, epsilon=1000, rows_per_person=2).fit(x, y, groups=people)
    assert model.rows_ == pytest.approx(600, rel=0.1)
    with pytest.raises(InvalidInput, match="kinds"):
        some(learn.LogisticRegression).fit(x[:2], y[:2], groups=np.array([1, "a"], dtype=object))
    with pytest.raises(InvalidInput, match="groups"):
        some(learn.LogisticRegression).fit(x, y, groups=people[:-1])


@pytest.mark.parametrize("missing", [None, np.nan, Decimal("NaN")])
@pytest.mark.parametrize(
    "ids", [[2, 1, 7], [2.5, 1, 7], ["b", "a", "c"], [date(2020, 1, 2), date(2020, 1, 1)]]
)
def test_rows_of_one_person_stay_together_where_ids_are_missing(ids, missing):
    """Rows without an id are one person's too. Sorted beside NaN, one person would be several."""
    drawn = np.random.default_rng(1).integers(-1, len(ids), 60)
    groups = np.array([missing if place < 0 else ids[place] for place in drawn], dtype=object)
    assert len(set(zip(persons(groups), drawn, strict=True))) == len(ids) + 1
    assert set(persons(groups)) == set(range(len(ids) + 1))
    for place in range(-1, len(ids)):
        assert person_weights(groups, 60, 3)[drawn == place].sum() == pytest.approx(3)


def test_ids_that_cannot_be_told_apart_are_refused():
    for bad in ([{1}, {2}], [[1], [2, 3]], [1, "1", None]):
        groups = np.empty(len(bad), dtype=object)
        groups[:] = bad
        with pytest.raises(InvalidInput, match="kinds"):
            persons(groups)


def test_without_scikit_learn_own_gradients_are_there_and_the_rest_says_what_is_missing():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import discreet.learn as learn\n"
        "from discreet.errors import MissingExtra\n"
        "learn.PrivateDescent\n"
        "try:\n    learn.LogisticRegression\n"
        "except MissingExtra as missing:\n    assert 'discreet[learn]' in missing.remedy\n"
        "else:\n    raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_it_is_said_what_is_missing():
    code = (
        "import sys\n"
        "class Absent:\n    def find_spec(self, name, *rest):\n"
        "        if name == 'torch':\n            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import discreet.learn as learn\n"
        "from discreet.errors import MissingExtra\n"
        "learn.LogisticRegression\n"
        "try:\n    learn.privatize\n"
        "except MissingExtra as missing:\n    assert 'discreet[torch]' in missing.remedy\n"
        "else:\n    raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scikit_learn_and_torch_are_imported_only_when_they_are_used():
    code = "import sys, discreet.learn; raise SystemExit(bool({'sklearn', 'torch'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
