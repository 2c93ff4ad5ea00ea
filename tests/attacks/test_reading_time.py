"""G4: how often discreet itself looks at the parts of a question while it reads it, before any charge."""

from contextlib import suppress

import duckdb
import pytest
from sqlglot.parsers.duckdb import DuckDBParser

from discreet import QueryRefused
from discreet.model.expression import Call
from discreet.model.privacy import amount_of
from discreet.question.expressions.scope import Scope
from discreet.question.parse import parse_sql

from .ask import Clinic
from .test_planning import Counted, several
from .test_public_tables import wards, with_wards

LEVELS = 8


def twins(leaf="length(diagnosis)"):
    """A table with two columns a and b, which are different trees of 2^LEVELS equal parts."""
    source = f"(SELECT patient, {leaf} AS a, {leaf} AS b FROM visits)"
    for _ in range(LEVELS):
        source = f"(SELECT patient, a + a AS a, b + b AS b FROM {source} AS t)"
    return f"{source} AS t"


NUMBER = 40
COMPARED = {
    "measures": f"SELECT {several('count(b - {i}) AS x{i}, count(a - 9{i}) AS y{i}', NUMBER)} FROM {twins()}",
    "keys": f"SELECT coalesce({several('b - {i}', NUMBER)}) AS x, count(*) AS n FROM {twins()} GROUP BY b,"
    f" {several('a - 9{i}', NUMBER)}",
    "values of people": f"SELECT count(*) AS n FROM (SELECT patient,"
    f" {several('max(b - {i}) AS x{i}, max(a - 9{i}) AS y{i}', NUMBER)} FROM {twins()}"
    " GROUP BY patient) AS p",
    "keys of people": f"SELECT count(*) AS n FROM (SELECT patient, {several('b - {i} AS x{i}', NUMBER)}"
    f" FROM {twins()} GROUP BY patient, b, {several('a - 9{i}', NUMBER)}) AS p",
}


@pytest.mark.parametrize("name", COMPARED)
def test_g4_large_trees_are_not_compared_part_by_part(clinic, monkeypatch, name):
    """Two values of the same shape that differ at the end: to compare 600 in 9 kB took 5 seconds."""
    compared = Counted(monkeypatch, Call, "__eq__")
    clinic.ask_or_be_refused(COMPARED[name])
    assert compared.times < 4 * NUMBER**2


def joined(number, conditions):
    """Tables after commas, which can only be joined in the opposite order."""
    names = [f"w{i}" for i in range(number)]
    met = [f"a.ward = w{number - 1}.ward", *(f"w{i}.ward = w{i - 1}.ward" for i in range(1, number))]
    where = " AND ".join([*conditions, *met])
    tables = ", ".join(f"wards AS {name}" for name in names)
    return f"SELECT count(*) AS n FROM visits AS a, {tables} WHERE {where}"


@pytest.mark.parametrize("condition", ["x{i}.a = y{i}.b", "a.age + a.age + {i} = 7"])
def test_g4_conditions_after_commas_are_read_once(tmp_path, monkeypatch, condition):
    """And not for every two tables: 160 of them about 15 tables, in 2.7 kB, took 2.4 seconds."""
    clinic = with_wards(tmp_path, wards(north=1))
    sql = joined(12, [condition.format(i=i) for i in range(60)])
    read = Counted(monkeypatch, Scope, "row_expression")
    clinic.ask_or_be_refused(sql)
    assert read.times < len(sql)


def test_g4_tables_after_commas_are_joined_in_any_order(tmp_path):
    clinic = with_wards(tmp_path, wards(north=1))
    clinic.ask(joined(4, ["a.age > 3", "w0.beds = 0", "a.ward = w2.ward"]))
    clinic.ask(
        "SELECT count(*) AS n FROM visits AS a, visits AS b WHERE a.patient = b.patient AND a.age = b.age"
    )


DAYS = '\n[tables.visits.columns.born]\ntype = "date"\nbounds = ["1900-01-01", "2019-12-31"]\n'
WIDE = '\n[tables.visits.columns.points]\ntype = "integer"\nbounds = [0, 99_000]\n'


def with_columns(folder):
    """A clinic with a date, and a whole number that has many values."""
    clinic = Clinic(folder / "clinic", delta=1e-6)
    rows = f"SELECT *, DATE '2000-01-01' AS born, 5 AS points FROM '{clinic.folder / 'visits.parquet'}'"
    duckdb.sql(f"COPY ({rows}) TO '{clinic.folder / 'more.parquet'}'")
    policy = clinic.policy.read_text().replace("visits.parquet", "more.parquet")
    clinic.policy.write_text(policy + DAYS + WIDE)
    return clinic


LATER = "add_days(add_days(add_days(add_days(born, 1), 1), 1), {i})"
BY_DAYS = f"SELECT count(*) AS n FROM visits WHERE age > {{i}} GROUP BY year({LATER}), year({LATER} + 1)"
LISTED = {
    "days": f"SELECT count(*) AS n FROM visits GROUP BY diagnosis, {several(f'year({LATER})', 40)}",
    "whole numbers": f"SELECT count(*) AS n FROM visits GROUP BY diagnosis,"
    f" {several('points + {i}' + ' + 1' * 30, 40)}",
    "days of several queries": "SELECT "
    + several(f"(SELECT sum(n) FROM ({BY_DAYS}) AS t{{i}}) AS n{{i}}", 8)
    + " FROM (SELECT count(*) AS n FROM visits) AS t",
}


@pytest.mark.parametrize("name", LISTED)
def test_g4_the_values_of_all_keys_have_one_limit(tmp_path, name):
    """Ten keys, in 705 characters, took 3.9 seconds to list, free of charge, and each further one as long."""
    clinic = with_columns(tmp_path)
    with pytest.raises(QueryRefused, match="take long to list all groups"):
        clinic.ask(LISTED[name], epsilon=9)
    assert amount_of(clinic.spent()) == 0


def test_g4_usual_keys_by_days_are_listed(tmp_path):
    clinic = with_columns(tmp_path)
    keys = "monthname(born) AS m, dayname(born) AS d, year(born) AS y"
    clinic.ask(f"SELECT {keys}, count(*) AS n FROM visits GROUP BY m, d, y", epsilon=9)
    clinic.ask(
        "SELECT date_trunc('month', born) AS m, strftime(born, '%Y') AS y, count(*) AS n FROM visits"
        " GROUP BY GROUPING SETS ((m), (y))",
        epsilon=9,
    )
    clinic.ask("SELECT points, count(*) AS n FROM visits GROUP BY points", epsilon=9)


@pytest.mark.parametrize("end", ["", " GROPU BY x, y )", " AND (x y, foo", ")"])
def test_g4_guesses_at_mistakes_have_one_limit(monkeypatch, end):
    """Each of up to 24 guesses read all of it again: 3.6 kB with a mistake at their end took 2.2 seconds."""
    steps = Counted(monkeypatch, DuckDBParser, "_advance")
    nested = "DATE(" * 6 + "a" + ")" * 6 + " > 1"
    sql = "SELECT count(*) AS n FROM visits WHERE " + " AND ".join([nested] * 75) + end
    with suppress(QueryRefused):
        parse_sql(sql)
    assert len(sql) < 4_000
    assert steps.times < 60_000
