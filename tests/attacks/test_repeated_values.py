"""Attacks G4, continued: values that databases write several times by themselves, level upon level."""

import duckdb
import pytest

from discreet.dialects.duckdb import DUCKDB
from discreet.dialects.parameters import Parameters
from discreet.dialects.postgres import POSTGRES
from discreet.functions.registry import build_call, emit
from discreet.model.expression import Field, Literal
from discreet.model.policy import ValueType

AGE = Field(name="age", type=ValueType.INTEGER)
NOTE = Field(name="note", type=ValueType.TEXT)
LEVELS = 6


def whole(value):
    return Literal(value=value, type=ValueType.INTEGER)


def text(value):
    return Literal(value=value, type=ValueType.TEXT)


def chosen(condition):
    return build_call("case", (condition, whole(1), whole(2)))


NESTED = {
    "between": (AGE, lambda x: chosen(build_call("between", (x, whole(0), whole(1))))),
    "between in an end": (AGE, lambda x: chosen(build_call("between", (AGE, whole(0), x)))),
    "in": (AGE, lambda x: chosen(build_call("in", (x, whole(1), whole(2), whole(3))))),
    "split_part": (NOTE, lambda x: build_call("split_part", (x, text("-"), whole(1)))),
}


def nested(name, levels):
    expression, once_more = NESTED[name]
    for _ in range(levels):
        expression = once_more(expression)
    return expression


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize(("dialect", "naming"), [(DUCKDB, "list_transform("), (POSTGRES, " OFFSET 0")])
def test_g4_a_value_that_a_database_repeats_is_named(name, dialect, naming):
    """BETWEEN, short lists and split_part become several comparisons or calls. Nested nine times, 600
    characters took DuckDB 4 to 30 s to plan, free of charge, and each level four times as much. PostgreSQL
    copies what is before BETWEEN: fourteen levels took it 3 s and 360 MB.
    """
    bound = dialect.binding(Parameters())
    assert emit(nested(name, LEVELS), bound).count(naming) >= LEVELS - 3


@pytest.mark.parametrize("name", NESTED)
def test_usual_questions_need_no_names(name):
    assert "list_transform(" not in emit(nested(name, 2), DUCKDB)


@pytest.mark.parametrize("name", NESTED)
def test_a_value_with_a_name_is_the_same(name):
    """NESTED once more, around a sum that has to be named, and around the column itself."""
    field, once_more = NESTED[name]
    if field is AGE:
        zero = build_call("-", (AGE, AGE))
        same = build_call("+", (build_call("+", (AGE, zero)), zero))
    else:
        same = build_call(
            "left", (build_call("right", (build_call("left", (NOTE, whole(9))), whole(9))), whole(9))
        )
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE visits AS SELECT * FROM"
            " (VALUES (0, 'a-b'), (2, 'b'), (7, '-'), (NULL, NULL)) AS t(age, note)"
        )
        named, plain = (
            database.execute(f"SELECT {emit(once_more(each), DUCKDB)} FROM visits").fetchall()
            for each in (same, field)
        )
    assert "list_transform(" in emit(once_more(same), DUCKDB)
    assert named == plain
