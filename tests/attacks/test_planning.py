"""Attacks G4, continued: short questions that take long to plan, before anything is charged."""

import difflib
from contextlib import suppress
from types import SimpleNamespace

import pytest

from discreet import QueryRefused
from discreet.functions import registry
from discreet.model.expression import Call
from discreet.question.parse import parse_sql

from .test_work import NOTHING

DOUBLINGS = 9


def doubled(first, columns="patient, ward, cost, age", times=DOUBLINGS):
    """A table whose column a is 2^times times what it was: a tree of as many nodes."""
    source = first
    for _ in range(times):
        source = f"(SELECT {columns}, a + a AS a FROM {source} AS t)"
    return f"{source} AS t"


ROWS = doubled("(SELECT patient, ward, cost, age, cost AS a FROM visits)")
VALUES = doubled("(SELECT patient, count(*) AS a FROM visits GROUP BY patient)", "patient")


def several(pattern, number):
    return ", ".join(pattern.format(i=i) for i in range(number))


ONES = " + 1" * 10
WIDE = several("a AS c{i}", 100)
PLANNED = {
    "keys and outputs": f"SELECT {several('a' + ONES + ' AS o{i}', 3)}, count(*) AS n FROM {ROWS}"
    f" GROUP BY a > 1, {several('cost > {i}', 5)}",
    "values of people": f"SELECT {several('a' + ONES + ' AS o{i}', 3)}, count(*) AS n FROM {VALUES}"
    " GROUP BY a",
    "keys and WHERE": f"SELECT count(*) AS n FROM {ROWS} WHERE a > 1 AND cost IN (1, 2)"
    f" GROUP BY {several('cost + {i} > 3', 9)}",
    "columns of a union": f"SELECT count(*) AS n FROM (SELECT patient, {WIDE} FROM {ROWS} UNION ALL"
    f" SELECT patient, {WIDE} FROM {ROWS}) AS u",
    "columns of a join": f"SELECT count(*) AS n FROM (SELECT patient, {WIDE} FROM {ROWS}) AS x"
    f" JOIN (SELECT patient, {WIDE} FROM {ROWS}) AS y ON x.patient = y.patient",
    "keys of people": f"SELECT count(*) AS n FROM (SELECT patient, {several('a' + ONES + ' AS s{i}', 9)}"
    f" FROM {ROWS} GROUP BY patient, {several('a + {i}', 9)}) AS p",
}


class Counted:
    """How often something is done."""

    def __init__(self, monkeypatch, owner, name):
        self.times = 0
        original = getattr(owner, name)

        def counted(*arguments, **options):
            self.times += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("name", PLANNED)
def test_g4_names_that_stand_for_others_are_planned_in_the_size_of_the_text(clinic, monkeypatch, name):
    """Not in the size of the trees that they stand for, and not again for every key and output."""
    sql = PLANNED[name]
    built = Counted(monkeypatch, Call, "__post_init__")
    ranges = Counted(monkeypatch, registry, "_unwritten")
    clinic.ask_or_be_refused(sql)
    assert built.times < len(sql) / 2
    assert ranges.times < len(sql) * 2


def test_g4_a_name_is_as_large_as_what_it_stands_for():
    leaf = registry.build_literal(1)
    tree = registry.build_call("+", (leaf, leaf))
    for _ in range(8):
        tree = registry.build_call("+", (tree, tree))
    assert (tree.size.calls, tree.size.nodes, tree.size.levels) == (511, 1023, 10)
    with pytest.raises(QueryRefused, match="too large"):
        registry.build_call("+", (tree, tree))


def test_g4_a_list_is_measured_before_it_is_put_together(monkeypatch):
    """A name that stands for a long AND, many times in another one: its list is not made first."""
    true = registry.build_literal(value=True)
    named = registry.build_call("and", (true,) * 900)
    put_together = Counted(monkeypatch, registry, "_chain")
    with pytest.raises(QueryRefused, match="too large"):
        registry.build_call("and", (named,) * 900)
    assert put_together.times == 0


TOO_MUCH = {
    "long keys of many pieces": f"SELECT {several('quantile(age + {i}, 0.5)', 60)} FROM"
    f" {doubled('(SELECT patient, ward, cost, age, cost AS a FROM visits)', times=8)} GROUP BY a > 1",
    "keys": f"SELECT count(*) AS n FROM visits GROUP BY {several('age > {i}', 101)}",
    "keys of people": "SELECT count(*) AS n FROM (SELECT patient, count(*) AS n FROM visits"
    f" GROUP BY patient, {several('age > {i}', 101)}) AS p",
    "words": f"SELECT count(*) AS n FROM visits WHERE {' OR '.join(['age'] * 6000)}",
    "columns, before keys are looked for among them": f"SELECT {several('ward AS w{i}', 1000)}, count(*) AS n"
    f" FROM visits GROUP BY {several('age + {i}', 500)}",
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_g4_what_would_be_planned_for_long_is_refused(clinic, name):
    with pytest.raises(QueryRefused):
        clinic.ask(TOO_MUCH[name])
    assert clinic.spent() == NOTHING


def test_g4_long_names_are_not_compared(clinic, monkeypatch):
    compared = []
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda name, others, **_: compared.extend([name, *others]) or []
    )
    named = "SELECT patient, age AS " + "ab" * 20_000
    with pytest.raises(QueryRefused, match="There is no column"):
        clinic.ask(f"SELECT sum({'ba' * 20_000}) FROM ({named} FROM visits) AS t")
    assert max(map(len, compared)) <= 60


def test_g4_usual_questions_with_many_pieces_are_answered(clinic):
    branches = " ".join(f"WHEN age < {10 * i} THEN {i}" for i in range(1, 10))
    ages = f"CASE {branches} ELSE 10 END"
    measures = "avg(cost) AS mean, median(cost) AS middle, quantile(cost, 0.9), count(DISTINCT age) AS a"
    sets = "CUBE (ages, ward, (cost > 50))"
    clinic.ask(f"SELECT {ages} AS ages, ward, cost > 50 AS dear, {measures} FROM visits GROUP BY {sets}")


NESTED = ["DATE({})", "STRUCT({})", "ARRAY[{}]", "DECIMAL({})", "JSON({})", "ROW({})", "CHAR({})", "ENUM({})"]


@pytest.mark.parametrize("form", NESTED)
def test_g4_words_that_may_be_types_are_not_parsed_twice_for_each_level(form):
    """sqlglot took twice as long for each of them: 18 levels of DATE( took 11 seconds, 30 half a day."""
    nested = "day"
    for _ in range(60):
        nested = form.format(nested)
    with pytest.raises(QueryRefused):
        parse_sql(f"SELECT count(*) AS n FROM visits WHERE {nested} > '2020-01-01'")


def test_g4_usual_nesting_is_parsed():
    nested = "coalesce(CAST(x AS DECIMAL(10, 2)), 0)"
    for _ in range(5):
        nested = f"CASE WHEN DATE '2020-01-01' < day THEN round({nested}, 1) ELSE abs(x) END"
    parse_sql(f"SELECT avg({nested}) AS a FROM visits WHERE x IN ({', '.join(map(str, range(3000)))})")


@pytest.mark.parametrize("digit", ["9", " ", "\t\n"])
@pytest.mark.parametrize("form", ["INTERVAL '{}' DAY", "INTERVAL '{}'", "INTERVAL {} DAY", "'{}'::INTERVAL"])
def test_g4_texts_of_intervals_are_short(monkeypatch, form, digit):
    """sqlglot searched them again from each character on: 16,000 digits took 10 seconds, 100,000 minutes."""
    searched = []
    never = SimpleNamespace(findall=lambda text: searched.append(text) or [], match=searched.append)
    monkeypatch.setattr("sqlglot.expressions.INTERVAL_STRING_RE", never)
    monkeypatch.setattr("sqlglot.expressions.INTERVAL_DAY_TIME_RE", never)
    with suppress(QueryRefused):
        parse_sql(f"SELECT count(*) AS n FROM visits WHERE day + {form.format(digit * 10_000)} > day")
    assert max(map(len, searched), default=0) <= 100
    with suppress(QueryRefused):
        parse_sql("SELECT count(*) AS n FROM visits WHERE day + INTERVAL '7 days' > day")
    assert "7 days" in searched


def test_g4_a_number_of_very_many_digits_is_refused(clinic):
    """It was an error of Python's own."""
    with pytest.raises(QueryRefused, match="number"):
        clinic.ask(f"SELECT sum(least(cost, 0.{'3' * 90_000})) AS n FROM visits")


@pytest.mark.parametrize(
    "sql", ["SELECT VAR_MAP(a) AS n FROM visits", 'SELECT count(*) AS "\ud800" FROM visits']
)
def test_g4_whatever_the_parser_stumbles_over_is_a_refusal(sql):
    with pytest.raises(QueryRefused):
        parse_sql(sql)
