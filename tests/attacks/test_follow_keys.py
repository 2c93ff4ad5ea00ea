"""Attack G3 on joins along a key: one row of one person decides whether everybody's rows are computed."""

import json

import duckdb
import pytest

from discreet.dialects.duckdb import DUCKDB
from discreet.model.neighbours import Neighbours
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.sql.emit import emit_sql
from discreet.sql.relation import relation_sql
from tests.attacks.test_join_sides import rows_of, walk
from tests.bounds.shop import TABLES, planned, shop

ORDERS, ITEMS = 2_000, 20_000
SHAPES = {
    "a condition on the owner's row": "orders JOIN items USING (key) WHERE year = 3",
    "a subquery": "items JOIN (SELECT key FROM orders WHERE year = 3) AS o USING (key)",
    "a condition of the join": "items JOIN orders ON items.key = orders.key AND year = 3",
    "over two steps": "notes JOIN items USING (item) JOIN orders USING (key) WHERE year = 3",
    "on the row between": "notes JOIN items USING (item) WHERE amount = 3",
}


BY_PERSON = {
    "who it is": "items WHERE customer = {}",
    "several of them": "items WHERE customer IN ({}, 1000018)",
    "by the key": "items WHERE key = {}",
    "over two steps": "notes WHERE customer = {}",
    "with what is brought along": "items JOIN orders USING (key) WHERE orders.customer = {} AND year = 1",
}


def scanned(rows, year=1):
    """The rows that are read of all tables, if one order is of this year, and one item has as much."""
    dataset = shop(Neighbours.ADD_REMOVE, 0, 2, 2)
    source = resolve(parse_sql(f"SELECT count(*) FROM {rows}"), dataset, lambda *_: None).source
    return read_of_tables(
        relation_sql(source, {name: name for name in TABLES}, [], DUCKDB, persons=True), year=year
    )


def read_of_tables(sql, *, year=1, kind="a"):
    odd = f"CASE WHEN range = 17 THEN {year} ELSE 1 END"
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, columns in {
            "orders": f"range % 99 AS customer, range AS key, {odd} AS year FROM range({ORDERS})",
            "items": f"range % {ORDERS} AS key, CASE range WHEN 17 THEN '{kind}' ELSE 'z' END AS kind,"
            f" {odd} AS amount, range AS item FROM range({ITEMS})",
            "notes": f"range AS item, 'c' AS what FROM range({ITEMS})",
        }.items():
            connection.execute(f"CREATE TABLE {name} AS SELECT {columns}")
        analyzed = f"EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM ({sql})"
        plan = json.loads(connection.execute(analyzed).fetchall()[0][1])
    return rows_of(list(walk(plan["operator"], together=False)), "TABLE_SCAN")


@pytest.mark.parametrize("shape", SHAPES)
def test_g3_no_owner_decides_whether_the_rows_of_all_are_read(shape):
    there, gone = (scanned(SHAPES[shape], year) for year in (3, 2))
    assert there == gone >= ORDERS + ITEMS


@pytest.mark.parametrize("shape", BY_PERSON)
def test_g3_whether_somebody_is_there_does_not_decide_whether_a_table_is_read(shape):
    """The person is that of the order. Where nobody had this id, no item was read."""
    there, gone = (scanned(BY_PERSON[shape].format(person)) for person in (17, 1_000_017))
    assert there == gone >= ORDERS + ITEMS


@pytest.mark.parametrize("asked", ["count(*)", "count(DISTINCT customer)", "median(amount)"])
def test_g3_whether_any_owner_has_a_key_does_not_decide_whether_a_table_is_read(asked):
    """Groups by a text of the owner's row, which is read as a number there. No other row has a public key."""
    dataset = shop(Neighbours.ADD_REMOVE, 0, 2, 2)
    question = f"SELECT kind, {asked} FROM notes JOIN items USING (item) GROUP BY kind"
    plan = planned(question, dataset)
    (statement, *_) = emit_sql(plan, {name: name for name in TABLES}, DUCKDB)
    assert statement.coded == {0}
    there, gone = (read_of_tables(statement.sql, kind=kind) for kind in ("a", "y"))
    assert there == gone >= ORDERS + 2 * ITEMS
