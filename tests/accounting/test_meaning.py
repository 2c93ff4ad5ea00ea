"""What ε means: the formulas at high precision, and every rounding on the safe side."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.meaning import (
    attack_ceiling,
    epsilon_for_posterior,
    epsilon_for_reward,
    extra_harm,
    posterior_ceiling,
    posterior_floor,
)
from discreet.errors import InvalidInput
from discreet.noise.randomized_response import RandomizedResponse

epsilons = st.fractions(Fraction(1, 10**6), 50)
priors = st.fractions(Fraction(1, 10**4), 1 - Fraction(1, 10**4))
amounts = st.fractions(Fraction(1, 10**4), 10**6)


def precise(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.fixture(autouse=True, scope="module")
def _many_digits():
    with mpmath.workdps(60):
        yield


def bayes(prior, factor):
    """The belief after evidence that is `factor` times likelier if the suspicion is right."""
    return prior * factor / (prior * factor + 1 - prior)


@given(epsilon=epsilons, prior=priors)
def test_a_suspicion_stays_within_its_bounds_and_the_bounds_are_tight(epsilon, prior):
    most = bayes(precise(prior), mpmath.exp(precise(epsilon)))
    least = bayes(precise(prior), mpmath.exp(-precise(epsilon)))
    assert most <= precise(posterior_ceiling(epsilon, prior)) <= most * (1 + mpmath.mpf("1e-13"))
    assert least * (1 - mpmath.mpf("1e-13")) <= precise(posterior_floor(epsilon, prior)) <= least


@given(prior=priors, posterior=priors, household=st.integers(1, 20))
def test_the_epsilon_for_a_suspicion_keeps_it_for_the_whole_household(prior, posterior, household):
    if posterior <= prior or posterior - prior < Fraction(1, 10**6):
        return
    epsilon = epsilon_for_posterior(posterior, prior, household=household)
    reached = bayes(precise(prior), mpmath.exp(precise(epsilon * household)))
    assert reached <= precise(posterior)
    assert reached >= precise(posterior) * (1 - mpmath.mpf("1e-9"))


@given(reward=amounts, harm=amounts, household=st.integers(1, 20))
def test_a_reward_makes_up_for_the_extra_harm(reward, harm, household):
    if reward / harm < Fraction(1, 10**6):
        return
    epsilon = epsilon_for_reward(reward, harm, household=household)
    extra = mpmath.expm1(precise(epsilon * household)) * precise(harm)
    assert extra <= precise(reward)
    assert extra >= precise(reward) * (1 - mpmath.mpf("1e-9"))


@given(epsilon=epsilons, harm=amounts)
def test_the_extra_harm_is_never_understated(epsilon, harm):
    exact = mpmath.expm1(precise(epsilon)) * precise(harm)
    stated = precise(extra_harm(epsilon, harm))
    assert exact <= stated <= exact * (1 + mpmath.mpf("1e-12"))


def test_the_known_examples():
    assert float(posterior_ceiling(math.log(3), 0.5)) == pytest.approx(0.75)
    assert float(epsilon_for_posterior(0.75, 0.5)) == pytest.approx(math.log(3))
    assert float(epsilon_for_reward(10, 1000)) == pytest.approx(math.log(1.01))
    assert float(extra_harm(math.log(2), 30)) == pytest.approx(30)


def test_a_mechanism_reaches_the_ceiling_and_does_not_pass_it():
    """Randomised response is the worst case: an answer is as telling as its ε allows."""
    mechanism = RandomizedResponse(categories=2, keep=Fraction(3, 4))
    told = (
        Fraction(3, 4)
        * Fraction(1, 10)
        / (Fraction(3, 4) * Fraction(1, 10) + Fraction(1, 4) * Fraction(9, 10))
    )
    ceiling = posterior_ceiling(mechanism.loss().epsilon, Fraction(1, 10))
    assert told <= ceiling <= told * (1 + Fraction(1, 10**9))


@given(epsilon=st.fractions(Fraction(1, 10**6), 20), delta=st.fractions(Fraction(1, 10**12), Fraction(1, 2)))
def test_no_attack_is_right_more_often_than_the_ceiling(epsilon, delta):
    """The mechanism that is worst for (ε, δ): tells all with probability δ, else randomised response."""
    factor = mpmath.exp(precise(epsilon))
    exact = precise(delta) + (1 - precise(delta)) * factor / (1 + factor)
    stated = precise(attack_ceiling(epsilon, delta))
    assert exact <= stated <= exact * (1 + mpmath.mpf("1e-13"))


def test_without_delta_an_attack_at_even_odds_has_the_ceiling_of_a_suspicion():
    assert attack_ceiling(0.5, 0) == posterior_ceiling(0.5, 0.5)


def test_a_huge_epsilon_promises_nothing():
    assert posterior_ceiling(10**5, 0.001) == 1
    assert posterior_floor(10**5, 0.001) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: posterior_ceiling(0, 0.5),
        lambda: posterior_ceiling(1, 0),
        lambda: posterior_ceiling(1, 1),
        lambda: posterior_ceiling(1, math.nan),
        lambda: epsilon_for_posterior(0.5, 0.5),
        lambda: epsilon_for_posterior(0.4, 0.5),
        lambda: epsilon_for_posterior(1, 0.5),
        lambda: epsilon_for_posterior(0.6, 0.5, household=0),
        lambda: epsilon_for_reward(0, 10),
        lambda: epsilon_for_reward(10, -1),
        lambda: extra_harm(3000, 1),
        lambda: attack_ceiling(1, 1.5),
    ],
)
def test_what_cannot_be_meant_is_refused(call):
    with pytest.raises(InvalidInput):
        call()
