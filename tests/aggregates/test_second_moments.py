"""Correlations and slopes: what they are computed from, and intervals that hold the truth."""

import numpy as np
import pytest
from scipy.stats import binom

from discreet.aggregates.registry import AGGREGATES
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate
from discreet.noise.entropy import SystemEntropy
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release
from tests.release.same_groups import SameGroups

Y = "least(greatest(CAST(kind AS INTEGER), 0), 100)"
GROUPS = 2_000


@pytest.fixture
def seeded(monkeypatch):
    generator = np.random.default_rng(18)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)


def test_equal_sums_are_paid_once_whatever_their_order():
    def parts(measures):
        return planned(f"SELECT {measures} FROM visits", clinic(unique=True)).bounded.parts

    assert len(parts("corr(cost, age)")) == 6
    assert len(parts("covar_pop(cost, age)")) == 4
    assert len(parts("corr(cost, age), corr(age, cost), regr_slope(age, cost), covar_pop(age, cost)")) == 6
    assert len(parts("corr(cost, age), corr(cost, age) FILTER (WHERE note = 'a')")) == 12


def test_only_rows_with_both_values_count():
    rows = [(1, "north", 1.0, 5), (2, "north", None, 7), (3, "north", 2.0, None), (4, "north", 3.0, 9)]
    database = Database()
    database.fill(rows)
    plan = planned("SELECT covar_pop(cost, age) FROM visits", clinic(unique=True))
    whole = Database()
    whole.fill([rows[0], rows[3]])
    assert [vector.tolist() for vector in database.exact(plan)] == [
        vector.tolist() for vector in whole.exact(plan)
    ]
    (measure,) = plan.bounded.measures
    assert database.exact(plan)[measure.parts[0]].tolist() == [2]


def test_both_numbers_need_bounds():
    for sql in ("corr(cost, length(note))", "regr_slope(length(note), cost)"):
        with pytest.raises(QueryRefused, match="no bounds"):
            planned(f"SELECT {sql} FROM visits", clinic())
    with pytest.raises(QueryRefused, match="needs a number"):
        planned("SELECT corr(cost, note) FROM visits", clinic())


def test_an_answer_says_which_rows_and_bounds():
    plan = planned("SELECT corr(cost, age) AS r FROM visits", clinic())
    database = Database()
    database.fill([(i, "north", i % 5 - 1, i % 90) for i in range(50)])
    notes = release(plan, database.results(plan)).notes
    assert any(
        "rows that have both values, which are taken within -2 … 4 and 0 … 99" in note for note in notes
    )


def correlated(rows, slope, seed=3):
    """Pairs within 0 … 100, as rows of `SameGroups`."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(0, 100, rows)
    y = np.clip(np.rint(50 + slope * (x - 50) + generator.normal(0, 12, rows)), 0, 100)
    return [(str(int(kind)), value) for kind, value in zip(y, x, strict=True)], x, y


TRUTHS = {
    f"corr(x, {Y})": lambda x, y: np.corrcoef(x, y)[0, 1],
    f"regr_slope({Y}, x)": lambda x, y: np.polyfit(x, y, 1)[0],
    f"regr_intercept({Y}, x)": lambda x, y: np.polyfit(x, y, 1)[1],
    f"covar_samp(x, {Y})": lambda x, y: np.cov(x, y, bias=True)[0, 1],
    f"regr_r2({Y}, x)": lambda x, y: np.corrcoef(x, y)[0, 1] ** 2,
}


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(
    ("measure", "slope", "delta"),
    [
        *((each, 0.6, delta) for each, delta in zip(TRUTHS, (0, 1e-6, 0, 1e-6, 0), strict=True)),
        (f"corr(x, {Y})", 0.6, 1e-6),
        (f"corr(x, {Y})", 0.0, 0),
    ],
)
def test_intervals_hold_the_truth(measure, slope, delta):
    """Of 2,000 groups, each with its own noise, 95 % are meant to. The test fails if so few hold as happens
    with probability 10⁻⁷, its false alarm. Values on the grid are off by a millionth of their range.
    """
    rows, x, y = correlated(400, slope)
    groups = SameGroups(rows, groups=GROUPS, delta=delta)
    low, high = groups.intervals(f"SELECT place, {measure} AS y FROM t GROUP BY place", epsilon=1)
    truth = TRUTHS[measure](x, y)
    held = ((low <= truth + 1e-4) & (truth - 1e-4 <= high)).sum()
    assert held >= binom.ppf(1e-7, GROUPS, 0.95)
    if "corr" in measure:
        assert (low >= -1).all()
        assert (high <= 1).all()
        assert np.median(high - low) < 1 or slope == 0


@pytest.mark.usefixtures("seeded")
def test_intervals_hold_where_noise_is_larger_than_the_variance():
    rows, x, y = correlated(12, 0.9)
    groups = SameGroups(rows, groups=500)
    for measure in (f"corr(x, {Y})", f"regr_slope({Y}, x)"):
        low, high = groups.intervals(f"SELECT place, {measure} AS y FROM t GROUP BY place", epsilon=1)
        truth = TRUTHS[measure](x, y)
        held = (np.isnan(low) | ((low <= truth) & (truth <= high))).sum()
        assert held >= binom.ppf(1e-7, 500, 0.95)


def test_what_is_certain_of_each():
    (measure,) = planned("SELECT corr(cost, age) FROM visits", clinic()).bounded.measures
    assert AGGREGATES[Aggregate.CORRELATION].span(measure.measure) == (-1.0, 1.0)
    assert AGGREGATES[Aggregate.COVARIANCE].span(measure.measure) == (-6 * 99 / 4, 6 * 99 / 4)
