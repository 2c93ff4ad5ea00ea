"""Intervals hold the truth where functions turn, and where groups were selected by their own noise.

Each test looks at intervals that hold with probability 0.95 at least. It fails if so few hold as happens with
probability 10⁻⁷: that is its false alarm. The noise is seeded, so that a test that passes goes on to.
"""

import numpy as np
import pytest
from scipy.stats import binom

from discreet.noise.entropy import SystemEntropy
from tests.release.same_groups import SameGroups

GROUPS = 1_000
A, B = "count(*) FILTER (WHERE kind = 'a')", "count(*) FILTER (WHERE kind = 'b')"
AVERAGE_A, AVERAGE_B = "avg(x) FILTER (WHERE kind = 'a')", "avg(x) FILTER (WHERE kind = 'b')"
EIGHT = [f"count(*) FILTER (WHERE kind = '{kind}')" for kind in "abcdefgh"]
LAWS = pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    generator = np.random.default_rng(16)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)


def holds(intervals, truth):
    """Whether enough of the intervals hold."""
    low, high = intervals
    assert len(low) >= 500
    return ((low <= truth) & (truth <= high)).sum() >= binom.ppf(1e-7, len(low), 0.95)


def by_place(expression):
    return f"SELECT place, {expression} AS y FROM t GROUP BY place"


TURNING = {
    f"abs({A} - {B})": 0,
    f"({A} - {B}) * ({A} - {B})": 0,
    f"power({A} - {B}, 2)": 0,
    "abs(avg(x) - 50)": 0,
    f"greatest({A}, {B})": 40,
    f"least({A}, {B})": 40,
    f"CASE WHEN {A} > {B} THEN {A} ELSE {B} END": 40,
    f"{A} % 40": 0,
    f"abs({A} - {B}) / ({A} + {B})": 0,
    f"{A} / {B}": 1,
    f"100 * {A} / ({A} + {B})": 50,
    f"round(100 * {A} / ({A} + {B}), 1)": 50,
    "sqrt(count(*))": np.sqrt(80),
    f"sqrt({A} - {B})": 0,
    f"coalesce({AVERAGE_A}, 0) - {AVERAGE_B}": 0,
    "count(*) * avg(x)": 4000,
    "abs(median(x) - 50)": 0,
}


@LAWS
@pytest.mark.parametrize("expression", TURNING)
def test_functions_of_noisy_numbers_hold_the_truth(expression, delta):
    few = "median" in expression
    groups = SameGroups([("a", 50)] * 40 + [("b", 50)] * 40, groups=500 if few else GROUPS, delta=delta)
    assert holds(groups.intervals(by_place(expression), epsilon=1), TURNING[expression])


@LAWS
@pytest.mark.parametrize(("name", "function"), [("greatest", max), ("least", min)])
def test_the_largest_of_eight_equal_counts_is_not_taken_for_more(name, function, delta):
    groups = SameGroups([(kind, 1) for kind in "abcdefgh" for _ in range(40)], groups=GROUPS, delta=delta)
    assert holds(groups.intervals(by_place(f"{name}({', '.join(EIGHT)})"), epsilon=2), function(40, 40))


FEW_ROWS = {
    "avg(x)": 40,
    f"{AVERAGE_A} - {AVERAGE_B}": -40,
    "variance(x)": 400,
    "stddev(x)": 20,
    f"{A} / {B}": 1,
    f"{A} / count(*) + {B} / count(*)": 1,
}


@LAWS
@pytest.mark.parametrize("rows", [3, 10, 50])
@pytest.mark.parametrize("expression", FEW_ROWS)
def test_quotients_hold_the_truth_of_few_rows_too(expression, rows, delta):
    """Where the noise may be larger than what is divided by, an interval may end at the bounds, or not."""
    groups = SameGroups([("a", 20)] * rows + [("b", 60)] * rows, groups=GROUPS, delta=delta)
    assert holds(groups.intervals(by_place(expression), epsilon=1), FEW_ROWS[expression])


@LAWS
def test_a_quotient_by_what_may_be_below_zero_holds(delta):
    """By 1 in truth. A draw below 0 turns the sign, and says nothing of how large the quotient may be."""
    groups = SameGroups([("a", 50)] * 40 + [("b", 50)], groups=GROUPS, delta=delta)
    assert holds(groups.intervals(by_place(f"{A} / {B}"), epsilon=1), 40)


@LAWS
def test_a_deviation_of_nothing_holds(delta):
    groups = SameGroups([("a", 20)] * 60, groups=GROUPS, delta=delta)
    assert holds(groups.intervals(by_place("stddev(x)"), epsilon=1), 0)


def test_what_is_affine_or_a_quotient_is_not_wider_than_its_noise():
    """Two counts of scale 1/ε: a simulation of their difference is narrower than the box of both."""
    groups = SameGroups([("a", 50)] * 400 + [("b", 50)] * 400, groups=GROUPS)
    low, high = groups.intervals(by_place(f"{A} - {B}"), epsilon=1)
    one, other = groups.intervals(f"SELECT place, {A} AS y, {B} AS z FROM t GROUP BY place", epsilon=1)
    assert 1.2 < np.median(high - low) / np.median(other - one) < 1.6
    low, high = groups.intervals(by_place(f"{A} / {B}"), epsilon=1)
    assert 1.2 < np.median(high - low) * 400 / np.median(other - one) < 1.6


def test_an_end_that_nothing_bounds_is_infinite():
    groups = SameGroups([("a", 50)] * 2 + [("b", 50)] * 2, groups=50)
    low, high = groups.intervals(by_place(f"1 / ({A} - {B})"), epsilon=0.5)
    assert np.isneginf(low).any()
    assert np.isposinf(high).any()


# Selection


@LAWS
@pytest.mark.parametrize("rest", ["ORDER BY y DESC LIMIT 1", "ORDER BY y LIMIT 2", "HAVING count(*) > 41"])
def test_groups_that_were_selected_by_their_noise_hold_the_truth(rest, delta):
    """Ten equal groups, asked 1,000 times; the noise of those that are left was large."""
    groups = SameGroups([("a", 50)] * 40, groups=10, delta=delta)
    found = groups.intervals(
        f"SELECT place, count(*) AS y FROM t GROUP BY place {rest}", epsilon=1, times=1000
    )
    assert holds(found, 40)


def test_averages_that_were_selected_hold_the_truth():
    groups = SameGroups([("a", 50)] * 40, groups=10)
    sql = "SELECT place, avg(x) AS y FROM t GROUP BY place ORDER BY y DESC LIMIT 1"
    assert holds(groups.intervals(sql, epsilon=1, times=500), 50)


@pytest.mark.parametrize(
    ("rest", "wider"),
    [
        ("ORDER BY y DESC LIMIT 1", True),
        ("ORDER BY y DESC LIMIT 10", False),
        ("ORDER BY y DESC", False),
        ("ORDER BY place LIMIT 1", False),
        ("ORDER BY sum(x) LIMIT 1", True),  # it is computed from the same noisy numbers
        ("HAVING sum(x) > 0", True),
        ("HAVING count(DISTINCT kind) > 0", False),
        ("HAVING count(*) > 0", True),
    ],
)
def test_only_what_the_selection_looks_at_is_wider(rest, wider):
    groups = SameGroups([("a", 50)] * 4000, groups=10)
    sql = f"SELECT place, count(*) AS y, sum(x) AS z FROM t GROUP BY place {rest}"
    plan = groups.plan(sql, 1)
    answer = groups.asked(plan, groups.exact(plan))
    half = (answer.high["y"][0] - answer.low["y"][0]) / 2
    alone = float(plan.error(plan.bounded.measures[0]).high)
    at_once = float(plan.error(plan.bounded.measures[0], cells=10).high)
    assert at_once > alone
    assert half == pytest.approx(at_once if wider else alone, abs=1)


def test_many_groups_that_were_selected_are_bounded_by_the_tails_of_their_vectors():
    """2,000 groups at once would take a simulation of 400,000 draws for each."""
    groups = SameGroups([("a", 60)] * 500, groups=2_000)
    low, high = groups.intervals(f"{by_place('avg(x)')} HAVING avg(x) > 0", epsilon=1)
    assert ((low <= 60) & (high >= 60)).all()
    plain_low, plain_high = groups.intervals(by_place("avg(x)"), epsilon=1)
    assert 1 < np.median(high - low) / np.median(plain_high - plain_low) < 6


# Private keys


def private(expression):
    return f"SELECT name, {expression} AS y FROM t GROUP BY name"


@pytest.mark.parametrize("people", [12, 15, 20, 25, 40])
@pytest.mark.parametrize(
    ("expression", "each"),
    [("count(*)", 1), ("2 * count(*) - 1", 2), ("sum(x)", 50), ("sum(x) / count(*)", 0)],
)
def test_groups_that_are_seen_because_they_passed_hold_the_truth(expression, each, people):
    """They pass about 23 at ε = 1: 12 of 10,000 groups of 12 people do, and their noise was large."""
    groups = SameGroups([("a", 50)] * people, groups=20_000, delta=1e-6, budget=1)
    truth = {1: people, 2: 2 * people - 1, 50: 50 * people, 0: 50}[each]
    low, high = groups.intervals(private(expression), epsilon=1, times=3)
    least = binom.ppf(1e-7, len(low), 0.95)
    assert len(low) > 0
    assert ((low <= truth) & (truth <= high)).sum() >= least


def test_a_group_that_is_shown_has_somebody_in_it():
    groups = SameGroups([("a", 50)] * 15, groups=2_000, delta=1e-6)
    low, _ = groups.intervals(private("count(*)"), epsilon=1, times=5)
    assert low.min() == 1


def test_selected_groups_with_private_keys_hold_the_truth():
    groups = SameGroups([("a", 50)] * 30, groups=10, delta=1e-6)
    sql = f"{private('count(*)')} ORDER BY y DESC LIMIT 1"
    assert holds(groups.intervals(sql, epsilon=1, times=1000), 30)


# Quantiles


ROUND_NUMBERS = [19.97] * 30 + [20] * 400 + [20.05] * 30 + list(range(100))


@LAWS
@pytest.mark.parametrize(
    ("rows", "share", "truth"),
    [(ROUND_NUMBERS, 0.5, 20), ([10] * 100 + [60] * 100, 0.5, 35), (list(range(100)) * 5, 0.9, 89)],
    ids=["round-numbers", "between-two-rows", "few-rows-in-a-bin"],
)
def test_quantiles_hold_the_truth_however_rows_lie_in_their_bins(rows, share, truth, delta):
    groups = SameGroups([("a", x) for x in rows], groups=300, delta=delta)
    assert holds(groups.intervals(by_place(f"quantile(x, {share})"), epsilon=1, times=2), truth)


def test_a_quantile_is_known_to_a_bin_where_rows_are_many():
    """Bins are 100/1024 wide. With rows enough, an interval is the bin of the quantile and its neighbours."""
    groups = SameGroups([("a", (i + 0.5) / 2000) for i in range(200_000)], groups=5)
    low, high = groups.intervals(by_place("median(x)"), epsilon=1, times=4)
    assert (high - low <= 3 * 100 / 1024 + 1e-9).all()
    assert ((low <= 50) & (high >= 50)).all()


# Small noise


@pytest.mark.parametrize(("delta", "epsilon"), [(0, 3.1), (1e-6, 12.5)])
def test_small_noise_is_drawn_on_the_integers(delta, epsilon):
    """A continuous law narrower than a step would miss each count that the noise moved, 9 to 20 % of them."""
    groups = SameGroups([("a", 50)] * 40, groups=4 * GROUPS, delta=delta)
    assert holds(groups.intervals(by_place("2 * count(*) + 1"), epsilon=epsilon), 81)
