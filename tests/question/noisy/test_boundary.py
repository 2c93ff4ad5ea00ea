"""Where people are put together is the boundary: below is private, above is free."""

import pytest

from discreet.errors import QueryRefused
from discreet.model.noisy_table import AfterNoise
from discreet.model.query import Query
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.question.clinic import clinic, fan_out, public_keys
from tests.question.noisy.answering import read

DATASET = clinic(delta=1e-6)
WARDS = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
NOTES = "SELECT note, count(*) AS n FROM visits GROUP BY note"
MEAN = "SELECT avg(cost) FROM visits"
EACH = "SELECT patient, count(*) AS n FROM visits GROUP BY patient"

LEAVES = {
    f"SELECT avg(n) AS a FROM ({WARDS})": 1,
    f"WITH a AS ({WARDS}) SELECT x.ward FROM a AS x JOIN a AS y USING (ward)": 1,
    "SELECT ward, count(*) AS n, (SELECT count(*) FROM labs) AS m FROM visits GROUP BY ward": 2,
    f"SELECT ward FROM ({WARDS}) WHERE n > (SELECT avg(n) FROM ({WARDS}))": 1,
    f"{WARDS} UNION ALL SELECT test, count(*) FROM labs GROUP BY test": 2,
    f"SELECT avg(k) AS a FROM (SELECT n, count(*) AS k FROM ({EACH}) GROUP BY n)": 1,
    f"SELECT max(n) AS a FROM (SELECT n FROM ({WARDS}) ORDER BY n DESC LIMIT 1)": 1,
    "SELECT age FROM (SELECT age FROM visits GROUP BY age ORDER BY count(*) DESC LIMIT 3) ORDER BY age": 1,
}


@pytest.mark.parametrize("sql", LEAVES)
def test_leaves_are_where_people_are_put_together(sql):
    asked = read(sql, DATASET)
    assert isinstance(asked, AfterNoise)
    assert len(asked.leaves) == LEAVES[sql]


@pytest.mark.parametrize(
    "sql",
    [
        WARDS,
        NOTES,
        f"SELECT avg(n) AS a FROM ({EACH})",
        f"WITH e AS ({EACH}) SELECT n, count(*) AS k FROM e GROUP BY n HAVING k > 2 ORDER BY k LIMIT 3",
        "SELECT age FROM visits GROUP BY age ORDER BY count(*) DESC LIMIT 3",
        "SELECT count(*) AS n FROM (SELECT patient FROM visits UNION ALL SELECT patient FROM labs)",
    ],
)
def test_what_needs_no_more_than_one_row_is_read_as_ever(sql):
    assert read(sql, DATASET) == resolve(parse_sql(sql), DATASET, public_keys, fan_out)


def test_what_leaves_ask_of_the_same_groups_is_asked_together():
    asked = read(
        f"WITH a AS ({WARDS}), b AS (SELECT ward, avg(cost) AS m, count(*) AS k FROM visits GROUP BY ward)"
        " SELECT ward, n, m, k FROM a JOIN b USING (ward)",
        DATASET,
    )
    (leaf,) = asked.leaves
    assert [each.aggregate.value for each in leaf.measures] == ["count", "avg"]


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT ward, count(*) AS n FROM visits GROUP BY ALL", WARDS),
        (f"{WARDS} ORDER BY n FETCH FIRST 1 ROWS ONLY", f"{WARDS} ORDER BY n LIMIT 1"),
    ],
)
def test_other_ways_to_write_it(sql, plain):
    assert isinstance(read(sql, DATASET), Query)
    assert read(sql, DATASET) == read(plain, DATASET)


REFUSED = {
    "SELECT ward, rank() OVER (ORDER BY cost) AS r FROM visits": "neither grouped by nor aggregated",
    "SELECT ward, sum(cost) OVER () AS r FROM visits GROUP BY ward": "neither grouped by nor aggregated",
    f"SELECT count(*) AS n FROM visits WHERE cost > ({MEAN})": "Compare with a number",
    f"SELECT count(*) AS n FROM visits WHERE ward IN (SELECT ward FROM ({WARDS}))": "about the person column",
    f"SELECT sum(cost) FILTER (WHERE cost > ({MEAN})) AS s FROM visits": "Compare with a number",
    f"SELECT count(*) AS n FROM visits JOIN ({WARDS}) USING (ward)": "inside of the subquery",
    f"SELECT n FROM ({WARDS}) JOIN wards USING (ward)": "inside of the subquery",
    f"SELECT n FROM ({WARDS}) UNION ALL SELECT age FROM visits": "Aggregate both sides",
    f"SELECT n, (SELECT patient FROM visits) AS p FROM ({WARDS})": "one number",
    f"SELECT n, (SELECT n FROM ({EACH})) AS p FROM ({WARDS})": "one number",
    f"SELECT n, (SELECT max(n) FROM ({EACH}) GROUP BY patient) AS p FROM ({WARDS})": "keeps people apart",
    f"SELECT ward, (SELECT n FROM ({WARDS})) AS p FROM ({WARDS}) AS w": "Leave out GROUP BY",
    f"SELECT a.n FROM ({NOTES}) AS a, ({NOTES}) AS b": "Join them on",
    f"SELECT ward, n FROM ({WARDS}) GROUP BY ward": r"max\(n\)",
    f"SELECT sum(sum(n)) AS s FROM ({WARDS})": "in a subquery",
    f"SELECT string_agg(ward, ',') AS s FROM ({WARDS})": "Use count",
    f"SELECT ward FROM ({WARDS}) WHERE sum(n) > 1": "Use HAVING",
    f"SELECT sum(n) OVER v AS s FROM ({WARDS})": "no window",
    f"SELECT lag(n, ward) OVER () AS s FROM ({WARDS})": "whole number",
    f"SELECT sum(n) OVER (ORDER BY n RANGE 1 PRECEDING) AS s FROM ({WARDS})": "ROWS BETWEEN",
    f"SELECT DISTINCT ON (ward) ward FROM ({WARDS})": "row_number",
    f"SELECT ward FROM ({WARDS}) GROUP BY ROLLUP (ward)": "ROLLUP",
    f"SELECT missing FROM ({WARDS})": "Did you mean|There are",
    f"{WARDS} UNION ALL SELECT count(*) FROM labs": "same ones",
    f"{WARDS} UNION ALL SELECT count(*), count(*) FROM labs": "one type",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_crosses_the_boundary_is_refused_with_a_remedy(sql):
    with pytest.raises(QueryRefused, match=REFUSED[sql]):
        read(sql, DATASET)


def test_a_query_that_doubles_with_each_name_is_refused():
    names = [f"WITH a0 AS ({WARDS})"]
    names += [
        f"a{i} AS (SELECT ward, x.n FROM a{i - 1} AS x JOIN a{i - 1} AS y USING (ward))" for i in range(1, 9)
    ]
    with pytest.raises(QueryRefused, match="as often as it is used"):
        read(", ".join(names) + " SELECT sum(n) AS s FROM a8", DATASET)


def test_many_leaves_are_refused():
    sides = [f"SELECT count(*) AS n FROM visits WHERE age > {i}" for i in range(17)]
    assert len(read(" UNION ALL ".join(sides[:16]), DATASET).leaves) == 16
    with pytest.raises(QueryRefused, match="more than 16 ways"):
        read(" UNION ALL ".join(sides), DATASET)
