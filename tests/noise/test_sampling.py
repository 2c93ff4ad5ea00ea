"""The samplers follow their laws exactly."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from discreet.noise import sampling
from discreet.noise.entropy import SYSTEM, ScriptedEntropy

STRATA = (np.arange(2**14, dtype=np.uint64) << np.uint64(50)) + np.uint64(2**49)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000)])
def test_a_stratified_grid_gives_the_survival_function_of_the_geometric(scale):
    """No false alarms: the grid is off by at most half a stratum."""
    drawn = sampling.geometric(scale, len(STRATA), ScriptedEntropy(STRATA))
    for k in range(1, int(8 * scale) + 2, max(1, int(scale) // 20)):
        assert abs((drawn >= k).mean() - exp(-k / scale)) <= 0.5 / len(STRATA) + 1e-12


def test_scales_far_beyond_64_bits_still_sample():
    scale = Fraction(2**90)
    drawn = sampling.discrete_laplace(scale, 2000, SYSTEM)
    assert drawn.dtype == object
    assert 0.8 < np.abs(drawn).astype(float).mean() / 2**90 < 1.2  # 9 standard errors
