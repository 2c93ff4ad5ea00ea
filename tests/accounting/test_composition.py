"""What releases cost together, by the theorems for a number of losses fixed in advance."""

import math
from fractions import Fraction

import pytest

from discreet.accounting.composition import advanced, basic, compare, parallel
from discreet.errors import InvalidInput, NotComposable
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss

TENTH = PureLoss(epsilon=Fraction(1, 10))
NOT_NUMBERS = [math.nan, math.inf, 0, -1, True, "1", None, 1e-320, 1e300]


def concentrated(rho, delta=0):
    return ConcentratedLoss(rho=Fraction(rho), delta=Fraction(delta))


def test_ten_losses_of_a_tenth_are_exactly_one():
    assert basic([TENTH] * 10) == PureLoss(epsilon=1)


def test_nothing_costs_nothing():
    assert basic([]) == parallel([], Neighbours.REPLACE_ONE) == PureLoss(epsilon=0)


def test_mixed_losses_are_summed_in_the_currency_that_can_say_both():
    assert basic([TENTH, concentrated("1/2", "1/1000")]) == concentrated("101/200", "1/1000")


def test_the_table_of_a_hundred_laplace_releases():
    ours = compare(TENTH, 100, 1e-6)
    assert ours.basic == 10
    assert float(ours.advanced) == pytest.approx(5.756, abs=1e-3)  # the textbook's constants give 6.31
    assert float(ours.concentrated) == pytest.approx(5.222, abs=1e-3)


def test_advanced_composition_is_its_formula_rounded_up():
    k, e, slack = 100, 0.1, 1e-6
    formula = k * e * (math.exp(e) - 1) / (math.exp(e) + 1) + e * math.sqrt(2 * k * math.log(1 / slack))
    loss = advanced(e, 1e-9, k, slack)
    assert formula < loss.epsilon < formula * (1 + 1e-9)
    assert loss.delta == 100 * Fraction(1, 10**9) + Fraction(1, 10**6)


def test_advanced_composition_grows_like_the_root_of_the_number_of_questions():
    few, many = advanced(0.001, 0, 10**2, 1e-6), advanced(0.001, 0, 10**4, 1e-6)
    assert float(many.epsilon / few.epsilon) == pytest.approx(10, rel=0.2)


@pytest.mark.parametrize("times", [1, 2, 10, 40])
def test_advanced_composition_is_never_worse_than_basic(times):
    loss = advanced(1, 1e-9, times, 1e-6)
    assert loss.epsilon <= times
    if loss.epsilon == times:
        assert loss.delta == times * Fraction(1, 10**9)  # and then the slack is not spent


@pytest.mark.parametrize(("epsilon", "times", "slack"), [(0.5, 3, 0.01), (0.3, 8, 0.05), (0.1, 12, 0.001)])
def test_advanced_composition_covers_the_worst_mechanisms_exactly(epsilon, times, slack):
    """k-fold binary randomized response is the worst ε-DP mechanism; its δ is a binomial sum."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    loss = advanced(epsilon, 0, times, slack)
    delta = sum(
        math.comb(times, i)
        * max(
            0,
            keep**i * (1 - keep) ** (times - i)
            - math.exp(loss.epsilon) * keep ** (times - i) * (1 - keep) ** i,
        )
        for i in range(times + 1)
    )
    assert delta <= loss.delta + 1e-15


def test_disjoint_parts_cost_the_worst_under_add_remove():
    losses = [TENTH, PureLoss(epsilon=Fraction(3, 10)), TENTH]
    assert parallel(losses, Neighbours.ADD_REMOVE) == PureLoss(epsilon=Fraction(3, 10))


def test_disjoint_parts_cost_a_group_of_two_under_replace_one():
    assert parallel([TENTH, TENTH], Neighbours.REPLACE_ONE) == PureLoss(epsilon=Fraction(2, 10))
    assert parallel([concentrated(1), concentrated(2)], Neighbours.REPLACE_ONE) == concentrated(8)
    approximate = ApproximateLoss(epsilon=1, delta=Fraction(1, 10**6))
    replaced = parallel([approximate], Neighbours.REPLACE_ONE)
    assert replaced.epsilon == 2
    assert float(replaced.delta) == pytest.approx((1 + math.e) * 1e-6)


def test_parallel_takes_the_worst_of_each_parameter():
    losses = [ApproximateLoss(epsilon=1, delta=Fraction(1, 100)), TENTH, PureLoss(epsilon=2)]
    assert parallel(losses, Neighbours.ADD_REMOVE) == ApproximateLoss(epsilon=2, delta=Fraction(1, 100))
    mixed = [PureLoss(epsilon=2), concentrated(1, "1/10")]
    assert parallel(mixed, Neighbours.ADD_REMOVE) == concentrated(2, "1/10")


def test_replacing_a_person_between_concentrated_parts_with_a_delta_is_refused():
    with pytest.raises(NotComposable, match="Convert first"):
        parallel([concentrated(1, "1/1000")], Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_bad_numbers_are_refused(bad):
    with pytest.raises(InvalidInput):
        advanced(bad, 0, 10, 1e-6)
    with pytest.raises(InvalidInput):
        advanced(0.1, 0, bad, 1e-6)
    with pytest.raises(InvalidInput):
        advanced(0.1, 0, 10, bad)
    with pytest.raises(InvalidInput):
        compare(TENTH, 10, bad)


@pytest.mark.parametrize("bad", [1, "x", None])
def test_what_is_not_a_loss_or_a_relation_is_refused(bad):
    with pytest.raises(InvalidInput):
        basic([bad])
    with pytest.raises(InvalidInput):
        parallel([TENTH], bad)
    with pytest.raises(InvalidInput):
        compare(bad, 10, 1e-6)
