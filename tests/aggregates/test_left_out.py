"""What limits leave out: the guess, its interval, and what every aggregate makes of it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.aggregates.left_out import NOTHING, estimate_lost
from discreet.aggregates.vectors import LeftOut
from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from tests.question.clinic import Database, clinic, planned

LIMIT = 12
PART = LeftOut(weight=Weight.for_rows(LIMIT, Norm.L1), distinct=None, condition=None)
NOISES = {
    "Gaussian": DiscreteGaussian(sigma_squared=Fraction(16) ** 2),
    "Laplace": DiscreteLaplace(scale=Fraction(10)),
}
REPEATS = 120


def people_by_loss(rows):
    """The exact bins of people who have so many rows, and what is left out of them."""
    lost = rows[rows > LIMIT] - LIMIT
    places = np.minimum(np.ceil(np.log2(lost)).astype(int), PART.bins - 1)
    return np.bincount(places, minlength=PART.bins), int(lost.sum())


def noisy(people, noise, generator):
    if isinstance(noise, DiscreteGaussian):
        return people + generator.normal(scale=noise.sigma, size=len(people))
    return people + generator.laplace(scale=float(noise.scale), size=len(people))


DATA = {
    "geometric": lambda generator: generator.geometric(0.15, 5_000),
    "lognormal": lambda generator: np.ceil(generator.lognormal(1.5, 1, 5_000)).astype(int),
    "nobody": lambda generator: generator.integers(1, LIMIT, 5_000),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("data", DATA)
def test_the_interval_holds_what_is_left_out(data, noise):
    """At 95 %, fewer than 88 % of 120 hold with probability below 10⁻³ if 95 % is right; seeded."""
    assert binom.cdf(np.ceil(0.88 * REPEATS) - 1, REPEATS, 0.95) < 1e-3
    generator = np.random.default_rng(7)
    people, truth = people_by_loss(DATA[data](generator))
    found = [
        estimate_lost(PART, noisy(people, NOISES[noise], generator), NOISES[noise], 0.95, generator)
        for _ in range(REPEATS)
    ]
    assert np.mean([each.low <= truth <= each.high for each in found]) >= 0.88


@pytest.mark.parametrize("noise", NOISES)
def test_where_nobody_loses_anything_errors_hardly_grow(noise):
    """Seeded. The noise of a count with this limit is about LIMIT times that on one bin, divided by three."""
    generator = np.random.default_rng(3)
    found = [
        estimate_lost(
            PART, noisy(np.zeros(PART.bins), NOISES[noise], generator), NOISES[noise], 0.95, generator
        )
        for _ in range(REPEATS)
    ]
    assert np.mean([each.guess == 0 for each in found]) > 0.95
    assert np.median([each.high for each in found]) < 10 * LIMIT


def test_the_same_draw_gives_the_same_guess():
    people = noisy(np.full(PART.bins, 50.0), NOISES["Gaussian"], np.random.default_rng(1))
    first, second = (
        estimate_lost(PART, people, NOISES["Gaussian"], 0.95, np.random.default_rng(5)) for _ in range(2)
    )
    assert first == second
    assert first.guess > 0


def test_people_of_whom_something_is_left_out_are_in_the_bin_of_what_they_lose():
    """Through the real SQL: 4 rows count fully; 5, 8 and 21 rows lose 1, 4 and 17."""
    database = Database()
    rows = [(person, "north", 1.0, 1) for person, n in enumerate((1, 4, 5, 8, 21)) for _ in range(n)]
    database.fill(rows)
    plan = planned("SELECT count(*) AS n FROM visits", clinic(max_rows=4))
    lost = database.exact(plan)[1]
    assert lost.tolist()[:6] == [1, 0, 1, 0, 0, 1]
    assert sum(lost[: plan.bounded.parts[1].bins]) == 3
    assert sum(lost) == 5  # everybody is in one bin


def test_nothing_is_paid_where_nothing_can_be_left_out():
    dataset = clinic(max_groups=2)
    for question, table in (
        ("SELECT count(*) AS n FROM visits", clinic(unique=True)),
        ("SELECT count(DISTINCT patient) AS n FROM visits", dataset),
        ("SELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ward", dataset),  # two wards
    ):
        parts = planned(question, table).bounded.parts
        assert not any(isinstance(part, LeftOut) for part in parts)


def test_different_values_beyond_the_limit_are_what_is_dropped():
    part = planned("SELECT count(DISTINCT note) AS n FROM visits", clinic(max_groups=2)).bounded.parts[-1]
    assert isinstance(part, LeftOut)
    assert part.weight == Weight(norm=Norm.L1, unit=Unit.PEOPLE, square=4, bits=0)
    database = Database()
    database.fill([(1, "north", 1.0, 1, note) for note in "abcde"] + [(2, "north", 1.0, 1, "a")])
    lost = database.exact(planned("SELECT count(DISTINCT note) AS n FROM visits", clinic(max_groups=2)))[-1]
    assert lost.tolist()[:4] == [0, 0, 1, 0]  # three of five


def test_nothing_lost_is_nothing():
    assert NOTHING.high == NOTHING.guess == 0


COUNTS = "(SELECT patient, max(age) > 50 AS old, count(*) AS n FROM visits GROUP BY patient)"
VALUES_OF_PEOPLE = {
    "counts": f"SELECT avg(n) AS v FROM {COUNTS}",
    "of some": f"SELECT sum(n) AS v FROM {COUNTS} WHERE n > 0",
    "by group": f"SELECT old, sum(n) AS v FROM {COUNTS} GROUP BY old",
}


@pytest.mark.parametrize("question", VALUES_OF_PEOPLE)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_people_whose_value_is_clamped_are_in_the_bin_of_what_that_takes_off(question, delta):
    """Through the real SQL: 4 rows count fully; 5, 8 and 21 rows lose 1/4, 4/4 and 17/4 of the bounds."""
    database = Database()
    database.fill([(person, "north", 1.0, 1) for person, n in enumerate((1, 4, 5, 8, 21)) for _ in range(n)])
    plan = planned(VALUES_OF_PEOPLE[question], clinic(max_rows=4, delta=delta))
    part = plan.bounded.parts[-1]
    assert isinstance(part, LeftOut)
    assert part.only_clamps
    lost = database.exact(plan)[-1].tolist()
    expected = dict.fromkeys(range(len(lost)), 0) | {4: 1, 6: 1, 9: 1}  # octaves from 1/64
    assert dict(enumerate(lost)) == expected  # who loses nothing is in no bin


def test_values_that_the_question_bounds_itself_and_columns_of_unique_tables_pay_nothing():
    for question, table in (
        (f"SELECT sum(least(n, 3)) AS v FROM {COUNTS}", clinic(max_rows=4)),
        (f"SELECT count(*) AS v FROM {COUNTS}", clinic(max_rows=4)),
        ("SELECT avg(cost) AS v FROM visits", clinic(unique=True)),
    ):
        parts = planned(question, table).bounded.parts
        assert not any(isinstance(part, LeftOut) for part in parts)


@pytest.mark.parametrize("noise", NOISES)
def test_what_clamping_takes_off_values_of_people_is_in_the_interval(noise):
    """Seeded. If 93 % hold, fewer than 90 of 120 do with probability below 10⁻⁶."""
    assert binom.cdf(89, REPEATS, 0.93) < 1e-6
    plan = planned(VALUES_OF_PEOPLE["counts"], clinic(max_rows=LIMIT))
    part, generator = plan.bounded.parts[-1], np.random.default_rng(7)
    rows = generator.geometric(0.1, 6_000)
    taken = np.maximum(rows - LIMIT, 0) / LIMIT
    places = np.ceil(np.log2(np.maximum(taken[taken > 0] * 64, 1))).astype(int)
    exact = np.bincount(places, minlength=part.all_bins)
    found = [
        estimate_lost(part, noisy(exact, NOISES[noise], generator), NOISES[noise], 0.95, generator)
        for _ in range(REPEATS)
    ]
    assert sum(each.above.low <= taken.sum() <= each.above.high for each in found) >= 90
    assert all(each.high == each.guess == each.below.guess == 0 for each in found)


DIALYSIS = 200
"""So many patients with 150 visits each, of which 12 count: far more than noise is."""


@pytest.mark.parametrize("noise", NOISES)
def test_people_who_are_there_may_all_be_in_one_group(noise):
    """It loses far more than its share then. What may be noise is spread over groups."""
    part = LeftOut(weight=Weight.for_rows(12, Norm.L1), distinct=None, condition=None)
    people = np.zeros(part.all_bins)
    people[8], people[part.bins + 3] = DIALYSIS, 3_000  # who lose 129 to 256; others have up to 6 visits
    lost = estimate_lost(part, people, NOISES[noise], 0.95, np.random.default_rng(3))
    assert lost.of_counted(np.array([DIALYSIS * 12.0]))[0] >= DIALYSIS * 138
    nobody = np.where(np.arange(part.all_bins) < part.bins, 0.0, people)
    hidden = estimate_lost(part, nobody, NOISES[noise], 0.95, np.random.default_rng(3))
    assert hidden.seen == ()
    assert hidden.of_counted(np.array([100.0]))[0] <= 4 * hidden.high * 100 / hidden.counted
