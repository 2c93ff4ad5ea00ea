"""Intervals of what is computed from vectors that are measured together hold as often as they say.

Groups hold the same rows, so that each is an experiment of its own. Each test looks at 4,000 intervals. The
share of those that hold with probability 0.95 has a standard error of 0.0035, and the tests fail beyond four
and a half of these: a false alarm of 10⁻⁵ each. Noise is seeded, so that a test that passes goes on to.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.aggregates.joint import JointSum
from discreet.noise.entropy import SystemEntropy
from tests.release.same_groups import SameGroups

A, B = "count(*) FILTER (WHERE kind = 'a')", "count(*) FILTER (WHERE kind = 'b')"
ROWS = [("a", 20)] * 40 + [("b", 60)] * 50 + [("c", 90)] * 30
LAWS = pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])
LEAST, MOST = 0.934, 0.966
GROUPS, TIMES = 1_000, 4


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    generator = np.random.default_rng(31)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)


def share_that_holds(measures, truth, *, delta, epsilon=1, by="place"):
    """Of the first measure, asked beside the others."""
    groups = SameGroups(ROWS, groups=GROUPS, delta=delta)
    named = ", ".join(f"{each} AS {name}" for each, name in zip(measures, "yzuvw", strict=False))
    sql = f"SELECT {by}, {named} FROM t GROUP BY {by}"
    plan = groups.plan(sql, epsilon)
    assert any(isinstance(plan.bounded.parts[i], JointSum) for i in plan.bounded.measures[0].parts)
    return groups.share_that_holds(sql, truth, epsilon=epsilon, times=TIMES)


COMPUTED = {
    "a total of cells": (["count(*)", A, B], 120),
    "one cell": ([A, "count(*)"], 40),
    "a share": ([f"{A} / count(*)"], 1 / 3),
    "nested": (["count(*) FILTER (WHERE x > 10)", "count(*) FILTER (WHERE x > 50)"], 120),
    "a sum of cells": (["sum(x) FILTER (WHERE x > 50)", "sum(x) FILTER (WHERE x > 70)"], 5700),
    "a difference": ([f"{A} - {B}", "count(*)"], -10),
}
OF_POLYNOMIALS = {
    "a mean": (["avg(x)", "count(*)"], 6500 / 120),
    "a mean alone": (["avg(x)"], 6500 / 120),
    "the count beside it": (["count(x)", "avg(x)"], 120),
    "the sum beside it": (["sum(x)", "avg(x)"], 6500),
    "a deviation": (["stddev(x)", "count(*)"], float(np.std([x for _, x in ROWS]))),
    "a variance": (["variance(x)", "avg(x)", "count(*)"], float(np.var([x for _, x in ROWS]))),
}


@LAWS
@pytest.mark.parametrize("what", COMPUTED)
def test_what_is_computed_from_cells(what, delta):
    measures, truth = COMPUTED[what]
    assert LEAST <= share_that_holds(measures, truth, delta=delta, epsilon=Fraction(1, 4)) <= MOST


@pytest.mark.parametrize("what", OF_POLYNOMIALS)
def test_what_is_computed_from_polynomials(what):
    measures, truth = OF_POLYNOMIALS[what]
    assert LEAST <= share_that_holds(measures, truth, delta=0) <= MOST


def test_what_is_computed_from_polynomials_with_gaussian_noise():
    measures, truth = OF_POLYNOMIALS["a variance"]
    assert LEAST <= share_that_holds(measures, truth, delta=1e-6, epsilon=4) <= MOST


@LAWS
@pytest.mark.parametrize("epsilon", [2, 5, 12])
def test_small_noise_on_whole_numbers_holds_at_least(epsilon, delta):
    """The interval is the least one on the grid, which holds more often."""
    assert share_that_holds(["count(*)", A, B], 120, delta=delta, epsilon=epsilon) >= LEAST
    assert (
        share_that_holds(
            ["avg(CASE WHEN kind = 'a' THEN 1 ELSE 0 END)", "count(*)"], 1 / 3, delta=delta, epsilon=epsilon
        )
        >= LEAST
    )


def test_groups_that_passed_a_threshold_hold():
    measures = ["count(*) FILTER (WHERE x > 10)", "count(*) FILTER (WHERE x > 50)", "count(*)"]
    assert LEAST <= share_that_holds(measures, 120, delta=1e-6, by="name") <= MOST
