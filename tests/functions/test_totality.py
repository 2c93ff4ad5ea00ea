"""No expression raises on any row, and what it gives is what it says: finite, in its range, of its type."""

import math
from datetime import date, datetime

from hypothesis import HealthCheck, given, settings

from discreet.dialects.duckdb import DUCKDB
from discreet.functions.public_values import integer_values
from discreet.functions.registry import FUNCTIONS, range_of
from discreet.model.policy import ValueType
from tests.question import reference
from tests.question.generate import CALLS, expressions
from tests.question.nasty import ROWS, columns, run, sql_type

KINDS = {
    ValueType.INTEGER: int,
    ValueType.NUMBER: float,
    ValueType.TEXT: str,
    ValueType.BOOLEAN: bool,
    ValueType.DATE: date,
    ValueType.TIMESTAMP: datetime,
}

# Enough for every commit; set it to 1,500 (five minutes) after a change to a function.
many = settings(
    max_examples=250, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip

ALL_ROWS = [dict(zip(columns(), row, strict=True)) for row in zip(*columns().values(), strict=True)]


@many
@given(expressions())
def test_nothing_raises_and_every_value_is_of_its_type_and_in_its_range(expression):
    assert sql_type(expression) == DUCKDB.types[expression.type]
    known = range_of(expression)
    values = [value for value in run(expression) if value is not None]
    assert all(type(value) is KINDS[expression.type] for value in values)
    if expression.type is ValueType.NUMBER:
        assert all(math.isfinite(value) for value in values)
    if known is not None:
        assert all(known.low <= value <= known.high for value in values)


@many
@given(expressions())
def test_no_setting_of_the_engine_changes_a_value(expression):
    assert run(expression) == run(expression, hostile=True)


@many
@given(expressions().filter(reference.is_simple))
def test_the_simple_functions_agree_with_python(expression):
    for row, value in zip(ALL_ROWS, run(expression), strict=True):
        assert value == reference.evaluate(expression, row), row


@many
@given(expressions(kind=ValueType.INTEGER, levels=3))
def test_integer_values_lists_every_value(expression):
    listed = integer_values(expression, 1000)
    if listed is not None:
        assert len(listed) <= 1000
        assert listed == sorted(set(listed))
        assert {value for value in run(expression) if value is not None} <= set(listed)


def test_every_function_is_generated():
    assert {call[0] for calls in CALLS.values() for call in calls} | {"in"} == set(FUNCTIONS)


def test_the_table_has_every_nasty_value():
    assert len(ALL_ROWS) == ROWS
    assert any(isinstance(row["n"], float) and math.isnan(row["n"]) for row in ALL_ROWS)
