"""Dates have bounds: they are clamped to them, and what is computed from them has public keys."""

from dataclasses import replace
from datetime import date, datetime, timedelta

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.bounds.calibrate import calibrate
from discreet.bounds.identity import question_identity
from discreet.functions.day_values import values_by_day
from discreet.functions.registry import build_call, build_literal, emit_duckdb, range_of
from discreet.model.expression import DayRange, Field
from discreet.model.policy import DateBounds, ValueType
from discreet.release.notes.answer_notes import notes_of
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release
from tests.question.test_spellings import read

LOW, HIGH = date(2024, 1, 10), date(2025, 12, 31)


def bounded(low=LOW, high=HIGH, *, kind=ValueType.DATE, **settings):
    """The clinic, in which dates of birth lie between two days."""
    dataset = clinic(**settings)
    visits = dataset.tables["visits"]
    born = replace(
        visits.columns["born"], type=kind, days=None if low is None else DateBounds(low=low, high=high)
    )
    return replace(
        dataset,
        tables={**dataset.tables, "visits": replace(visits, columns={**visits.columns, "born": born})},
    )


def keys(sql, dataset, where=""):
    plan = planned(f"SELECT {sql} AS k, count(*) AS n FROM visits{where} GROUP BY k", dataset)
    return plan.bounded.query.keys[0].values


MONTHS = [f"{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)]
QUARTER = " WHERE born >= DATE '2025-02-01' AND born < DATE '2025-05-01'"
LISTED = [
    ("year(born)", "", (2024, 2025)),
    ("strftime(born, '%Y-%m')", "", tuple(MONTHS)),
    ("date_trunc('month', born)", "", tuple(date.fromisoformat(f"{month}-01") for month in MONTHS)),
    ("date_trunc('quarter', born)", " WHERE year(born) = 2025",
     tuple(date(2025, month, 1) for month in (1, 4, 7, 10))),
    ("born", " WHERE born BETWEEN '2025-12-30' AND '2026-01-10'", (date(2025, 12, 30), date(2025, 12, 31))),
    ("month(born)", QUARTER, (2, 3, 4)),
    ("strftime(born, '%B')", QUARTER, ("February", "March", "April")),
    ("strftime(born, '%B %Y')", QUARTER, ("February 2025", "March 2025", "April 2025")),
    ("strftime(born, '%G-W%V')", " WHERE born > '2025-12-20'", ("2025-W51", "2025-W52", "2026-W01")),
    ("date_trunc('month', born)", " WHERE born >= DATE '2025-12-01' - INTERVAL 1 MONTH AND cost > 1",
     (date(2025, 11, 1), date(2025, 12, 1))),
    ("floor(year(born) / 10) * 10", "", (2020,)),
    ("CASE WHEN born < DATE '2025-01-01' THEN year(born) ELSE 0 END", "", (0, 2024)),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "where", "expected"), LISTED)
def test_keys_follow_from_bounds_and_conditions(sql, where, expected):
    if sql != "strftime(born, '%B')":
        assert keys(sql, bounded(), where) == expected
    else:
        assert set(expected) <= set(keys(sql, bounded(), where))


@pytest.mark.parametrize(("sql", "where", "expected"), [each for each in LISTED if each[1].count("born") > 1])
def test_conditions_alone_make_keys_public(sql, where, expected):
    found = keys(sql, bounded(None, delta="1e-6"), where)
    if sql == "born":
        assert found == tuple(date(2025, 12, 30) + timedelta(i) for i in range(12))
    elif found is not None and sql != "month(born)":
        assert set(found) >= set(expected)


def test_a_year_is_no_longer_every_year():
    dataset = bounded(None, delta="1e-6")
    assert keys("year(born)", dataset, " WHERE born >= '2024-06-01' AND born < '2026-01-01'") == (2024, 2025)
    assert keys("date_trunc('year', born)", dataset, " WHERE year(born) IN (2024, 2025)") == (
        date(2024, 1, 1), date(2025, 1, 1),
    )  # fmt: skip
    assert keys("date_trunc('month', born)", dataset) is None
    assert (
        keys("date_trunc('month', born)", dataset, " WHERE born >= '2024-06-01' OR born < '2026-01-01'")
        is None
    )


@pytest.mark.parametrize(
    ("condition", "first", "last"),
    [
        ("born >= TIMESTAMP '2025-03-01 12:00:00' AND born < TIMESTAMP '2025-03-03 00:00:00'", 1, 2),
        ("born > TIMESTAMP '2025-03-01 12:00:00' AND born <= TIMESTAMP '2025-03-03 00:00:00'", 1, 3),
        ("born >= '2025-03-01' AND born < '2025-03-03 00:00:01'", 1, 3),
        ("CAST(born AS DATE) > DATE '2025-03-01' AND CAST(born AS DATE) < DATE '2025-03-04'", 1, 3),
        ("DATE '2025-03-01' <= born AND DATE '2025-03-02' > born", 1, 1),
    ],
)
def test_days_of_timestamps(condition, first, last):
    expected = tuple(date(2025, 3, day) for day in range(first, last + 1))
    dataset = bounded(kind=ValueType.TIMESTAMP)
    assert keys("CAST(born AS DATE)", dataset, f" WHERE {condition}") == expected
    assert keys("hour(born)", dataset) == tuple(range(24))


def test_what_depends_on_the_time_of_the_day_has_no_keys_by_days():
    dataset = bounded(kind=ValueType.TIMESTAMP, delta="1e-6")
    for sql in ("born", "date_trunc('hour', born)", "strftime(born, '%Y-%m-%d %H')"):
        assert keys(sql, dataset) is None


def test_very_many_days_are_not_listed():
    assert keys("born", bounded(date(1, 1, 1), date(9999, 12, 31), delta="1e-6")) is None


def test_bounds_are_in_the_identity_and_their_absence_is_not():
    """The second text is that of a release without bounds of dates."""
    sql = "SELECT count(*) FROM visits WHERE born > DATE '2025-01-01'"
    plain, other, wider = (
        question_identity(planned(sql, dataset))
        for dataset in (clinic(), bounded(), bounded(high=date(2026, 1, 1)))
    )
    assert len({plain, other, wider}) == 3
    unread = "SELECT count(*) FROM visits WHERE age > 3"
    assert question_identity(planned(unread, clinic())) == question_identity(planned(unread, bounded()))
    months = "SELECT sum(date_diff('day', DATE '2020-01-01', born)), avg(year(born)) FROM visits"
    plan = planned(months, clinic())
    assert question_identity(calibrate(plan.bounded.apart, plan.request, clinic())) == (
        "question-2:81474a8edce47a4098700b0385503b547714dda0367929475c7c3dde7b1f15e6"
    )


def test_ranges_follow_from_bounds():
    day = Field(name="day", type=ValueType.DATE, days=DayRange(low=LOW, high=HIGH))
    short = Field(name="day", type=ValueType.DATE, days=DayRange(low=date(2025, 2, 3), high=date(2025, 2, 9)))
    start = build_literal(date(2024, 1, 1))

    def span(name, *arguments):
        found = range_of(build_call(name, arguments))
        return found.low, found.high

    assert span("year", day) == (2024, 2025)
    assert span("month", day) == (1, 12)
    assert [span(part, short) for part in ("year", "quarter", "month", "day")] == [
        (2025, 2025),
        (1, 1),
        (2, 2),
        (3, 9),
    ]
    assert span("date_diff", build_literal("day"), start, day) == (9, 730)
    assert span("date_diff", build_literal("day"), day, short) == ((date(2025, 2, 3) - HIGH).days, 396)
    assert span("date_diff", build_literal("day"), start, build_literal(HIGH)) == (-3652058, 3652058)
    assert span("year", build_call("date_trunc", (build_literal("year"), short))) == (2025, 2025)
    assert span("year", build_call("add_days", (short, build_literal(400)))) == (2026, 2026)


FORMS = [
    "year(day)", "quarter(day)", "month(day)", "week(day)", "day(day)", "dayofweek(day)", "dayofyear(day)",
    "date_trunc('week', day)", "date_trunc('quarter', day)", "last_day(day)", "day + INTERVAL 1 MONTH",
    "day - INTERVAL '25 months 3 days'", "strftime(day, '%Y-%m-%d')",
    "strftime(day, '%d.%m.%y %A %b %j %u %q')",
    "strftime(day, '%G-W%V')", "year(day) * 100 + month(day)", "floor(year(day) / 4)", "year(day) % 7 - 3",
    "CASE WHEN month(day) < 7 THEN 'first ' || CAST(year(day) AS TEXT) ELSE 'second' END",
    "date_diff('month', DATE '2020-01-31', day)", "day", "day > DATE '2024-02-29'", "isoyear(day)",
    "coalesce(nullif(day, DATE '2024-02-29'), DATE '2000-01-01')", "least(day, DATE '2024-02-01')",
    "right('0' || CAST(month(day) AS TEXT), 2)", "substring(CAST(day AS TEXT), 3, 4)",
]  # fmt: skip


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.dates() | st.sampled_from([date.min, date.max - timedelta(400)]), st.sampled_from([1, 5, 400]))
def test_values_by_day_are_those_that_a_database_computes(first, count):
    last = min(first, date.max - timedelta(count)) + timedelta(count)
    days = [first + timedelta(i) for i in range((last - first).days + 1)]
    for sql in FORMS:
        expression = read(sql)
        listed = values_by_day(expression, DayRange(low=first, high=last), 10_000)
        if "nullif" in sql:
            assert listed is None
            continue
        column = f"SELECT DISTINCT {emit_duckdb(expression)} FROM (SELECT unnest(?) AS day)"
        found = {value for (value,) in duckdb.execute(column, [days]).fetchall() if value is not None}
        assert set(listed) == found, sql
        assert len(listed) == len(found)


ROWS = [(i, "north", 1.0, 30, "a", date(2023, 12, 1) + timedelta(40 * i)) for i in range(20)]


def test_days_beyond_the_bounds_count_in_the_groups_at_the_ends():
    database = Database()
    database.fill([*ROWS, (99, "north", 1.0, 30, "a", None), (98, "north", 1.0, 30, "a", date(9999, 12, 31))])
    for sql, low, high in (
        ("strftime(born, '%Y-%m')", "2024-01", "2025-12"),
        ("date_trunc('month', born)", date(2024, 1, 1), date(2025, 12, 1)),
        ("year(born)", 2024, 2025),
    ):
        question = f"SELECT {sql} AS k, count(*) AS n FROM visits GROUP BY k"
        plan = planned(question, bounded(epsilon=1000), epsilon=1000)
        released = release(plan, database.results(plan))
        assert sum(released.values["n"]) == len(ROWS) + 1
        assert released.ends["k"] == (low, high)
        labels = [released.key_label("k", each) for each in released.values["k"].tolist()]
        assert labels[0] == f"≤ {low}"
        assert labels[-1] == f"≥ {high}"
        assert all(label[0] not in "≤≥" for label in labels[1:-1])
        assert any(f"{high} means {high} or later" in note for note in released.notes)


def test_groups_without_an_order_have_no_labels():
    for sql in ("month(born)", "week(born)", "strftime(born, '%B %Y')", "dayofweek(born)"):
        plan = planned(f"SELECT {sql} AS k, count(*) AS n FROM visits GROUP BY k", bounded())
        assert any("born is taken within 2024-01-10 … 2025-12-31" in note for note in notes_of(plan)), sql


def test_conditions_at_the_bounds_are_noted():
    def noted(condition):
        plan = planned(f"SELECT count(*) FROM visits WHERE {condition}", bounded())
        return any(
            "born is taken within 2024-01-10 … 2025-12-31 in conditions" in note for note in notes_of(plan)
        )

    assert noted("born > DATE '2026-06-01'")
    assert noted("born <= '2024-01-01'")
    assert noted("year(born) = 2025")
    assert not noted("born >= DATE '2025-01-01'")


def test_a_timestamp_counts_until_the_end_of_the_last_day():
    field = Field(name="t", type=ValueType.TIMESTAMP, days=DayRange(low=LOW, high=HIGH))
    for moment, expected in (
        (datetime(2025, 12, 31, 23, 59, 59), datetime(2025, 12, 31, 23, 59, 59)),
        (datetime(2026, 1, 1), datetime(2025, 12, 31, 23, 59, 59, 999999)),
        (datetime(2024, 1, 9, 23), datetime(2024, 1, 10)),
        (None, None),
    ):
        sql = f"SELECT {emit_duckdb(field)} FROM (SELECT CAST(? AS TIMESTAMP) AS t)"
        assert duckdb.execute(sql, [moment]).fetchall() == [(expected,)]


def test_bounds_pass_through_subqueries_and_unions():
    dataset = bounded()
    assert keys("year(born)", dataset, "") == (2024, 2025)
    for sql in (
        "SELECT year(last) AS k, count(*) FROM (SELECT patient, max(born) AS last FROM visits"
        " GROUP BY patient) GROUP BY k",
        "SELECT y AS k, count(*) FROM (SELECT patient, year(born) AS y FROM visits GROUP BY patient, y)"
        " GROUP BY k",
        "SELECT year(d) AS k, count(*) FROM (SELECT patient, born AS d FROM visits UNION ALL"
        " SELECT patient, born AS d FROM visits WHERE cost > 1) GROUP BY k",
    ):
        assert planned(sql, dataset).bounded.query.keys[0].values == (2024, 2025), sql
