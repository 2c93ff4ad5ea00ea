"""Attacks G3: work that is done again for each grouping set, or after a join where it counts as before it."""

import json

import duckdb
import pytest

from discreet import QueryRefused
from discreet.dialects.duckdb import DUCKDB
from discreet.model.privacy import PureLoss
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.sql.relation import relation_sql

from .test_public_tables import wards, with_wards

NOTHING = PureLoss(epsilon=0)
THREE_SIDES = "visits AS a JOIN visits AS b USING (patient) JOIN visits AS c USING (patient)"
TOO_MUCH = "computes too much from the rows that one person"


def by_sets(sets, select="sum(a.cost * b.cost) AS s"):
    keys = "a.ward AS ka, b.ward AS kb, c.ward AS kc"
    return f"SELECT {keys}, {select} FROM {THREE_SIDES} GROUP BY GROUPING SETS ({', '.join(sets)})"


def test_g3_each_grouping_set_computes_its_sums_anew(clinic):
    """On PostgreSQL ten sets took 27 seconds with the rows of one person, and 0.6 without."""
    sets = ["(ka)", "(kb)", "(kc)", "(ka, kb)", "(ka, kc)", "(kb, kc)", "(ka, kb, kc)", "()"]
    clinic.open().explain(by_sets(sets[-2:]), epsilon=1)
    clinic.open().explain(by_sets(sets, "count(*) AS n"), epsilon=1)
    with pytest.raises(QueryRefused, match=TOO_MUCH):
        clinic.ask(by_sets(sets, "sum(a.cost * b.cost) AS s, sum(b.cost * c.cost) AS t"))
    assert clinic.spent() == NOTHING


def cube(keys):
    """Slow patterns on rows that a public table stretches, in 2^keys sets."""
    names = ", ".join(f"v.age > {i} AS k{i}" for i in range(keys))
    slow = f"v.diagnosis LIKE '%{'a_' * 30}b%'"
    return (
        f"SELECT {names}, count(*) FILTER (WHERE {slow}) AS n FROM visits AS v JOIN wards AS w"
        f" ON v.ward = w.ward GROUP BY CUBE ({', '.join(f'k{i}' for i in range(keys))})"
    )


def test_g3_each_grouping_set_computes_its_patterns_anew(tmp_path):
    """On DuckDB, thirty rows of a person took 0.1 s in one set, and 2.1 s in sixteen."""
    clinic = with_wards(tmp_path, wards(north=100))
    clinic.open().explain(cube(1), epsilon=1)
    with pytest.raises(QueryRefused, match=TOO_MUCH):
        clinic.ask(cube(5))
    assert clinic.spent() == NOTHING


def test_g3_private_keys_group_the_rows_of_each_piece(tmp_path):
    clinic = with_wards(tmp_path, wards(north=200))
    clinic.policy.write_text(clinic.policy.read_text().replace("delta = 0", "delta = 1e-6"))
    joined = "visits AS v JOIN wards AS w ON v.ward = w.ward"
    values = [f"count(DISTINCT v.age + {i}) AS n{i}" for i in range(6)]
    clinic.open().explain(f"SELECT v.diagnosis AS d, {values[0]} FROM {joined} GROUP BY d", epsilon=9)
    with pytest.raises(QueryRefused, match=TOO_MUCH):
        clinic.ask(f"SELECT v.diagnosis AS d, {', '.join(values)} FROM {joined} GROUP BY d", epsilon=9)
    assert clinic.spent().rho == 0


UPPER = "upper(a.diagnosis) <> 'X' AND upper(a.ward) <> 'X'"
LATE = {
    "about two sides": "upper(a.diagnosis) <> upper(b.diagnosis)",
    "about the second side": UPPER.replace("a.", "b."),
    "in a subquery": None,
}


@pytest.mark.parametrize("kind", LATE)
def test_g3_what_may_be_computed_after_all_joins_counts_so(clinic, kind):
    """Databases change the order of joins, and DuckDB computes slow conditions on later sides after them."""
    two = THREE_SIDES.rpartition(" JOIN")[0]
    sql = f"SELECT count(*) AS n FROM {THREE_SIDES} WHERE {LATE[kind]}"
    if LATE[kind] is None:
        pairs = f"SELECT a.patient AS patient FROM {two} WHERE {LATE['about two sides']}"
        sql = f"SELECT count(*) AS n FROM ({pairs}) AS x JOIN visits AS c USING (patient)"
    with pytest.raises(QueryRefused, match=TOO_MUCH):
        clinic.ask(sql)
    assert clinic.spent() == NOTHING
    clinic.open().explain(f"SELECT count(*) AS n FROM {two} WHERE {LATE['about two sides']}", epsilon=1)
    clinic.open().explain(f"SELECT count(*) AS n FROM {THREE_SIDES} WHERE {UPPER} AND c.age > 1", epsilon=1)


def operators(plan):
    """All steps of a plan, and how many rows each put out, by either name of DuckDB's."""
    for each in plan.get("operator", plan.get("children", ())):
        yield str(each.get("extra_info")), each.get("intermediate_rows", each.get("operator_cardinality"))
        yield from operators(each)


def test_g3_a_condition_on_the_first_side_is_computed_before_the_joins(clinic):
    """It is written by itself: beside one on another side it was computed on all joined rows. Five of these
    took PostgreSQL 27 seconds with the rows of one person, and 0.4 without.
    """
    sql = f"SELECT count(*) AS n FROM {THREE_SIDES} WHERE {UPPER} AND b.age > 1 AND c.age > 1"
    source = resolve(parse_sql(sql), clinic.open().dataset, lambda *_: None).source
    relation = relation_sql(source, {"visits": "visits"}, [], DUCKDB, persons=True)
    rows = "SELECT 17 AS patient, 'x' || range AS ward, 2 AS age, 'flu' AS diagnosis FROM range(32)"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE visits AS {rows}")
        explained = f"EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM ({relation})"
        plan = json.loads(connection.execute(explained).fetchall()[0][1])
    found = [rows for step, rows in operators(plan) if "upper" in step]
    assert found
    assert max(found) == 32


def leaves(count, select="sum(a.cost * b.cost) AS x", source=THREE_SIDES):
    return " UNION ALL ".join(f"SELECT {select} FROM {source} WHERE a.age > {i}" for i in range(count))


@pytest.mark.parametrize(
    ("select", "source"),
    [
        ("sum(a.cost * b.cost) AS x", THREE_SIDES),
        ("count(*) AS x", "visits AS a JOIN visits AS b USING (patient)"),
        (", ".join(f"count(DISTINCT a.age + {i}) AS x{i}" for i in range(30)), "visits AS a"),
    ],
)
def test_g3_queries_of_one_price_have_the_limits_of_one_question(clinic, select, source):
    """Sixteen at a time would take sixteen times as long with the rows of one person, for one least price."""
    clinic.open().explain(leaves(1, select, source), epsilon=1)
    clinic.open().explain(leaves(2, select, source), epsilon=1)
    with pytest.raises(QueryRefused, match="compute too much together"):
        clinic.ask(leaves(16, select, source))
    assert clinic.spent() == NOTHING
