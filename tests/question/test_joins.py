"""Joins as people write them: with commas, from the right, and after a public table."""

import pytest

from discreet.errors import QueryRefused
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.question.clinic import clinic, fan_out, public_keys


def asked(sql):
    return resolve(parse_sql(sql), clinic(), public_keys, fan_out)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (
            "SELECT count(*) AS n FROM visits v, wards w WHERE v.ward = w.ward AND beds > 3 AND cost > 1",
            "SELECT count(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward WHERE beds > 3 AND cost > 1",
        ),
        (
            "SELECT count(*) AS n FROM visits v CROSS JOIN wards w WHERE (v.ward = w.ward)",
            "SELECT count(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward",
        ),
        (
            "SELECT sum(level) AS n FROM visits v, labs l WHERE v.patient = l.patient AND test = note",
            "SELECT sum(level) AS n FROM visits v JOIN labs l ON v.patient = l.patient AND test = note",
        ),
        (
            "SELECT sum(level) AS n FROM visits v, labs l JOIN wards w USING (ward)"
            " WHERE v.patient = l.patient",
            "SELECT sum(level) AS n FROM visits v JOIN labs l ON v.patient = l.patient"
            " JOIN wards w USING (ward)",
        ),
    ],
)
def test_commas_are_joins(written, meant):
    assert asked(written) == asked(meant)


@pytest.mark.parametrize(
    "where", ["", " WHERE v.cost > 1", " WHERE v.ward = w.ward OR v.age = 1", " WHERE v.age < w.beds"]
)
def test_commas_need_a_condition(where):
    with pytest.raises(QueryRefused, match="without saying on what"):
        asked(f"SELECT count(*) FROM visits v, wards w{where}")


def test_people_are_joined_on_the_person_only_after_commas_too():
    with pytest.raises(QueryRefused, match="only on the person"):
        asked("SELECT count(*) FROM visits v, labs l WHERE v.note = l.test")


AFTER_A_PUBLIC_TABLE = "FROM wards w LEFT JOIN visits v ON w.ward = v.ward"


@pytest.mark.parametrize(
    "measure",
    [
        "count(v.patient)",
        "count(DISTINCT v.patient)",
        "sum(v.cost)",
        "sum(v.cost + w.beds)",
        "sum(CASE WHEN v.age > 3 THEN 1 END)",
        "sum(CASE WHEN w.beds > 3 THEN v.age END)",
        "count(*) FILTER (WHERE v.cost > 1)",
        "avg(coalesce(v.cost, v.age))",
        "count(nullif(v.note, 'a'))",
    ],
)
def test_a_public_table_may_come_first(measure):
    query = asked(f"SELECT w.region, {measure} AS n {AFTER_A_PUBLIC_TABLE} GROUP BY w.region")
    assert query.keys[0].values == ("down", "far", "up")
    assert query.source.keep_unmatched is False


@pytest.mark.parametrize(
    "select",
    [
        "SELECT w.region, count(*)",
        "SELECT w.region, sum(w.beds)",
        "SELECT w.region, sum(coalesce(v.cost, 0))",
        "SELECT w.region, sum(CASE WHEN v.age > 3 THEN 1 ELSE 0 END)",
        "SELECT w.region, count(*) FILTER (WHERE v.cost IS NULL)",
        "SELECT w.region, sum(CASE WHEN v.cost IS NULL THEN 1 END)",
        "SELECT w.region, count(*) FILTER (WHERE v.cost > 1 OR w.beds > 1)",
        "SELECT v.age AS region, sum(v.cost)",
    ],
)
def test_rows_of_nobody_never_count(select):
    """They are there only if nobody is, which one person changes."""
    with pytest.raises(QueryRefused, match="nobody") as refused:
        asked(f"{select} {AFTER_A_PUBLIC_TABLE} GROUP BY region")
    assert "JOIN" in refused.value.remedy


def test_a_condition_leaves_rows_of_nobody_out():
    assert asked(f"SELECT w.region, count(*) {AFTER_A_PUBLIC_TABLE} WHERE v.cost > 1 GROUP BY w.region")
    with pytest.raises(QueryRefused, match="nobody"):
        asked(f"SELECT w.region, count(*) {AFTER_A_PUBLIC_TABLE} WHERE v.cost IS NULL GROUP BY w.region")


def test_what_on_says_of_people_leaves_no_row_of_nobody_out():
    """A ward whose visits are all of the young has a row in SQL, which count(*) counts."""
    young = f"{AFTER_A_PUBLIC_TABLE} AND v.age > 5"
    with pytest.raises(QueryRefused, match="nobody"):
        asked(f"SELECT w.region, count(*) {young} GROUP BY w.region")
    assert asked(f"SELECT w.region, count(v.patient) {young} AND w.beds > 5 GROUP BY w.region")
    with pytest.raises(QueryRefused, match="right side with people"):
        asked(f"SELECT w.region, count(v.patient) {young} AND v.age < w.beds GROUP BY w.region")


def test_rows_of_nobody_are_in_no_subquery():
    with pytest.raises(QueryRefused, match="not in a subquery"):
        asked(f"SELECT count(*) FROM (SELECT v.patient {AFTER_A_PUBLIC_TABLE})")


def test_full_joins_are_refused():
    with pytest.raises(QueryRefused, match="RIGHT JOIN"):
        asked("SELECT count(*) FROM visits v FULL JOIN labs l USING (patient)")
