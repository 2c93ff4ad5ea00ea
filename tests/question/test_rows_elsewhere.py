"""Conditions on rows elsewhere, lists of constants and set operations mean what they mean in plain SQL."""

import pytest

from discreet.errors import QueryRefused
from discreet.model.query import Query
from discreet.question.parse import parse_sql
from tests.question.clinic import clinic, planned
from tests.question.noisy.answering import read


def asked(sql):
    found = read(sql, clinic(delta="1e-6"))
    return found if isinstance(found, Query) else found.leaves


REFUSED = {
    "SELECT count(*) FROM visits v WHERE ward IN (SELECT ward FROM wards)": "the same ward",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards WHERE beds > 3)": "same for all rows",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.level > v.age)": "same person",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient"
    " AND l.level > v.age AND l.level < v.cost)": "cannot be read",
    "SELECT count(*) FROM (SELECT ward, age FROM visits INTERSECT SELECT ward, age FROM visits)": "people",
    "SELECT sum(s.x) FROM visits v JOIN (VALUES ('a', 1), ('a', 2)) AS s (w, x) ON s.w = v.ward": "twice",
    "SELECT count(*) FROM visits v JOIN (VALUES (1, 2), (1.0, 3)) AS s (x, y) ON s.x = v.age": "twice",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT max(level) FROM labs l WHERE l.patient = v.patient"
    " AND l.level > 100)": "always true",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT count(*) FROM wards w WHERE w.beds = v.age)": "has a",
    "SELECT sum(x) FROM (SELECT rank() OVER (ORDER BY age) AS x FROM visits)": "looks at other rows",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_has_another_meaning_is_refused_with_a_remedy(sql):
    with pytest.raises(QueryRefused, match=REFUSED[sql]) as refused:
        read(sql, clinic())
    assert refused.value.remedy


OTHER_TYPES = [
    "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.test = v.age)",
    "age > 3 OR EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND v.note = l.level)",
    "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.test = v.born)",
    "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND 'x' = v.age)",
    "note IN (SELECT beds FROM wards)",
    "born NOT IN (SELECT beds FROM wards)",
    "EXISTS (SELECT 1 FROM wards w WHERE w.beds = v.note)",
]


@pytest.mark.parametrize("condition", OTHER_TYPES)
def test_no_cell_can_fail_by_being_cast_to_what_it_is_compared_with(condition):
    """A database casts texts to numbers by itself, and fails at the first that is none."""
    with pytest.raises(QueryRefused, match="does not take"):
        planned(f"SELECT count(*) FROM visits v WHERE {condition}", clinic())


@pytest.mark.parametrize("named", ["s.y, count(*) AS n", "y, count(*) AS n", "y AS y, count(*) AS n"])
@pytest.mark.parametrize("key", ["y", "s.y", "1"])
def test_a_column_of_a_list_keeps_its_name(named, key):
    joined = "visits v JOIN (VALUES (1, 10), (2, 20)) AS s (x, y) ON s.x = v.age"
    query = asked(f"SELECT {named} FROM {joined} GROUP BY {key} ORDER BY y")
    assert [output.name for output in query.outputs] == ["y", "n"]
    assert query.keys[0].values == (10, 20)


def test_a_public_table_may_be_joined_and_asked_about():
    joined = "SELECT count(*) FROM visits JOIN wards ON wards.ward = visits.ward"
    assert asked(f"{joined} WHERE age IN (SELECT beds FROM wards WHERE region = 'up')")


SAME = {
    "SELECT count(*) FROM (SELECT patient FROM visits INTERSECT SELECT patient FROM labs)": "SELECT count(*)"
    " FROM (SELECT patient FROM visits WHERE patient IN (SELECT patient FROM labs) GROUP BY patient)",
    "SELECT DISTINCT note FROM visits": "SELECT note FROM visits GROUP BY note",
    "SELECT ward, count(*) FROM visits NATURAL JOIN labs GROUP BY ward": "SELECT ward, count(*) FROM visits"
    " JOIN labs USING (patient) GROUP BY ward",
    "WITH t (p, w) AS (SELECT patient, ward FROM visits) SELECT w, count(*) FROM t GROUP BY w": "WITH t AS"
    " (SELECT patient AS p, ward AS w FROM visits) SELECT w, count(*) FROM t GROUP BY w",
    "SELECT sum(s.x) FROM visits v JOIN (VALUES ('north', 1), ('south', 2)) AS s (w, x) ON v.ward = s.w": ""
    "SELECT sum(CASE WHEN v.ward = 'north' THEN 1 WHEN v.ward = 'south' THEN 2 END) FROM visits v"
    " WHERE v.ward IN ('north', 'south')",
    "SELECT count(*) FROM visits WHERE cost < 0.06 + 0.01": "SELECT count(*) FROM visits WHERE cost < 0.07",
}


def _list(rows):
    return f"(VALUES {', '.join(f'({i}, {i})' for i in range(rows))})"


MANY = {
    "joined on what other lists say": "SELECT count(*) FROM visits v"
    + "".join(
        f" JOIN {_list(20)} AS v{i} (a, b) ON v{i}.a = {f'v{i - 1}.b' if i else 'v.age'}" for i in range(3)
    )
    + " WHERE v2.b > 1",
    "joined on something long": "SELECT sum(s.b) FROM visits v"
    f" JOIN {_list(100)} AS s (a, b) ON s.a = {' + '.join(['v.age'] * 90)}",
    "very often": f"WITH s (a, b) AS {_list(1)} SELECT count(*) FROM visits v"
    + "".join(f" JOIN s AS s{i} ON s{i}.a = v.age" for i in range(17)),
}


@pytest.mark.parametrize("sql", MANY.values(), ids=MANY)
def test_what_lists_stand_for_is_limited_before_it_is_written(sql):
    """Lists that are joined on each other multiply: three of a hundred rows stood for a million branches."""
    with pytest.raises(QueryRefused, match="VALUES"):
        parse_sql(sql)


@pytest.mark.parametrize("sql", SAME)
def test_other_ways_to_write_are_the_same_question(sql):
    one, other = asked(sql), asked(SAME[sql])
    assert (one.source, one.keys, one.measures) == (other.source, other.keys, other.measures)


def test_a_constant_date_is_written_as_one():
    from discreet.dialects.duckdb import DUCKDB
    from discreet.functions.registry import build_call, build_literal, emit

    day = build_call("cast_date", (build_literal("2024-02-29"),))
    assert emit(day, DUCKDB) == "DATE '2024-02-29'"
    for odd in ("2024-W05-1", "2023-02-29", "0000-01-01", " 2024-02-29"):
        assert "CAST" in emit(build_call("cast_date", (build_literal(odd),)), DUCKDB)


def test_a_row_meets_one_of_each_person_and_key():
    """The limit of such a join is that of its left side."""
    joined = "SELECT count(*) FROM visits v JOIN (SELECT patient, ward FROM visits GROUP BY patient,"
    plan = planned(f"{joined} ward) b ON b.patient = v.patient AND b.ward = v.ward", clinic(max_rows=3))
    assert plan.bounded.query.source.max_rows == 3
    every = planned(f"{joined} ward) b ON b.patient = v.patient", clinic(max_rows=3, max_groups=2))
    assert every.bounded.query.source.max_rows == 6
