"""The ends of intervals are exact, and where they cannot be they lie outside."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.dialects.dialect import EmitScope
from discreet.dialects.duckdb import DUCKDB
from discreet.functions.columns import field_sql
from discreet.model import interval_arithmetic as intervals
from discreet.model.expression import Field, Range
from discreet.model.interval_arithmetic import (
    UNKNOWN,
    ValueInterval,
    double_above,
    double_below,
    interval,
    point,
)
from discreet.model.policy import ValueType
from tests.question.nasty import connection

few = settings(max_examples=300, deadline=None, derandomize=True)
ends = st.none() | st.fractions(-1000, 1000) | st.sampled_from([Fraction(0), Fraction(1, 10)])
some = st.tuples(ends, ends).map(
    lambda pair: (
        ValueInterval(low=min(pair), high=max(pair))
        if None not in pair
        else ValueInterval(low=pair[0], high=pair[1])
    )
)
inside = st.fractions(0, 1)


def member(of: ValueInterval, share: Fraction) -> Fraction:
    low = Fraction(-5000) if of.low is None else of.low
    high = Fraction(5000) if of.high is None else of.high
    return low + share * (high - low)


@few
@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_the_doubles_next_to_a_fraction(value):
    below, above = double_below(value), double_above(value)
    assert below <= value <= above
    assert math.nextafter(float(below), math.inf) > value or below == value
    assert math.nextafter(float(above), -math.inf) < value or above == value


@pytest.mark.parametrize("value", [Fraction(10**400), intervals.LARGEST_DOUBLE * 2])
def test_beyond_all_doubles(value):
    assert (double_below(value), double_above(value)) == (intervals.LARGEST_DOUBLE, None)
    assert (double_below(-value), double_above(-value)) == (None, -intervals.LARGEST_DOUBLE)


@few
@given(some, some, inside, inside)
def test_arithmetic_contains_what_it_is_of(left, right, share, other):
    x, y = member(left, share), member(right, other)
    cases = [
        (intervals.add(left, right), x + y),
        (intervals.subtract(left, right), x - y),
        (intervals.multiply(left, right), x * y),
        (intervals.absolute(left), abs(x)),
        (intervals.least([left, right]), min(x, y)),
        (intervals.greatest([left, right]), max(x, y)),
        (intervals.hull([left, right]), x),
        (intervals.sign(left), (x > 0) - (x < 0)),
    ]
    if y != 0:
        cases += [
            (intervals.divide(left, right), x / y),
            (intervals.modulo(left, right, 0), x - y * math.trunc(x / y)),
        ]
    for found, value in cases:
        low, high = found.ends
        assert low <= value <= high


def test_nothing_is_wider_than_it_must_be():
    assert intervals.multiply(interval(-2, 3), interval(-5, 7)) == interval(-15, 21)
    assert intervals.multiply(interval(0, math.inf), interval(0, 2)) == interval(0, math.inf)
    assert intervals.divide(point(1), interval(2, math.inf)) == interval(0, Fraction(1, 2))
    assert intervals.divide(point(1), interval(0, 2)) == UNKNOWN
    assert intervals.modulo(interval(0, 100), point(7), 1) == interval(0, 6)
    assert intervals.modulo(interval(-3, 100), point(7), 1) == interval(-6, 6)
    assert intervals.power(interval(-3, 2), 2) == interval(0, 9)
    assert intervals.square_root(interval(-1, 4)) == interval(0, 2)
    assert intervals.rounded(interval(Fraction(1, 8), Fraction(3, 8)), 2) == interval(
        Fraction(0.13), Fraction(0.38)
    )


@pytest.mark.parametrize("tenths", range(1, 30))
def test_a_column_is_clamped_to_doubles_inside_of_its_bounds(tenths):
    """The double nearest to a tenth lies above it, and would be out of bounds as an upper bound."""
    bounds = Range(low=Fraction(-tenths, 10), high=Fraction(tenths, 10))
    sql = field_sql(
        Field(name="x", type=ValueType.NUMBER, range=bounds), "x", EmitScope(DUCKDB, prefix="let")
    )
    rows = connection().execute(f"SELECT {sql} FROM (VALUES (1e9), (-1e9)) AS v(x)").fetchall()
    for (value,) in rows:
        assert bounds.low <= value <= bounds.high
        assert abs(value) > (1 - 1e-15) * tenths / 10
