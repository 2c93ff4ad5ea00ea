"""The printed intervals hold the plain answer: a small form of `bench/truth.py`."""

import numpy as np
from scipy.stats import binom

from discreet.aggregates.left_out import estimate_lost
from discreet.aggregates.vectors import BEYOND_BINS, SIZES, Clamped, LeftOut
from discreet.aggregates.weights import Norm, Weight
from discreet.model.expression import Field, Range
from discreet.model.policy import ValueType
from discreet.noise.laplace import DiscreteLaplace

LIMIT, REPEATS, ALLOWED = 20, 200, 160
NOISE = DiscreteLaplace(scale=10)
X = Field(name="x", type=ValueType.NUMBER, range=Range(low=0, high=10))
PART = LeftOut(
    weight=Weight.for_rows(LIMIT, Norm.L1),
    distinct=None,
    condition=None,
    clamped=(Clamped(value=X, condition=None),),
)


def people(rows):
    """The exact bins of people who have so many rows, and the rows that are left out."""
    lost = rows[rows > LIMIT] - LIMIT
    bins = np.bincount(np.ceil(np.log2(lost)).astype(int), minlength=PART.bins).astype(float)
    ends = [0, *(int(LIMIT * share) for share in SIZES)]
    sizes = np.histogram(rows[rows <= LIMIT], bins=np.array(ends) + 0.5)[0]
    return np.concatenate([bins, sizes, np.zeros(2 * BEYOND_BINS)]), int(lost.sum())


def test_a_tail_that_goes_on_beyond_the_limit_is_in_the_interval():
    """If 93 % hold, fewer than 160 of 200 do with probability below 10⁻⁶."""
    assert binom.cdf(ALLOWED - 1, REPEATS, 0.93) < 1e-6
    generator = np.random.default_rng(11)
    exact, truth = people(generator.geometric(1 / 9, 6_000))
    held = 0
    for _ in range(REPEATS):
        noisy = exact + generator.laplace(scale=10, size=len(exact))
        found = estimate_lost(PART, noisy, NOISE, 0.95, generator)
        held += found.low <= truth <= found.high
    assert held >= ALLOWED


def test_a_draw_of_an_older_version_has_people_who_lose_something_only():
    exact, _ = people(np.random.default_rng(5).geometric(1 / 9, 6_000))
    found = estimate_lost(PART, exact[: PART.bins], NOISE, 0.95, np.random.default_rng(1))
    assert found.high > found.guess > 0
    assert found.counted == 0
    assert found.above.high == found.below.high == 0
