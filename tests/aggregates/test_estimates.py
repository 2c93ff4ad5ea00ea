"""Each aggregate from noisy vectors that are written down here, and as it is shown."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.aggregates.aggregate import NoisyMeasure
from discreet.aggregates.registry import AGGREGATES
from tests.question.clinic import clinic, planned

CONFIDENCE = Fraction(95, 100)


def noisy(measure_sql, *sums):
    """The definition of a measure of the clinic's visits, and the measure with these noisy sums."""
    plan = planned(f"SELECT {measure_sql} AS it FROM visits", clinic())
    (measure,) = plan.bounded.measures
    found = NoisyMeasure(
        measure=measure.measure,
        vectors=tuple(each.vector for each in measure.vectors),
        noise=tuple(plan.noise_of(each) for each in measure.vectors),
        sums=tuple(np.array(each, dtype=np.float64) for each in sums),
        trees=(),
        confidence=CONFIDENCE,
        grouped=False,
    )
    return AGGREGATES[measure.measure.aggregate], found


COUNTS = ["count(*)", "count(note)", "count(DISTINCT patient)", "count(DISTINCT note)"]


@pytest.mark.parametrize("sql", COUNTS)
def test_a_count_is_shown_whole_and_not_negative(sql):
    definition, measure = noisy(sql, [-3.2, 0.4, 7.6])
    estimates = definition.estimate(measure)
    assert estimates.tolist() == [-3.2, 0.4, 7.6]
    assert definition.shown(measure.measure, estimates).tolist() == [0, 0, 8]


@pytest.mark.parametrize("sql", COUNTS)
def test_the_truth_of_a_count_is_not_negative_and_within_its_error(sql):
    definition, measure = noisy(sql, [-1000.0, 1000.0])
    error = float(definition.error(measure.vectors[0], measure.noise[0], CONFIDENCE).high)
    low, high = definition.reach(measure, definition.estimate(measure))
    assert low.tolist() == [0, 1000 - error]
    assert high.tolist() == [0, 1000 + error]


def test_a_sum_is_whole_if_its_values_are():
    whole, of_ages = noisy("sum(age)", [-3.2, 7.6])
    assert whole.shown(of_ages.measure, whole.estimate(of_ages)).tolist() == [-3, 8]
    fractions, of_costs = noisy("sum(cost)", [-3.2, 7.6])
    assert fractions.shown(of_costs.measure, fractions.estimate(of_costs)).tolist() == [-3.2, 7.6]


def test_an_average_is_from_the_middle_of_the_bounds_and_within_them():
    definition, measure = noisy("avg(cost)", [10, 10, 10, 0.4], [5, 1000, -1000, 1])  # bounds -2 … 4
    assert np.array_equal(definition.estimate(measure), [1.5, 4, -2, np.nan], equal_nan=True)
    assert definition.reach(measure, definition.estimate(measure)) is None


def test_a_variance_is_not_negative():
    definition, measure = noisy("variance(cost)", [10, 10, 0], [20, 20, 1], [90, 10, 1])
    assert np.array_equal(definition.estimate(measure), [5, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("sql", "span"),
    [
        *((sql, (0, np.inf)) for sql in COUNTS),
        ("sum(cost)", (-np.inf, np.inf)),
        ("sum(age)", (0, np.inf)),
        ("sum(-age)", (-np.inf, 0)),
        ("avg(cost)", (-2, 4)),
        ("median(cost)", (-2, 4)),
        ("variance(cost)", (0, 9)),
    ],
)
def test_where_the_truth_is_for_certain(sql, span):
    definition, measure = noisy(sql)
    assert definition.span(measure.measure) == span


@pytest.mark.parametrize("sql", ["count(*)", "sum(cost)", "avg(cost)", "variance(cost)"])
def test_every_sum_between_two_gives_a_measure_between_two(sql):
    """No false alarms: each of 2,000 points has to be inside. What is divided by is positive in truth."""
    generator = np.random.default_rng(3)
    parts = {"count(*)": 1, "sum(cost)": 1, "avg(cost)": 2, "variance(cost)": 3}[sql]
    lows, highs = np.sort(generator.normal(5, 20, size=(2, parts, 50)), axis=0)
    definition, low = noisy(sql, *lows)
    _, high = noisy(sql, *highs)
    least, most = definition.box(low, high)
    assert not np.isnan(least).any()
    assert not np.isnan(most).any()
    for _ in range(40):
        _, point = noisy(sql, *(lows + generator.random(lows.shape) * (highs - lows)))
        values = np.clip(definition.estimate(point), *definition.span(point.measure))
        divisible = point.sums[0] >= 0.5
        inside = (values >= least - 1e-9) & (values <= most + 1e-9)
        assert (inside | np.isnan(values) | ~divisible).all()


def test_errors_of_many_groups_at_once_are_larger():
    for sql in (*COUNTS, "sum(cost)", "avg(cost)", "median(cost)"):
        definition, measure = noisy(sql)
        one, many = (
            definition.error(measure.vectors[-1], measure.noise[-1], CONFIDENCE, cells=cells).high
            for cells in (1, 1000)
        )
        assert 0 < one < many
