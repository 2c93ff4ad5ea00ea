"""Which rows are in no group is said, and how to have them counted; what is recommended works when typed."""

import re

import duckdb
import pytest

import discreet
from discreet.release.notes.key_notes import key_notes
from tests.question.clinic import clinic, planned


def notes(sql):
    return [note for note in key_notes(planned(sql, clinic()).bounded.query) if "no group" in note]


def by(key):
    return notes(f"SELECT {key} AS k, count(*) AS n FROM visits GROUP BY k")


@pytest.mark.parametrize(
    ("key", "note"),
    [
        ("ward", "Rows whose k is missing or not listed are in no group."),
        ("coalesce(ward, 'none')", "Rows whose k is not listed are in no group."),
        ("CASE WHEN ward = 'north' THEN 'n' END", "Rows without k are in no group."),
        (
            "CASE WHEN age < 9 THEN ward ELSE 'x' END",
            "Rows whose k is missing or not listed are in no group.",
        ),
        ("age", "Rows without k are in no group."),
        ("floor(age / 10)", "Rows without k are in no group."),
        ("age > 65", "Rows without k are in no group."),
        ("month(born)", "Rows without k are in no group."),
    ],
)
def test_rows_that_are_in_no_group_are_told(key, note):
    (told,) = by(key)
    assert told.startswith(note)


@pytest.mark.parametrize(
    "key",
    [
        "CASE WHEN ward IN ('north', 'south') THEN ward ELSE 'other' END",
        "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END",
        "coalesce(age, -1)",
        "ward IS NULL",
    ],
)
def test_where_every_row_is_in_a_group_nothing_is_said(key):
    assert by(key) == []


def test_what_where_lists_the_question_leaves_out_itself():
    assert (
        notes("SELECT note, count(*) AS n FROM visits WHERE note IN ('a', 'b') AND age > 5 GROUP BY note")
        == []
    )
    assert notes("SELECT ward, count(*) AS n FROM visits WHERE ward = 'north' GROUP BY ward") == []
    assert notes("SELECT ward, count(*) AS n FROM visits WHERE note IN ('a', 'b') GROUP BY ward") != []


def test_all_values_of_a_public_table_are_listed():
    joined = "SELECT region, count(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY region"
    (told,) = notes(joined)
    assert told.startswith("Rows without region are in no group.")


def test_a_count_of_a_person_is_never_missing():
    each = "(SELECT patient, count(*) AS n FROM visits GROUP BY patient) AS t"
    assert notes(f"SELECT n, count(*) AS people FROM {each} GROUP BY n") == []
    assert notes(f"SELECT floor(n / 2) AS h, count(*) AS people FROM {each} GROUP BY h") == []
    assert notes(f"SELECT nullif(n, 1) AS h, count(*) AS people FROM {each} GROUP BY h") != []


def test_an_answer_shows_the_labels_of_its_groups(tmp_path):
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet'")
    (tmp_path / "discreet.toml").write_text(POLICY)
    with discreet.open(tmp_path / "discreet.toml") as curator:
        answer = curator.ask("SELECT age, count(*) AS n FROM visits GROUP BY age", epsilon=100)
    assert answer.released.ends == {"age": (0, 9)}
    lines = str(answer).splitlines()
    assert [lines[1].split()[:2], lines[2].split()[0], lines[10].split()[:2]] == [["≤", "0"], "1", ["≥", "9"]]
    assert "age: 9 means 9 or more, and 0 means 0 or less, as values are clamped." in lines
    assert answer["age"].tolist() == list(range(10))


POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 0 }
[tables.visits]
source = "visits.parquet"
person = "row"
[tables.visits.columns.ward]
keys = ["north", "south"]
[tables.visits.columns.age]
bounds = [0, 9]
[tables.visits.columns."two words"]
bounds = [5, 6]
[tables.visits.columns.code]
keys = [1, 2]
"""
ROWS = (
    "SELECT CASE WHEN i < 100 THEN NULL WHEN i < 300 THEN 'lost' ELSE 'north' END AS ward,"
    " CASE WHEN i < 100 THEN NULL ELSE i % 10 END AS age,"
    ' CASE WHEN i < 100 THEN NULL ELSE 5 END AS "two words",'
    " CASE WHEN i < 100 THEN NULL ELSE i > 500 END AS urgent,"
    " CASE WHEN i < 100 THEN NULL WHEN i < 300 THEN 7 ELSE 1 END AS code FROM range(1000) AS r(i)"
)


@pytest.mark.parametrize(
    ("key", "values", "beside"),
    [
        ("ward", "'north', 'south'", 300),
        ("age", "", 100),
        ('"two words"', "", 100),
        ("urgent", "", 100),
        ("code", "1, 2", 300),
    ],
)
def test_what_is_recommended_counts_them(tmp_path, key, values, beside):
    """Noise of scale 0.01 moves no count by one, but with a probability below 10⁻²⁰."""
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet'")
    (tmp_path / "discreet.toml").write_text(POLICY)
    with discreet.open(tmp_path / "discreet.toml") as curator:
        found = curator.ask(f"SELECT {key}, count(*) AS n FROM visits GROUP BY 1", epsilon=100)
        assert found["n"].sum() == 1000 - beside
        (told,) = [note for note in found.released.notes if "no group" in note]
        remedy = re.search(r"GROUP BY (.*)\.$", told)[1].replace("…", values)
        counted = curator.ask(f"SELECT {remedy} AS k, count(*) AS n FROM visits GROUP BY k", epsilon=100)
    assert counted["n"].sum() == 1000
    assert beside in counted["n"].tolist()
