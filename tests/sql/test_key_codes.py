"""Keys that are read as whole numbers are the same groups as their texts."""

import duckdb
import pytest

from discreet.dialects.duckdb import DUCKDB
from discreet.functions.registry import emit
from discreet.model.expression import Field
from discreet.model.neighbours import Neighbours
from discreet.model.policy import ValueType
from discreet.sql.emit import emit_sql
from tests.bounds.shop import TABLES, planned, shop
from tests.question import clinic

ODD = [
    "a",
    "A",
    "",
    " a",
    "a ",
    "é",
    "e\u0301",
    "it's",
    'a "b"',
    "a,b",
    "null",
    "NULL",
    "1",
    "01",
    "🦆",
    "\n",
    "ß",
]


@pytest.mark.parametrize("type_", ["VARCHAR", "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT"])
def test_a_text_has_the_place_of_its_bytes_and_no_other(type_):
    listed = ODD[::2]
    read = emit(Field(name="x", type=ValueType.TEXT), DUCKDB)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (x {type_})")
        connection.executemany("INSERT INTO t VALUES (?)", [[text] for text in [*ODD, None]])
        found = connection.execute(f"SELECT x, {DUCKDB.place_among(read, listed)} FROM t").fetchall()
    assert dict(found) == {text: listed.index(text) if text in listed else None for text in [*ODD, None]}


CODED = {
    "SELECT kind, count(*) FROM items GROUP BY kind": {0},
    "SELECT year, kind, count(*) FROM items JOIN orders USING (key) GROUP BY year, kind": {1},
    "SELECT kind, what, count(*) FROM notes JOIN items USING (item) GROUP BY ROLLUP (kind, what)": {0, 1},
    "SELECT CASE what WHEN 'c' THEN 'x' ELSE 'y' END AS w, count(*) FROM notes GROUP BY w": set(),
    "SELECT what, count(*) FROM notes GROUP BY what ORDER BY 2": {0},
}


@pytest.mark.parametrize("question", CODED)
def test_columns_with_public_texts_are_read_as_places(question):
    dataset = shop(Neighbours.ADD_REMOVE, 0, 2, 2)
    plan = planned(question, dataset)
    (statement, *_) = emit_sql(plan, {name: name for name in TABLES}, DUCKDB)
    assert statement.coded == CODED[question]


def test_a_public_key_beside_a_private_one_keeps_its_values():
    """Such groups are those that occur. Answers named them by places: 0 and 1 instead of north and south."""
    plan = clinic.planned(
        "SELECT note, ward, count(*) FROM visits GROUP BY note, ward", clinic.clinic(delta="1e-6")
    )
    database = clinic.Database()
    database.fill([(1, "south", 0.0, 1, "a"), (2, "attic", 0.0, 1, "a"), (3, "north", 0.0, 1, None)])
    assert {key for each in database.by_key(plan) for key in each if key} == {("a", "south"), (None, "north")}
