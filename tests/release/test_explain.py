"""What is said before anything is spent: computed from the plan, and true of what comes after."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.accounting.filters import ConcentratedFilter
from discreet.apps.views.explain import show_explanation
from discreet.bounds.calibrate import budget_of
from discreet.bounds.split_price import split
from discreet.errors import QueryRefused
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.release.explain import explain
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release


def explained(sql, dataset, epsilon=1):
    plan = planned(sql, dataset, epsilon=epsilon)
    return explain(plan, dataset, budget=budget_of(dataset), left=budget_of(dataset))


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_what_is_asked_for_is_what_is_spent(delta):
    dataset = clinic(delta=delta)
    for sql in (
        "SELECT count(*) FROM visits",
        "SELECT ward, avg(cost), variance(age), median(cost), count(DISTINCT patient) FROM visits"
        " GROUP BY ward",
        "SELECT ward, count(*) FROM visits GROUP BY ROLLUP (ward)",
    ):
        found = explained(sql, dataset)
        assert found.epsilon == pytest.approx(1, rel=1e-9)
        whole = budget_of(dataset)
        if delta:
            rho = ConcentratedFilter.for_budget(1, dataset.delta, threshold_share=Fraction(1, 2)).rho
            assert found.loss == ConcentratedLoss(rho=Fraction(int(rho * 10**15), 10**15), delta=Fraction(0))
            assert found.questions_left == int(whole.rho / rho)
        else:
            assert found.loss == PureLoss(epsilon=Fraction(1))
            assert found.questions_left == 10


def test_an_even_suspicion_rises_as_far_as_stated_and_further_as_rarely_as_stated():
    """The loss of Gaussian noise is normal, with mean ρ and variance 2ρ. Without a δ the limit is e^ε."""
    sql = "SELECT count(*) FROM visits"
    pure = explained(sql, clinic(), epsilon=0.1)
    assert pure.posterior == pytest.approx(1 / (1 + math.exp(-0.1)))
    assert pure.posterior_chance == 0
    found = explained(sql, clinic(delta="1e-6"), epsilon=0.1)
    rho = float(found.loss.rho)

    def how_often_beyond(odds):
        return norm.sf((odds - rho) / math.sqrt(2 * rho))

    assert how_often_beyond(0.1) > 20e-6  # more than δ, which is why ε is not what is stated
    assert found.posterior_chance == 1e-4
    assert how_often_beyond(-math.log(1 / found.posterior - 1)) <= found.posterior_chance
    private = explained("SELECT note, count(*) FROM visits GROUP BY note", clinic(delta="1e-6"), epsilon=0.1)
    assert private.posterior > found.posterior


def test_the_line_about_a_suspicion_says_how_rare_exceptions_are(capsys):
    for delta, rare in ((0, "at most."), ("1e-6", "at most, but for one case in 10,000.")):
        show_explanation(explained("SELECT count(*) FROM visits", clinic(delta=delta)), "table")
        line = capsys.readouterr().out.split("An even suspicion")[1]
        assert rare in " ".join(line.split())


def test_shares_add_up_and_favour_what_matters_more():
    """An average needs its sum more than its count; a part of two measures counts for both."""
    bounded = planned("SELECT ward, avg(cost) FROM visits GROUP BY ward", clinic()).bounded.apart
    for concentrated in (False, True):
        count, total, left_out = split(bounded, concentrated=concentrated)
        assert count + total + left_out == 1
        assert left_out == Fraction(1, 10)
        assert count < total
    both = planned("SELECT avg(cost), count(cost), sum(age) FROM visits", clinic()).bounded
    assert split(both.apart, concentrated=True)[0] > Fraction(9, 10) / 3


def test_what_is_measured_together_has_one_share():
    bounded = planned("SELECT avg(cost), count(cost), median(age) FROM visits", clinic()).bounded
    (family,) = [block for block in bounded.blocks if len(block) > 1]
    shares = split(bounded, concentrated=False)
    assert len({shares[i] for i in family}) == 1
    assert sum(shares) - (len(family) - 1) * shares[family[0]] == 1
    plan = planned("SELECT count(*) FILTER (WHERE age > 5) AS a, count(*) AS b FROM visits", clinic())
    assert explain(plan, clinic(), budget=budget_of(clinic()), left=budget_of(clinic())).shares == {
        "a": 0.9,
        "b": 0.9,
    }


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_an_uneven_split_is_no_worse_than_an_even_one(delta):
    """The error of an average by simulation: the split by error against equal halves."""
    sql, dataset = "SELECT avg(cost) AS a FROM visits", clinic(delta=delta, rows=True)
    plan = planned(sql, dataset)
    shares = [float(x) for x in split(plan.bounded, concentrated=bool(delta))]
    power = 1 if delta else 2

    def error(parts):  # variance of the sum's noise, and a third of the count's, in its own units
        return parts[1] ** -power + parts[0] ** -power / 3

    assert error(shares) < error([0.5, 0.5])


def test_private_groups_are_shown_as_often_as_explained():
    """Groups of 5, 10, 20 and 50 people in 400 answers: within 6 standard deviations, 10⁻⁸ to fail."""
    dataset = clinic(delta="1e-6", max_rows=1, max_groups=1)
    sql = "SELECT note, count(DISTINCT patient) AS n FROM visits GROUP BY note"
    chances = explained(sql, dataset, epsilon=2).private_groups.chances
    database = Database()
    people = iter(range(10**6))
    database.fill([(next(people), "north", 1.0, 1, f"of {size}") for size in chances for _ in range(size)])
    plan = planned(sql, dataset, epsilon=2)
    results, runs = database.results(plan), 400
    seen = [name for _ in range(runs) for name in release(plan, results).values["note"].tolist()]
    for size, chance in chances.items():
        deviation = 6 * np.sqrt(runs * chance * (1 - chance)) + 3
        assert abs(seen.count(f"of {size}") - runs * chance) <= deviation
    assert 0.1 < chances[20] < 0.999


def test_keys_that_are_not_public_need_a_delta():
    with pytest.raises(QueryRefused, match="no δ"):
        explained("SELECT note, count(*) FROM visits GROUP BY note", clinic())


def test_alternatives_hold():
    found = explained(
        "SELECT ward, count(*) AS n, sum(cost) AS s, avg(age) AS a FROM visits GROUP BY ward", clinic()
    )
    alone = explained("SELECT ward, count(*) AS n FROM visits GROUP BY ward", clinic())
    ratio = alone.errors[0].each / found.errors[0].each
    assert f"n is off by {1 - ratio:.0%} less" in "".join(found.alternatives)
    half = explained("SELECT ward, count(*) AS n FROM visits GROUP BY ward", clinic(), epsilon=Fraction(1, 2))
    assert half.errors[0].each == pytest.approx(2 * alone.errors[0].each, rel=0.01)
    assert "For half of this price" in "".join(found.alternatives)


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_errors_of_all_groups_at_once_are_larger_than_of_each(delta):
    found = explained(
        "SELECT ward, count(*) AS n, median(age) AS m FROM visits GROUP BY ward", clinic(delta=delta)
    )
    assert all(error.all > error.each for error in found.errors)


def test_it_says_what_people_by_group_would_gain_by_what_a_person_has_one_of():
    """Where each of the keys is a column that could be declared, and nothing else is."""

    def gain(sql, **settings):
        dataset = clinic(delta="1e-6", max_rows=9, max_groups=9, **settings)
        plan = planned(sql, dataset)
        found = explain(plan, dataset, budget=budget_of(dataset), left=budget_of(dataset)).alternatives
        return [each for each in found if "per_person" in each]

    people = "count(DISTINCT patient) AS people FROM visits"
    (said,) = gain(f"SELECT note, {people} GROUP BY note")
    assert said.startswith("If a person has one note only")
    assert "people is then off by 69% less" in said
    assert gain(f"SELECT ward, {people} GROUP BY ward")
    assert not gain(f"SELECT ward, {people} GROUP BY ward", unique=True)
    assert not gain("SELECT ward, count(*) AS n FROM visits GROUP BY ward")
    assert not gain(f"SELECT {people}")
    assert not gain(f"SELECT region, {people} JOIN wards USING (ward) GROUP BY region")
