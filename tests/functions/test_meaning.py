"""Questions mean what they mean in SQL: at a price that leaves hardly any noise, and with people who are all
within their limits, the answer is that of the plain query on the same rows.
"""

from datetime import date

import numpy as np
import pytest

from discreet.errors import QueryRefused
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release

ROWS = [
    (patient, ward, cost, age, note, day)
    for patient in range(300)
    for ward, cost, age, note, day in (
        ("north", (patient % 7) / 2, patient % 100, "ab"[patient % 2], date(2026, 1, 1 + patient % 28)),
        (["south", "north"][patient % 2], -1.5 + patient % 3, 99 - patient % 100, "cc", date(2026, 3, 1)),
    )
]
LABS = [(patient, "xyz"[patient % 3], patient % 10) for patient in range(250)]

SAME = [
    "SELECT count(*) AS n, sum(cost) AS s, avg(cost) AS a, var_pop(cost) AS v, stddev_pop(age) AS d"
    " FROM visits",
    "SELECT ward, count(*) AS n, avg(age) AS a FROM visits WHERE cost > 0 GROUP BY ward ORDER BY ward",
    "SELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ward ORDER BY ward",
    "SELECT ward, count(DISTINCT note) AS n FROM visits GROUP BY ward ORDER BY ward",
    "SELECT month(born) AS m, count(*) AS n FROM visits WHERE month(born) IN (1, 3) GROUP BY m ORDER BY m",
    "SELECT ward, sum(CASE WHEN age > 50 THEN 1 ELSE 0 END) / count(*) AS share FROM visits GROUP BY ward"
    " ORDER BY share DESC",
    "SELECT ward, count(*) FILTER (WHERE note = 'a') AS n FROM visits GROUP BY ward HAVING count(*) > 60",
    "SELECT ward, cost > 0 AS pays, count(*) AS n FROM visits"
    " GROUP BY GROUPING SETS ((ward, pays), (ward), ())"
    " ORDER BY ward NULLS LAST, pays NULLS LAST",
    "SELECT ward, count(DISTINCT patient) AS n, count(DISTINCT note) AS m, avg(age) AS a FROM visits"
    " GROUP BY ROLLUP (ward) ORDER BY ward NULLS LAST",
    "SELECT ward, cost > 0 AS pays, sum(age) AS n FROM visits GROUP BY ROLLUP (ward, pays)"
    " ORDER BY ward NULLS LAST, pays NULLS LAST",
    "SELECT region, count(*) AS n, sum(cost) AS s FROM visits JOIN wards ON visits.ward = wards.ward"
    " GROUP BY region ORDER BY region",
    "SELECT sum(CASE WHEN region IS NULL THEN 1 ELSE 0 END) AS n FROM visits v LEFT JOIN"
    " wards w ON v.ward = w.ward AND v.age = w.beds",
    "SELECT ward, count(*) AS n, sum(level) AS s FROM visits v JOIN labs l ON v.patient = l.patient"
    " GROUP BY ward ORDER BY ward",
    "SELECT ward, count(*) AS n, count(level) AS m FROM visits v LEFT JOIN labs l USING (patient)"
    " GROUP BY ward ORDER BY ward",
    "SELECT avg(n) AS a, count(*) AS people FROM"
    " (SELECT patient, count(*) AS n FROM visits GROUP BY patient)",
    "SELECT n, count(*) AS people FROM (SELECT patient, count(*) AS n FROM visits WHERE cost >= 0"
    " GROUP BY patient) WHERE n IN (1, 2) GROUP BY n ORDER BY n",
    "SELECT count(*) AS n, avg(s) AS a, sum(top) AS t FROM (SELECT patient, sum(cost) AS s, max(age) AS top,"
    " min(note) AS first FROM visits GROUP BY patient HAVING avg(cost) > 0) WHERE first = 'a'",
    "WITH sick AS (SELECT patient FROM labs WHERE level > 4), v AS (SELECT * FROM visits WHERE age < 80)"
    " SELECT ward, count(*) AS n FROM v JOIN sick USING (patient) GROUP BY ward ORDER BY ward",
    "SELECT sum(x) AS s, count(*) AS n FROM (SELECT patient, cost AS x FROM visits"
    " UNION ALL SELECT patient, level FROM labs)",
    "SELECT count(DISTINCT patient) AS n FROM (SELECT patient FROM visits WHERE cost > 1"
    " UNION ALL SELECT patient FROM labs)",
    "SELECT region, count(*) AS n FROM visits v, wards w WHERE v.ward = w.ward AND v.cost > 0"
    " GROUP BY region ORDER BY region",
    "SELECT region, count(*) AS n, sum(level) AS s FROM labs l, wards w, visits v"
    " WHERE w.ward = v.ward AND l.patient = v.patient GROUP BY region ORDER BY region",
    "SELECT v.ward, count(*) AS n, count(level) AS m FROM labs l RIGHT JOIN visits v USING (patient)"
    " GROUP BY v.ward ORDER BY v.ward",
    "SELECT w.beds, count(v.patient) AS n, count(DISTINCT v.patient) AS people,"
    " count(*) FILTER (WHERE v.age > 50) AS old FROM wards w"
    " LEFT JOIN visits v ON w.ward = v.ward AND v.cost > 1 GROUP BY w.beds ORDER BY w.beds",
    "SELECT w.region, sum(v.age) AS n FROM visits v RIGHT JOIN wards w USING (ward) GROUP BY w.region"
    " ORDER BY w.region",
    "SELECT ward, count_if(age > 50) AS n, sum(note = 'a') AS s FROM visits GROUP BY ALL ORDER BY ward",
    "SELECT monthname(born) AS m, count(*) AS n FROM visits WHERE monthname(born) IN ('January', 'March')"
    " GROUP BY ALL ORDER BY m",
    "SELECT ward, covar_pop(cost, age) AS c, 20 * corr(cost, age) AS r, regr_intercept(age, cost) AS i"
    " FROM visits GROUP BY ward ORDER BY ward",
    "SELECT 20 * corr(level, CASE WHEN age > 20 THEN cost END) AS r, regr_slope(level, age) AS s,"
    " 20 * regr_r2(age, cost) AS q FROM visits v LEFT JOIN labs l USING (patient) WHERE cost > -1",
    "SELECT upper(ward) || '!' AS place, count(*) + 1 AS more FROM visits GROUP BY ward ORDER BY place",
]
PRIVATE = [
    "SELECT note, count(*) AS n FROM visits GROUP BY note ORDER BY note",
    "SELECT note, count(DISTINCT patient) AS n, avg(cost) AS a FROM visits GROUP BY note ORDER BY note",
    "SELECT note, ward, count(*) AS n FROM visits WHERE note <> 'cc' GROUP BY note, ward ORDER BY note, ward",
    "SELECT test, count(DISTINCT patient) AS n FROM labs GROUP BY test ORDER BY test",
    "SELECT note FROM visits GROUP BY note ORDER BY note",
    "SELECT born, count(*) AS n FROM visits WHERE born > DATE '2026-02-01' GROUP BY born",
]


@pytest.fixture(scope="module")
def database():
    database = Database()
    database.fill(ROWS, LABS)
    return database


def answered(database, sql, *, delta=0):
    plan = planned(sql, clinic(max_rows=4, max_groups=4, delta=delta, epsilon=1000), epsilon=1000)
    released = release(plan, database.results(plan))
    return [
        tuple(released.values[name].tolist()[i] for name in released.columns) for i in range(len(released))
    ]


def same(answer, truth):
    assert len(answer) == len(truth)
    for one, other in zip(answer, truth, strict=True):
        for cell, expected in zip(one, other, strict=True):
            if isinstance(expected, int | float) and not isinstance(expected, bool):
                assert cell == pytest.approx(float(expected), rel=0.03, abs=2.5)
            else:
                assert cell == expected


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("sql", SAME)
def test_the_answer_is_that_of_the_plain_query(database, sql, delta):
    """At ε = 1000 the tolerance is at least nine standard deviations: false alarms below 10⁻¹⁶."""
    same(answered(database, sql, delta=delta), database.connection.execute(sql).fetchall())


@pytest.mark.parametrize("sql", PRIVATE)
def test_private_keys_that_many_people_have_are_all_there(database, sql):
    same(answered(database, sql, delta="1e-6"), database.connection.execute(sql).fetchall())


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("function", ["median(cost)", "quantile_cont(age, 0.9)", "median(age * 1.5)"])
def test_quantiles_are_near_those_of_the_plain_query(database, function, delta):
    sql = f"SELECT ward, {function} AS q FROM visits GROUP BY ward ORDER BY ward"
    truth = database.connection.execute(sql).fetchall()
    for (_, quantile), (_, expected) in zip(answered(database, sql, delta=delta), truth, strict=True):
        assert quantile == pytest.approx(float(expected), abs=3)


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_min_and_max_are_quantiles_near_the_ends(database, delta):
    ((low, high),) = answered(database, "SELECT min(age), max(age) FROM visits", delta=delta)
    assert 0 <= low <= 10
    assert 89 <= high <= 99


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_only_which_groups_are_the_largest(database, delta):
    sql = "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) {} LIMIT 1"
    assert answered(database, sql.format("DESC"), delta=delta) == [("north",)]
    assert answered(database, sql.format("ASC"), delta=delta) == [("south",)]


def test_keys_of_a_public_table_are_all_there(database):
    sql = "SELECT w.beds, count(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward WHERE cost > 3"
    rows = answered(database, f"{sql} GROUP BY w.beds")
    assert [row[0] for row in rows] == [10, 20, 30]


def test_an_answer_states_what_bounding_did(database):
    plan = planned("SELECT ward, max(cost), count(DISTINCT note) FROM visits GROUP BY ward", clinic())
    notes = release(plan, database.results(plan)).notes
    assert any("more than 2 rows" in note for note in notes)
    assert any("max stands for the 99% quantile" in note for note in notes)
    assert any("-2 … 4" in note for note in notes)


def test_counts_are_whole_and_their_noise_is_kept_beside_them(database):
    plan = planned("SELECT ward, count(*) AS n FROM visits GROUP BY ward", clinic(), epsilon=1)
    released = release(plan, database.results(plan))
    assert released.values["n"].dtype == np.int64
    assert (released.values["n"] >= 0).all()
    assert (np.abs(released.raw["n"] - released.values["n"]) <= 0.5).all()


def test_a_quantile_of_what_does_not_vary_is_that_value(database):
    assert answered(database, "SELECT median(least(greatest(age, 3), 3)) AS q FROM visits") == [(3.0,)]


def test_quantiles_of_very_many_groups_are_refused():
    with pytest.raises(QueryRefused, match="20,000 groups"):
        planned(
            "SELECT age, level, median(cost) FROM visits JOIN labs USING (patient)"
            " GROUP BY age, level, floor(cost * 8)",
            clinic(),
        )
