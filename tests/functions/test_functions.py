"""Calls are checked, ranges follow from the columns, and nothing grows without limit."""

import re
import time
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import QueryRefused
from discreet.functions.public_values import integer_values, possible_values
from discreet.functions.registry import (
    FUNCTIONS,
    MOST_LEVELS,
    build_call,
    build_literal,
    emit_duckdb,
    range_of,
)
from discreet.model.expression import Call, Field, Literal, Range
from discreet.model.policy import ValueType
from tests.question.nasty import FIELDS, connection, run

REFERENCE = Path(__file__).parents[2] / "docs/reference/sql-functions.md"

AGE = Field(name="age", type=ValueType.INTEGER, range=Range(low=Fraction(0), high=Fraction(120)))
PRICE = Field(name="price", type=ValueType.NUMBER, range=Range(low=Fraction(0), high=Fraction(50)))
QUANTITY = Field(name="quantity", type=ValueType.INTEGER, range=Range(low=Fraction(-2), high=Fraction(10)))
INCOME = Field(name="income", type=ValueType.NUMBER)
NAME = Field(name="name", type=ValueType.TEXT)
DAY = Field(name="day", type=ValueType.DATE)


def call(name, *arguments):
    built = [each if isinstance(each, Field | Literal | Call) else build_literal(each) for each in arguments]
    return build_call(name, tuple(built))


RANGES = [
    (call("*", PRICE, QUANTITY), (-100, 500)),
    (call("-", AGE, 18), (-18, 102)),
    (call("/", AGE, 10), (0, 12)),
    (call("/", 1, QUANTITY), None),
    (call("/", 1, call("+", QUANTITY, 4)), (Fraction(1 / 14), Fraction(1, 2))),
    (call("floor", call("/", AGE, 7)), (0, 17)),
    (call("%", AGE, 7), (0, 6)),
    (call("negate", QUANTITY), (-10, 2)),
    (call("abs", QUANTITY), (0, 10)),
    (call("power", QUANTITY, 2), (0, 100)),
    (call("power", QUANTITY, 3), (-8, 1000)),
    (call("sqrt", call("*", AGE, AGE)), (0, 120)),
    (call("round", call("*", PRICE, 0.5)), (0, 25)),
    (call("exp", INCOME), None),
    (INCOME, None),
    (call("least", INCOME, 100), None),
    (call("greatest", 0, call("least", INCOME, 100)), (0, 100)),
    (call("case", call("<", AGE, 18), 0, 1), (0, 1)),
    (call("case", call("<", AGE, 18), AGE), (0, 120)),
    (call("coalesce", QUANTITY, None, 50), (-2, 50)),
    (call("nullif", AGE, 0), (0, 120)),
    (call("length", NAME), None),
    (call("least", call("length", NAME), 30), (0, 30)),
    (call("month", DAY), (1, 12)),
    (call("week", DAY), (1, 53)),
    (call("dayofyear", DAY), (1, 366)),
    (call("minute", DAY), (0, 59)),
    (call("position", NAME, "-"), (0, 4096)),
    (call("cast_integer", call("<", AGE, 18)), (0, 1)),
    (call("+", 1, None), (1, 1)),
]


@pytest.mark.parametrize(("expression", "expected"), RANGES, ids=lambda each: getattr(each, "function", ""))
def test_a_range_follows_from_the_columns(expression, expected):
    found = range_of(expression)
    assert (None if found is None else (found.low, found.high)) == expected


def test_a_tenth_times_a_price_may_exceed_by_a_rounding_only():
    found = range_of(call("*", PRICE, 0.1))
    assert 5 <= found.high < 5 + Fraction(1, 10**14)


REFUSED = [
    ("+", (NAME, 1), "text and integer"),
    ("+", (DAY, 1), "date and integer"),
    ("=", (NAME, 1), "text and integer"),
    ("=", (True, 1), "boolean and integer"),
    ("<", (True, False), "boolean"),
    ("=", (DAY, "yesterday"), "date"),
    ("and", (True, 1), "integer"),
    ("case", (1, 2, 3), "integer"),
    ("case", (True, 1, "a"), "integer and text"),
    ("least", (True, False), "boolean"),
    ("in", (AGE, AGE), "constants"),
    ("in", (AGE, "a"), "integer and text"),
    ("round", (INCOME, AGE), "constant"),
    ("round", (INCOME, -1), "constant"),
    ("power", (INCOME, 7), "constant"),
    ("power", (INCOME, 0.5), "constant"),
    ("substring", (NAME, AGE), "constant"),
    ("left", (NAME, -1), "constant"),
    ("like", (NAME, NAME), "constant"),
    ("like", (NAME, "a" * 257), "too long"),
    ("replace", (NAME, "", "x"), "look for"),
    ("replace", (NAME, "a", "a" * 17), "too long"),
    ("date_trunc", ("century", DAY), "unit"),
    ("add_months", (DAY, AGE), "constant"),
    ("add_seconds", (AGE, 1), "integer"),
    ("minute", (AGE,), "integer"),
    ("position", (NAME, ""), "look for"),
    ("split_part", (NAME, "", 1), "separator"),
    ("split_part", (NAME, ",", 0), "constant"),
    ("date_diff", ("month", DAY, DAY), "unit"),
    ("year", (AGE,), "integer"),
    ("cast_text", (INCOME,), "number"),
    ("cast_integer", (DAY,), "date"),
    ("cast_boolean", (INCOME,), "number"),
    ("abs", (), "0 arguments"),
    ("+", (1, 2, 3), "3 arguments"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), REFUSED)
def test_wrong_types_are_refused_with_a_remedy(name, arguments, says):
    with pytest.raises(QueryRefused) as refusal:
        call(name, *arguments)
    assert says in refusal.value.problem
    assert refusal.value.remedy


@pytest.mark.parametrize(
    "name",
    [
        "random",
        "now",
        "query",
        "read_csv",
        "getvariable",
        "regexp_matches",
        "nextval",
        "uuid",
        "sleep_ms",
        "ABS",
        "",
    ],
)
def test_what_is_not_on_the_list_is_refused(name):
    with pytest.raises(QueryRefused, match="not on the list"):
        call(name, 1)
    with pytest.raises(QueryRefused, match="not on the list"):
        emit_duckdb(Call(function=name, arguments=(build_literal(1),), type=ValueType.INTEGER))


def test_a_call_that_was_built_by_hand_is_checked_all_the_same():
    forged = Call(function="+", arguments=(NAME, build_literal(1)), type=ValueType.INTEGER)
    mistyped = Call(function="length", arguments=(NAME,), type=ValueType.TEXT)
    for wrong in (forged, mistyped):
        with pytest.raises(QueryRefused):
            emit_duckdb(wrong)


def test_integer_values_of_a_bounded_column():
    decade = call("floor", call("/", AGE, 10))
    assert integer_values(decade, 100) == list(range(13))
    assert integer_values(call("*", decade, 10), 13) == list(range(0, 130, 10))
    assert integer_values(call("-", call("*", decade, 10), 5), 13) == list(range(-5, 125, 10))
    assert integer_values(call("month", DAY), 100) == list(range(1, 13))
    assert integer_values(AGE, 120) is None
    assert integer_values(call("floor", INCOME), 10**6) is None
    assert integer_values(PRICE, 100) is None


def test_possible_values_of_keys_booleans_and_cases():
    keys = {"name": ("north", "south"), "age": None}.get
    adult = call(">=", AGE, 18)
    assert possible_values(NAME, keys) == ("north", "south")
    assert possible_values(AGE, keys) is None
    assert possible_values(NAME, {}.get) is None
    assert possible_values(adult, keys) == (False, True)
    assert possible_values(call("case", adult, "adult", "minor"), keys) == ("adult", "minor")
    assert possible_values(call("coalesce", NAME, "unknown"), keys) == ("north", "south", "unknown")
    assert possible_values(call("case", adult, NAME, call("lower", NAME)), keys) is None


def test_columns_are_read_where_they_are_told_to_be():
    assert 'people."age"' in emit_duckdb(AGE, {"age": 'people."age"'})
    assert "x_age" in emit_duckdb(AGE, lambda name: f"x_{name}")


def test_a_column_is_read_as_its_type_whatever_the_table_says():
    field = Field(name="x", type=ValueType.INTEGER, range=Range(low=Fraction(0), high=Fraction(9)))
    for source, expected in (("'7'", 7), ("'x'", None), ("1e300", None), ("255::UTINYINT", 9), ("3.4", 3)):
        found = connection().execute(f"SELECT {emit_duckdb(field)} FROM (SELECT {source} AS x)").fetchone()
        assert found == (expected,), source


def test_infinity_is_null_before_it_is_clamped():
    field = Field(name="n", type=ValueType.NUMBER, range=Range(low=Fraction(0), high=Fraction(9)))
    for source, expected in (("inf", None), ("-inf", None), ("nan", None), ("1e308", 9.0), ("-1", 0.0)):
        found = (
            connection()
            .execute(f"SELECT {emit_duckdb(field)} FROM (SELECT '{source}'::DOUBLE AS n)")
            .fetchone()
        )
        assert found == (expected,), source


def test_a_column_with_a_collation_compares_by_bytes():
    database = connection().cursor()
    database.execute("CREATE OR REPLACE TEMP TABLE collated (s VARCHAR COLLATE NOCASE)")
    database.execute("INSERT INTO collated VALUES ('a'), ('A')")
    text = Field(name="s", type=ValueType.TEXT)
    for expression in (call("=", text, "a"), call("in", text, "a", "b"), call("between", text, "a", "a")):
        assert database.execute(
            f"SELECT count(*) FROM collated WHERE {emit_duckdb(expression)}"
        ).fetchone() == (1,)
    assert database.execute(f"SELECT {emit_duckdb(call('nullif', text, 'a'))} FROM collated").fetchall() == [
        (None,), ("A",),
    ]  # fmt: skip


@pytest.mark.parametrize("hostile", [False, True])
def test_texts_are_grouped_by_their_bytes(hostile):
    database = connection(hostile).cursor()
    database.execute("CREATE OR REPLACE TEMP TABLE grouped (s VARCHAR COLLATE NOCASE)")
    database.execute("INSERT INTO grouped VALUES ('a'), ('A')")
    text = Field(name="s", type=ValueType.TEXT)
    for key in (text, call("concat", text, "x"), call("trim", text), call("coalesce", text, "b")):
        groups = database.execute(
            f"SELECT {emit_duckdb(key)} AS k, count(*) FROM grouped GROUP BY k"
        ).fetchall()
        assert [count for _, count in groups] == [1, 1]


def deep(name, leaf, *others, levels=MOST_LEVELS - 2):
    for _ in range(levels):
        leaf = call(name, leaf, *others)
    return leaf


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("/", (FIELDS["n"],)), ("nullif", (0.5,)), ("least", (FIELDS["n"], 3.5)), ("power", (6,)),
        ("exp", ()), ("ln", ()), ("sqrt", ()), ("%", (FIELDS["n"],)), ("*", (FIELDS["n"],)), ("round", (2,)),
    ],
)  # fmt: skip
def test_the_deepest_expression_is_written_short_and_runs_soon(name, others):
    for levels in range(4, MOST_LEVELS, 4):  # SQL that doubles must fail here before memory does
        assert len(emit_duckdb(deep(name, FIELDS["n"], *others, levels=levels))) < 60_000
    expression = deep(name, FIELDS["n"], *others)
    start = time.monotonic()
    run(expression)
    assert time.monotonic() - start < 20  # about a second on an idle machine


@pytest.mark.parametrize("name", ["add_days", "replace", "concat"])
def test_the_deepest_text_or_date_runs_too(name):
    leaf, others = {
        "add_days": (FIELDS["d"], (FIELDS["i"],)),
        "replace": (FIELDS["s"], ("a", "a" * 16)),
        "concat": (FIELDS["s"], (FIELDS["s"],)),
    }[name]
    values = run(deep(name, leaf, *others))
    assert max((len(value) for value in values if isinstance(value, str)), default=0) <= 10_000


def test_deeper_is_refused():
    with pytest.raises(QueryRefused, match="nested too deep"):
        deep("negate", AGE, levels=MOST_LEVELS + 1)


def test_a_tree_forged_a_hundred_thousand_deep_is_refused_without_recursing():
    node = AGE
    for _ in range(10**5):
        node = Call(function="negate", arguments=(node,), type=ValueType.INTEGER)
    with pytest.raises(QueryRefused, match="nested too deep"):
        emit_duckdb(node)
    while isinstance(node, Call):  # let go level by level: Python would free it by recursion
        node = node.arguments[0]


def test_a_node_that_is_used_twice_counts_twice():
    doubled = AGE
    for _ in range(9):
        doubled = call("+", doubled, doubled)
    with pytest.raises(QueryRefused, match="too large"):
        call("+", doubled, doubled)


def test_a_long_chain_of_or_is_not_deep():
    chain = call("=", AGE, 0)
    for age in range(1, 500):
        chain = call("or", chain, call("=", AGE, age))
    assert len(chain.arguments) == 500


@pytest.mark.parametrize(
    "pattern", ["%a" * 60 + "%b_b", "%_a" * 60 + "%b_b", "%_" * 100 + "bb", "%a_a" * 60 + "%cb"]
)
def test_like_takes_no_time_on_the_worst_text(pattern):
    matches = call("like", FIELDS["s"], pattern)
    worst = "a" * 500_000 + "bc" + "a" * 500_000
    start = time.monotonic()
    found = connection().execute(f"SELECT {emit_duckdb(matches)} FROM (SELECT $worst AS s)", {"worst": worst})
    assert found.fetchone() == (False,)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "name", [f"{let}{number}" for let in ("let", "LET", "let_") for number in range(1, 25)]
)
def test_a_column_of_the_name_that_a_long_value_gets_is_still_the_column(name):
    """The SQL names long values let1, let2, …; greatest reads the column where such a name is known."""
    column = Field(name=name, type=ValueType.NUMBER)
    ratio, expected = column, 2.0
    for _ in range(6):
        ratio, expected = call("/", column, call("+", ratio, column)), 2.0 / (expected + 2.0)
    for expression, value in ((ratio, expected), (call("greatest", ratio, column), 2.0)):
        sql = emit_duckdb(expression)
        assert "list_transform" in sql
        assert connection().execute(f'SELECT {sql} FROM (SELECT 2.0 AS "{name}")').fetchone() == (value,)


def test_an_expression_can_be_grouped_by_and_filtered_on():
    key = deep("/", FIELDS["n"], FIELDS["m"], levels=4)
    sql, condition = emit_duckdb(call("floor", key)), emit_duckdb(call(">", key, 0))
    connection().execute(
        f"SELECT {sql} AS k, count(*) FROM nasty WHERE {condition} GROUP BY {sql}"
    ).fetchall()
    connection().execute(f"SELECT sum(w * {sql}::HUGEINT) FROM (SELECT *, 1 AS w FROM nasty)").fetchall()


def test_iso_texts_become_dates_where_dates_are_compared():
    compared = call(">=", DAY, "2024-02-29")
    assert compared.arguments[1] == Literal(value=date(2024, 2, 29), type=ValueType.DATE)


def test_every_function_is_in_the_reference():
    tables = REFERENCE.read_text().partition("## Other ways to write them")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \|", tables, flags=re.MULTILINE))
    assert {name.replace("|", "\\|") for name in FUNCTIONS} == listed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_shows_how_each_is_written(name):
    page = REFERENCE.read_text()
    assert FUNCTIONS[name].usage.replace("|", "\\|") in page
