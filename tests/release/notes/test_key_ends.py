"""Groups at the ends of a clamped number are named for all that they hold, and no others are."""

from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QueryRefused
from discreet.functions.registry import emit_duckdb
from discreet.model.expression import Call, Field, Literal
from discreet.model.policy import ValueType
from discreet.release.notes.key_ends import ends_by_output, ends_of, value_at
from discreet.release.notes.key_notes import key_notes
from tests.question.clinic import clinic, planned

FAR = "UNION ALL SELECT unnest([-100000, 100000])"
VALUES = {
    "age": f"SELECT range AS x FROM range(-300, 500) {FAR}",
    "cost": f"SELECT range / 16 AS x FROM range(-300, 300) {FAR}",
}
"""Beyond the bounds, 0 … 99 and −2 … 4, on both sides."""


def test_a_key_beyond_doubles_has_no_end():
    """A note that fails would fail the answer after its charge."""
    cost = Field(name="cost", type=ValueType.NUMBER)
    huge = Literal(value=Fraction(10) ** 308, type=ValueType.NUMBER)
    times = Call(function="*", arguments=(cost, huge), type=ValueType.NUMBER)
    assert value_at(Call(function="floor", arguments=(times,), type=ValueType.INTEGER), 1e9) is None


def query_of(sql, **settings):
    return planned(sql, clinic(**settings)).bounded.query


def key_of(key):
    query = query_of(f"SELECT {key} AS k, count(*) AS n FROM visits GROUP BY k")
    return query.keys[0], query


def unclamped(expression):
    match expression:
        case Field():
            return replace(expression, range=None)
        case Call():
            return replace(expression, arguments=tuple(map(unclamped, expression.arguments)))
    return expression


def groups(key, column):
    """Of each value: what plain SQL gives, and the group in which it is counted."""
    plain, counted = (
        emit_duckdb(each, lambda _: "x") for each in (unclamped(key.expression), key.expression)
    )
    return duckdb.sql(f"SELECT {plain}, {counted} FROM ({VALUES[column]})").fetchall()


def check_labels(key, ends, column):
    low, high = ends
    for plain, group in groups(key, column):
        if group == low:
            assert plain <= group
        elif group == high:
            assert plain >= group
        else:
            assert plain == group
    assert low is None or any(plain < group == low for plain, group in groups(key, column))
    assert high is None or any(plain > group == high for plain, group in groups(key, column))


@pytest.mark.parametrize(
    ("key", "ends"),
    [
        ("age", (0, 99)),
        ("floor(age / 10) * 10", (0, 90)),
        ("floor(age / 7)", (0, 14)),
        ("round(age / 7)", (0, 14)),
        ("100 - age", (1, 100)),
        ("-age", (-99, 0)),
        ("age * -1 + 5", (-94, 5)),
        ("floor(cost)", (-2, 4)),
        ("ceil(cost * 3)", (-6, 12)),
        ("floor(cost / -0.5)", (-8, 4)),
        ("CAST(cost AS INTEGER)", (-2, 4)),
    ],
)
def test_labels_hold_what_is_beyond(key, ends):
    found, query = key_of(key)
    assert ends_of(found, query.source) == ends
    check_labels(found, ends, "cost" if "cost" in key else "age")
    low, high = ends
    (note, *_) = key_notes(query)
    assert note == f"k: {high} means {high} or more, and {low} means {low} or less, as values are clamped."


STEPS = [
    "floor({})",
    "ceil({})",
    "round({})",
    "-({})",
    "({}) + 3",
    "7 - ({})",
    "({}) * 3",
    "-2 * ({})",
    "({}) / 4",
]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["age", "cost"]),
    st.lists(st.sampled_from([*STEPS, "({}) / -3", "({}) - 0.5"]), max_size=4),
)
def test_labels_hold_for_whatever_grows_or_falls(column, steps):
    key = column
    for step in steps:
        key = step.format(key)
    try:
        found, query = key_of(f"floor({key})")
    except QueryRefused:  # too many values to be keys, without a δ
        return
    ends = ends_of(found, query.source)
    if ends is not None:
        check_labels(found, ends, column)
    elif "round" not in key:  # halves are rounded in other ways elsewhere
        assert len({group for _, group in groups(found, column)}) == 1  # which holds everything


@pytest.mark.parametrize(
    "key",
    [
        "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END",
        "age > 65",
        "abs(age - 50)",
        "age % 10",
        "least(age, 50)",
        "age * age",
        "coalesce(age, -1)",
        "floor(12 / (age + 1))",
    ],
)
def test_where_it_cannot_be_told_a_note_says_so(key):
    found, query = key_of(key)
    assert ends_of(found, query.source) is None
    assert ends_by_output(query) == {}
    assert key_notes(query)[0] == "k: age is taken within 0 … 99."


@pytest.mark.parametrize("key", ["ward", "month(born)", "year(born) > 2000", "ward = 'north'"])
def test_what_is_not_clamped_has_no_label(key):
    found, query = key_of(key)
    assert ends_of(found, query.source) is None
    assert not any("taken within" in note or "means" in note for note in key_notes(query))


PER_PERSON = (
    "SELECT k, count(*) AS n FROM (SELECT patient, {} AS k FROM visits GROUP BY patient) AS t GROUP BY k"
)


@pytest.mark.parametrize(
    ("value", "ends"),
    [
        ("count(*)", (None, 2)),
        ("count(DISTINCT ward)", (None, 2)),
        ("-count(*)", (-2, None)),
        ("5 - count(*)", (3, None)),
        ("count(*) * -3", (-6, None)),
        ("sum(age)", (None, 198)),
        ("sum(floor(cost))", (-4, 8)),
        ("max(age)", (0, 99)),
        ("min(floor(cost))", (-2, 4)),
        ("floor(avg(age))", None),
    ],
)
def test_values_of_a_person(value, ends):
    """A count is clamped to max_rows, here 2, and is never below 0. An average mixes values of all kinds."""
    query = query_of(PER_PERSON.format(value))
    assert ends_of(query.keys[0], query.source) == ends


def test_labels_are_by_column_of_the_answer():
    sql = "SELECT count(*) AS n, age AS a, ward, age AS b FROM visits GROUP BY age, ward"
    assert ends_by_output(query_of(sql)) == {"a": (0, 99), "b": (0, 99)}
    both = "SELECT patient, age AS a FROM visits UNION ALL SELECT patient, level FROM labs"
    assert ends_by_output(query_of(f"SELECT a, count(*) AS n FROM ({both}) AS t GROUP BY a")) == {}
