"""What an analyst can set on a model that the curator fits, chosen to tell whether a row is there."""

import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone

import discreet.learn as learn
from discreet.errors import InvalidInput, QueryRefused
from discreet.learn.core.account import FitAccount, _sensitivity
from discreet.learn.core.declarations import Scaling
from discreet.learn.core.encoding import FARTHEST, ONE, on_grid
from discreet.learn.descent.gradient import rounded_weights
from discreet.learn.descent.losses import Logistic
from discreet.learn.plan.fitted_model import DeclaredColumns, TableColumn
from discreet.model.neighbours import Neighbours
from tests.curator.test_fit import curator_of, exact, write

_TABLE = "SELECT 1 AS number, 1 AS patient, 'north' AS ward, 40 AS age, 2.0 AS dose, 0.0 AS cost, true AS ill"


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize(
    ("kind", "target", "settings"),
    [
        (learn.LogisticRegression, "ill", {"bounds": [(1e308, 1.7e308), (0, 1)]}),
        (learn.LinearRegression, "cost", {"bounds": [(-1.7e308, -1e308), (0, 1)]}),
        (learn.LinearRegression, "cost", {"target_bounds": (0, 5e-324)}),
        (learn.LinearRegression, "cost", {"target_bounds": (0, 5e-324), "solver": "descent"}),
        (learn.LinearRegression, "cost", {"target_bounds": (-1.7e308, 1.7e308)}),
        (learn.PoissonRegression, "cost", {"target_bounds": (0, 5e-324)}),
        (learn.LinearSVC, "ill", {"bounds": (5e-324, 1e-323)}),
    ],
)
def test_bounds_that_floats_cannot_scale_by_are_refused_before_anything_is_spent(
    tmp_path, rows, kind, target, settings
):
    """Their middle is infinite, or half of them nothing: 0/0 and ∞ − ∞ would be in the sums of whoever is
    there, and tell that somebody is."""
    write(tmp_path, f"SELECT * FROM ({_TABLE}) LIMIT {rows}")
    curator = curator_of(tmp_path)
    with pytest.raises(InvalidInput, match="Bounds"):
        curator.fit(kind(**settings), f"SELECT age, dose, {target} FROM visits", epsilon=1)
    assert not curator.budget().spent.rho


@pytest.mark.parametrize(
    "intercept", [float("nan"), float("inf"), 1e300, 0.3, 2, "no", None, np.array([1, 0])]
)
@pytest.mark.parametrize(("kind", "target"), [(learn.LogisticRegression, "ill"), (learn.Ridge, "cost")])
def test_an_intercept_is_there_or_not(tmp_path, intercept, kind, target):
    """Any other number would be multiplied with, and NaN be in the sums of whoever is there."""
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path)
    with pytest.raises(InvalidInput, match="fit_intercept"):
        curator.fit(kind(fit_intercept=intercept), f"SELECT age, dose, {target} FROM visits", epsilon=1)
    assert not curator.budget().spent.rho


def test_numbers_that_are_none_stay_between_their_ends():
    """Whatever else goes wrong, an integer of a row is within its bounds."""
    broken = np.array([np.nan, np.inf, -np.inf, 3.0])
    assert np.abs(on_grid(broken.copy(), np.zeros(1), np.ones(1))).max() <= FARTHEST * ONE
    assert np.abs(rounded_weights(broken[:, None])[0]).max() < 2**53
    assert np.abs(Scaling.within(np.zeros(1), np.ones(1)).apply(broken[:, None])).max() <= 1


def test_bounds_and_classes_may_be_arrays(tmp_path):
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path)
    model = learn.LinearRegression(bounds=np.array([(18, 100), (-1, 10)]), target_bounds=np.array([0, 10]))
    assert curator.fit(model, "SELECT age, dose, cost FROM visits", epsilon=1).features == ("age", "dose")
    with pytest.raises(InvalidInput, match="its own epsilon"):
        curator.fit(learn.Ridge(epsilon=np.array([1, 2])), "SELECT age, cost FROM visits", epsilon=1)


def test_settings_that_fail_only_on_rows_are_refused_before_anything_is_spent(tmp_path, monkeypatch):
    """For else the failure would tell that there is a row."""

    def fails(*_):
        raise RuntimeError

    write(tmp_path, f"SELECT * FROM ({_TABLE}) LIMIT 0")
    curator = curator_of(tmp_path)
    monkeypatch.setattr(Logistic, "residuals", fails)
    with pytest.raises(RuntimeError):
        curator.fit(learn.LogisticRegression(), "SELECT age, dose, ill FROM visits", epsilon=1)
    assert not curator.budget().spent.rho


def test_settings_may_be_any_numbers(tmp_path):
    write(tmp_path, _TABLE)
    curator, sql = curator_of(tmp_path), "SELECT age, dose, ill FROM visits"
    for number in (Fraction(1, 2), Decimal("0.5"), np.float32(0.5)):
        model = learn.LogisticRegression(penalty=number, clip=number)
        assert curator.fit(model, sql, epsilon=1).features == ("age", "dose")


class Copying(learn.LinearRegression):
    """Has what it was given as its coefficients."""

    def learn(self, x, y, people, **how):
        super().learn(x, y, people, **how)
        self.coef_ = y


def test_a_model_made_from_ours_is_not_ours(tmp_path):
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path)
    with pytest.raises(InvalidInput, match="own models"):
        curator.fit(Copying(solver="descent"), "SELECT age, cost FROM visits", epsilon=1)
    assert not curator.budget().spent.rho


def test_the_same_fit_written_in_another_way_is_free(tmp_path):
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path)
    ways = ([(0, 5)], ((0, 5),), np.array([(0, 5)]), [[np.int64(0), 5]])
    sql = "SELECT age, ill FROM visits"
    assert [curator.fit(learn.LinearSVC(bounds=each), sql, epsilon=1).repeated for each in ways] == [
        False,
        True,
        True,
        True,
    ]


def test_a_fitted_model_is_a_pipeline_like_any_other(tmp_path):
    """It can be copied, shown and asked for tables without a warning, and says what is wrong with them."""
    write(tmp_path, _TABLE)
    model = curator_of(tmp_path).fit(
        learn.LinearRegression(), "SELECT age, ward, cost FROM visits", epsilon=1
    )
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["age", "ward"]
    copy = clone(model)
    assert "Not fitted" in str(copy)
    assert "<div" in copy._repr_html_()
    table = pd.DataFrame({"age": [30, 40], "ward": ["north", "south"]})
    with sklearn.config_context(transform_output="pandas"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(table) == pytest.approx(model.predict(table.to_dict("list")))
    assert model.predict({"age": 30, "ward": "north"}) == pytest.approx(model.predict(table)[:1])
    with pytest.raises(InvalidInput, match="several columns “age”"):
        model.predict(pd.concat([table, table[["age"]]], axis=1))


@pytest.mark.parametrize("kind", [None, "datetime64[ns]", "datetime64[s]"])
def test_dates_of_a_data_frame_are_dates(kind):
    """Data frames have them as times."""
    days = date(2020, 1, 1), date(2020, 1, 2)
    column = TableColumn(name="day", values=days, first=1)
    table = pd.DataFrame({"day": days})
    table = table if kind is None else table.astype({"day": kind})
    assert DeclaredColumns((column,)).transform(table).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("delta", ["1e-6", "0"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (learn.LinearRegression(), "cost"),
        (learn.LinearRegression(solver="descent"), "cost"),
        (learn.LogisticRegression(), "ill"),
        (learn.PoissonRegression(), "cost"),
    ],
)
def test_noise_is_for_the_neighbours_and_rows_of_the_policy(
    tmp_path, monkeypatch, model, target, neighbours, delta
):
    """Whose privacy it is reaches every release: to replace a person moves sums twice as far."""
    seen = []
    buy = FitAccount._bought

    def spy(self, size, reach, amount):
        mechanism, loss = buy(self, size, reach, amount)
        twice = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        seen.append(
            (self.neighbours, loss == mechanism.loss(_sensitivity(size, reach, self.order, neighbours)))
        )
        assert reach % 5 == 0  # of max_rows
        assert _sensitivity(size, reach, self.order, neighbours).l2_squared == (twice * reach) ** 2
        return mechanism, loss

    monkeypatch.setattr(FitAccount, "_bought", spy)
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path, delta=delta, max_rows=5, neighbours=neighbours.value)
    curator.fit(model, f"SELECT age, dose, {target} FROM visits", epsilon=1)
    assert seen
    assert set(seen) == {(neighbours, True)}


def test_more_rows_a_person_than_can_be_weighed_are_refused_in_words(tmp_path):
    write(tmp_path, _TABLE)
    curator = curator_of(tmp_path, max_rows=2_000_000)
    with pytest.raises(QueryRefused, match="One person can have 2,000,000 rows here"):
        curator.plan_fit(learn.LinearRegression(), "SELECT age, cost FROM visits", epsilon=1)


# G3: one person with so many rows that every step takes longer.

_SOME = (
    "SELECT i AS number, i % 40 AS patient, 'north' AS ward, 40 AS age, 2.0 AS dose, 0.0 AS cost, true AS ill"
)
_SOME += " FROM range(60) AS r(i)"
_HEAVY = "SELECT 100 + i, {who}, 'north', 40, 2.0, 0.0, true FROM range({rows}) AS r(i)"


@pytest.mark.parametrize("who", ["77", "NULL"])
@pytest.mark.parametrize("joined", [False, True])
def test_g3_rows_beyond_what_counts_never_reach_descent(tmp_path, who, joined):
    """Steps take as long with a person of 100,000 rows as without; and rows without an id are one person."""
    sql = "SELECT age, ill FROM visits"
    if joined:
        sql = "SELECT v.age, v.ill FROM visits AS v LEFT JOIN visits AS w USING (patient)"
    found = []
    for rows in (0, 32, 33, 100_000):
        folder = tmp_path / f"{rows}"
        folder.mkdir()
        write(folder, f"{_SOME} UNION ALL {_HEAVY.format(who=who, rows=rows)}")
        curator = curator_of(folder)
        fetched = curator.plan_fit(learn.LogisticRegression(solver="descent"), sql, epsilon=1).data
        x, _, people = fetched.rows(exact(curator, fetched))
        assert len(people.weights) == len(x)
        found.append(len(x))
    without, some, more, most = found
    assert without == more == most
    assert some == (without if joined and who == "77" else without + 32)
