"""The vectorised clients have the law of the scalar ones.

False alarms: each fit is a χ² or binomial test that fails by chance once in 10⁹.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.statistics import FIT_ALARM, fit_probability
from discreet.local.mechanisms.mechanism import as_bytes, as_integers, bytes_for
from discreet.local.mechanisms.projective import ProjectiveResponse
from discreet.noise.entropy import SYSTEM
from tests.local.mechanisms.enumerated import exact_law
from tests.local.mechanisms.instances import ALL

PEOPLE = 60_000


@pytest.mark.parametrize("name", ALL)
def test_simulated_reports_follow_the_exact_law(name):
    mechanism = ALL[name]
    for answer in sorted({0, 1, mechanism.answers // 2, mechanism.answers - 1}):
        law = exact_law(mechanism, answer)
        reports = mechanism.randomise_many(np.full(PEOPLE, answer), SYSTEM)
        assert reports.shape == (PEOPLE, mechanism.size)
        assert mechanism.valid(reports).all()
        counts = np.bincount(as_integers(reports), minlength=256**mechanism.size)
        chances = np.zeros(256**mechanism.size)
        chances[[int.from_bytes(report, "little") for report in law]] = [float(p) for p in law.values()]
        assert fit_probability(counts, chances) >= FIT_ALARM


@pytest.mark.parametrize("name", ALL)
def test_people_with_different_answers_keep_their_own_law(name):
    """Answers side by side, in an order that would show if rows were mixed up."""
    mechanism = ALL[name]
    answers = np.arange(PEOPLE) % mechanism.answers
    reports = mechanism.randomise_many(answers, SYSTEM)
    chosen = 1 % mechanism.answers
    own = as_integers(reports[answers == chosen])
    law = exact_law(mechanism, chosen)
    chances = np.zeros(256**mechanism.size)
    chances[[int.from_bytes(report, "little") for report in law]] = [float(p) for p in law.values()]
    assert fit_probability(np.bincount(own, minlength=len(chances)), chances) >= FIT_ALARM


@pytest.mark.parametrize("name", ALL)
def test_nobody_sends_nothing(name):
    reports = ALL[name].randomise_many(np.empty(0, dtype=np.int64), SYSTEM)
    assert reports.shape == (0, ALL[name].size)
    assert reports.dtype == np.uint8


def test_integers_become_bytes_and_back():
    integers = np.array([0, 1, 255, 256, 2**24 - 1])
    assert list(as_integers(as_bytes(integers, 3))) == list(integers)
    assert as_bytes(np.array([0x030201]), 3).tolist() == [[1, 2, 3]]
    assert [bytes_for(count) for count in (1, 2, 256, 257, 2**16, 2**16 + 1)] == [1, 1, 1, 2, 2, 3]


def test_the_largest_numbers_of_a_geometry_do_not_overflow():
    """Vectors up to 1621³, just below 2³². An estimate is off by seven deviations once in 10¹¹ times."""
    mechanism = ProjectiveResponse.for_loss(Fraction(7), 10**6, prime=1621, coordinates=3)
    answers = np.where(np.arange(PEOPLE) % 3 == 0, 10**6 - 1, 4)
    reports = mechanism.randomise_many(answers, SYSTEM)
    own = [mechanism.probability(report.tobytes(), 4) for report in reports[answers == 4]]
    on_the_plane = mechanism.inside / 1622
    share = np.mean([chance == on_the_plane for chance in own])
    assert abs(share - float(mechanism.inside)) < 7 * (share * (1 - share) / len(own)) ** 0.5
    few = replace(mechanism, answers=5)
    estimate = (few.support(few.tally(reports))[4] / PEOPLE - float(few.outside)) / float(
        few.inside - few.outside
    )
    assert abs(estimate - 2 / 3) < 7 * (few.variance(2 / 3) / PEOPLE) ** 0.5
