"""Several analysts on one open engine and ledger: each pays from their own cap, and all from one budget."""

from fractions import Fraction

import pytest

from discreet import BudgetExceeded
from discreet.model.privacy import PureLoss
from tests.attacks.ask import Clinic

COUNT = "SELECT count(*) AS n FROM visits"
SUM = "SELECT sum(cost) AS s FROM visits"


@pytest.fixture
def ann(tmp_path):
    clinic = Clinic(tmp_path, epsilon=1, dataset="per_analyst = { epsilon = 0.5 }")
    with clinic.open() as first:
        yield first.for_analyst("ann")


def test_caps_by_analyst_hold(ann):
    bob = ann.for_analyst("bob")
    ann.ask(COUNT, epsilon=0.4)
    with pytest.raises(BudgetExceeded):
        ann.ask(SUM, epsilon=0.2)
    bob.ask(SUM, epsilon=0.2)
    with pytest.raises(BudgetExceeded):
        bob.ask("SELECT avg(cost) AS m FROM visits", epsilon=0.4)
    spent = {"ann": PureLoss(epsilon=Fraction(2, 5)), "bob": PureLoss(epsilon=Fraction(1, 5))}
    assert dict(ann.budget().analysts) == spent
    assert bob.budget() == ann.budget()


def test_what_is_left_is_of_the_one_who_asks(ann):
    bob = ann.for_analyst("bob")
    assert ann.ask(COUNT, epsilon=0.4).left == PureLoss(epsilon=Fraction(1, 10))
    assert ann.explain(SUM, epsilon=0.05).questions_left == 2
    assert bob.explain(SUM, epsilon=0.05).questions_left == 10
    assert bob.ask(SUM, epsilon=0.5).left == PureLoss(epsilon=0)
    assert ann.budget().left == PureLoss(epsilon=Fraction(1, 10))


def test_all_share_one_budget(ann):
    ann.ask(COUNT, epsilon=0.5)
    ann.for_analyst("bob").ask(SUM, epsilon=0.5)
    with pytest.raises(BudgetExceeded):
        ann.for_analyst("eve").ask("SELECT avg(cost) AS m FROM visits", epsilon=0.1)


def test_synthetic_tables_and_models_are_paid_by_whoever_asks(ann):
    from discreet.learn import LinearRegression

    bob = ann.for_analyst("bob")
    table = bob.synthesize("SELECT ward, age FROM visits", epsilon=0.3)
    with pytest.raises(BudgetExceeded):
        bob.fit(LinearRegression(), "SELECT age, cost FROM visits", epsilon=0.3)
    ann.fit(LinearRegression(), "SELECT age, cost FROM visits", epsilon=0.3)
    assert table.receipt.analyst == "bob"
    assert {name: float(spent.epsilon) for name, spent in ann.budget().analysts.items()} == {
        "ann": pytest.approx(0.3),
        "bob": pytest.approx(0.3),
    }


def test_what_one_paid_for_is_free_for_the_other(ann):
    first, again = ann.ask(COUNT, epsilon=0.5), ann.for_analyst("bob").ask(COUNT, epsilon=0.5)
    assert again.repeated
    assert again["n"].tolist() == first["n"].tolist()
    assert first.receipt.analyst == "ann"


def test_closing_it_closes_nothing_that_is_shared(ann):
    with ann.for_analyst("bob") as bob:
        bob.ask(COUNT, epsilon=0.1)
    ann.ask(SUM, epsilon=0.1)
    bob.ask("SELECT avg(cost) AS m FROM visits", epsilon=0.1)


def test_the_watch_is_of_one_curator(ann):
    seen = []
    ann.watch = seen.append
    bob = ann.for_analyst("bob")
    assert bob.watch is None
    bob.ask(COUNT, epsilon=0.1)
    assert seen == []
    ann.ask(SUM, epsilon=0.1)
    assert seen[-1] == 1


def test_cached_readings_are_paid_by_whoever_takes_them_and_shared(tmp_path):
    clinic = Clinic(tmp_path)
    cached = 'max_groups = 2\nanswers = "cached"\ncached_columns = ["ward", "age"]'
    clinic.policy.write_text(clinic.policy.read_text().replace("max_groups = 2", cached))
    old = "SELECT count(*) AS n FROM visits WHERE age > 60"
    with clinic.open() as first:
        bob, eve = first.for_analyst("bob"), first.for_analyst("eve")
        paid, free = bob.ask(old, within=100), eve.ask(old, within=100)
        assert (paid.cached, free.cached) == (False, True)
        assert bob._cached.caches is eve._cached.caches
        assert set(first.budget().analysts) == {"bob"}
