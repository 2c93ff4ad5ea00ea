"""How far sums of noise reach: exact where noise is small, and never shorter than it is said."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from discreet.noise.combined_noise import CombinedNoise, NoiseTerm
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

LAWS = [DiscreteLaplace(scale=Fraction(b)) for b in ("0.3", "1", "7.5", "40")]
LAWS += [DiscreteGaussian(sigma_squared=Fraction(s)) for s in ("0.04", "0.5", "60", "1600")]


def law_of(noise, most=1500):
    x = np.arange(-most, most + 1)
    if isinstance(noise, DiscreteLaplace):
        weights = np.exp(-np.abs(x) / float(noise.scale))
    else:
        weights = np.exp(-(x**2) / (2 * float(noise.sigma_squared)))
    return weights / weights.sum()


def reach(noise, weights, confidence, values=1):
    terms = tuple(NoiseTerm(float(weight), noise) for weight in weights)
    return float(CombinedNoise(terms).interval(confidence, values=values).high)


@pytest.mark.parametrize("noise", LAWS, ids=str)
@pytest.mark.parametrize("draws", [1, 2, 3, 5])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_a_sum_of_small_noise_reaches_exactly_as_far(noise, draws, confidence):
    """By convolving its law, term by term."""
    summed = reduce(np.convolve, [law_of(noise)] * draws)
    middle = len(summed) // 2
    inside = [summed[middle - t : middle + t + 1].sum() for t in range(1400)]
    least = int(np.flatnonzero(np.array(inside) >= float(confidence) - 1e-12)[0])
    assert reach(noise, [1] * draws, Fraction(confidence)) == least
    assert reach(noise, [-3.5] * draws, Fraction(confidence)) == 3.5 * least


def test_one_draw_reaches_as_far_as_its_own_interval():
    for noise in LAWS:
        own = noise.interval(Fraction(95, 100), values=20).high
        assert reach(noise, [2], Fraction(95, 100), values=20) == 2 * own


@pytest.mark.parametrize(
    "large", [DiscreteLaplace(scale=Fraction(900)), DiscreteGaussian(sigma_squared=Fraction(10**6))]
)
@pytest.mark.parametrize("weights", [[1, 1], [1, -1, 0.5], [0.1] * 9])
def test_large_noise_reaches_as_far_as_it_does(large, weights):
    """In 400,000 draws the share that is further off has a standard error of 0.0004: five of these."""
    generator = np.random.default_rng(11)
    if isinstance(large, DiscreteLaplace):
        drawn = generator.laplace(scale=900, size=(400_000, len(weights)))
    else:
        drawn = generator.normal(scale=1000, size=(400_000, len(weights)))
    found = np.abs(drawn @ np.array(weights)) <= reach(large, weights, Fraction(95, 100))
    assert found.mean() == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("noise", LAWS, ids=str)
def test_certainty_beyond_what_doubles_tell_is_a_union_of_tails(noise):
    surely = 1 - Fraction(1, 10**12)
    assert reach(noise, [1, 1], surely) >= reach(noise, [1, 1], 1 - Fraction(1, 10**8))
    each = float(noise.interval(1 - Fraction(1, 2 * 10**12)).high)
    assert reach(noise, [1, 1], surely) == pytest.approx(2 * each, abs=2)


@pytest.mark.parametrize("noise", LAWS, ids=str)
def test_the_highest_confidence_of_very_many_sums_has_an_interval(noise):
    """What is missed then is less than doubles can take from 1, which ended in an error."""
    highest = 1 - Fraction(1, 10**12)
    alone = noise.interval(highest, values=10**6).high
    assert reach(noise, [1, -1], highest, values=10**6) >= 2 * alone
