"""Numbers: estimates without bias and with the stated variance, by enumeration. No false alarms."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.local.mechanisms.number import NumberResponse
from discreet.local.mechanisms.thresholds import weight_of
from tests.local.mechanisms.enumerated import exact_law
from tests.local.mechanisms.instances import NUMBERS


def estimate_of(mechanism, report):
    """What one report says about i."""
    return mechanism.total(mechanism.tally(np.frombuffer(report, dtype=np.uint8)[None]))


@pytest.mark.parametrize("name", NUMBERS)
def test_each_report_estimates_the_number_without_bias_and_with_the_stated_variance(name):
    mechanism = NUMBERS[name]
    for answer in range(mechanism.answers):
        law = exact_law(mechanism, answer)
        estimates = {report: estimate_of(mechanism, report) for report in law}
        assert sum(law[report] * estimates[report] for report in law) == answer
        spread = sum(law[report] * (estimates[report] - answer) ** 2 for report in law)
        assert mechanism.variance(Fraction(answer)) == spread


@pytest.mark.parametrize("name", NUMBERS)
def test_tallies_add_up(name):
    mechanism = NUMBERS[name]
    reports = [np.frombuffer(report, dtype=np.uint8)[None] for report in exact_law(mechanism, 1)]
    together = mechanism.tally(np.concatenate(reports))
    assert list(sum(mechanism.tally(report) for report in reports)) == list(together)
    assert mechanism.reports_in(together) == len(reports)
    assert mechanism.total(together) == sum(mechanism.total(mechanism.tally(report)) for report in reports)


@pytest.mark.parametrize("name", NUMBERS)
def test_no_population_has_a_larger_variance_than_its_mean_allows(name):
    mechanism = NUMBERS[name]
    for people in combinations_with_replacement(range(mechanism.answers), 3):
        average = sum(mechanism.variance(Fraction(number)) for number in people) / 3
        assert average <= mechanism.mean_variance(Fraction(sum(people), 3))


def test_a_mean_beyond_the_scale_is_taken_as_its_end():
    mechanism = NUMBERS["number, hybrid, 4 steps"]
    assert mechanism.mean_variance(Fraction(-7)) == mechanism.mean_variance(Fraction(0))
    assert mechanism.mean_variance(Fraction(99)) == mechanism.mean_variance(Fraction(4))


@pytest.mark.parametrize("epsilon", [Fraction(7, 10), Fraction(1), Fraction(2), Fraction(4)], ids=str)
def test_the_hybrid_s_variance_hardly_depends_on_the_number(epsilon):
    """On the scale [−1, 1] it is what the paper says (arXiv 1907.00782v1, Theorem 2)."""
    steps = 4096
    mechanism = NumberResponse.for_loss(epsilon, steps)
    scaled = [
        float(mechanism.variance(Fraction(answer))) * 4 / steps**2
        for answer in (0, steps // 4, steps // 2, steps)
    ]
    half, whole = float(weight_of(epsilon / 2)), float(weight_of(epsilon))
    stated = (half + 3) / (3 * half * (half - 1)) + (whole + 1) ** 2 / (half * (whole - 1) ** 2)
    assert scaled == pytest.approx([stated] * 4, rel=0.01)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(61, 100)], ids=str)
def test_duchi_s_variance_is_largest_in_the_middle(epsilon):
    steps = 4096
    mechanism = NumberResponse.for_loss(epsilon, steps)
    stated = float((weight_of(epsilon) + 1) / (weight_of(epsilon) - 1)) ** 2
    middle = float(mechanism.variance(Fraction(steps, 2))) * 4 / steps**2
    assert middle == pytest.approx(stated, rel=1e-6)
    assert mechanism.variance(Fraction(0)) < mechanism.variance(Fraction(steps, 2))
