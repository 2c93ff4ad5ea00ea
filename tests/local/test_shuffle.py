"""Shuffled reports: the stated loss covers the exact one. No false alarms: nothing is drawn."""

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import InvalidInput
from discreet.local.shuffle import largest_local, local_for_shuffled, shuffled_loss

CASES = [(1000, "0.5", 1e-3), (1000, "2", 1e-2), (5000, "1", 1e-6), (5000, "3", 1e-5), (20000, "4.2", 1e-6)]


def hockey_stick(p, q, epsilon):
    return max(np.maximum(p - exp(epsilon) * q, 0).sum(), np.maximum(q - exp(epsilon) * p, 0).sum())


def shuffled_coin_tosses(people, ones, own, epsilon):
    """The law of how many say yes: `ones` of the others truly do, and one person does or does not."""
    keep = exp(epsilon) / (exp(epsilon) + 1)
    zeros = people - 1 - ones
    others = np.convolve(
        binom.pmf(np.arange(ones + 1), ones, keep), binom.pmf(np.arange(zeros + 1), zeros, 1 - keep)
    )
    yes = keep if own else 1 - keep
    return np.convolve(others, [1 - yes, yes])


@pytest.mark.parametrize(("people", "local", "delta"), CASES)
def test_shuffled_coin_tosses_keep_to_what_is_stated(people, local, delta):
    """The whole law of what comes out of the shuffler, whatever the others answer."""
    stated = float(shuffled_loss(Fraction(local), people=people, delta=delta))
    for ones in (0, 1, people // 2, people - 1):
        laws = [shuffled_coin_tosses(people, ones, own, float(Fraction(local))) for own in (0, 1)]
        assert hockey_stick(*laws, stated) <= delta


@pytest.mark.parametrize(("people", "local", "delta"), CASES)
def test_the_worst_mechanism_of_the_proof_keeps_to_what_is_stated(people, local, delta):
    """The pair of laws that no ε₀-private mechanism is worse than (arXiv 2012.12803v4, Section 3.1).

    Each of the others is a clone with probability e^−ε₀, of either answer alike; the one person is as told
    apart as two reports can be.
    """
    epsilon = float(Fraction(local))
    stated = float(shuffled_loss(Fraction(local), people=people, delta=delta))
    told = exp(epsilon) / (exp(epsilon) + 1)
    mean, reach = (people - 1) * exp(-epsilon), 9 * sqrt(people)
    found, covered = np.zeros(2), 0.0
    for clones in range(max(0, int(mean - reach)), min(people - 1, int(mean + reach)) + 1):
        chance = binom.pmf(clones, people - 1, exp(-epsilon))
        tosses = binom.pmf(np.arange(clones + 1), clones, 0.5)
        one, other = np.append(0, tosses), np.append(tosses, 0)
        p, q = told * one + (1 - told) * other, told * other + (1 - told) * one
        covered += chance
        found += chance * np.array(
            [np.maximum(p - exp(stated) * q, 0).sum(), np.maximum(q - exp(stated) * p, 0).sum()]
        )
    assert covered > 1 - 1e-12
    assert found.max() + 1 - covered <= delta


def test_the_stated_loss_is_the_formula_of_the_paper():
    people, delta, weight = 10**5, 1e-6, exp(1)
    formula = log(
        1 + (weight - 1) / (weight + 1) * (8 * sqrt(weight * log(4 / delta) / people) + 8 * weight / people)
    )
    stated = shuffled_loss(1, people=people, delta=delta)
    assert formula < stated < formula * (1 + 1e-10)
    assert float(stated) == pytest.approx(0.07255, abs=0.00001)


def test_it_is_refused_where_the_theorem_says_nothing():
    limit = log(10**4 / (16 * log(2 / 1e-6)))
    assert largest_local(people=10**4, delta=1e-6) == pytest.approx(limit, abs=1e-6)
    assert largest_local(people=10**4, delta=1e-6) <= limit
    shuffled_loss(largest_local(people=10**4, delta=1e-6), people=10**4, delta=1e-6)
    with pytest.raises(InvalidInput, match="says nothing"):
        shuffled_loss(largest_local(people=10**4, delta=1e-6) + Fraction(2, 10**6), people=10**4, delta=1e-6)


def test_few_people_gain_nothing():
    assert largest_local(people=100, delta=1e-6) == 0
    with pytest.raises(InvalidInput, match="too few people"):
        shuffled_loss(Fraction(1, 10), people=100, delta=1e-6)
    assert local_for_shuffled(Fraction(1, 2), people=100, delta=1e-6) == Fraction(1, 2)


@pytest.mark.parametrize("people", [10**4, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("target", [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_the_inverse_is_the_largest_that_keeps_to_the_target(people, target):
    local = local_for_shuffled(target, people=people, delta=1e-8)
    assert (local * 10**6).denominator == 1
    assert shuffled_loss(local, people=people, delta=1e-8) <= target
    more = local + Fraction(2, 10**6)
    if more <= min(16, largest_local(people=people, delta=1e-8)):
        assert shuffled_loss(more, people=people, delta=1e-8) > target


def test_more_people_hide_each_other_better():
    stated = [shuffled_loss(2, people=10**power, delta=1e-7) for power in range(4, 9)]
    assert stated == sorted(stated, reverse=True)
    assert stated[0] <= 2


@pytest.mark.parametrize("wrong", [{"people": 0}, {"people": 2.5}, {"delta": 0}, {"delta": 1}, {"local": 17}])
def test_wrong_arguments_are_refused(wrong):
    arguments = {"local": 1, "people": 10**6, "delta": 1e-6, **wrong}
    with pytest.raises(InvalidInput):
        shuffled_loss(arguments.pop("local"), **arguments)
