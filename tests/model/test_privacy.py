"""Losses add up, widen to groups and convert, always towards more loss."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, NotComposable
from discreet.model.conversion import concentrated_delta, concentrated_epsilon, largest_rho
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from tests.bad_values import NOT_FINITE, NOT_NUMBERS

MICRO = Fraction(1, 10**6)


def pure(epsilon):
    return PureLoss(epsilon=Fraction(epsilon))


def concentrated(rho, delta=0):
    return ConcentratedLoss(rho=Fraction(rho), delta=Fraction(delta))


def approximate(epsilon, delta):
    return ApproximateLoss(epsilon=Fraction(epsilon), delta=Fraction(delta))


def test_pure_losses_add():
    assert pure("1/3").compose(pure("2/3")) == pure(1)


def test_losses_of_two_kinds_meet_in_the_weaker_kind():
    assert pure(1).compose(approximate(1, MICRO)) == approximate(2, MICRO)
    assert pure(1).compose(concentrated("1/4")) == concentrated("3/4")
    assert approximate(1, MICRO).compose(concentrated("1/4", MICRO)) == concentrated("3/4", 2 * MICRO)
    assert concentrated("1/4").compose(pure(1)) == pure(1).compose(concentrated("1/4"))


def test_groups():
    assert pure("1/2").for_group(4) == pure(2)
    assert concentrated("1/10").for_group(3) == concentrated("9/10")
    grouped = approximate(1, MICRO).for_group(3)
    assert grouped.epsilon == 3
    assert grouped.delta == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-12)
    assert grouped.delta >= MICRO * (1 + Fraction(math.e) + Fraction(math.e) ** 2) * (1 - Fraction(1, 10**12))


def test_groups_at_the_ends():
    assert approximate(0, MICRO).for_group(10).delta == 10 * MICRO
    assert approximate(10, MICRO).for_group(10_000).delta == 1
    assert approximate(2, MICRO).for_group(1) == approximate(2, MICRO)
    with pytest.raises(NotComposable) as refusal:
        concentrated(1, MICRO).for_group(2)
    assert "approximate" in refusal.value.remedy


@pytest.mark.parametrize(("rho", "epsilon"), [("1/8", 2.42), ("1/2", 5.22)])
def test_the_tight_conversion_reproduces_known_figures(rho, epsilon):
    assert float(concentrated(rho).epsilon_at(1e-6)) == pytest.approx(epsilon, abs=0.005)


rhos = st.fractions(min_value=Fraction(1, 10**6), max_value=20)
deltas = st.sampled_from([Fraction(1, 10**k) for k in (1, 3, 6, 9, 12, 30)])


@given(rho=rhos, delta=deltas)
def test_conversion_is_consistent_in_every_direction(rho, delta):
    epsilon = concentrated_epsilon(rho, delta)
    if epsilon > 0:
        assert concentrated_delta(rho, epsilon) == pytest.approx(float(delta), rel=1e-3)
        assert largest_rho(epsilon, delta) == pytest.approx(float(rho), rel=1e-6)


@given(epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=20), delta=deltas)
def test_the_largest_rho_never_exceeds_the_budget(epsilon, delta):
    rho = largest_rho(epsilon, delta)
    assert rho > 0
    assert concentrated_epsilon(rho, delta) <= epsilon * (1 + Fraction(1, 10**13))  # rounded up again


@given(rho=rhos, delta=deltas)
def test_the_tight_conversion_beats_the_textbook(rho, delta):
    """ρ + 2·√(ρ·ln(1/δ)) (Bun & Steinke 2016, Proposition 1.3)."""
    assert concentrated_epsilon(rho, delta) <= float(rho) + 2 * math.sqrt(rho * math.log(1 / delta))


def test_the_conversion_is_never_below_the_exact_gaussian():
    """A Gaussian with σ = Δ is ½-zCDP, and its exact δ at ε is known (Balle & Wang 2018)."""

    def normal_tail(x):
        return math.erfc(x / math.sqrt(2)) / 2

    for epsilon in (0.5, 1.0, 2.0, 4.0):
        exact = normal_tail(epsilon - 0.5) - math.exp(epsilon) * normal_tail(epsilon + 0.5)
        assert concentrated("1/2").delta_at(epsilon) >= exact


def test_a_delta_of_its_own_is_paid_first():
    loss = concentrated("1/8", MICRO / 2)
    assert loss.epsilon_at(MICRO) == concentrated("1/8").epsilon_at(MICRO / 2)
    for delta in (MICRO / 2, MICRO / 4):
        with pytest.raises(InvalidInput):
            loss.epsilon_at(delta)
    with pytest.raises(InvalidInput):
        approximate(1, MICRO).epsilon_at(MICRO / 2)


def test_small_epsilon_and_tiny_delta_work():
    rho = largest_rho(Fraction(1, 100), Fraction(1, 10**12))
    assert 0 < rho < Fraction(1, 10**4)
    assert concentrated_epsilon(rho, Fraction(1, 10**12)) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, -1, -0.1], ids=repr)
def test_a_loss_is_a_number(value):
    with pytest.raises(InvalidInput):
        PureLoss(epsilon=value)
    with pytest.raises(InvalidInput):
        ConcentratedLoss(rho=value, delta=Fraction(0))
    with pytest.raises(InvalidInput):
        ApproximateLoss(epsilon=Fraction(1), delta=value)
    with pytest.raises(InvalidInput):
        ConcentratedLoss(rho=Fraction(1), delta=value)


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", True, 10**300], ids=repr)
def test_a_group_has_a_size(size):
    for loss in (pure(1), concentrated(1), approximate(1, MICRO)):
        with pytest.raises(InvalidInput):
            loss.for_group(size)
