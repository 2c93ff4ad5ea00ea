"""Rows as whole numbers: what is left out, what is clamped, and who is who."""

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.dialects.duckdb import DUCKDB
from discreet.model.expression import Field
from discreet.model.policy import ValueType
from discreet.model.query import Scan
from discreet.sql.plain_rows import Code, Coordinate, ProductQuery, emit_products, emit_rows
from tests.question.clinic import clinic

VISITS = "visits(patient, age, cost)"
AGE = Field(name="t0.age", type=ValueType.INTEGER)
COST = Field(name="t0.cost", type=ValueType.NUMBER)


def code(value, *, offset=0, grid=1, low=-5, high=5):
    return Code(value=value, offset=Fraction(offset), grid=Fraction(grid), low=low, high=high)


def run(statement, rows):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (patient BIGINT, age BIGINT, cost DOUBLE)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
        found = connection.execute(statement.sql).fetchnumpy()
    return {name: np.ma.asarray(column).tolist() for name, column in found.items()}


def scan(**settings):
    return Scan(table=clinic(**settings).tables["visits"], alias="t0")


def test_codes_are_rounded_and_stay_between_their_ends_whatever_a_row_holds():
    """Also where nothing below has clamped them: a field without a range."""
    rows = [(1, 2, 0.24), (2, 900, 0.25), (3, -900, 1e300), (4, 3, -1e300)]
    statement = emit_rows(scan(), [code(AGE), code(COST, grid=Fraction(1, 2))], {"visits": "visits"}, DUCKDB)
    found = run(statement, rows)
    by_person = sorted(zip(found["person"], found["c0"], found["c1"], strict=True))
    assert by_person == [(1, 2, 0), (2, 5, 1), (3, -5, 5), (4, 3, -5)]


def test_rows_without_a_value_are_left_out():
    rows = [(1, None, 1.0), (2, 1, None), (3, 1, float("nan")), (4, 1, float("inf")), (5, 1, 1.0)]
    found = run(emit_rows(scan(), [code(AGE), code(COST)], {"visits": "visits"}, DUCKDB), rows)
    assert (found["c0"], found["c1"]) == ([1], [1])


def test_people_without_an_id_are_one_person():
    rows = [(None, 1, 1.0), (None, 2, 1.0), (7, 3, 1.0), (7, 4, 1.0), (9, 5, 1.0)]
    found = run(emit_rows(scan(), [code(AGE)], {"visits": "visits"}, DUCKDB), rows)
    persons = dict(zip(found["c0"], found["person"], strict=True))
    assert persons[1] == persons[2]
    assert persons[3] == persons[4]
    assert len(set(persons.values())) == 3


def test_nobody_is_numbered_where_each_row_is_a_person():
    found = run(emit_rows(scan(rows=True), [code(AGE)], {"visits": "visits"}, DUCKDB), [(1, 1, 1.0)] * 3)
    assert found == {"c0": [1, 1, 1]}


@pytest.mark.parametrize("order", [1, 2])
def test_products_are_summed_by_length_with_the_weight_of_each_person(order):
    weight = Weight(norm=Norm.L1, unit=Unit.ROWS, square=1, bits=2)
    query = ProductQuery(
        source=scan(),
        codes=(code(AGE), code(COST)),
        coordinates=(
            Coordinate(code=0, mark=None, one=5),
            Coordinate(code=1, mark=2, one=4),
        ),
        pairs=((0, 0), (0, 1)),
        order=order,
        ends=(3, 9, 100),
        weight=weight,
    )
    rows = [(1, 3, 2.0), (2, -3, 0.0), (2, 1, 0.0), (3, 0, 2.0), (None, 2, 2.0), (None, 2, 2.0)]
    found = run(emit_products(query, {"visits": "visits"}, DUCKDB), rows)
    places = {}
    for _, age, cost in rows:
        patient = next(p for p, a, c in rows if (a, c) == (age, cost))
        w = 4 // sum(p == patient for p, _, _ in rows)
        v = (age, 4 if cost == 2 else 0)
        length = sum(abs(x) ** order for x in v)
        place = 0 if length <= 3 else 1 if length <= 9 else 2
        added = np.array([w, w * v[0], w * v[1], w * v[0] ** 2, w * v[0] * v[1]])
        places[place] = places.get(place, 0) + added
    assert query.columns == ("s0", "s1", "s2", "s3", "s4")
    columns = zip(*(found[name] for name in query.columns), strict=True)
    assert dict(zip(found["place"], columns, strict=True)) == {k: tuple(v) for k, v in places.items()}
