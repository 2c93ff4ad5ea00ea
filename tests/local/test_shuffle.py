"""Shuffled reports: the stated loss covers the exact one. No false alarms: nothing is drawn."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, exp, expm1, log, log1p, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import InvalidInput
from discreet.local.shuffle import local_for_shuffled, shuffled_loss

CASES = [(1000, "0.5", 1e-3), (1000, "2", 1e-2), (5000, "1", 1e-6), (5000, "3", 1e-5), (20000, "4.2", 1e-6)]


def apart(p, q, growth):
    """The hockey-stick divergence, both ways."""
    keys = p.keys() | q.keys()
    one = sum(max(p.get(key, 0) - growth * q.get(key, 0), 0) for key in keys)
    return max(one, sum(max(q.get(key, 0) - growth * p.get(key, 0), 0) for key in keys))


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


def shuffled(reports):
    """The law of how often each report is there, from the law of each person's report."""
    found = {(0,) * len(reports[0]): 1.0}
    for report in reports:
        grown = defaultdict(float)
        for counts, chance in found.items():
            for place, own in enumerate(report):
                grown[(*counts[:place], counts[place] + 1, *counts[place + 1 :])] += chance * own
        found = grown
    return found


def mechanisms(weight):
    """Laws of the report for each answer, of which no two are more than `weight` times apart."""
    for options in (2, 3, 4):  # randomized response
        yield [[weight if a == b else 1 for b in range(options)] for a in range(options)]
    for shared in (0.2, 1, 5, 50):  # one report is likely from both of the first two, and not from others
        yield [
            [weight, 1, shared * weight, 1 + shared],
            [1, weight, shared * weight, 1 + shared],
            [1, 1, shared, (1 + shared) * weight],
        ]
    rng = np.random.default_rng(1)
    for _ in range(4):
        columns = [[rng.uniform(1, weight) for _ in range(3)] for _ in range(2)]
        yield [[column[a - b] for column in columns for b in range(3)] for a in range(3)]


@pytest.mark.parametrize("weight", [1.5, 3, 12])
@pytest.mark.parametrize("people", [2, 3, 5])
def test_whatever_the_mechanism_its_shuffled_reports_keep_to_what_is_stated(people, weight):
    stated = {
        delta: float(shuffled_loss(log(weight), people=people, delta=delta)) for delta in (0.2, 0.1, 0.01)
    }
    for chances in mechanisms(weight):
        laws = [[each / sum(law) for each in law] for law in chances]
        odds = [x / y for p, q in product(laws, laws) for x, y in zip(p, q, strict=True)]
        assert max(odds) <= weight * (1 + 1e-12)
        for others in combinations_with_replacement(range(len(laws)), people - 1):
            rest = [laws[other] for other in others]
            pair = [shuffled([*rest, laws[own]]) for own in (0, 1)]
            for delta, epsilon in stated.items():
                assert apart(*pair, exp(epsilon)) <= delta * (1 + 1e-9)


def exact_delta(people, weight, growth):
    """δ of the two laws of the number of heads, by all numbers of tosses and of heads, in fractions."""
    told, tossing, laws = weight / (weight + 1), 2 / (weight + 1), [{}, {}]
    for tosses in range(people):
        chance = comb(people - 1, tosses) * tossing**tosses * (1 - tossing) ** (people - 1 - tosses)
        for up in range(tosses + 1):
            both = chance * comb(tosses, up) / Fraction(2) ** tosses
            for law, own in zip(laws, (told, 1 - told), strict=True):
                law[tosses, up + 1] = law.get((tosses, up + 1), 0) + both * own
                law[tosses, up] = law.get((tosses, up), 0) + both * (1 - own)
    return apart(*laws, growth)


@pytest.mark.parametrize("weight", [Fraction(11, 10), Fraction(3), Fraction(20)], ids=str)
@pytest.mark.parametrize(
    ("people", "delta"), [(1, 1e-2), (2, 0.05), (3, 1e-3), (8, 1e-3), (25, 1e-2), (60, 1e-5)]
)
def test_for_few_people_it_is_the_exact_bound(people, delta, weight):
    if shuffled_loss(log(weight), people=people, delta=delta) < 1e-8:
        delta /= 100
    stated = shuffled_loss(log(weight), people=people, delta=delta)
    assert 1e-8 < stated < log(weight)
    found = exact_delta(people, weight, Fraction(exp(stated)))
    assert 0.999 * delta < found <= delta


def test_the_sum_of_the_theorem_is_the_divergence_of_the_two_laws():
    """(1/n)·E[max(0, g·U − h·V)], by all (U, V)."""
    people, weight, growth = 6, Fraction(4), Fraction(3, 2)
    gain, cost, each = weight - growth, weight * growth - 1, 1 / (weight + 1)
    total = 0
    for up in range(people + 1):
        for down in range(people - up + 1):
            ways = comb(people, up) * comb(people - up, down)
            chance = ways * each ** (up + down) * (1 - 2 * each) ** (people - up - down)
            total += chance * max(0, gain * up - cost * down)
    assert total / people == exact_delta(people, weight, growth)


@pytest.mark.parametrize(("people", "local", "delta"), CASES)
def test_for_thousands_it_is_the_exact_bound_within_one_percent(people, local, delta):
    """The two laws of the proof; what few or many tosses have is less than 10⁻¹² of all."""
    epsilon = float(Fraction(local))
    stated = float(shuffled_loss(Fraction(local), people=people, delta=delta))
    told, tossing = exp(epsilon) / (exp(epsilon) + 1), 2 / (exp(epsilon) + 1)
    mean, reach = (people - 1) * tossing, 9 * sqrt(people * tossing)
    found, covered = np.zeros(2), 0.0
    for tosses in range(max(0, int(mean - reach)), min(people - 1, int(mean + reach)) + 1):
        chance = binom.pmf(tosses, people - 1, tossing)
        heads = binom.pmf(np.arange(tosses + 1), tosses, 0.5)
        one, other = np.append(0, heads), np.append(heads, 0)
        p, q = told * one + (1 - told) * other, told * other + (1 - told) * one
        covered += chance
        found += chance * np.array(
            [np.maximum(p - exp(stated) * q, 0).sum(), np.maximum(q - exp(stated) * p, 0).sum()]
        )
    assert covered > 1 - 1e-12
    assert 0.99 * delta < found.max() <= delta


@pytest.mark.parametrize("people", [10**9, 2**40])
@pytest.mark.parametrize("local", [0.1, 1, 4, 10])
@pytest.mark.parametrize("delta", [1e-8, 1e-15, 1e-40])
def test_for_millions_it_is_what_the_normal_law_says(people, local, delta):
    """g·U − h·V is a sum of so many independent values that it is nearly normal."""
    stated = float(shuffled_loss(local, people=people, delta=delta))
    weight, grown = exp(local), expm1(stated)
    spread = ((weight - 1 - grown) ** 2 + (weight - 1 + weight * grown) ** 2) / (weight + 1) - grown**2
    unit = NormalDist()
    away = grown * sqrt(people / spread)
    found = sqrt(spread / people) * (unit.pdf(away) - away * unit.cdf(-away))
    assert found == pytest.approx(delta, rel=0.02)


def closed_form(local, people, delta):
    """Of "Hiding among the clones" (arXiv 2012.12803v4), Theorem 3.1; None where it says nothing."""
    if exp(local) > people / (16 * log(2 / delta)):
        return None
    clones = 8 * sqrt(exp(local) * log(4 / delta) / people) + 8 * exp(local) / people
    return log1p(expm1(local) / (exp(local) + 1) * clones)


def test_it_is_never_above_the_closed_form_of_the_paper():
    ratios = []
    for people, local in product((10**3, 10**4, 10**6, 10**9, 2**40), (0.01, 1, 3, 8)):
        for delta in (0.1, 1e-9):
            known = closed_form(local, people, delta)
            if known is not None:
                ratios.append(known / float(shuffled_loss(local, people=people, delta=delta)))
    assert len(ratios) > 25
    assert min(ratios) > 2.5
    found = shuffled_loss(1, people=10**5, delta=1e-6)
    assert closed_form(1, 10**5, 1e-6) == pytest.approx(0.07255, abs=0.00001)
    assert float(found) == pytest.approx(0.01243, abs=0.00001)


def test_a_survey_of_one_gains_nothing_but_its_delta():
    """One report: E = e − δ·(e + 1)."""
    assert float(shuffled_loss(2, people=1, delta=1e-3)) == pytest.approx(log(exp(2) - 1e-3 * (exp(2) + 1)))
    assert shuffled_loss(16, people=1, delta=1e-15) == 16
    assert shuffled_loss(16, people=1000, delta=1e-15) == 16
    assert local_for_shuffled(Fraction(1, 2), people=1, delta=1e-9) == Fraction(1, 2)


def test_where_all_is_covered_by_delta_nearly_nothing_is_stated():
    assert 0 < shuffled_loss(1, people=10**6, delta=0.9) <= Fraction(2, 10**9)


@pytest.mark.parametrize("people", [1, 30, 10**4, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("target", [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_the_inverse_is_the_largest_that_keeps_to_the_target(people, target):
    local = local_for_shuffled(target, people=people, delta=1e-8)
    assert local >= target
    assert (local * 10**6).denominator == 1
    assert shuffled_loss(local, people=people, delta=1e-8) <= target
    more = local * Fraction(10001, 10000) + Fraction(2, 10**6)
    if more <= 16:
        assert shuffled_loss(more, people=people, delta=1e-8) > target


def test_more_people_hide_each_other_better():
    peoples = [1, 2, 3, 10, 11, 50, 800, 803, 9999, *(10**power for power in range(4, 13, 2))]
    stated = [shuffled_loss(2, people=people, delta=1e-7) for people in peoples]
    assert stated == sorted(stated, reverse=True)
    assert 2 >= stated[0] > 500 * stated[-1]


def test_a_smaller_delta_is_paid_with_epsilon():
    for people in (20, 10**4, 10**8):
        deltas = (1e-60, 1e-30, 1e-15, 1e-9, 1.1e-9, 1e-6, 1e-3, 0.3)
        stated = [shuffled_loss(3, people=people, delta=delta) for delta in deltas]
        assert stated == sorted(stated, reverse=True)


def test_reports_that_say_more_say_more_when_shuffled():
    for people in (20, 10**4, 10**8):
        locals_ = (1e-6, 1e-3, 0.5, 0.51, 2, 7, 7.001, 10, 16)
        stated = [shuffled_loss(local, people=people, delta=1e-9) for local in locals_]
        assert stated == sorted(stated)
        assert all(found <= Fraction(str(local)) for found, local in zip(stated, locals_, strict=True))


@pytest.mark.parametrize("wrong", [{"people": 0}, {"people": 2.5}, {"delta": 0}, {"delta": 1}, {"local": 17}])
def test_wrong_arguments_are_refused(wrong):
    arguments = {"local": 1, "people": 10**6, "delta": 1e-6, **wrong}
    with pytest.raises(InvalidInput):
        shuffled_loss(arguments.pop("local"), **arguments)
