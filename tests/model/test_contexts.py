"""Stated losses do not depend on how the application has set up decimal arithmetic."""

from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.calibration import discrete_gaussian_delta
from discreet.accounting.laws import DiscreteGaussianNoise
from discreet.accounting.schedule import Event, rdp_epsilon
from discreet.errors import InvalidInput
from discreet.model.conversion import concentrated_delta, concentrated_epsilon, largest_rho
from discreet.model.exact import exact_fraction, round_up
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss

MICRO = Fraction(1, 10**6)


def statements():
    return (
        largest_rho(Fraction(1), MICRO),
        concentrated_epsilon(Fraction(1, 2), MICRO),
        concentrated_delta(Fraction(1, 2), Fraction(3)),
        discrete_gaussian_delta(10, 1, 1),
        round_up(1.2345),
        ApproximateLoss(epsilon=Fraction(1), delta=MICRO).for_group(3).delta,
    )


@pytest.mark.parametrize("precision", [1, 2, 3, 6, 100])
def test_an_odd_decimal_context_changes_nothing(precision):
    expected = statements()
    with localcontext() as context:
        context.prec, context.rounding, context.Emax, context.Emin = precision, ROUND_DOWN, 10, -10
        assert statements() == expected


def test_a_delta_is_never_stated_as_zero():
    assert ConcentratedLoss(rho=Fraction(1, 10**20), delta=Fraction(0)).delta_at(1) > 0


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**45), Fraction(1, 10**39), Fraction(1, 10**12), Fraction(3000)]
)
def test_groups_at_extreme_losses(epsilon):
    delta = ApproximateLoss(epsilon=epsilon, delta=Fraction(1, 10**100)).for_group(2).delta
    assert 0 < delta <= 1
    assert epsilon < 1000 or delta == 1


@pytest.mark.parametrize("rho", [Fraction(1, 10**24), Fraction(10**12)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**60), Fraction(1, 2)])
def test_conversions_at_the_ends_of_their_ranges(rho, delta):
    epsilon = concentrated_epsilon(rho, delta)
    assert epsilon >= 0
    assert 0 < concentrated_delta(rho, Fraction(1, 10**12)) <= 1


ENDLESS = {"decimal": Decimal("1." + "1" * 300_000), "fraction": Fraction(1, 3**200_000), "int": 7**100_000}


@pytest.mark.parametrize("kind", ENDLESS)
def test_numbers_with_endless_digits_are_refused_at_once(kind):
    with pytest.raises(InvalidInput):
        exact_fraction(ENDLESS[kind], "epsilon")


def test_numpy_integers_do_not_overflow_in_laws():
    laws = [DiscreteGaussianNoise(sigma_squared=50_000**2, change=kind(50_000)) for kind in (int, np.int32)]
    right, numpy = (rdp_epsilon([Event(law=law)], 1e-6) for law in laws)
    assert numpy == right
    assert type(Event(law=laws[0], times=np.int32(5)).times) is int
