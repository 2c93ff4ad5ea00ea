"""Numbers are read exactly or refused; ln and exp are enclosed."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InvalidInput
from discreet.model import exact
from tests.bad_values import BAD_COUNTS, BAD_QUANTITIES


def test_a_float_is_the_decimal_that_it_prints_as():
    assert exact.exact_fraction(0.1, "x") == Fraction(1, 10)
    assert sum([exact.positive_epsilon(0.1)] * 10) == 1
    assert exact.exact_fraction(np.float64(0.1), "x") == Fraction(1, 10)
    assert exact.exact_fraction(np.int32(7), "x") == 7
    assert exact.exact_fraction(Decimal("0.3"), "x") == Fraction(3, 10)


READERS = [
    exact.positive_epsilon,
    exact.positive_rho,
    exact.positive_delta,
    exact.confidence_level,
    exact.positive_scale,
]


@pytest.mark.parametrize("value", BAD_QUANTITIES, ids=repr)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_quantity_refuses_what_it_cannot_be(reader, value):
    with pytest.raises(InvalidInput) as refusal:
        reader(value)
    assert refusal.value.remedy
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_count_is_a_whole_number(value):
    with pytest.raises(InvalidInput):
        exact.positive_count(value, "k")


@pytest.mark.parametrize("value", [1, 1.0, 2, 1.5])
def test_delta_and_confidence_are_below_one(value):
    for reader in (exact.positive_delta, exact.confidence_level):
        with pytest.raises(InvalidInput):
            reader(value)


def test_an_invalid_input_is_also_a_value_error():
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InvalidInput, DiscreetError)


positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12).filter(lambda x: x != 1)


@given(x=positive, digits=st.integers(10, 60))
def test_the_logarithm_is_enclosed(x, digits):
    low, high = exact.ln_bounds(x, digits)
    with mpmath.workdps(120):
        truth = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= truth
        assert truth <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low <= Fraction(100, 10**digits) * (1 + abs(high))


@pytest.mark.parametrize("away", [Fraction(1, 10**100), -Fraction(1, 10**100)])
def test_beside_1_the_bounds_of_the_logarithm_stay_short(away):
    """The unit beside 0 is a fraction of a billion digits, which takes longer than anybody waits."""
    low, high = exact.ln_bounds(1 + away, 20)
    assert low <= 0 <= high
    assert high - low < Fraction(1, 10**18)
    assert max(low.denominator.bit_length(), high.denominator.bit_length()) < 1_000


@given(x=st.fractions(min_value=-200, max_value=200), digits=st.integers(10, 60))
def test_the_exponential_is_enclosed(x, digits):
    low, high = exact.exp_bounds(x, digits)
    with mpmath.workdps(200):
        truth = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= truth
        assert truth <= mpmath.mpf(high.numerator) / high.denominator
    assert high / low - 1 <= Fraction(10**5, 10**digits)


@given(x=st.floats(1e-30, 1e30))
def test_rounding_goes_outwards_and_not_far(x):
    assert Fraction(x) <= exact.round_up(x) <= Fraction(x) * (1 + Fraction(1, 10**10))
    assert Fraction(x) >= exact.round_down(x) >= Fraction(x) * (1 - Fraction(1, 10**10))
