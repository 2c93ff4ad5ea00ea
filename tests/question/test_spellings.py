"""Other ways to write something: the reference lists them, and each is read as what it says."""

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QueryRefused
from discreet.functions.registry import emit_duckdb, range_of
from discreet.model.policy import ValueType
from discreet.question.expressions.scope import Scope, row_expression
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.question.clinic import clinic, planned, public_keys
from tests.question.nasty import FIELDS, connection

REFERENCE = Path(__file__).parents[2] / "docs/reference/sql-functions.md"
NAMED = {
    "a": ValueType.BOOLEAN, "x": ValueType.NUMBER, "y": ValueType.NUMBER, "cost": ValueType.NUMBER,
    "age": ValueType.INTEGER, "text": ValueType.TEXT, "day": ValueType.DATE, "born": ValueType.DATE,
    "moment": ValueType.TIMESTAMP,
}  # fmt: skip


def read(sql):
    """What an expression of these columns is read as."""
    fields = {name: replace(FIELDS["i"], name=name, type=kind) for name, kind in NAMED.items()}
    item = parse_sql(f"SELECT {sql} FROM t").expressions[0]
    return row_expression(item, Scope().named("t", fields))


def listed():
    section = (
        REFERENCE.read_text(encoding="utf-8").partition("## Other ways to write them")[2].partition("\n- ")[0]
    )
    rows = re.findall(r"^\| `(.*)` \| `(.*)` \|$", section, re.MULTILINE)
    assert len(rows) > 40
    return [tuple(each.replace("\\|", "|") for each in row) for row in rows]


STANDS_FOR = {
    "x": "n",
    "y": "m",
    "cost": "n",
    "age": "i",
    "text": "s",
    "day": "d",
    "born": "d",
    "moment": "t",
    "a": "b",
}


def on_nasty_rows(expression):
    sql = emit_duckdb(expression, {name: f'nasty."{column}"' for name, column in STANDS_FOR.items()})
    return connection().execute(f"SELECT {sql} FROM nasty ORDER BY row").fetchall()


@pytest.mark.parametrize(("written", "meant"), listed())
def test_what_is_written_is_read_as_the_reference_says(written, meant):
    one, other = read(written), read(meant)
    assert (one.type, range_of(one)) == (other.type, range_of(other))
    assert on_nasty_rows(one) == on_nasty_rows(other)


def computed(sql, **columns):
    """As discreet computes it, and as DuckDB does, from constants."""
    ours = emit_duckdb(read(sql))
    kinds = {"day": "DATE", "born": "DATE", "moment": "TIMESTAMP", "text": "VARCHAR"}
    source = ", ".join(f"CAST(? AS {kinds.get(name, 'DOUBLE')}) AS {name}" for name in columns)
    query = f"SELECT {ours}, {sql} FROM (SELECT {source})"
    (row,) = duckdb.execute(query, list(columns.values())).fetchall()
    return row


MOMENTS = st.datetimes(datetime(1, 1, 8), datetime(9990, 1, 1))
OF_DAYS = [
    "dayname(day)", "monthname(day)", "last_day(day)", "isoyear(day)", "date_part('dow', day)",
    "weekofyear(day)", "strftime(day, '%Y-%m')", "strftime(day, '%Y')", "strftime(day, '%G-W%V')",
    "strftime(day, '%d.%m.%y, %B %A')",
    "strftime(day, '%j|%a|%b|%u|100%%')", "date_diff('month', born, day)", "date_diff('week', born, day)",
    "date_diff('quarter', born, day)", "date_diff('year', born, day)", "day - born",
    "CAST(day + INTERVAL '1 month' AS DATE)", "CAST(day - INTERVAL 13 MONTH AS DATE)",
    "CAST(day + INTERVAL '1 year 3 days' AS DATE)", "day + 7", "day - 7",
    "time_bucket(INTERVAL '1 month', day)",
]  # fmt: skip
OF_MOMENTS = [
    "date_diff('hour', day, moment)", "date_diff('minute', day, moment)", "date_diff('second', day, moment)",
    "moment + INTERVAL '90 minutes'", "moment - INTERVAL '1 month 2 days 3 hours'",
    "date_trunc('hour', moment)",
    "strftime(moment, '%Y-%m-%d %H:%M:%S')", "date_part('minute', moment)",
]  # fmt: skip


@settings(max_examples=40, derandomize=True, deadline=None)
@given(MOMENTS, st.dates(date(1, 1, 8), date(9990, 1, 1)))
def test_dates_are_what_duckdb_makes_of_them(moment, born):
    for sql in OF_DAYS:
        ours, theirs = computed(sql, day=moment.date(), born=born)
        assert ours == theirs or str(ours) == str(theirs), sql
    for sql in OF_MOMENTS:
        ours, theirs = computed(sql, day=born, moment=moment)
        assert ours == theirs, sql


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.floats(-1e6, 1e6), st.integers(1, 50), st.integers(-20, 20), st.integers(1, 40))
def test_numbers_are_what_they_are_elsewhere(x, bins, low, width):
    ours, theirs = computed("trunc(cost)", cost=x)
    assert ours == theirs
    assert computed("round(cost, -1)", cost=x)[0] == pytest.approx(computed("round(cost, -1)", cost=x)[1])
    high = low + width
    called = emit_duckdb(read(f"width_bucket(cost, {low}, {high}, {bins})"))
    of_x = f"SELECT {called} FROM (SELECT CAST(? AS DOUBLE) AS cost)"
    ((bucket,),) = duckdb.execute(of_x, [x]).fetchall()
    expected = 0 if x < low else bins + 1 if x >= high else (x - low) * bins / width
    assert bucket in (0, bins + 1) if x < low or x >= high else abs(bucket - 0.5 - expected) <= 0.500001
    span = range_of(read(f"width_bucket(cost, {low}, {high}, {bins})"))
    assert (span.low, span.high) == (0, bins + 1)


PATTERNS = [
    "a",
    "^a",
    "a$",
    "^a$",
    "a.b",
    "a.*b",
    "^a.+b$",
    "a|b",
    "^(ab|ba)",
    "[ab]b",
    "[0-2]",
    "a\\.b",
    "a?b",
    "(a|b)_",
    "100%$",
    "",
    "\\d$",
]
TEXTS = ["", "a", "b", "ab", "ba", "axb", "a.b", "aab", "xaby", "a_", "b_x", "100%", "x100%", "a1", "20", "é"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions_find_what_duckdb_finds(pattern):
    sql = f"regexp_matches(text, '{pattern}')"
    for text in TEXTS:
        ours, theirs = computed(sql, text=text)
        assert ours is theirs, text


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("a%", {"a", "ab", "axb", "a.b", "aab", "a_", "a1"}),
        ("(a|b)_", {"ab", "ba", "a_", "a1"}),
        ("a|20", {"a", "20"}),
    ],
)
def test_similar_to_is_that_of_standard_sql(pattern, texts):
    """DuckDB's own takes it for a regular expression."""
    ours = emit_duckdb(read(f"text SIMILAR TO '{pattern}'"))
    sql = f"SELECT text FROM (SELECT unnest(?) AS text) WHERE {ours}"
    assert {text for (text,) in duckdb.execute(sql, [TEXTS]).fetchall()} == texts


def test_no_pattern_becomes_many():
    for pattern in (
        "(a|b|c|d)(a|b|c|d)(a|b|c|d)",
        "(a|b){3}",
        "a*",
        "(?i)a",
        "\\w",
        "[^a]",
        "(a",
        "a)",
        "a+b",
        "^*",
    ):
        with pytest.raises(QueryRefused):
            read(f"regexp_matches(text, '{pattern}')")


def test_bins_beyond_the_bounds_have_no_row():
    plan = planned("SELECT width_bucket(cost, -2, 5, 7) AS bin, count(*) FROM visits GROUP BY bin", clinic())
    assert plan.bounded.query.keys[0].values == tuple(range(1, 8))
    plan = planned("SELECT width_bucket(cost, -1, 4, 5) AS bin, count(*) FROM visits GROUP BY bin", clinic())
    assert plan.bounded.query.keys[0].values == tuple(range(7))


def test_names_of_days_are_public_keys():
    plan = planned("SELECT dayname(born) AS day, count(*) FROM visits GROUP BY day", clinic())
    monday = date(2024, 1, 1)
    names = tuple((monday + timedelta(i)).strftime("%A") for i in range(7))
    assert plan.bounded.query.keys[0].values == names


SAME_QUESTION = [
    ("count_if(cost > 1) AS n FROM visits", "count(*) FILTER (WHERE cost > 1) AS n FROM visits"),
    ("avg(cost > 1) AS n FROM visits", "avg(CAST(cost > 1 AS INTEGER)) AS n FROM visits"),
    ("sum(cost > 1) AS n FROM visits", "sum(CAST(cost > 1 AS INTEGER)) AS n FROM visits"),
    (
        "quantile(cost, [0.25, 0.5]) AS q FROM visits",
        "quantile(cost, 0.25) AS q_25, quantile(cost, 0.5) AS q_50 FROM visits",
    ),
    (
        "percentile_cont([0.125, 0.5]) WITHIN GROUP (ORDER BY cost) AS q FROM visits",
        'quantile(cost, 0.125) AS "q_12.5", quantile(cost, 0.5) AS q_50 FROM visits',
    ),
    (
        "quantile(cost, [0.5]) FILTER (WHERE age > 1) FROM visits",
        "quantile(cost, 0.5) FILTER (WHERE age > 1) AS quantile_50 FROM visits",
    ),
    ("ward, count(*) AS n FROM visits GROUP BY ALL", "ward, count(*) AS n FROM visits GROUP BY ward"),
    ("count(*) AS n FROM visits GROUP BY ALL", "count(*) AS n FROM visits"),
    (
        "floor(age / 10) AS d, ward, count(*) AS n FROM visits GROUP BY ALL",
        "floor(age / 10) AS d, ward, count(*) AS n FROM visits GROUP BY d, ward",
    ),
    (
        "ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC FETCH FIRST 1 ROWS ONLY",
        "ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1",
    ),
    (
        "avg(n) AS a FROM (SELECT patient, count_if(cost > 1) AS n FROM visits GROUP BY patient)",
        "avg(n) AS a FROM (SELECT patient, count(*) FILTER (WHERE cost > 1) AS n FROM visits"
        " GROUP BY patient)",
    ),
    (
        "avg(n) AS a FROM (SELECT patient, avg(cost > 1) AS n FROM visits GROUP BY patient)",
        "avg(n) AS a FROM (SELECT patient, avg(CAST(cost > 1 AS INTEGER)) AS n FROM visits GROUP BY patient)",
    ),
]


def asked(sql):
    return resolve(parse_sql(sql), clinic(), public_keys)


@pytest.mark.parametrize(("written", "meant"), SAME_QUESTION)
def test_a_question_is_read_as_what_it_means(written, meant):
    assert asked(f"SELECT {written}") == asked(f"SELECT {meant}")


def test_a_filtered_count_if_counts_what_both_say():
    query = asked("SELECT count_if(cost > 1) FILTER (WHERE age > 3) AS n FROM visits")
    assert (
        query.measures
        == asked(
            "SELECT count(CASE WHEN cost > 1 THEN 1 END) FILTER (WHERE age > 3) AS n FROM visits"
        ).measures
    )


def test_columns_of_dates_are_needed_for_a_format():
    with pytest.raises(QueryRefused, match="dates"):
        asked("SELECT count(*) FROM visits WHERE strftime(age, '%Y') = '2024'")


@pytest.mark.parametrize(
    ("sql", "listed"), [("age IN (1, -2)", (1, -2)), ("x IN (-1.5, 2)", (Fraction(-3, 2), 2))]
)
def test_lists_take_constants_below_zero(sql, listed):
    """They were refused: −2 is written as an operation on 2."""
    assert tuple(each.value for each in read(sql).arguments[1:]) == listed


def test_listed_numbers_below_zero_are_keys():
    query = resolve(
        parse_sql("SELECT age, count(*) FROM visits WHERE age IN (-1, 7) GROUP BY age"), clinic(), public_keys
    )
    assert set(query.keys[0].values) == {-1, 7}
