"""Intervals of shares: as often right as they say, from five reports on. No chance here: laws are summed."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.local.mechanisms.classic import DirectResponse, LocalHashing, UnaryEncoding
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.share_intervals import likely_support, share_intervals
from discreet.local.survey import OneOf

SHARES = [0, 0.05, 0.1, 0.3, 0.5, 0.8, 1]


def law_of_support(mechanism, people, reports):
    """How likely 0, 1, … reports support an option that so many people have."""
    own = binom.pmf(np.arange(people + 1), people, float(mechanism.inside))
    others = binom.pmf(np.arange(reports - people + 1), reports - people, float(mechanism.outside))
    return np.convolve(own, others)


def coverage(mechanism, reports, share, confidence=0.95):
    low, high = share_intervals(mechanism, np.arange(reports + 1), reports, confidence)
    people = round(share * reports)
    holds = (low <= people / reports) & (people / reports <= high)
    return law_of_support(mechanism, people, reports)[holds].sum()


@pytest.mark.parametrize("reports", [5, 10, 30, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 4, 8])
@pytest.mark.parametrize("options", [2, 5, 300])
def test_they_hold_from_few_reports_on(options, epsilon, reports):
    mechanism = OneOf.ask("pet", "Which pet have you?", options, epsilon=epsilon).mechanism
    for share in SHARES:
        assert coverage(mechanism, reports, share) >= 0.95 - 1e-9
        assert coverage(mechanism, reports, share, confidence=0.8) >= 0.8 - 1e-9


@pytest.mark.parametrize("kind", [DirectResponse, UnaryEncoding, LocalHashing, HadamardResponse])
def test_they_hold_for_every_mechanism(kind):
    for reports in (7, 50):
        for share in SHARES:
            assert coverage(kind.for_loss(Fraction(2), 6), reports, share) >= 0.95 - 1e-9


def test_they_hold_if_other_options_are_the_likelier_report():
    mechanism = SubsetSelection(answers=2, chosen=1, keep=2**46)
    assert mechanism.inside < mechanism.outside
    for share in SHARES:
        assert coverage(mechanism, 40, share) >= 0.95
    found, same = (
        share_intervals(each, support, 40, 0.95)
        for each, support in (
            (mechanism, np.arange(41)),
            (SubsetSelection(answers=2, chosen=1, keep=3 * 2**46), 40 - np.arange(41)),
        )
    )
    assert np.array_equal(found, same)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_they_are_as_narrow_as_normal_ones_where_reports_are_many(epsilon):
    for options, reports in ((2, 2000), (16, 10**6)):
        mechanism = OneOf.ask("pet", "Which pet have you?", options, epsilon=epsilon).mechanism
        middle = (mechanism.inside * 3 + mechanism.outside * 7) / 10
        (low,), (high,) = share_intervals(mechanism, np.array([round(middle * reports)]), reports, 0.95)
        normal = 2 * 1.959964 * (mechanism.variance(0.3) / reports) ** 0.5
        assert normal * 0.999 < high - low < normal * 1.1


@pytest.mark.parametrize(("inside", "outside"), [(0.5, 0.1), (0.95, 0.05), (0.99, 0.01), (0.9, 0.5)])
@pytest.mark.parametrize("miss", [0.25, 0.025, 1e-6])
def test_the_normal_ends_are_never_inside_the_exact_ones_and_hardly_outside(inside, outside, miss):
    reports = int(400 / min(inside * (1 - inside), outside * (1 - outside))) + 1
    likely = likely_support(reports, inside, outside, miss)
    for people in (0, reports // 9, reports // 2, reports):
        law = np.convolve(
            binom.pmf(np.arange(people + 1), people, inside),
            binom.pmf(np.arange(reports - people + 1), reports - people, outside),
        )
        least, largest = likely(people)
        assert law[:least].sum() <= miss
        assert law[largest + 1 :].sum() <= miss
        assert law[: least + 3].sum() > miss
        assert law[largest - 2 :].sum() > miss


def test_what_hardly_anybody_reports_has_a_share_of_nobody():
    mechanism = SubsetSelection.for_loss(Fraction(1), 2)
    low, high = share_intervals(mechanism, np.array([0, 100]), 100, 0.95)
    assert (low.tolist(), high.tolist()) == ([0, 1], [0, 1])
