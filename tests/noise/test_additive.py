"""The discrete Laplace and Gaussian mechanisms: what they cost, how far they stray, what they refuse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise import tails
from discreet.noise.entropy import ScriptedEntropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.integers import add_noise, as_integers
from discreet.noise.laplace import DiscreteLaplace
from tests.bad_values import BAD_COUNTS, BAD_QUANTITIES

COUNT = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
MECHANISMS = [DiscreteLaplace(scale=Fraction(3)), DiscreteGaussian(sigma_squared=Fraction(9))]


def probability_within(mechanism, reach):
    """P(|X| ≤ reach), summed over the law itself."""
    if isinstance(mechanism, DiscreteLaplace):
        weight = lambda x: math.exp(-abs(x) / mechanism.scale)  # noqa: E731
    else:
        weight = lambda x: math.exp(-(x**2) / (2 * mechanism.sigma_squared))  # noqa: E731
    far = 2000
    total = math.fsum(weight(x) for x in range(-far, far + 1))
    return math.fsum(weight(x) for x in range(-reach, reach + 1)) / total


def test_what_is_asked_for_is_what_is_spent():
    assert DiscreteLaplace.for_loss(0.1, COUNT).loss(COUNT) == PureLoss(epsilon=Fraction(1, 10))
    vector = Sensitivity.counting_queries(7, Neighbours.ADD_REMOVE)
    loss = DiscreteGaussian.for_loss(0.3, vector).loss(vector)
    assert loss == ConcentratedLoss(rho=Fraction(3, 10), delta=Fraction(0))


@pytest.mark.parametrize("epsilon", [0.01, 1e-6, 1e-9, 40])
def test_small_and_large_losses_have_noise_to_match(epsilon):
    mechanism = DiscreteLaplace.for_loss(epsilon, COUNT)
    assert mechanism.loss(COUNT).epsilon == Fraction(str(epsilon))
    assert isinstance(mechanism.release(0), int)


@given(scale=st.fractions(min_value=Fraction(1, 10), max_value=60), confidence=st.floats(0.05, 0.999))
@settings(deadline=None, max_examples=40)
def test_the_interval_is_the_least_one_that_holds(scale, confidence):
    for mechanism in (DiscreteLaplace(scale=scale), DiscreteGaussian(sigma_squared=scale**2)):
        reach = int(mechanism.interval(confidence).high)
        assert probability_within(mechanism, reach) >= confidence - 1e-9
        assert reach == 0 or probability_within(mechanism, reach - 1) <= confidence + 1e-9


@given(values=st.integers(1, 10**6))
@settings(deadline=None, max_examples=30)
def test_the_interval_for_many_values_holds_for_all_at_once(values):
    for mechanism in MECHANISMS:
        reach = int(mechanism.interval(0.95, values=values).high)
        assert probability_within(mechanism, reach) ** values >= 0.95 - 1e-6
        assert probability_within(mechanism, reach - 1) ** values < 0.95 + 1e-6


def test_the_bound_on_large_gaussians_is_tight():
    """Past σ = 512 the tail is bounded, not summed: within one grid unit of the normal quantile."""
    for sigma in (513, 10**4, 10**9):
        reach = DiscreteGaussian(sigma_squared=Fraction(sigma) ** 2).interval(0.95).high
        assert abs(reach - 1.959963984540054 * sigma) <= 1 + 1e-9 * sigma


@given(error=st.integers(0, 10**6), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
@settings(deadline=None, max_examples=40)
def test_the_most_noise_for_an_error_is_the_most(error, confidence):
    for law in (DiscreteLaplace, DiscreteGaussian):
        mechanism = law.for_error(error, confidence, values=3)
        assert mechanism.interval(confidence, values=3).high <= error
    more = DiscreteLaplace(scale=DiscreteLaplace.for_error(error, confidence).scale * Fraction(1001, 1000))
    assert more.interval(confidence).high > error or error > 900
    sigma_squared = DiscreteGaussian.for_error(error, confidence).sigma_squared
    wider = DiscreteGaussian(sigma_squared=sigma_squared * Fraction(1001, 1000) ** 2)
    assert wider.interval(confidence).high > error or error > 500


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["Laplace", "Gaussian"])
def test_intervals_cover_as_often_as_they_say(mechanism):
    """20,000 draws: within 6 standard errors, false alarm 2·10⁻⁹ either way."""
    noise = mechanism.release(np.zeros(20_000, dtype=np.int64))
    interval = mechanism.interval(0.9)
    truth = probability_within(mechanism, int(interval.high))
    covered = np.mean([x in interval for x in noise.tolist()])
    assert abs(covered - truth) < 6 * math.sqrt(truth * (1 - truth) / 20_000)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["Laplace", "Gaussian"])
def test_the_shape_and_kind_of_the_input_are_kept(mechanism):
    assert type(mechanism.release(5)) is int
    assert type(mechanism.release(np.int32(5))) is int
    assert type(mechanism.release(10**30)) is int
    for shape in [(1,), (7,), (2, 3), (4, 1, 2)]:
        released = mechanism.release(np.zeros(shape, dtype=np.int16))
        assert released.shape == shape
        assert released.dtype == np.int64
    assert mechanism.release([1, 2, 3]).shape == (3,)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["Laplace", "Gaussian"])
def test_values_beyond_64_bits_stay_exact(mechanism):
    big = np.array([10**30, -(10**30)], dtype=object)
    released = mechanism.release(big)
    assert all(isinstance(x, int) for x in released)
    assert all(abs(x - y) < 10**6 for x, y in zip(released, big, strict=True))
    unsigned = mechanism.release(np.array([2**64 - 1], dtype=np.uint64))
    assert abs(int(unsigned[0]) - 2**64) < 10**6


def test_any_noise_is_added_exactly_to_python_integers():
    noise = [-(2**62), -(2**31), -1, 0, 1, 257, 2**30, 2**62 - 1]
    for value in (0, -5, 2**40, -(2**62), 2**63, 10**30):
        exact = as_integers([value] * len(noise))
        assert add_noise(exact, np.array(noise)).tolist() == [value + each for each in noise]
        assert add_noise(exact, np.array(noise, dtype=object)).tolist() == [value + each for each in noise]


def test_the_ends_of_64_bits_saturate_instead_of_wrapping():
    ends = np.array([2**63 - 1, -(2**63)] * 500)
    released = DiscreteLaplace(scale=Fraction(1000)).release(ends)
    assert (released[0::2] > 2**62).all()
    assert (released[1::2] < -(2**62)).all()
    huge = DiscreteLaplace(scale=Fraction(2**80)).release(np.zeros(100, dtype=np.int64))
    assert huge.dtype == np.int64
    assert (np.abs(huge.astype(float)) > 2**62).sum() > 50


def test_a_value_is_never_released_without_noise():
    """The same words give the same noise whatever the value: value and noise are on one grid."""
    mechanism = DiscreteLaplace(scale=Fraction(3))
    words = ([2**60], [2**63 - 1])
    noise = mechanism.release(0, entropy=ScriptedEntropy(*words))
    assert noise != 0
    for value in (1, -7, 10**6, 2**62):
        assert mechanism.release(value, entropy=ScriptedEntropy(*words)) == value + noise


@pytest.mark.parametrize(
    "exact",
    [
        *(0.5, 1.0, "5", None, True, [], [1, 2.5], [1, None], [[1], [1, 2]], [True, False], 1j),
        *(np.array([1.0]), np.array([], dtype=np.int64), np.array(["1"]), np.array([np.nan])),
        np.array([1, "a"], dtype=object),
    ],
    ids=repr,
)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["Laplace", "Gaussian"])
def test_only_integers_on_the_grid_are_released(mechanism, exact):
    with pytest.raises(InvalidInput) as refusal:
        mechanism.release(exact)
    assert refusal.value.remedy


@pytest.mark.parametrize("value", BAD_QUANTITIES, ids=repr)
def test_a_mechanism_cannot_be_built_uncalibrated(value):
    with pytest.raises(InvalidInput):
        DiscreteLaplace(scale=value)
    with pytest.raises(InvalidInput):
        DiscreteGaussian(sigma_squared=value)
    with pytest.raises(InvalidInput):
        DiscreteLaplace.for_loss(value, COUNT)
    with pytest.raises(InvalidInput):
        DiscreteGaussian.for_loss(value, COUNT)
    for mechanism in MECHANISMS:
        with pytest.raises(InvalidInput):
            mechanism.interval(value)


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_number_of_values_is_whole(value):
    for mechanism in MECHANISMS:
        with pytest.raises(InvalidInput):
            mechanism.interval(0.95, values=value)


@pytest.mark.parametrize("error", [-1, 0.5, "1", None, True, math.nan, 10**300], ids=repr)
def test_an_error_is_a_whole_number_of_grid_units(error):
    for law in (DiscreteLaplace, DiscreteGaussian):
        with pytest.raises(InvalidInput):
            law.for_error(error, 0.95)


def test_a_mechanism_cannot_be_changed():
    with pytest.raises(AttributeError):
        MECHANISMS[0].scale = Fraction(0)
    with pytest.raises(AttributeError):
        MECHANISMS[1].sigma_squared = Fraction(0)


def test_a_release_leaves_its_input_alone():
    for mechanism in MECHANISMS:
        exact = np.arange(1000)
        mechanism.release(exact)
        assert (exact == np.arange(1000)).all()


def test_how_far_a_gaussian_reaches_is_computed_once(monkeypatch):
    """Answers ask for each of their numbers, and each time the whole law was summed, again and again."""
    noise = DiscreteGaussian(sigma_squared=Fraction(12_345, 678))
    first = noise.interval(Fraction(95, 100))
    monkeypatch.setattr(tails, "gaussian_tail", None)
    assert noise.interval(Fraction(95, 100)) == first
