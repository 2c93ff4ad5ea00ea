"""Attacks G3 and G4: on how much work a question makes, which shows as time, as memory, or as a failure."""

import re
from fractions import Fraction

import duckdb
import pytest

from discreet import EngineFailed, QueryRefused
from discreet.bounds.work_limits import MOST_ROWS_OF_A_PERSON
from discreet.dialects.duckdb import DUCKDB
from discreet.model.privacy import PureLoss
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release import outputs
from discreet.sql.relation import relation_sql

NOTHING = PureLoss(epsilon=0)
PROPERTY = "patient = 17 AND diagnosis = 'hiv'"


def self_joins(joins):
    """Rows of the one person who matters, multiplied with themselves again and again."""
    side = f"(SELECT patient FROM visits WHERE {PROPERTY})"
    others = "".join(f" JOIN {side} AS t{i} ON t0.patient = t{i}.patient" for i in range(1, joins + 1))
    return f"SELECT count(*) AS n FROM {side} AS t0{others}"


# G3: a join that explodes only if one person has a property.


@pytest.mark.parametrize("joins", [4, 16, 31])
def test_g3_what_would_multiply_a_person_without_end_is_refused(clinic, joins):
    with pytest.raises(QueryRefused) as refusal:
        clinic.ask(self_joins(joins), epsilon=1)
    assert "GROUP BY" in refusal.value.remedy
    assert clinic.spent() == NOTHING


def sums_over(sides, sums):
    """Sums of products over rows of the one person who matters, joined with themselves."""
    rows = f"(SELECT patient, cost FROM visits WHERE {PROPERTY})"
    others = "".join(f" JOIN {rows} AS t{i} ON t0.patient = t{i}.patient" for i in range(1, sides))
    values = ", ".join(f"sum(t0.cost * t1.cost + {i}) AS s{i}" for i in range(sums))
    return f"SELECT {values} FROM {rows} AS t0{others}"


@pytest.mark.parametrize(("sides", "sums"), [(4, 1), (4, 7), (3, 12)])
def test_g3_arithmetic_on_joined_rows_counts_as_the_slowest_database_takes_it(clinic, sides, sums):
    """PostgreSQL took 37 seconds for seven sums over four sides, and 0.1 without that person."""
    with pytest.raises(QueryRefused, match=r"too much from the rows that one person|too many rows"):
        clinic.ask(sums_over(sides, sums), epsilon=1)
    assert clinic.spent() == NOTHING
    clinic.open().explain(sums_over(2, 12), epsilon=1)


FOUR_SIDES = "visits AS a" + "".join(f" JOIN visits AS {side} USING (patient)" for side in "bcd")
THREE_SIDES = FOUR_SIDES.rpartition(" JOIN")[0]
SLOW_THERE = {
    "rows": f"SELECT count(*) AS n FROM {FOUR_SIDES}",
    "casts": "SELECT "
    + ", ".join(f"sum(cast(a.cost + {i} AS BIGINT) + cast(b.cost AS BIGINT)) AS s{i}" for i in range(8))
    + f" FROM {THREE_SIDES}",
    "integers": f"SELECT {', '.join(f'variance(a.age + {i}) AS v{i}' for i in range(12))} FROM {THREE_SIDES}",
    "values of people": "SELECT avg(s0) AS s FROM (SELECT a.patient, "
    + ", ".join(f"sum(a.cost) FILTER (WHERE b.age > {i}) AS s{i}, max(a.diagnosis) AS t{i}" for i in range(7))
    + f" FROM {THREE_SIDES} GROUP BY a.patient) AS each",
}


@pytest.mark.parametrize("kind", SLOW_THERE)
def test_g3_what_is_slow_on_postgres_is_refused_over_many_rows_of_one_person(clinic, kind):
    """Each took PostgreSQL 3 to 24 seconds with one person's rows, and about 0.1 without."""
    with pytest.raises(QueryRefused, match=r"too much from the rows|too many rows"):
        clinic.ask(SLOW_THERE[kind], epsilon=1)
    assert clinic.spent() == NOTHING
    two_sides = FOUR_SIDES.partition(" JOIN visits AS c")[0]
    clinic.open().explain(
        SLOW_THERE[kind]
        .replace(THREE_SIDES, two_sides)
        .replace(f"{two_sides} JOIN visits AS d USING (patient)", two_sides)
        .replace(" JOIN visits AS c USING (patient)", ""),
        epsilon=1,
    )


HEAVY = (
    "SELECT 17 AS patient, 'north' AS ward, 1.0::DOUBLE AS cost, 1 AS age, 'hiv' AS diagnosis FROM range({})"
)
BOTH = "(SELECT patient FROM visits UNION ALL SELECT patient FROM visits)"
EACH = "(SELECT patient, count(*) AS n FROM visits GROUP BY patient)"
JOINS = {
    self_joins(1): (32, lambda n: n**2),
    self_joins(2): (32, lambda n: n**3),
    "SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.patient AND a.age = b.age": (
        32,
        lambda n: n**2,
    ),
    "SELECT count(*) FROM visits a LEFT JOIN visits b USING (patient) WHERE a.cost < 2": (32, lambda n: n**2),
    f"SELECT count(*) FROM {BOTH} AS a JOIN {EACH} AS b USING (patient)": (16, lambda n: 2 * n),
    "SELECT count(*) FROM (SELECT a.patient AS who FROM visits AS a JOIN visits AS b USING (patient)) AS c"
    " JOIN visits AS d ON c.who = d.patient": (32, lambda n: n**3),
}
"""Questions, the rows of one person that are joined at most, and how many rows come of them."""


def rows_of_person(clinic, sql, n):
    """How many rows a person with n rows has where people are weighed."""
    dataset = clinic.open().dataset
    source = resolve(parse_sql(sql), dataset, lambda *_: None).source
    relation = relation_sql(source, {"visits": f"({HEAVY.format(n)}) AS v"}, [], DUCKDB, persons=True)
    return duckdb.sql(f"SELECT count(*) FROM ({relation})").fetchall()[0][0]


@pytest.mark.parametrize("sql", JOINS)
def test_g3_the_rows_of_one_person_are_cut_before_they_are_multiplied(clinic, sql):
    """Within the limit everything is joined; beyond it, nothing of that person is."""
    limit, joined = JOINS[sql]
    for n in (1, limit, limit + 1, 1000):
        assert rows_of_person(clinic, sql, n) == (joined(n) if n <= limit else 0)
        assert rows_of_person(clinic, sql, n) <= MOST_ROWS_OF_A_PERSON


def test_g3_a_row_stays_where_what_it_is_joined_with_is_cut(clinic):
    sql = f"SELECT count(*) FROM {EACH} AS a LEFT JOIN visits AS b USING (patient)"
    assert [rows_of_person(clinic, sql, n) for n in (2, 32, 33, 1000)] == [2, 32, 1, 1]


def largest_intermediate(connection, sql):
    """The most rows that any step of the plan put out, as DuckDB counted them while it ran."""
    plan = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}").fetchall()[0][1]
    return max(int(rows) for rows in re.findall(r'"(?:intermediate_rows|operator_cardinality)": (\d+)', plan))


def test_g3_no_optimiser_joins_before_it_cuts(clinic):
    """It would, if it could: where all rows are one person's, it takes the join for a product of all rows."""
    heavy, rows = 1000, 20_000
    sql = "SELECT count(*) FROM visits a JOIN visits b USING (patient) JOIN visits c USING (patient)"
    source = resolve(parse_sql(sql), clinic.open().dataset, lambda *_: None).source
    relation = relation_sql(source, {"visits": "visits"}, [], DUCKDB, persons=True)
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        others = f"SELECT range % {rows // 2}, 'north', 1.0, 1, 'flu' FROM range({rows})"
        connection.execute(f"CREATE TABLE visits AS {HEAVY.format(heavy)} UNION ALL {others}")
        counted = f"SELECT count(*) FROM ({relation}) WHERE p = 17"
        assert largest_intermediate(connection, counted) <= heavy + rows


GROWN = "replace(replace(diagnosis, 'flu', 'aaaaaaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaa')"
SLOW = " OR ".join(f"x LIKE '%{'a_' * (100 - i)}b%'" for i in range(60))


@pytest.mark.parametrize(("branches", "joins"), [(5, 2), (15, 0)])
def test_g3_slow_functions_are_multiplied_only_so_often(clinic, branches, joins):
    """Each LIKE takes a millisecond on a text that was made long, and there is one row of one person."""
    one = f"SELECT patient, {GROWN} AS x FROM visits WHERE patient = 17"
    side = f"({' UNION ALL '.join([one] * branches)})"
    more = "".join(f" JOIN {side} AS j{i} ON a.patient = j{i}.patient" for i in range(joins))
    slow = SLOW.replace("x LIKE", "a.x LIKE")
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(f"SELECT count(*) FILTER (WHERE {slow}) AS n FROM {side} AS a{more}")
    assert clinic.spent() == PureLoss(epsilon=Fraction(0))


def test_g3_what_groups_are_picked_by_is_limited_too(clinic):
    """A condition in ORDER BY computes from rows as one in SELECT does."""
    slow = " OR ".join(f"x LIKE '%{'a_' * (120 - i)}b%'" for i in range(60))
    rows = f"(SELECT patient, ward, {GROWN} AS x FROM visits) AS v"
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(f"SELECT ward, count(*) FILTER (WHERE {slow}) AS n FROM {rows} GROUP BY ward")
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(
            f"SELECT ward FROM {rows} GROUP BY ward ORDER BY count(*) FILTER (WHERE {slow}) DESC LIMIT 1"
        )
    assert clinic.spent() == NOTHING


def test_g3_a_subquery_for_each_person_hides_no_work(clinic):
    """It leaves one row of a person, but computes from all that its own joins make."""
    rows = f"SELECT a.patient AS patient, {GROWN.replace('diag', 'a.diag')} AS x FROM visits AS a" + "".join(
        f" JOIN visits AS j{i} ON a.patient = j{i}.patient" for i in range(2)
    )
    each = f"SELECT patient, count(*) FILTER (WHERE {SLOW}) AS n FROM ({rows}) AS r GROUP BY patient"
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(f"SELECT count(*) AS n FROM ({each}) AS p WHERE n > 0")
    assert clinic.spent() == NOTHING


def test_g3_what_is_grouped_by_is_computed_in_every_piece(clinic):
    quantiles = ", ".join(f"quantile(cost + {i}, 0.5) AS q{i}" for i in range(60))
    source = f"(SELECT patient, cost, {GROWN} AS x FROM visits) AS v"
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.ask(f"SELECT ({SLOW}) AS slow, {quantiles} FROM {source} GROUP BY slow")
    assert clinic.spent() == NOTHING


def test_g3_rows_that_nothing_is_computed_from_take_time_too(clinic):
    joined = "visits AS a" + "".join(f" JOIN visits AS {t} ON a.patient = {t}.patient" for t in "bc")
    measures = ", ".join(f"quantile({t}.{c}, 0.5) AS q{t}{c}" for t in "abc" for c in ("cost", "age"))
    wards = ", ".join(f"{t}.ward AS w{t}" for t in "abc")
    with pytest.raises(QueryRefused, match=r"computes too much|too many different"):
        clinic.ask(f"SELECT {wards}, {measures} FROM {joined} GROUP BY CUBE (wa, wb, wc)")
    assert clinic.spent() == NOTHING


def test_g3_what_is_picked_before_a_join_counts_once(clinic):
    """A slow condition on plain rows takes the time of these rows, however they are joined then."""
    picked = "(SELECT patient FROM visits WHERE diagnosis LIKE '%f_u%') AS a"
    clinic.ask(f"SELECT count(*) AS n FROM {picked} JOIN visits AS b ON a.patient = b.patient")


def test_g3_slow_functions_on_plain_rows_are_answered(clinic):
    clinic.ask("SELECT count(*) AS n FROM visits WHERE diagnosis LIKE '%f_u%' OR diagnosis LIKE 'f%'")
    clinic.ask(
        "SELECT count(*) AS n FROM visits AS a JOIN visits AS b ON a.patient = b.patient"
        " WHERE a.diagnosis LIKE '%f%' AND replace(b.diagnosis, 'f', 'g') = 'glu'"
    )


# G4: names that stand for others, which stand for others.


def through_with(times, expression="x + x"):
    first = "c0 AS (SELECT patient, cost AS x FROM visits)"
    others = [f"c{i} AS (SELECT patient, {expression} AS x FROM c{i - 1})" for i in range(1, times + 1)]
    return f"WITH {', '.join([first, *others])} SELECT sum(least(greatest(x, 0), 9)) AS s FROM c{times}"


def through_outputs(times, expression="n{} + n{}"):
    others = [f"{expression.format(i, i)} AS n{i + 1}" for i in range(times)]
    return f"SELECT {', '.join(['count(*) AS n0', *others])} FROM visits"


DOUBLED = {
    "WITH": through_with(11),
    "WITH, far more": through_with(31),
    "divided": through_with(11, "x / x"),
    "outputs": through_outputs(9),
    "outputs, far more": through_outputs(150),
    "logarithms": through_outputs(11, "n{} * ln(n{})"),
    "many small ones": "SELECT "
    + ", ".join(f"count(*) FILTER (WHERE cost + {i} + age + {i} + age > {i}) AS n{i}" for i in range(200))
    + " FROM visits",
    "HAVING": f"{through_outputs(8)} HAVING n8 > 0 AND n8 > 1",
    "ORDER BY": f"{through_outputs(8)} ORDER BY n8, n8 + 1",
}


@pytest.mark.parametrize("name", DOUBLED)
def test_g4_a_question_has_one_limit_after_its_names_are_put_in(clinic, name):
    assert len(DOUBLED[name]) < 20_000
    with pytest.raises(QueryRefused):
        clinic.ask(DOUBLED[name])
    assert clinic.spent() == NOTHING


def test_g4_a_question_is_put_together_from_so_many_statements(clinic):
    """Each quantile of something else reads the rows anew, for each of the four grouping sets."""
    quantiles = ", ".join(f"quantile(cost + {i}, 0.5) AS q{i}" for i in range(110))
    rows = "(SELECT patient, ward, cost, age > 50 AS old FROM visits) AS v"
    with pytest.raises(QueryRefused, match="too many different things"):
        clinic.ask(f"SELECT ward, old, {quantiles} FROM {rows} GROUP BY CUBE (ward, old)")
    assert clinic.spent() == NOTHING


def test_g4_an_ordinary_question_is_far_below_the_limit(clinic):
    branches = " ".join(f"WHEN cost < {i} THEN {i}" for i in range(60))
    wards = ", ".join(f"count(*) FILTER (WHERE ward = 'north' AND age > {i}) AS n{i}" for i in range(100))
    clinic.ask(f"SELECT avg(CASE {branches} ELSE 60 END) AS mean, {wards} FROM visits")


# G4: what is charged must not fail, and an answer has a size that is known before.

LONG = "x" * 5000
AFTER_THE_CHARGE = [
    "SELECT count(*) AS n FROM visits ORDER BY 1.5",
    "SELECT count(*) AS n FROM visits ORDER BY 'n'",
    "SELECT count(*) AS n FROM visits ORDER BY NULL, 1",
    "SELECT count(*) AS n FROM visits ORDER BY TRUE",
    "SELECT count(*) AS n FROM visits ORDER BY 0",
    "SELECT count(*) AS n FROM visits ORDER BY 2",
    "SELECT count(*) AS n FROM visits ORDER BY -1",
    "SELECT count(*) AS n FROM visits ORDER BY 1 + 1",
    "SELECT count(*) AS n FROM visits ORDER BY DATE '2020-01-01'",
    "SELECT count(*) AS n FROM visits HAVING TRUE",
    "SELECT count(*) AS n FROM visits HAVING NULL",
    "SELECT count(*) AS n FROM visits HAVING count(*) > 1e308 * 1e308",
    "SELECT count(*) AS n FROM visits LIMIT 0",
    "SELECT CAST(count(*) AS VARCHAR) AS t, CAST(ward AS BIGINT) AS w FROM visits GROUP BY ward",
    "SELECT count(*), CAST(ward AS DATE) AS d, year(CAST(ward AS DATE)) AS y FROM visits GROUP BY ward",
    "SELECT count(*) AS n, CASE WHEN count(*) > 500 THEN 'many' ELSE 'few' END AS t FROM visits",
    "SELECT ward, CASE WHEN count(*) > 5 THEN ward END AS t FROM visits GROUP BY ward HAVING t = 'x'",
    f"SELECT age, count(*) AS n, '{LONG}' || '{LONG}' AS t FROM visits GROUP BY age ORDER BY t DESC LIMIT 3",
    "SELECT date_trunc('month', DATE '2020-01-01') AS d, count(*) AS n FROM visits",
    "SELECT count(*) % 0 AS n, power(count(*), 10) AS p, round(count(*), -300) AS r FROM visits",
    "SELECT NULL AS x, 1 AS one, count(*) AS n FROM visits ORDER BY x, one",
]


@pytest.mark.parametrize("sql", AFTER_THE_CHARGE)
def test_g4_what_is_charged_is_answered(clinic, sql):
    answer = clinic.ask_or_be_refused(sql)
    assert clinic.spent() == (NOTHING if answer is None else PureLoss(epsilon=1))


def test_g4_texts_that_would_fill_the_memory_are_refused(clinic):
    """10,000 groups with a megabyte each, of which the question holds a few kilobytes."""
    wide = ", ".join(f"'{LONG[:3000]}{i}' || '{LONG[:1000]}' AS t{i}" for i in range(20))
    with pytest.raises(QueryRefused, match="room"):
        clinic.ask(f"SELECT floor(cost * 100) AS c, {wide}, count(*) AS n FROM visits GROUP BY c")
    assert clinic.spent() == NOTHING


def test_g4_memory_that_runs_out_is_an_error_of_ours(clinic, monkeypatch):
    """Not the database's own, which would hold what it worked on."""
    monkeypatch.setattr(outputs, "_MEMORY", "1MB")
    outputs._database.cache_clear()
    with pytest.raises(EngineFailed) as failure:
        clinic.ask("SELECT floor(cost * 100) AS c, count(*) / 3 AS n FROM visits GROUP BY c ORDER BY n")
    outputs._database.cache_clear()
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
