"""Intervals of what is computed from noisy numbers hold as often as they say, in ε and in ρ.

`bench/post_processing.py` has the figures of 2,000 draws. Here are a few hundred of each. A test fails if so
few intervals hold as happens with probability 10⁻⁷ where 95 % should: that is its false alarm. The noise is
seeded, so that a test that passes goes on to.
"""

import numpy as np
import pytest
from scipy.stats import binom

from discreet.noise.entropy import SystemEntropy
from discreet.release.noisy import intervals as noisy_intervals
from tests.release.post_processing import CASES, LAWS, share_that_holds

RUNS = 300


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    generator = np.random.default_rng(18)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)
    monkeypatch.setattr(noisy_intervals, "_MOST_DRAWS", 1_000)  # of an interval: in seconds


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES)
def test_its_intervals_hold_as_often_as_they_say(case, law):
    share = share_that_holds(CASES[case], LAWS[law], RUNS)
    assert share >= binom.ppf(1e-7, RUNS, 0.95) / RUNS, share
    assert share < 1, share  # with probability 2·10⁻⁷ all of them hold, if 95 % do
