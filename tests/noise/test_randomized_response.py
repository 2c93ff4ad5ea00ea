"""Randomized response: the coin toss, its k-sided kin, and what can be learnt from the reports."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.noise.randomized_response import RandomizedResponse
from tests.bad_values import BAD_QUANTITIES

COIN = RandomizedResponse(categories=2, keep=Fraction(3, 4))


def test_the_coin_toss_costs_ln_3():
    assert float(COIN.loss().epsilon) == pytest.approx(math.log(3), rel=1e-15)
    assert math.log(3) <= COIN.loss().epsilon + Fraction(1, 10**15)


@given(
    epsilon=st.fractions(min_value=Fraction(1, 10**9), max_value=60, max_denominator=10**9),
    categories=st.integers(2, 10**6),
)
def test_the_loss_never_exceeds_what_was_asked_for(epsilon, categories):
    mechanism = RandomizedResponse.for_loss(epsilon, categories=categories)
    assert mechanism.loss().epsilon <= epsilon
    if epsilon < 20:
        assert mechanism.loss().epsilon >= epsilon - Fraction(categories, 10**7)


@pytest.mark.parametrize("mechanism", [COIN, RandomizedResponse.for_loss(1, categories=5)], ids=["2", "5"])
def test_the_estimate_is_unbiased_and_its_interval_covers(mechanism):
    """500 surveys; the mean is within 7 standard errors, coverage above 92 %: false alarm below 10⁻⁶.

    The exact interval covers at least 95 %, so 500 surveys miss 40 or more with probability 2·10⁻³ at 5 %
    … the law is discrete and the intervals conservative; the limit of 46 misses has probability 4·10⁻⁵,
    and 55 has 4·10⁻⁸, which is what is used.
    """
    people, having = 400, 100
    truth = np.concatenate([np.zeros(people - having, np.int64), np.ones(having, np.int64)])
    estimates, misses = [], 0
    for _ in range(500):
        reported = np.bincount(mechanism.release(truth), minlength=mechanism.categories)
        estimates.append(mechanism.estimate(reported)[1])
        misses += having not in mechanism.interval(int(reported[1]), people, 0.95)
    deviation = np.std(estimates) / math.sqrt(500)
    assert abs(np.mean(estimates) - having) < 7 * deviation
    assert misses < 55


def test_the_interval_is_not_needlessly_wide():
    """Within 10 % of the normal approximation at its centre."""
    interval = COIN.interval(4000, 10_000, 0.95)
    spread = 1.96 * math.sqrt(10_000 * 0.75 * 0.25) / 0.5
    assert float(interval.half_width) == pytest.approx(spread, rel=0.1)


def test_intervals_stay_within_what_is_possible():
    for reported in (0, 1, 50, 99, 100):
        interval = COIN.interval(reported, 100, 0.99)
        assert 0 <= interval.low <= interval.high <= 100


def test_a_million_people_are_answered_at_once():
    interval = COIN.interval(400_000, 1_000_000, 0.95)
    assert 300_000 in interval
    assert interval.half_width < 2000


def test_intervals_for_several_categories_are_wider():
    one = COIN.interval(400, 1000, 0.95)
    ten = COIN.interval(400, 1000, 0.95, values=10)
    assert ten.low < one.low < one.high < ten.high


def test_reports_keep_the_shape_of_the_answers():
    assert type(COIN.release(1)) is int
    assert COIN.release(np.ones((3, 4), dtype=np.int8)).shape == (3, 4)
    assert set(COIN.release([0, 1] * 200).tolist()) == {0, 1}


@pytest.mark.parametrize("answers", [2, -1, [0, 5], 0.5, True, "yes", [], None], ids=repr)
def test_answers_are_categories(answers):
    with pytest.raises(InvalidInput):
        COIN.release(answers)


@pytest.mark.parametrize("keep", [*BAD_QUANTITIES, Fraction(1, 2), Fraction(1, 4), 1, 1.5], ids=repr)
def test_keep_is_a_probability_that_tells_something_but_not_all(keep):
    with pytest.raises(InvalidInput):
        RandomizedResponse(categories=2, keep=keep)


@pytest.mark.parametrize("categories", [1, 0, -2, 2.0, "2", None, True, 10**300], ids=repr)
def test_there_are_at_least_two_categories(categories):
    with pytest.raises(InvalidInput):
        RandomizedResponse.for_loss(1, categories=categories)


@pytest.mark.parametrize("epsilon", BAD_QUANTITIES, ids=repr)
def test_epsilon_is_a_number(epsilon):
    with pytest.raises(InvalidInput):
        RandomizedResponse.for_loss(epsilon)


@pytest.mark.parametrize("reported", [[1], [1, 2, 3], [-1, 5], [0.5, 1], "12", []], ids=repr)
def test_counts_of_reports_are_one_for_each_category(reported):
    with pytest.raises(InvalidInput):
        COIN.estimate(reported)


def test_more_reports_than_people_are_refused():
    with pytest.raises(InvalidInput):
        COIN.interval(11, 10, 0.95)
