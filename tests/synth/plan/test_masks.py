"""Conditions on cells mean what they mean on rows."""

import numpy as np
import pytest

from discreet.question.parse import parse_sql
from discreet.question.plain_rows import resolve_rows
from discreet.question.resolve import resolve
from discreet.synth.plan.attributes import attributes_of
from discreet.synth.plan.masks import cells_where, readable, same_for_rows
from tests.question.clinic import Database, clinic, public_keys

SQL = "SELECT ward, age, cost FROM visits"
CONDITIONS = [
    "age > 60",
    "ward = 'north'",
    "ward = 'north' AND age BETWEEN 20 AND 29",
    "ward IS NULL OR age IS NULL",
    "NOT (age < 50)",
    "age % 7 = 3 AND ward LIKE 'n%'",
    "CASE WHEN ward = 'south' THEN age ELSE 0 END > 10",
    "floor(age / 10) IN (3, 5)",
]


def attributes():
    return attributes_of(resolve_rows(parse_sql(SQL), clinic(), public_keys).columns)


def condition(text):
    return resolve(
        parse_sql(f"SELECT count(*) FROM visits WHERE {text}"), clinic(), public_keys
    ).source.predicate


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_cell_counts_if_its_row_would(text):
    columns = attributes()
    chosen = readable(condition(text), columns)
    holds = cells_where(condition(text), columns, chosen)
    sizes = [columns[i].size for i in chosen]
    codes = np.unravel_index(np.arange(len(holds)), sizes)
    values = [
        columns[i].drawn(code, np.random.default_rng(1)).tolist()
        for i, code in zip(chosen, codes, strict=True)
    ]
    names = [columns[i].name for i in chosen]
    database = Database()
    rows = [
        {"ward": None, "age": None, **dict(zip(names, row, strict=True))} for row in zip(*values, strict=True)
    ]
    database.fill([(i, row["ward"], 0.0, row["age"]) for i, row in enumerate(rows)])
    found = database.connection.execute(f"SELECT patient FROM visits WHERE {text} ORDER BY 1").fetchall()
    assert np.flatnonzero(holds).tolist() == [patient for (patient,) in found]


def test_what_cells_cannot_tell_is_not_readable():
    columns = attributes()
    assert readable(condition("age > 60 AND ward = 'north'"), columns) == (0, 1)
    assert readable(condition("cost > 1"), columns) is None  # within a bin
    assert readable(condition("note = 'x'"), columns) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("ward = 'north' OR age > 3", True),
        ("ward IN ('north', 'south') AND NOT (age > 3)", True),
        ("NOT (ward = 'north')", False),
        ("ward <> 'north'", False),
        ("ward IS NULL", False),
        ("ward LIKE 'elsewhere' OR age > 3", False),
        ("age > 3 OR ward LIKE 'n%'", False),
    ],
)
def test_what_undeclared_values_could_make_true_is_told_apart(text, same):
    assert same_for_rows(condition(text), attributes()) is same
