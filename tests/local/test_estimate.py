"""Estimates: as far off as theory says, and as often within their intervals.

False alarms: the effective number of independent squared errors is at least 7,000 in each test. Their mean is
off by 10 % with probability below 10⁻⁶ (a χ² law); a coverage of 95 % is measured as less than 93.5 % or more
than 96.5 % with probability below 10⁻⁶. Intervals of shares hold up to 2 % more often (see
`test_share_intervals`).
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.local.estimate import Mean, Shares, estimate, onto_simplex
from discreet.local.survey import NumberBetween, OneOf
from discreet.noise.entropy import SYSTEM

RANDOM = np.random.default_rng()
EPSILONS = [0.5, 1, 2, 4]
REPETITIONS = {2: (7500, 300), 16: (600, 3000), 100: (80, 20_000), 10**4: (2, 200_000)}
"""How many estimates, and how many reports each; these vary a little, so that counts fall everywhere."""


def tallies(mechanism, answers, sizes):
    """One tally for each run of so many answers."""
    reports = mechanism.randomise_many(answers, SYSTEM)
    ends = np.cumsum(sizes)
    for end, size in zip(ends, sizes, strict=True):
        yield mechanism.tally(reports[end - size : end]), answers[end - size : end]


def sizes_around(repetitions, typical):
    return RANDOM.integers(3 * typical // 4, 5 * typical // 4, size=repetitions)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("options", REPETITIONS)
def test_shares_are_as_far_off_as_theory_says(options, epsilon):
    question = OneOf.ask("pet", "Which pet have you?", options, epsilon=epsilon)
    sizes = sizes_around(*REPETITIONS[options])
    common = 1 / np.arange(1, options + 1)
    answers = RANDOM.choice(options, p=common / common.sum(), size=sizes.sum())
    squares, covered = [], []
    for tally, own in tallies(question.mechanism, answers, sizes):
        truth = np.bincount(own, minlength=options) / len(own)
        found = estimate(question, tally)
        assert found.reports == len(own)
        squares.append(len(own) * np.mean((found.shares - truth) ** 2))
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
        assert (covered[-1] <= np.mean(np.abs(found.shares - truth) <= found.errors + 1e-12)).all()
        assert ((found.low <= found.high) & (found.errors >= found.shares - found.low)).all()
        assert np.sum((found.distribution - truth) ** 2) <= np.sum((found.shares - truth) ** 2) + 1e-12
    assert np.mean(squares) == pytest.approx(question.mechanism.mean_variance, rel=0.1)
    assert 0.935 <= np.mean(covered) <= 0.985


def measured_means(question, levels, *, intervals):
    """Squared errors in steps, times the number of reports; and how often the first intervals held."""
    mechanism = question.mechanism
    sizes = sizes_around(7500, 300)
    answers = RANDOM.choice(levels, size=sizes.sum())
    squares, covered = [], []
    for tally, own in tallies(mechanism, answers, sizes):
        squares.append(len(own) * float(mechanism.total(tally) / len(own) - Fraction(own.mean())) ** 2)
        if len(covered) < intervals:
            found = estimate(question, tally)
            covered.append(abs(found.mean - question.value(own.mean())) <= found.error)
    return np.mean(squares), np.mean(covered)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_means_of_equal_numbers_are_as_far_off_as_theory_says(epsilon):
    question = NumberBetween.ask("age", "How old are you?", 0, 120, epsilon=epsilon)
    square, covered = measured_means(question, [3000], intervals=7500)
    assert square == pytest.approx(float(question.mechanism.variance(Fraction(3000))), rel=0.1)
    assert 0.935 <= covered <= 0.965


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_means_of_different_numbers_are_off_no_more_than_stated(epsilon):
    """Where the spread of the numbers is unknown, the interval is wide enough for any; of 1,500 intervals
    that hold with 95 %, less than 91 % do with probability below 10⁻¹⁰."""
    question = NumberBetween.ask("age", "How old are you?", -10, 10, epsilon=epsilon)
    levels = [0, 1000, 2048, 4096]
    square, covered = measured_means(question, levels, intervals=1500)
    stated = np.mean([float(question.mechanism.variance(Fraction(level))) for level in levels])
    assert square == pytest.approx(stated, rel=0.1)
    assert covered >= 0.91


def nearest_by_trying_all_supports(values):
    """Where some parts are 0, the others are moved alike; the nearest of all such points."""
    candidates = []
    for size in range(1, len(values) + 1):
        for support in combinations(range(len(values)), size):
            point = np.zeros(len(values))
            chosen = list(support)
            point[chosen] = values[chosen] - (values[chosen].sum() - 1) / size
            if (point >= 0).all():
                candidates.append(point)
    return min(candidates, key=lambda point: ((point - values) ** 2).sum())


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_the_distribution_is_the_nearest_one(size):
    for spread in (0.01, 0.3, 3, 100):
        for _ in range(10):
            values = RANDOM.normal(1 / size, spread, size=size)
            projected = onto_simplex(values)
            assert projected == pytest.approx(nearest_by_trying_all_supports(values), abs=1e-9)
            assert projected.sum() == pytest.approx(1)
            assert projected.min() >= 0


def test_a_distribution_stays_as_it_is():
    for values in ([1.0], [0.25, 0.75], [0.0, 0.0, 1.0], [0.2] * 5):
        assert onto_simplex(np.array(values)) == pytest.approx(values, abs=1e-12)


def test_raw_shares_and_the_distribution_are_both_returned():
    """Raw shares add up to 1 without being shares; the distribution has no negative part."""
    question = OneOf.ask("pet", "Which pet have you?", 100, epsilon=0.5)
    answers = np.zeros(500, dtype=np.int64)
    found = estimate(question, question.mechanism.tally(question.mechanism.randomise_many(answers, SYSTEM)))
    assert isinstance(found, Shares)
    assert found.shares.min() < 0
    assert found.shares.sum() == pytest.approx(1)
    assert found.distribution.min() >= 0
    assert found.distribution.sum() == pytest.approx(1)
    assert (found.confidence, found.reports) == (Fraction(95, 100), 500)


def test_more_confidence_is_a_wider_interval():
    question = OneOf.ask("smokes", "Do you smoke?", ["yes", "no"], epsilon=1)
    tally = np.array([600, 400])
    errors = [estimate(question, tally, confidence=level).errors[0] for level in (0.5, 0.95, 0.999)]
    assert np.array(errors) / errors[1] == pytest.approx([0.3441, 1, 1.6789], abs=0.02)
    assert errors[1] == pytest.approx(1.959964 * (question.mechanism.variance() / 1000) ** 0.5, rel=0.03)


def test_a_mean_is_on_the_scale_of_the_question():
    question = NumberBetween.ask("age", "How old are you?", 20, 60, epsilon=16)
    answers = np.full(10_000, question.level(50))
    tally = question.mechanism.tally(question.mechanism.randomise_many(answers, SYSTEM))
    found = estimate(question, tally)
    assert isinstance(found, Mean)
    assert found.mean == pytest.approx(50, abs=6 * found.error)  # 12 standard deviations
    assert found.error < 0.1


@pytest.mark.parametrize(
    "question",
    [
        OneOf.ask("pet", "Which pet have you?", 5, epsilon=1),
        NumberBetween.ask("age", "How old are you?", 0, 120, epsilon=1),
    ],
    ids=["options", "number"],
)
def test_nothing_is_estimated_from_no_reports(question):
    empty = np.zeros(question.mechanism.cells, dtype=np.int64)
    with pytest.raises(InvalidInput, match="no reports about"):
        estimate(question, empty)
