"""A price that is missing or wrong: what is suggested instead can be paid."""

import re

import pytest

from discreet.errors import BudgetExceeded, InvalidInput, QueryRefused
from tests.curator.test_curator import curator_of, folder  # noqa: F401  a fixture

ASK = "SELECT count(*) AS n FROM visits"


def suggested(error):
    return float(re.search(r"epsilon=(\d[\d.]*(?:e-\d+)?)", error.remedy)[1])


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_missing_price_is_asked_for_with_one_that_works(folder, delta):  # noqa: F811
    curator = curator_of(folder, epsilon=2, delta=delta)
    curator.ask(ASK, epsilon=1)
    left = curator.left()
    with pytest.raises(InvalidInput) as missing:
        curator.ask(ASK)
    answer = curator.ask("SELECT count(*) AS n FROM visits WHERE cost > 5", epsilon=suggested(missing.value))
    charged, whole = (float(loss.rho if delta else loss.epsilon) for loss in (answer.charged, left))
    assert 0.08 < charged / whole <= 0.1


def test_several_prices_are_one_too_many(folder):  # noqa: F811
    with pytest.raises(InvalidInput, match="exactly one of epsilon=, rho= and within="):
        curator_of(folder).ask(ASK, epsilon=1, within=3)


@pytest.mark.parametrize("epsilon", [3, 50, 2_000_000])
def test_a_price_above_the_budget_names_the_budget(folder, epsilon):  # noqa: F811
    curator = curator_of(folder, epsilon=2)
    with pytest.raises(QueryRefused, match="whole budget: at most ε = 2 ") as dear:
        curator.ask(ASK, epsilon=epsilon)
    assert curator.ask(ASK, epsilon=suggested(dear.value))


@pytest.mark.parametrize("epsilon", [0, -1, 0.0])
def test_a_price_is_above_zero(folder, epsilon):  # noqa: F811
    curator = curator_of(folder, epsilon=2)
    with pytest.raises(InvalidInput, match="above 0") as free:
        curator.ask(ASK, epsilon=epsilon)
    assert "1000000" not in str(free.value)
    assert curator.ask(ASK, epsilon=suggested(free.value))


@pytest.mark.parametrize("epsilon", [0.02, 0.7, 1.9])
def test_what_is_left_is_told_as_an_epsilon_that_can_be_paid(folder, epsilon):  # noqa: F811
    curator = curator_of(folder, epsilon=2, delta=1e-6)
    curator.ask(ASK, epsilon=epsilon)
    with pytest.raises(BudgetExceeded, match=r"ε = 2 \(100.0% of the budget, ρ = ") as dear:
        curator.ask("SELECT count(DISTINCT patient) AS n FROM visits", epsilon=2)
    assert curator.ask("SELECT count(DISTINCT patient) AS n FROM visits", epsilon=suggested(dear.value))


def test_a_price_below_the_least_names_the_least(folder):  # noqa: F811
    curator = curator_of(folder, epsilon=2, delta=1e-6)
    with pytest.raises(QueryRefused, match="at least") as cheap:
        curator.ask(ASK, epsilon=0.001)
    assert curator.ask(ASK, epsilon=suggested(cheap.value))


def test_a_price_in_rho_is_told_as_epsilon_first(folder):  # noqa: F811
    answer = curator_of(folder, epsilon=2, delta=1e-6).ask(ASK, epsilon=0.5)
    assert re.search(r"Cost ε = 0.5 \(\d\.\d% of the budget, ρ = [\d.]+\); ε = 1\.9\d+ \(", answer.price())


def test_a_pure_price_stays_as_it_is(folder):  # noqa: F811
    answer = curator_of(folder, epsilon=2).ask(ASK, epsilon=0.5)
    assert answer.price().startswith("Cost ε = 0.5; ε = 1.5 left. Receipt")
