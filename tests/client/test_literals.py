"""Python values as SQL: a value is one literal, and stays one."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from discreet import InvalidInput
from discreet.client.literals import literal_of, with_values


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (np.bool_(False), "FALSE"),
        (5, "5"),
        (np.int64(-5), "(-5)"),
        (0.1, "0.1"),
        (np.float32(0.5), "0.5"),
        (1e-7, "1e-07"),
        (Decimal("1.50"), "1.50"),
        (Fraction(1, 4), "0.25"),
        ("it's", "'it''s'"),
        ("\\' OR 1 = 1 --", "'\\'' OR 1 = 1 --'"),
        (date(2026, 1, 2), "DATE '2026-01-02'"),
        (datetime(2026, 1, 2, 3, 4, 5), "TIMESTAMP '2026-01-02 03:04:05'"),
    ],
)
def test_values(value, sql):
    assert literal_of(value) == sql


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), "a\0b", b"x", [1], object(), datetime.now(UTC)]
)
def test_what_is_no_value(value):
    with pytest.raises(InvalidInput, match="cannot be part"):
        literal_of(value)


def test_each_mark_gets_its_value():
    sql = "SELECT '?' AS \"a?\", 'it''s ?' FROM t WHERE x-? > 1 AND w = ?"
    assert (
        with_values(sql, [-1, "?"]) == "SELECT '?' AS \"a?\", 'it''s ?' FROM t WHERE x-(-1) > 1 AND w = '?'"
    )
    assert with_values("SELECT ? -- ?", []) == "SELECT ? -- ?"


@pytest.mark.parametrize("values", [[1], [1, 2, 3]])
def test_marks_and_values_are_as_many(values):
    with pytest.raises(InvalidInput, match="2 \\?"):
        with_values("SELECT ?, ?", values)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ? -- it's",
        "SELECT ? /* ' */",
        "SELECT $$?$$, ?",
        "SELECT $a$?$a$",
        "SELECT E'\\'?', ?",
        "SELECT '?",
        "SELECT {# ' #} ?",
        'SELECT "?',
    ],
)
def test_marks_that_are_hard_to_tell_are_refused(sql):
    with pytest.raises(InvalidInput, match="comment"):
        with_values(sql, ["x"])


@given(
    st.text().filter(lambda text: "\0" not in text),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_value_stays_one_value_whatever_is_in_it(text, whole, number):
    sql = with_values("SELECT * FROM t WHERE a = ? AND b-? = 1 AND c = '?' AND d = ?", [text, whole, number])
    tree = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(tree, exp.Select)
    texts = [each.this for each in tree.find_all(exp.Literal) if each.is_string]
    assert sorted(texts) == sorted([text, "?"])
    assert len(list(tree.find_all(exp.EQ))) == 4
