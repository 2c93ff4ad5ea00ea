"""G4: how often discreet itself looks at the parts of a question while it reads it, before any charge."""

import pytest

from discreet.model.expression import Call
from discreet.question.expressions.scope import Scope

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
