"""Attack G3 on the sides of joins: one row of one person decides whether everybody's rows are computed."""

import json

import duckdb
import pytest

from discreet.compile.dialects.duckdb import DUCKDB
from discreet.compile.emit_relation import relation_sql
from discreet.compile.parse_sql import parse_sql
from discreet.compile.resolve import resolve

PEOPLE, ROWS = 2_000, 20_000
GATE = "(SELECT patient, diagnosis FROM visits WHERE diagnosis = 'hiv')"
EACH = "(SELECT patient, max(length(upper(diagnosis))) AS d FROM visits GROUP BY patient)"
PAIRED = "ON a.patient = b.patient AND (a.patient = 1) = contains(b.diagnosis, 'o')"
SHAPES = {
    "a pair": f"{GATE} AS a JOIN visits AS b {PAIRED}",
    "a pair of a LEFT JOIN": f"{GATE} AS a LEFT JOIN visits AS b {PAIRED}",
    "the gate on the right": f"visits AS b JOIN {GATE} AS a {PAIRED}",
    "the gate on the right of a LEFT JOIN": f"visits AS b LEFT JOIN {GATE} AS a {PAIRED}",
    "each person": f"{GATE} AS a JOIN {EACH} AS b ON a.patient = b.patient WHERE b.d > 1",
    "a pair with each person": f"{GATE} AS a JOIN {EACH} AS b ON a.patient = b.patient AND a.patient = b.d",
    "a condition": f"{GATE} AS a JOIN (SELECT patient FROM visits WHERE upper(diagnosis) > 'B') AS b"
    " ON a.patient = b.patient",
    "three sides": f"visits AS a JOIN visits AS b ON a.patient = b.patient JOIN {GATE} AS c"
    " ON a.patient = c.patient",
    "three sides, two of LEFT JOIN": "visits AS a LEFT JOIN visits AS b ON a.patient = b.patient"
    f" JOIN {GATE} AS c ON a.patient = c.patient",
    "a join on the right": f"{GATE} AS a JOIN (SELECT b.patient AS patient FROM visits AS b"
    " JOIN visits AS c ON b.patient = c.patient) AS d ON a.patient = d.patient",
}


def steps(clinic, sql, diagnosis):
    """The steps of the plan that ran, if row 17 has this diagnosis: whether they are below one that brings all
    rows together, what they are, the rows that they put out, and what they compute.
    """
    source = resolve(parse_sql(sql), clinic.open().dataset, lambda *_: None).source
    relation = relation_sql(source, {"visits": "visits"}, [], DUCKDB, persons=True)
    with duckdb.connect(config={"threads": 1}) as connection:
        found = f"CASE WHEN range = 17 THEN '{diagnosis}' ELSE ['cold', 'zoster'][1 + range % 2] || range END"
        connection.execute(
            f"CREATE TABLE visits AS SELECT range % {PEOPLE} AS patient, 'north' AS ward, 1.0::DOUBLE AS cost,"
            f" 1 AS age, {found} AS diagnosis FROM range({ROWS})"
        )
        counted = f"EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM ({relation})"
        plan = json.loads(connection.execute(counted).fetchall()[0][1])
    return list(walk(plan["operator"], together=False))


def walk(nodes, *, together):
    for node in nodes:
        yield together, node["type"], node["intermediate_rows"], json.dumps(node["extra_info"])
        yield from walk(node.get("children", []), together=together or node["type"] == "WINDOW")


def rows_of(found, kind):
    return sum(rows for _, each, rows, _ in found if each == kind)


@pytest.mark.parametrize("shape", SHAPES)
def test_g3_no_row_decides_whether_the_other_side_of_a_join_is_computed(clinic, shape):
    """Rows are read, and what is compared is computed, before they are brought together. What is joined then
    is one person's, who has ten rows.
    """
    sql = f"SELECT count(*) FROM {SHAPES[shape]}"
    there, gone = (steps(clinic, sql, diagnosis) for diagnosis in ("hiv", "hix"))
    assert rows_of(there, "TABLE_SCAN") >= ROWS
    assert abs(rows_of(there, "TABLE_SCAN") - rows_of(gone, "TABLE_SCAN")) <= 100
    assert abs(rows_of(there, "HASH_JOIN") - rows_of(gone, "HASH_JOIN")) <= 1000
    assert all(together for together, _, _, info in there if "contains(" in info)
