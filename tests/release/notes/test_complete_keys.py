"""Keys of which every row has a listed value, if the owner says so of columns: no row is between groups."""

from dataclasses import replace
from datetime import date

import pytest

from discreet.dialects.duckdb import DUCKDB
from discreet.functions.registry import emit
from discreet.release.notes.key_rows import has_complete_keys
from tests.question.clinic import Database, clinic, planned

SAID = ("ward", "age", "born")
COMPLETE = [
    *("ward", "age", "floor(age / 10)", "floor((age + 5) / 10)", "width_bucket(age, 0, 90, 3)", "age > 65"),
    *(
        "month(born)",
        "coalesce(ward, 'south')",
        "CASE WHEN note = 'a' THEN ward ELSE 'south' END",
    ),
    *("coalesce(cost > 1, age > 65)", "ward, age > 65", "GROUPING SETS ((ward), (age > 65), ())"),
]
ALWAYS = [
    *("CASE WHEN note = 'a' THEN 'x' ELSE 'y' END", "note IS NULL", "(cost > 1) IS TRUE"),
    "CASE WHEN ward IN ('north', 'south') THEN ward ELSE 'other' END",
]
NOT_COMPLETE = [
    "cost > 1",  # nobody says that each visit has a cost
    "CASE WHEN cost > 1 THEN 'x' WHEN cost <= 1 THEN 'y' END",
    "CASE WHEN age > 1 THEN TRUE ELSE cost > 1 END",
    "coalesce(cost > 1, note = 'a')",
    "age % 2",
    "ward, cost > 1",
    "GROUPING SETS ((ward), (cost > 1))",
]
ON = "ON visits.patient = labs.patient GROUP BY ward"


def said(*names, **settings):
    """The clinic, whose owner says that every visit has a value of these columns."""
    dataset = clinic(**settings)
    visits = dataset.tables["visits"]
    columns = {name: replace(column, complete=name in names) for name, column in visits.columns.items()}
    return replace(dataset, tables={**dataset.tables, "visits": replace(visits, columns=columns)})


def query(source, names=SAID):
    return planned(f"SELECT count(*) FROM {source}", said(*names)).bounded.query


@pytest.fixture(scope="module")
def database():
    """Visits that have a ward, an age and a date of birth; some have no cost, or no note."""
    found = Database()
    found.fill(
        (
            i,
            ("north", "south")[i % 2],
            i - 3.0 if i % 5 else None,
            7 * i - 30,
            note,
            date(1990 + i, 1 + i % 12, 9),
        )
        for i, note in enumerate(["a", None, "b"] * 12)
    )
    return found


@pytest.mark.parametrize("keys", COMPLETE + ALWAYS)
def test_every_row_is_in_a_group(keys, database):
    """Through the real SQL: each row has one of the values that are listed."""
    found = query(f"visits GROUP BY {keys}")
    assert has_complete_keys(found)
    assert has_complete_keys(query(f"visits GROUP BY {keys}", names=())) is (keys in ALWAYS)
    for key in found.keys:
        column = emit(key.expression, DUCKDB).replace('"t0.', '"')
        values = database.connection.execute(f"SELECT DISTINCT {column} FROM visits").fetchall()
        assert {value for (value,) in values} <= {*key.values}


@pytest.mark.parametrize("keys", NOT_COMPLETE)
def test_rows_may_be_in_no_group(keys):
    assert not has_complete_keys(query(f"visits GROUP BY {keys}"))


def test_what_where_lists_is_all_there_is():
    assert has_complete_keys(query("visits WHERE note IN ('a', 'b') GROUP BY note"))


def test_a_left_join_leaves_gaps():
    assert has_complete_keys(query(f"labs JOIN visits {ON}"))
    assert not has_complete_keys(query(f"labs LEFT JOIN visits {ON}"))
    assert has_complete_keys(query(f"visits LEFT JOIN labs {ON}"))
    assert not has_complete_keys(query("wards RIGHT JOIN visits USING (ward) GROUP BY beds"))
