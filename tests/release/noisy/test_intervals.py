"""Intervals of what is computed over several groups, or from several leaves, hold the truth.

Each answer has many intervals that have nothing to do with each other. They hold with probability 0.95 at
least. A test fails if so few hold as happens with probability 10⁻⁷: that is its false alarm. Intervals that
should be as narrow as can be must not hold as often as those at 0.98. The noise is seeded, so that a test
that passes goes on to.
"""

import numpy as np
import pytest
from scipy.stats import binom

from discreet.noise.entropy import SystemEntropy
from discreet.release.noisy import intervals as noisy_intervals
from tests.question.clinic import Database, clinic
from tests.question.noisy import answering
from tests.release.same_groups import SameGroups

PLACES = 1_000
COUNTS = (
    "SELECT place, kind, count(*) AS n, sum(x) AS s, avg(x) AS m FROM t WHERE kind IN ('a', 'b') GROUP BY ALL"
)
BY_PLACE = "OVER (PARTITION BY place)"
RUNNING = "OVER (PARTITION BY place ORDER BY kind)"


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    generator = np.random.default_rng(18)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)
    monkeypatch.setattr(noisy_intervals, "_MOST_DRAWS", 240)  # as few as for 4,000 groups


def intervals(sql, groups, epsilon=1):
    found = answering.answer(sql, groups.dataset, groups.connection, epsilon)
    return found.low["y"], found.high["y"]


def check(ends, truth, *, exactly=True):
    """Enough of the intervals hold; and not many more, if they are as narrow as can be."""
    low, high = ends
    held = int(((low <= truth) & (truth <= high)).sum())
    assert len(low) >= PLACES
    assert held >= binom.ppf(1e-7, len(low), 0.95), held / len(low)
    if exactly:
        assert held <= binom.ppf(0.5, len(low), 0.98), held / len(low)


@pytest.fixture(scope="module", params=[0, 1e-6], ids=["Laplace", "Gaussian"])
def groups(request):
    return SameGroups([("a", 40)] * 60 + [("b", 60)] * 40, groups=PLACES, delta=request.param)


EXACT = {
    f"100 * n / sum(n) {BY_PLACE}": [60, 40],
    f"sum(n) {RUNNING}": [60, 100],
    f"n - lag(n, 1, 0) {RUNNING}": [60, -20],
    f"m - avg(m) {BY_PLACE}": [-10, 10],
    f"s / nullif(sum(n) {BY_PLACE}, 0)": [24, 24],
    f"sum(n / 2) {RUNNING} + first_value(n) {RUNNING}": [90, 110],
}


@pytest.mark.parametrize("expression", EXACT)
def test_windows_hold_the_truth(expression, groups):
    found = intervals(f"SELECT place, kind, {expression} AS y FROM ({COUNTS})", groups)
    check(found, np.tile(EXACT[expression], PLACES))


@pytest.mark.parametrize(
    "function", ["sum(n)", "avg(n)", "sum(s) / sum(n)", "sum(n) FILTER (WHERE kind = 'a')"]
)
def test_aggregates_hold_the_truth(function, groups):
    truth = {"sum(n)": 100, "avg(n)": 50, "sum(s) / sum(n)": 48}.get(function, 60)
    check(intervals(f"SELECT place, {function} AS y FROM ({COUNTS}) GROUP BY place", groups), truth)


A, B = (f"(SELECT place, count(*) AS n FROM t WHERE kind = '{kind}' GROUP BY place)" for kind in "ab")


@pytest.mark.parametrize(
    ("expression", "truth"), [("a.n / b.n", 1.5), ("a.n - b.n", 20), ("a.n / (a.n + b.n)", 0.6)]
)
def test_what_is_computed_from_two_leaves_holds_the_truth(expression, truth, groups):
    sql = f"SELECT place, {expression} AS y FROM {A} AS a JOIN {B} AS b USING (place)"
    check(intervals(sql, groups, epsilon=2), truth)


def test_unions_of_two_leaves_hold_the_truth(groups):
    found = intervals(f"SELECT n AS y FROM {A} UNION ALL SELECT n AS y FROM {B}", groups)
    check(found, np.repeat([60, 40], PLACES))


WIDER = {
    f"n / sum(CASE WHEN kind = 'b' THEN n END) {BY_PLACE}": [1.5, 1],
    f"round(100 * n / sum(n) {BY_PLACE}, 1)": [60, 40],
    f"abs(n - lag(n, 1, 60) {RUNNING})": [0, 20],
    f"greatest(n, avg(n) {BY_PLACE})": [60, 50],
}


@pytest.mark.parametrize("expression", WIDER)
def test_what_turns_holds_the_truth(expression, groups):
    found = intervals(f"SELECT place, kind, {expression} AS y FROM ({COUNTS})", groups)
    check(found, np.tile(WIDER[expression], PLACES), exactly=False)


EQUAL = "SELECT place, count(*) AS n FROM t GROUP BY place"
PAIRS = "OVER (PARTITION BY floor(place / 2) ORDER BY place)"


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        (f"SELECT n AS y FROM ({EQUAL}) ORDER BY y DESC LIMIT 1", 150),
        ("SELECT count(*) AS y FROM t GROUP BY place QUALIFY rank() OVER (ORDER BY y) = 1", 150),
        (
            f"SELECT x AS y FROM (SELECT n, n - lag(n, 1, 0) {PAIRS} AS x FROM ({EQUAL}))"
            " WHERE n > 40 ORDER BY n DESC LIMIT 1",
            40,
        ),
    ],
)
def test_rows_that_noise_selects_hold_the_truth(sql, runs):
    """Ten equal groups; the noise of the row that is left was large."""
    same = SameGroups([("a", 50)] * 40, groups=10)
    release = answering.release_of(sql, same.dataset, 1)
    results = answering.exact(release, same.connection)
    held = asked = 0
    for _ in range(runs):
        found = answering.drawn_answer(release, results)
        truths = [0, 40] if "lag" in sql else [40]
        for low, high in zip(found.low["y"], found.high["y"], strict=True):
            asked += 1
            held += any(low <= truth <= high for truth in truths)
    assert asked > runs / 2
    assert held >= binom.ppf(1e-7, asked, 0.95), held / asked


def test_private_groups_near_the_threshold_hold_the_truth():
    """Shares of what is shown: of groups of 15 people hardly one in ten passes, and its noise was large."""
    same = SameGroups([("a", 50)] * 15, groups=400, delta=1e-6, budget=1)
    sql = "SELECT name, count(*) AS n, n / sum(n) OVER () AS y, sum(n) OVER () AS z FROM t GROUP BY name"
    release = answering.release_of(sql, same.dataset, 1)
    results = answering.exact(release, same.connection)
    held = []
    for _ in range(5):
        found = answering.drawn_answer(release, results)
        if len(found):
            held += [bool(found.low["z"][0] <= 15 * len(found) <= found.high["z"][0])]
            held += ((found.low["y"] <= 1 / len(found)) & (1 / len(found) <= found.high["y"])).tolist()
    assert len(held) > 30
    assert sum(held) >= binom.ppf(1e-7, len(held), 0.95)


NO_ERROR = [
    f"max(n) {BY_PLACE}",
    "rank() OVER (ORDER BY n)",
    "sum(n) OVER (ORDER BY n)",
    "count(*) FILTER (WHERE n > 50) OVER ()",
    "lag(n) OVER (ORDER BY n)",
]


@pytest.mark.parametrize("expression", NO_ERROR)
def test_what_noise_decides_has_no_interval_and_a_note_says_so(expression):
    same = SameGroups([("a", 40)] * 6 + [("b", 60)] * 4, groups=5)
    found = answering.answer(
        f"SELECT place, n, {expression} AS y FROM ({COUNTS})", same.dataset, same.connection
    )
    assert "y" not in found.measured
    assert "n" in found.measured
    assert any(note.startswith("No error is stated for y") for note in found.notes)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(n) AS y FROM (SELECT place, count(*) AS n FROM t GROUP BY place) WHERE n > 3",
        f"SELECT n > 3 AS big, sum(n) AS y FROM ({COUNTS}) GROUP BY big",
        "SELECT sum(n) AS y FROM (SELECT place, count(*) AS n FROM t GROUP BY place ORDER BY n DESC LIMIT 2)",
        "SELECT place, count(*) AS n, n / sum(n) OVER () AS y FROM t GROUP BY place HAVING n > 3",
        f"SELECT a.n / b.n AS y FROM {A} AS a JOIN {B} AS b ON a.n > b.n",
    ],
)
def test_what_is_over_rows_that_noise_selects_has_no_interval(sql):
    same = SameGroups([("a", 40)] * 6 + [("b", 60)] * 4, groups=5)
    found = answering.answer(sql, same.dataset, same.connection, epsilon=2)
    assert "y" not in found.measured


def test_what_limits_leave_out_is_in_the_interval():
    """Half of all patients have six visits, of which two count. Intervals hold plain shares and totals."""
    database = Database()
    rows = [
        (p, "north" if p % 3 else "south", 1.0, 30) for p in range(3_000) for _ in range(6 if p % 2 else 1)
    ]
    database.fill(rows)
    dataset = clinic(max_rows=2, delta=1e-6)
    plain = {ward: sum(row[1] == ward for row in rows) for ward in ("north", "south")}
    found = answering.answer(
        "SELECT ward, count(*) AS n, n / sum(n) OVER () AS share, sum(n) OVER () AS total FROM visits"
        " GROUP BY ward",
        dataset,
        database.connection,
        epsilon=5,
    )
    whole = sum(plain.values())
    for i, ward in enumerate(found.values["ward"].tolist()):
        assert found.low["share"][i] <= plain[ward] / whole <= found.high["share"][i]
        assert found.low["total"][i] <= whole <= found.high["total"][i]
    assert not (found.noise_low["total"][0] <= whole <= found.noise_high["total"][0])
    assert (found.low["total"] <= found.noise_low["total"]).all()
