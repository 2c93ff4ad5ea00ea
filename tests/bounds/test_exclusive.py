"""Which conditions can be true together: what is found is never too little, and not much too much."""

from datetime import date
from functools import cache
from itertools import chain, combinations, product

import duckdb
import numpy as np
import pytest

from discreet.bounds.together import exclusive
from discreet.bounds.together.exclusive import patterns_of
from discreet.functions.registry import emit_duckdb
from discreet.model.expression import title
from tests.question.clinic import clinic, planned

MANY = 1000


def conditions(*texts):
    """Conditions of the clinic's visits."""
    counts = ", ".join(f"count(*) FILTER (WHERE {text})" for text in texts)
    plan = planned(f"SELECT {counts} FROM visits", clinic())
    return [measure.condition for measure in plan.bounded.query.measures]


def patterns(*texts):
    """Each as the list of what is true."""
    found = patterns_of(conditions(*texts), MANY)
    return sorted([i for i in range(len(texts)) if pattern >> i & 1] for pattern in found)


@pytest.mark.parametrize(
    "texts",
    [
        ("note = 'a'", "note = 'b'", "note = 'c'"),
        ("age = 1", "age = 2", "age IN (3, 4)"),
        ("age BETWEEN 0 AND 9", "age BETWEEN 10 AND 19", "age BETWEEN 20 AND 29"),
        ("age < 18", "age >= 18 AND age < 65", "age >= 65"),
        ("cost < 0", "cost = 0", "cost > 0"),
        ("born < '2000-01-01'", "born BETWEEN '2000-01-01' AND '2000-12-31'", "born > '2000-12-31'"),
        ("note = 'a' AND age > 5", "note = 'b' AND age > 3", "note = 'c'"),
        ("note = 'a'", "note <> 'a'", "note IS NULL"),
        ("note IN ('a', 'b')", "note NOT IN ('a', 'b')", "note IS NULL"),
        ("10 > age", "NOT age < 10", "age IS NULL"),
    ],
)
def test_conditions_that_exclude_each_other(texts):
    assert patterns(*texts) == [[], [0], [1], [2]]


@pytest.mark.parametrize(
    "texts",
    [
        ("age > 10", "age > 20", "age > 30"),
        ("age >= 10", "age > 10", "age BETWEEN 11 AND 12"),
        ("note IN ('a', 'b', 'c')", "note IN ('a', 'b')", "note = 'a'"),
        ("cost IS NOT NULL", "cost > 0", "cost > 1"),
        ("note = 'a'", "note = 'a' AND age > 5", "note = 'a' AND age > 6"),
        ("note <> 'x'", "note <> 'x' AND cost > 0", "note = 'b' AND cost > 1"),
        ("length(note) > 3", "length(note) > 3 AND age > 5", "length(note) > 4 AND age = 6"),
    ],
)
def test_conditions_of_which_each_implies_the_one_before(texts):
    assert patterns(*texts) == [[], [0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    "texts",
    [
        ("age > 10", "cost > 1"),
        ("age > 10", "age < 20"),
        ("age BETWEEN 0 AND 10", "age BETWEEN 10 AND 20"),
        ("note < 'b'", "note > 'b'"),  # texts have an order of their own, which is not looked at
        ("note LIKE 'a%'", "note = 'b'"),
        ("cost = 0.1", "cost = 0.10000000000000000001"),  # the same double
    ],
)
def test_conditions_that_may_be_true_together(texts):
    assert patterns(*texts) == [[], [0], [0, 1], [1]]


def test_too_many_patterns_are_none():
    texts = [f"length(note) % {i} = 0" for i in range(2, 9)]
    assert patterns_of(conditions(*texts), 128) is not None
    assert patterns_of(conditions(*texts), 127) is None


AGES = (None, 0, 5, 9, 10, 11, 20)
COSTS = (None, -2.0, 0.0, 0.1, 1.0, 4.0)
NOTES = (None, "a", "b", "x")
BORN = (None, date(1999, 12, 31), date(2000, 1, 1))
POSSIBLE = [
    *(f"age {sign} {value}" for sign in ("=", "<>", "<", "<=", ">", ">=") for value in (5, 10)),
    *(f"cost {sign} {value}" for sign in ("=", "<", "<=", ">", ">=") for value in (0, 0.1, 1)),
    *(f"{sign}(age BETWEEN {low} AND {high})" for sign in ("", "NOT ") for low, high in ((0, 5), (6, 20))),
    "note = 'a'", "note <> 'a'", "note IN ('a', 'b')", "note NOT IN ('a', 'b')", "note IS NULL",
    "note IS NOT NULL", "NOT (note = 'a' AND age > 5)", "note = 'a' AND cost > 0.1", "age > 5 OR cost > 1",
    "NOT age > 5", "NOT (note IS NULL)", "born < '2000-01-01'", "born >= '2000-01-01'", "cost IS NULL",
    "age > 5 AND age < 11", "age > 5 AND age < 6", "5 < age", "note = 'a' AND note = 'b'",
    "note IN ('a', 'b') AND note <> 'a'", "note <> 'a' AND note = 'a'", "note = 'a' AND note IS NULL",
]  # fmt: skip


@cache
def possible():
    return [*chain.from_iterable(map(conditions, POSSIBLE))]


@cache
def truths():
    """On which rows of a table with all these values each condition is true, as bits."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE rows (age BIGINT, cost DOUBLE, note VARCHAR, born DATE)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", [*product(AGES, COSTS, NOTES, BORN)])
        columns = [f"({emit_duckdb(each, title)}) IS TRUE" for each in possible()]
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM rows").fetchall()
    return np.array(rows).T


@pytest.mark.parametrize("together", [2, 3])
def test_no_row_has_a_pattern_that_was_not_found(together):
    """All pairs and triples of them."""
    for chosen in combinations(range(len(POSSIBLE)), together):
        found = patterns_of([possible()[i] for i in chosen], MANY)
        seen = np.unique(sum(truths()[i].astype(int) << bit for bit, i in enumerate(chosen)))
        assert {*seen.tolist()} <= {*found}, [POSSIBLE[i] for i in chosen]


@pytest.mark.parametrize("negated", ["", "NOT "])
@pytest.mark.parametrize("step", [200, 1], ids=["apart", "one within the next"])
def test_g4_long_lists_are_looked_up_and_not_compared_value_by_value(negated, step, monkeypatch):
    """Ten lists of 900 values, in 57 kB, took 49 seconds to plan, free of charge."""
    done, lists, values = [], 8, 200
    kind = exclusive._kind
    monkeypatch.setattr(exclusive, "_kind", lambda value: done.append(1) or kind(value))
    first = [0 if step == 1 else i * values for i in range(lists)]
    listed = [", ".join(map(str, range(low, low + values + i))) for i, low in enumerate(first)]
    texts = [f"age {'NOT ' * (i % 2) or negated}IN ({each})" for i, each in enumerate(listed)]
    assert patterns_of(conditions(*texts), MANY) is not None
    assert len(done) < 10 * lists**2 * values
