"""The statistics of the audit are right: neither blind nor jumpy."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.audit.divergence import concentration, hockey_stick, max_divergence
from discreet.audit.laws import exponential_law, gaussian_law, laplace_law, permute_and_flip_law, product_law
from discreet.audit.own_mechanism import audit_mechanism
from discreet.audit.statistics import epsilon_lower_bound, fit_probability, telling_event
from discreet.errors import InvalidInput
from discreet.noise.binomial import binomial_law, clopper_pearson, mixture_law
from tests.bad_values import BAD_QUANTITIES


@pytest.mark.parametrize(("trials", "p"), [(1, 0.5), (10, 0.01), (1000, 0.3), (10**6, 1e-4), (10**6, 0.999)])
def test_binomials_are_scipys(trials, p):
    first, law = binomial_law(trials, p)
    expected = stats.binom.pmf(np.arange(first, first + len(law)), trials, p)
    assert np.allclose(law, expected, rtol=1e-7, atol=1e-30)


def test_mixtures_are_convolutions():
    first, law = mixture_law(30, 100, 0.8, 0.1)
    direct = np.convolve(stats.binom.pmf(range(31), 30, 0.8), stats.binom.pmf(range(71), 70, 0.1))
    assert np.allclose(law, direct[first : first + len(law)], atol=1e-14)
    first, law = mixture_law(300_000, 10**6, 0.8, 0.1)
    mean = (np.arange(first, first + len(law)) * law).sum()
    assert mean == pytest.approx(310_000, rel=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 10), (10, 10), (3, 10), (500, 2000), (199_000, 200_000)]
)
def test_clopper_pearson_bounds_are_scipys(successes, trials):
    low, high = clopper_pearson(successes, trials, 1e-6)
    expected = stats.binomtest(successes, trials).proportion_ci(1 - 2e-6, method="exact")
    assert low == pytest.approx(expected.low, rel=1e-6, abs=1e-12)
    assert high == pytest.approx(expected.high, rel=1e-6)


def test_the_fit_is_calibrated():
    """Over 400 fits of right draws the probabilities are not too small: 10⁻⁶ of false alarm."""
    generator = np.random.default_rng()
    law = laplace_law(3.0, 0, -20, 20)
    smallest = min(fit_probability(generator.multinomial(10_000, law), law) for _ in range(400))
    assert smallest > 1e-6 / 400


def test_the_fit_sees_a_scale_that_is_off_by_two_percent():
    generator = np.random.default_rng()
    law, wrong = laplace_law(10.0, 0, -40, 40), laplace_law(9.8, 0, -40, 40)
    assert fit_probability(generator.multinomial(2**22, wrong), law) < 1e-9


def test_the_fit_sees_an_impossible_outcome():
    assert fit_probability(np.array([99, 1]), np.array([1.0, 0.0])) == 0


def test_the_fit_accepts_a_law_with_one_outcome():
    assert fit_probability(np.array([100, 0]), np.array([1.0, 0.0])) == 1


def test_divergences_of_known_pairs():
    p, q = laplace_law(2.0, 0, -50, 50), laplace_law(2.0, 1, -50, 50)
    assert max_divergence(p, q) == pytest.approx(0.5)
    assert hockey_stick(p, q, 0.5) == pytest.approx(0, abs=1e-15)
    assert hockey_stick(p, q, 0.0) > 0.1
    p, q = gaussian_law(4.0, 0, -40, 40), gaussian_law(4.0, 1, -40, 40)
    assert concentration(p, q) == pytest.approx(1 / 8, rel=1e-3)
    assert max_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf
    assert concentration(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf


def test_the_laws_are_laws():
    for law in (
        laplace_law(0.3, 2, -5, 9),
        gaussian_law(7.5, -1, -9, 9),
        product_law(laplace_law(1.0, 0, -3, 3), gaussian_law(1.0, 0, -2, 2)),
        exponential_law([3, 1, 4, 1, 5], 2.0),
        permute_and_flip_law([3, 1, 4, 1, 5], 2.0),
    ):
        assert (law >= 0).all()
        assert law.sum() == pytest.approx(1, abs=1e-12)


def test_permute_and_flip_by_enumeration():
    """All orders of three candidates, all coins: the law in closed form."""
    from itertools import permutations

    coins = np.exp((np.array([2, 3, 5]) - 5) / 1.5)
    law = np.zeros(3)
    for order in permutations(range(3)):
        left = 1.0
        for i in order:
            law[i] += left * coins[i] / 6
            left *= 1 - coins[i]
    assert np.allclose(permute_and_flip_law([2, 3, 5], 1.5), law)


def test_the_telling_event_tells():
    p, q = laplace_law(1.0, 0, -20, 20), laplace_law(1.0, 1, -20, 20)
    event = telling_event(p, q, 10**6, 0.0)
    assert math.log(p[event].sum() / q[event].sum()) > 0.98


def test_no_events_prove_nothing():
    assert epsilon_lower_bound(0, 0, 1000, 0.0) == -math.inf
    assert epsilon_lower_bound(500, 500, 1000, 0.0) < 0


def test_a_right_claim_of_ones_own_survives():
    """False alarm 10⁻⁶."""
    generator = np.random.default_rng()
    found = audit_mechanism(lambda x: x + generator.laplace(), 0, 1, epsilon=1, runs=5000)
    assert found.holds
    assert 0.5 < found.epsilon_at_least <= 1


def test_a_delta_is_taken_into_account():
    """With probability 0.05 it tells all; at δ = 0.1 that is allowed. False alarm 10⁻⁶."""
    generator = np.random.default_rng()

    def sometimes(x):
        return x if generator.random() < 0.05 else -1

    assert not audit_mechanism(sometimes, 0, 1, epsilon=1).holds
    assert audit_mechanism(sometimes, 0, 1, epsilon=1, delta=0.1).holds


def test_arrays_and_odd_outputs_are_compared_by_what_they_print():
    found = audit_mechanism(lambda x: np.array([x, 2]), 0, 1, epsilon=1, runs=500)
    assert not found.holds
    found = audit_mechanism(lambda x: None, 0, 1, epsilon=1, runs=500)
    assert found.holds
    found = audit_mechanism(lambda x: math.nan, 0, 1, epsilon=1, runs=500)
    assert found.holds


@pytest.mark.parametrize("value", BAD_QUANTITIES, ids=repr)
def test_an_audit_needs_a_claim(value):
    with pytest.raises(InvalidInput):
        audit_mechanism(lambda x: x, 0, 1, epsilon=value)


@pytest.mark.parametrize(
    "leak",
    [
        lambda x: 2**60 + x,
        lambda x: 10**400 + x,
        lambda x: np.arange(2000) * (np.arange(2000) != 1000 - 1000 * x),
    ],
    ids=["large", "huge", "long array"],
)
def test_outputs_are_told_apart_exactly(leak):
    assert not audit_mechanism(leak, 0, 1, epsilon=1, runs=300).holds
