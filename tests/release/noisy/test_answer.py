"""With hardly any noise, what is computed from noisy answers is what DuckDB computes from plain ones."""

import math

import numpy as np
import pytest

from discreet.model.deadline import Deadline
from tests.question.clinic import Database, clinic
from tests.question.noisy import answering

WARDS = "SELECT ward, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ward"
AGES = "SELECT ward, age, count(*) AS n FROM visits WHERE age IN (1, 2, 3, 4) GROUP BY ward, age"
MOVING = "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
ALL_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
BY_WARD = "OVER (PARTITION BY ward ORDER BY age"
BY_AGE = "FROM visits WHERE age IN (1, 2, 3, 4) GROUP BY age"
A, B = (
    f"(SELECT ward, count(*) AS n FROM visits WHERE ward = '{w}' GROUP BY ward)" for w in ("south", "north")
)
QUESTIONS = [
    "SELECT ward, count(*) AS n, 100.0 * n / sum(count(*)) OVER () AS share FROM visits GROUP BY ward",
    f"SELECT ward, age, n, n / sum(n) OVER (PARTITION BY ward) AS share FROM ({AGES})",
    f"SELECT age, count(*) AS n, sum(count(*)) OVER (ORDER BY age) AS running {BY_AGE}",
    f"SELECT age, count(*) AS n, n - lag(n) OVER (ORDER BY age) AS d, lag(n, 2, 0) OVER (ORDER BY age) AS e,"
    f" lead(n) OVER (ORDER BY age DESC) AS f {BY_AGE}",
    "SELECT ward, age, n, rank() OVER w AS a, dense_rank() OVER w AS b, percent_rank() OVER w AS e,"
    " row_number() OVER (ORDER BY age, ward) AS c, ntile(3) OVER (ORDER BY age, ward) AS d"
    f" FROM ({AGES}) WINDOW w AS (ORDER BY age)",
    f"SELECT ward, age, avg(n) {BY_WARD} {MOVING}) AS a, first_value(n) {BY_WARD}) AS c,"
    f" last_value(n) {BY_WARD} {ALL_ROWS}) AS d, sum(n) FILTER (WHERE age > 2) OVER () AS f FROM ({AGES})",
    f"SELECT ward, max(n) OVER (PARTITION BY ward) AS b, count(*) OVER (PARTITION BY age) AS e FROM ({AGES})",
    "SELECT avg(n) AS a, max(n) AS b, min(n) AS c, sum(n) AS d, median(n) AS e, stddev(n) AS f,"
    f" count(*) AS g, quantile_cont(n, 0.25) AS h FROM ({AGES})",
    "SELECT ward, sum(n) AS n, count(*) AS k, sum(CASE WHEN age > 2 THEN n END) AS old,"
    f" sum(n) FILTER (WHERE age = 1) AS one FROM ({AGES}) GROUP BY ward HAVING sum(n) > 1 ORDER BY ward",
    f"SELECT age % 2 = 0 AS even, sum(n) AS n FROM ({AGES}) GROUP BY 1",
    f"SELECT DISTINCT ward FROM ({AGES})",
    f"SELECT * FROM ({AGES}) WHERE age > 1 AND ward = 'north' ORDER BY age DESC LIMIT 2 OFFSET 1",
    f"{AGES} QUALIFY row_number() OVER (PARTITION BY ward ORDER BY age DESC) = 1",
    f"WITH a AS ({AGES}), b AS (SELECT ward, sum(n) AS total FROM a GROUP BY ward)"
    " SELECT a.ward, a.age, n / total AS share FROM a JOIN b USING (ward)",
    f"WITH a AS ({AGES}) SELECT x.age, x.n - y.n AS d FROM a AS x JOIN a AS y ON x.age = y.age"
    " WHERE x.ward = 'north' AND y.ward = 'south'",
    f"SELECT ward, n, n - (SELECT avg(n) FROM ({WARDS})) AS d FROM ({WARDS}) AS w",
    "SELECT count(*) / (SELECT count(*) FROM labs) AS r FROM visits",
    f"{WARDS} HAVING count(*) > (SELECT count(*) FROM visits) / 3",
    "SELECT 'v' AS what, count(*) AS n FROM visits UNION ALL SELECT 'l', count(*) FROM labs ORDER BY what",
    "SELECT 1 AS k, count(*) AS n FROM visits UNION SELECT 1, count(*) FROM visits",
    f"SELECT ward, a.n AS x, coalesce(b.n, 0) AS y FROM ({WARDS}) AS a LEFT JOIN {B} AS b USING (ward)",
    f"SELECT ward, a.n AS x, b.n AS y FROM {A} AS a FULL JOIN {B} AS b USING (ward)",
    f"SELECT ward, a.n AS x, b.n AS y FROM {A} AS a RIGHT JOIN ({WARDS}) AS b USING (ward)",
    f"SELECT a.n - b.n AS x FROM {A} AS a CROSS JOIN {B} AS b",
    "SELECT upper(ward) AS w, round(s / n, 2) AS mean, CASE WHEN n > 3 THEN 'many' ELSE 'few' END AS size"
    f" FROM ({WARDS})",
    "SELECT sum(x) AS y FROM (SELECT ward, max(n) AS x FROM"
    f" (SELECT * FROM ({AGES}) WHERE age < 4) GROUP BY ward)",
    "SELECT ward, avg(cost) AS m, avg(cost) - avg(avg(cost)) OVER () AS d FROM visits GROUP BY ward",
]
PLACES = ("north", "south", "south")
ROWS = [(i, PLACES[i % 3], (i * 7 % 11) / 2 - 1, 1 + i % 4 if i % 5 else 1, "x", None) for i in range(40)]
LABS = [(i, "t", i % 9) for i in range(13)]
DATASET = clinic(unique=True, max_rows=1, labs_limit=1, epsilon=500_000)


@pytest.fixture(scope="module")
def database():
    found = Database()
    found.fill(ROWS, LABS)
    return found


def rows_of(columns):
    """Plain rows; numbers that are missing are None."""
    cells = [np.ma.asarray(column).tolist() for column in columns]
    missing = lambda cell: isinstance(cell, float) and math.isnan(cell)  # noqa: E731
    return [tuple(None if missing(cell) else cell for cell in row) for row in zip(*cells, strict=True)]


def sorting(row):
    """Texts and rounded numbers: noise is smaller than that."""
    return [str(round(cell, 2) if isinstance(cell, float) else cell) for cell in row]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_without_noise_it_is_the_plain_answer(sql, database):
    found = answering.answer(sql, DATASET, database.connection, epsilon=400_000)
    plain = database.connection.execute(sql)
    assert list(found.columns) == [each[0] for each in plain.description]
    wanted = [tuple(float(c) if type(c) is int else c for c in row) for row in plain.fetchall()]
    shown = rows_of(found.values[name] for name in found.columns)
    shown = [tuple(float(c) if type(c) is int else c for c in row) for row in shown]
    if "ORDER BY" not in sql.rpartition(")")[2]:
        shown, wanted = sorted(shown, key=sorting), sorted(wanted, key=sorting)
    assert shown == [
        tuple(pytest.approx(c, abs=0.01) if type(c) is float else c for c in row) for row in wanted
    ]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_intervals_hold_what_is_shown(sql, database):
    found = answering.answer(sql, DATASET, database.connection, epsilon=20)
    for name in found.measured:
        values, low, high = found.raw[name], found.low[name], found.high[name]
        known = ~np.isnan(values) & ~np.isnan(low)
        assert (low[known] <= values[known] + 1e-9).all(), name
        assert (values[known] <= high[known] + 1e-9).all(), name


def test_the_same_draw_gives_the_same_answer(database):
    release = answering.release_of(QUESTIONS[1], DATASET, 1)
    stored = release.draw_noise(answering.exact(release, database.connection), None)
    one, other = (
        release.answer_from(release.identity(), stored, Deadline.after(60)).encode() for _ in range(2)
    )
    assert one == other
