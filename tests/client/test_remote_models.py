"""Models and synthetic tables of a service: the same as those of a local curator, and nothing but data."""

from datetime import date
from fractions import Fraction

import pytest

import discreet
from discreet import BudgetExceeded, InvalidInput, NeedsApproval, NotAllowed, QueryRefused, learn
from discreet.learn.plan.model_json import new_model, read_model
from discreet.service.user_account import Role

SQL = "SELECT ward, day, cost FROM visits"
TABLE = {"ward": ["north", "attic"], "day": [date(2026, 1, 1), date(2026, 1, 3)], "cost": [10.0, 60.0]}


@pytest.fixture
def ana(running):
    if running.account("ana") is None:
        running.token = running.add("ana")
    return discreet.connect(running.url, running.token)


@pytest.mark.parametrize(
    ("model", "sql"),
    [
        (learn.LinearRegression(), SQL),
        (learn.Ridge(alpha=2.5, fit_intercept=False), SQL),
        (learn.PoissonRegression(steps=5), SQL),
        (learn.LogisticRegression(), "SELECT cost, day, ward FROM visits"),
        (learn.LinearSVC(clip=0.5), "SELECT day, cost > 50 AS dear FROM visits"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_model_of_a_service_is_that_of_the_curator(running, ana, model, sql):
    remote = ana.fit(model, sql, epsilon=0.5)
    local = running.local("ana").fit(model, sql, epsilon=0.5)
    assert (remote.repeated, local.repeated) == (False, True)
    assert remote.predict(TABLE).tolist() == local.predict(TABLE).tolist()
    assert str(remote).splitlines()[:-1] == str(local).splitlines()[:-1]
    assert remote[-1].state() == local[-1].state()
    assert (remote.receipt.number, remote.charged, remote.left) == (
        local.receipt.number,
        local.charged,
        local.left,
    )
    assert ana.fit(model, sql, epsilon=0.5).repeated
    explained = ana.explain_fit(model, sql, epsilon=0.5)
    expected = running.local("ana").explain_fit(model, sql, epsilon=0.5).to_dict()
    assert {name: explained[name] for name in expected} == expected


def test_a_model_by_its_receipt_is_a_table_of_coefficients(ana):
    model = ana.fit(learn.LinearRegression(), "SELECT day, cost FROM visits", epsilon=1)
    found = ana.fetch(model.receipt.number)
    assert found["feature"].tolist() == ["intercept", *model.features]
    assert found["coefficient"].tolist() == [model[-1].intercept_, *model[-1].coef_]
    assert found.released.low["coefficient"][1:].tolist() == model[-1].intervals(0.95)[:, 0].tolist()
    (asked,) = [each for each in ana.history() if each.receipt == model.receipt.number]
    assert asked.question == "FIT LinearRegression SELECT day, cost FROM visits"


def test_the_price_of_a_model_has_the_caps_and_approvals_of_a_question(running):
    waits = discreet.connect(running.url, running.add("waits", approval_above=Fraction(1, 10)))
    model, sql = learn.LinearRegression(), "SELECT ward, cost FROM visits"
    with pytest.raises(NeedsApproval) as asked:
        waits.fit(model, sql, epsilon=0.2, purpose="a paper")
    running.add("decides", Role.OWNER)
    running.service.approvals.decide(asked.value.approval, approve=True, by=running.account("decides"))
    with pytest.raises(InvalidInput, match="what it is for"):  # another model
        waits.fit(learn.LinearRegression(fit_intercept=False), sql, epsilon=0.2)
    assert not waits.fit(model, sql, epsilon=0.2).repeated
    poor = discreet.connect(running.url, running.add("poor", most_epsilon=Fraction(1, 10)))
    with pytest.raises(BudgetExceeded):
        poor.fit(model, sql, epsilon=0.3)
    reads = discreet.connect(running.url, running.add("reads", Role.AUDITOR))
    with pytest.raises(NotAllowed):
        reads.fit(model, sql, epsilon=0.1)
    assert reads.explain_fit(model, sql, epsilon=0.1)["target"] == "cost"


def test_what_is_no_linear_model_of_ours_is_refused(ana):
    class Own(learn.LinearRegression):
        """Whose code a service does not have."""

    for model in (
        object(),
        learn.LinearRegression,
        Own(),
        learn.PrivateSearch(learn.Ridge(), {"alpha": [1.0, 2.0]}),
    ):
        with pytest.raises(InvalidInput, match="own linear models"):
            ana.fit(model, SQL, epsilon=0.1)
    with pytest.raises(InvalidInput, match="cannot be sent"):
        ana.fit(learn.LinearRegression(bounds={"cost": (0, 1)}), SQL, epsilon=0.1)
    with pytest.raises(InvalidInput, match="its own epsilon"):
        ana.fit(learn.LinearRegression(epsilon=1), SQL, epsilon=0.1)
    with pytest.raises(QueryRefused):
        ana.fit(learn.LinearRegression(), "SELECT cost FROM visits", epsilon=0.1)


def test_a_model_that_is_read_gets_what_a_fit_releases_and_nothing_else(ana):
    made = ana.fit(learn.LinearRegression(), SQL, epsilon=0.5)
    found = {
        "kind": "LinearRegression",
        "settings": {},
        "columns": [{"name": "cost", "type": None, "values": None, "first": 0}],
        "state": {"coef_": [2.0], "intercept_": 1.0, "rows_": "nan", "predict": 3},
    }
    model = read_model(found, receipt=made.receipt, left=made.left, repeated=False)
    assert model.predict({"cost": [1.0, 2.0]}).tolist() == [3.0, 5.0]
    for kind in ("PrivateSearch", "curve", "__builtins__", ""):
        with pytest.raises(InvalidInput):
            new_model(kind, {})
    with pytest.raises(InvalidInput, match="no setting"):
        new_model("Ridge", {"__class__": 1})


def test_bins_and_a_workload(running, ana):
    sql = "SELECT ward, cost FROM visits"
    terms = {"epsilon": 0.5, "bins": {"cost": 4}, "workload": ["marginals 2"]}
    explained = ana.explain_synthesis(sql, **terms)
    expected = running.local("ana").explain_synthesis(sql, **terms).to_dict()
    assert {name: explained[name] for name in expected} == expected
    assert explained["cells"] == 4 * 5
    made = ana.synthesize(sql, **terms, rows=7)
    assert (len(made), made.repeated) == (7, False)
    assert not ana.synthesize(sql, **terms | {"bins": 5}, rows=7).repeated
    assert running.local("ana").synthesize(sql, **terms).repeated
    for wrong in ({"bins": 0}, {"bins": {"nothing": 3}}, {"bins": "x"}, {"workload": ["DROP"]}):
        with pytest.raises((InvalidInput, QueryRefused)):
            ana.synthesize(sql, **terms | wrong)
