"""What an analyst typed comes back as a value, never as SQL."""

import math
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.dialects.quoting import build_literal, check_literal, quote_identifier, text_sql
from discreet.errors import QueryRefused
from discreet.functions.registry import emit_duckdb
from discreet.model.expression import Field, Literal
from discreet.model.policy import ValueType
from tests.question.nasty import connection

INJECTIONS = [
    "'; DROP TABLE nasty; --",
    "' OR ''='",
    "\\'; SELECT 1; --",
    "\\",
    "$$x$$",
    "$1",
    "?",
    ":name",
    '"; DROP TABLE nasty; --',
    '""',
    "/* x",
    "-- x",
    "\n;\n",
    "%s{0}",
    "\u2019; --",
    "\uff07 OR 1=1",
    "U&'\\0041'",
    "e'\\x41'",
]
texts = st.text().filter(lambda text: "\0" not in text) | st.text("'\"\\$;-é\n")


def fetch(sql):
    return connection().execute(f"SELECT {sql}").fetchone()[0]


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injection_is_a_text(text):
    assert fetch(emit_duckdb(build_literal(text))) == text


@settings(max_examples=300, deadline=None, derandomize=True)
@given(texts)
def test_every_text_comes_back(text):
    assert fetch(text_sql(text)) == text


@pytest.mark.parametrize("name", [*INJECTIONS, "select", "Group By", " ", "ä", "let1", "LET_1"])
def test_every_name_is_a_column(name):
    field = Field(name=name, type=ValueType.INTEGER)
    row = connection().execute(f"SELECT {emit_duckdb(field)} FROM (SELECT 7 AS {quote_identifier(name)})")
    assert row.fetchall() == [(7,)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_comes_back_to_the_bit(value):
    found = fetch(emit_duckdb(build_literal(value)))
    assert found == value
    assert math.copysign(1, found) == math.copysign(1, value) or value == 0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1) | st.dates() | st.datetimes() | st.booleans())
def test_every_other_constant_comes_back(value):
    assert fetch(emit_duckdb(build_literal(value))) == value


@pytest.mark.parametrize(
    "value",
    [
        "a\0b", "\ud800", "x" * 10_001, 2**63, -(2**63) - 1, math.nan, math.inf, Decimal("1e400"),
        Fraction(10**400), Decimal("NaN"), datetime(2024, 1, 1, tzinfo=UTC), b"x", object(), [1], 1j,
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(value):
    with pytest.raises(QueryRefused):
        build_literal(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, ValueType.INTEGER),
        ("1", ValueType.NUMBER),
        (1, ValueType.TEXT),
        (datetime(2024, 1, 1), ValueType.DATE),
    ],
)
def test_a_constant_of_another_type_is_refused(value, kind):
    with pytest.raises(QueryRefused):
        check_literal(Literal(value=value, type=kind))
    with pytest.raises(QueryRefused):
        emit_duckdb(Literal(value=value, type=kind))


@pytest.mark.parametrize("name", ["", "a\0", "\ud800"])
def test_a_name_that_no_database_has_is_refused(name):
    with pytest.raises(QueryRefused):
        quote_identifier(name)
