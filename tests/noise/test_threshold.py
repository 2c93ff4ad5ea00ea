"""Private keys: named when enough people have them, and at what δ."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.threshold import StabilityThreshold
from tests.bad_values import BAD_QUANTITIES

ONE = Sensitivity.histogram(Neighbours.ADD_REMOVE)
NOISES = [DiscreteLaplace(scale=Fraction(2)), DiscreteGaussian(sigma_squared=Fraction(4))]
IDS = ["Laplace", "Gaussian"]


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_delta_covers_every_way_to_spread_a_persons_rows(noise, rows):
    """Enumerates all counts that one person can bring to four keys that nobody else has."""
    sensitivity = Sensitivity.histogram(Neighbours.ADD_REMOVE, max_rows=rows)
    mechanism = StabilityThreshold(noise=noise, threshold=12)
    claimed = float(mechanism.loss(sensitivity).delta)
    worst = 0.0
    for counts in product(range(rows + 1), repeat=4):
        if sum(counts) <= rows:
            hidden = math.prod(1 - mechanism.chance(count) for count in counts)
            worst = max(worst, 1 - hidden)
    assert worst <= claimed * (1 + 1e-8)  # 1 − hidden has lost digits
    assert claimed <= 2 * worst + rows * mechanism.chance(1)


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_threshold_is_the_lowest_for_its_delta(noise, delta):
    mechanism = StabilityThreshold.for_delta(delta, ONE, noise)
    assert mechanism.loss(ONE).delta <= Fraction(str(delta))
    lower = StabilityThreshold(noise=noise, threshold=mechanism.threshold - 1)
    assert lower.loss(ONE).delta > Fraction(str(delta))


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
def test_keys_are_named_as_often_as_stated(noise):
    """40,000 keys a count: within the binomial law, false alarm 10⁻⁹ either way."""
    mechanism = StabilityThreshold(noise=noise, threshold=10)
    for count in (1, 6, 10, 14):
        named, noisy = mechanism.release(np.full(40_000, count))
        law = stats.binom(40_000, mechanism.chance(count))
        assert law.ppf(1e-9) <= len(named) <= law.isf(1e-9)
        assert (noisy >= 10).all()


def test_a_key_that_does_not_occur_is_never_named():
    mechanism = StabilityThreshold(noise=DiscreteLaplace(scale=Fraction(100)), threshold=2)
    named, _ = mechanism.release(np.zeros(1000, dtype=np.int64))
    assert len(named) == 0
    assert mechanism.chance(0) == 0
    named, _ = mechanism.release([-5] * 1000)
    assert len(named) == 0


def test_a_threshold_within_one_persons_reach_protects_nobody():
    mechanism = StabilityThreshold(noise=NOISES[0], threshold=3)
    rows = Sensitivity.histogram(Neighbours.ADD_REMOVE, max_rows=3)
    assert mechanism.loss(rows).delta == 1


def test_delta_is_never_claimed_to_be_zero():
    mechanism = StabilityThreshold(noise=DiscreteGaussian(sigma_squared=Fraction(1, 100)), threshold=1000)
    assert mechanism.loss(ONE).delta > 0


def test_gaussian_noise_names_more_keys_at_the_same_price():
    """ε = 1, δ = 10⁻⁷, five groups a person: the Gaussian pays √5 where the Laplace pays 5."""
    five = Sensitivity(neighbours=Neighbours.ADD_REMOVE, l0=5, linf=1, l1=5, l2_squared=5)
    laplace = StabilityThreshold.for_delta(1e-7, five, DiscreteLaplace.for_loss(1, five))
    gaussian = StabilityThreshold.for_delta(0.5e-7, five, DiscreteGaussian.for_loss(Fraction(1, 50), five))
    assert gaussian.threshold < laplace.threshold


def survival(noise, m):
    """P(X ≥ m), by a law that is written down here."""
    x = np.arange(-4000, 4001)
    scale = 2.0 * float(noise.sigma_squared) if isinstance(noise, DiscreteGaussian) else float(noise.scale)
    weights = np.exp(-(x**2 if isinstance(noise, DiscreteGaussian) else np.abs(x)) / scale)
    return weights[x >= m].sum() / weights.sum()


WIDE = [*NOISES, DiscreteGaussian(sigma_squared=Fraction(100**2)), DiscreteLaplace(scale=Fraction(40))]


@pytest.mark.parametrize("noise", WIDE, ids=repr)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_an_interval_of_a_count_that_passed_holds_as_often_as_it_says(noise, confidence):
    """All noisy counts, weighed by their law given that they passed: no false alarms."""
    deviation = float(noise.interval(0.7).high)
    mechanism = StabilityThreshold(noise=noise, threshold=2 + round(5 * deviation))
    seen = np.arange(mechanism.threshold, mechanism.threshold + round(40 * deviation))
    low, high = mechanism.passed_interval(seen, confidence)
    assert (low <= seen).all()
    assert (seen <= high).all()
    assert low.min() == 1
    for truth in sorted({1, *np.linspace(1, mechanism.threshold + 15 * deviation, 40).round().astype(int)}):
        offsets = (seen - truth).astype(float)
        gaussian = isinstance(noise, DiscreteGaussian)
        exponents = (
            -(offsets**2) / (2 * float(noise.sigma_squared))
            if gaussian
            else -np.abs(offsets) / float(noise.scale)
        )
        law = np.exp(exponents - exponents.max())
        held = law[(low <= truth) & (truth <= high)].sum() / law.sum()
        assert held >= confidence - 0.02 * (1 - confidence) - 1e-9


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
def test_an_interval_of_a_count_that_passed_is_the_one_that_inverts_its_law(noise):
    mechanism = StabilityThreshold(noise=noise, threshold=12)
    for seen in (12, 13, 15, 18):
        kept = [
            count
            for count in range(1, 40)
            if survival(noise, seen - count) / survival(noise, 12 - count) >= 0.025
            and 1 - survival(noise, seen + 1 - count) / survival(noise, 12 - count) >= 0.025
        ]
        low, high = mechanism.passed_interval(np.array([seen]), 0.95)
        assert (low[0], high[0]) == (min(kept), max(*kept, seen))


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
def test_far_above_the_threshold_the_interval_is_that_of_the_noise(noise):
    mechanism = StabilityThreshold(noise=noise, threshold=12)
    far = mechanism.far_above(0.95)
    reach = int(noise.interval(0.95).high)
    low, high = mechanism.passed_interval(np.array([far - 1, far, far + 1000]), 0.95)
    assert (far - low[1], high[1] - far) == (reach, reach)
    assert (low[2], high[2]) == (far + 1000 - reach, far + 1000 + reach)
    assert abs(low[1] - low[0]) <= 2  # no jump where one law takes over from the other
    assert abs(high[1] - high[0]) <= 2


def test_wide_noise_is_read_in_steps_and_outward():
    """Beyond σ = 512 tails are those of the normal law, and counts are rounded by σ/64 at most."""
    exact = StabilityThreshold(noise=DiscreteGaussian(sigma_squared=Fraction(500**2)), threshold=2600)
    wide = StabilityThreshold(noise=DiscreteGaussian(sigma_squared=Fraction(500_000**2)), threshold=2_600_000)
    seen = np.array([2600, 2700, 3100, 4000, 5200])
    for small, large, side in zip(
        exact.passed_interval(seen, 0.95), wide.passed_interval(seen * 1000, 0.95), (1, -1), strict=True
    ):
        inward = side * (small - large / 1000)  # how much further the wide one reaches
        assert (np.abs(inward) <= 500 / 10).all()


@pytest.mark.parametrize("delta", [*BAD_QUANTITIES, 1, 1.5], ids=repr)
def test_delta_is_a_number(delta):
    with pytest.raises(InvalidInput):
        StabilityThreshold.for_delta(delta, ONE, NOISES[0])


@pytest.mark.parametrize("threshold", [1, 0, -3, 5.0, "5", None, True, 10**300], ids=repr)
def test_a_threshold_is_a_whole_number_above_one(threshold):
    with pytest.raises(InvalidInput):
        StabilityThreshold(noise=NOISES[0], threshold=threshold)


def test_a_threshold_needs_noise():
    with pytest.raises(InvalidInput):
        StabilityThreshold(noise=None, threshold=5)


@pytest.mark.parametrize("counts", [[0.5], None, [[1]], ["3"], 3], ids=repr)
def test_counts_are_a_list_of_whole_numbers(counts):
    with pytest.raises(InvalidInput):
        StabilityThreshold(noise=NOISES[0], threshold=5).release(counts)
