"""What one person can change, through the real SQL: no norm of an actual move exceeds the claimed one.

Layer 1 of the privacy tests: no noise, no false alarms.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.neighbours import Neighbours
from tests.compile.clinic import Database, clinic, planned

QUESTIONS = [
    "SELECT count(*) FROM visits",
    "SELECT ward, count(*) FROM visits GROUP BY ward",
    "SELECT ward, count(cost) FROM visits WHERE age > 5 GROUP BY ward",
    "SELECT count(DISTINCT patient) FROM visits",
    "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward",
    "SELECT ward, count(DISTINCT patient) FILTER (WHERE cost > 1) FROM visits GROUP BY ward",
    "SELECT sum(cost) FROM visits",
    "SELECT ward, sum(cost) FROM visits GROUP BY ward",
    "SELECT ward, avg(cost), count(*) FILTER (WHERE cost < 0) FROM visits GROUP BY ward",
    "SELECT ward, variance(cost) FROM visits GROUP BY ward",
    "SELECT sum(cost * cost - 3) FROM visits",
    "SELECT cost > 0 AS pays, sum(CASE WHEN ward = 'north' THEN cost ELSE 1 END) FROM visits GROUP BY pays",
    "SELECT floor(age / 50) AS half, ward, sum(age) FROM visits GROUP BY half, ward",
]
RELATIONS = list(Neighbours)

NASTY = [float("nan"), float("inf"), float("-inf"), None, 1e308, -1e308]
ROWS = [
    ("north", 4.0, 3),
    ("south", -2.0, 90),
    ("north", float("nan"), None),
    ("elsewhere", 1e308, -5),
    (None, 0.3, 7),
]
PEOPLE = [[], *([row] for row in ROWS), [ROWS[0], ROWS[1]], [ROWS[0]] * 3, [ROWS[1]] * 2 + [ROWS[0]] * 3]


@pytest.fixture(scope="module")
def database():
    return Database()


def norms(move):
    sizes = [abs(int(x)) for x in move]
    return {
        "l0": sum(1 for size in sizes if size),
        "linf": max(sizes),
        "l1": sum(sizes),
        "l2_squared": sum(size**2 for size in sizes),
    }


def rows_of(people):
    return [(person, *row) for person, rows in enumerate(people) for row in rows]


def compare(plan, first, second):
    """The exact vectors on two neighbouring tables against what the plan claims."""
    for part, a, b in zip(plan.bounded.sums, first, second, strict=True):
        claimed = part.sensitivity(plan.bounded.neighbours)
        for norm, value in norms(a - b).items():
            assert value <= getattr(claimed, norm), (norm, part)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_neighbour_moves_a_sum_further_than_claimed(database, question, relation):
    plan = planned(question, clinic(relation=relation))
    for other in PEOPLE[1:4]:
        exact = []
        for person in PEOPLE:
            database.fill(rows_of([other, person]))
            exact.append(database.exact(plan))
        absent = exact[:1]
        for one, another in product(exact, absent if relation is Neighbours.ADD_REMOVE else exact):
            compare(plan, one, another)


values = st.one_of(st.floats(-10, 10), st.sampled_from(NASTY))
row = st.tuples(
    st.sampled_from(["north", "south", "elsewhere", None, "North", ""]),
    values,
    st.one_of(st.none(), st.integers(-200, 200), st.sampled_from([2**63 - 1, -(2**63)])),
)
person = st.lists(row, max_size=7)


@settings(max_examples=60, deadline=None)
@given(
    question=st.sampled_from(QUESTIONS),
    relation=st.sampled_from(RELATIONS),
    others=st.lists(person, max_size=3),
    one=person,
    other=person,
    max_rows=st.integers(1, 4),
    null_person=st.booleans(),
)
def test_random_people_move_no_sum_further_than_claimed(
    question, relation, others, one, other, max_rows, null_person
):
    database = Database()
    plan = planned(question, clinic(relation=relation, max_rows=max_rows, max_groups=max_rows))
    rest = rows_of(others)
    name = None if null_person else 99
    replaced = other if relation is Neighbours.REPLACE_ONE else []
    exact = []
    for rows in (one, replaced):
        database.fill(rest + [(name, *row) for row in rows])
        exact.append(database.exact(plan))
    compare(plan, *exact)
    database.connection.close()


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
def test_the_claim_is_attained(database, relation):
    """Not needlessly large: a sum over one group, and a count by group."""
    plan = planned("SELECT sum(cost) FROM visits", clinic(relation=relation, max_rows=2))
    database.fill([(1, "north", 4.0, 1)] * 2)
    high = database.exact(plan)[0]
    database.fill([(1, "north", -2.0, 1)] * 2 if relation is Neighbours.REPLACE_ONE else [])
    low = database.exact(plan)[0]
    claimed = plan.bounded.sums[0].sensitivity(relation)
    assert norms(high - low)["l1"] * 4 >= 3 * claimed.l1


def test_a_person_within_the_limit_counts_exactly(database):
    plan = planned("SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward", clinic(max_rows=3))
    database.fill([(1, "north", 1.5, 1), (1, "south", 2.5, 1), (2, "north", -1.0, 1)])
    count, total = (
        vector * float(part.scale)
        for vector, part in zip(database.exact(plan), plan.bounded.sums, strict=True)
    )
    assert count.tolist() == [2, 1]
    assert np.allclose(total.astype(float), [0.5, 2.5], atol=1e-5)


def test_a_heavy_person_weighs_sum_and_count_alike(database):
    """100 rows of one person, at most 2 count: the average of that person is unchanged."""
    plan = planned("SELECT avg(cost) FROM visits", clinic(max_rows=2))
    database.fill([(1, "north", 3.0, 1)] * 100)
    count, total = (
        float(vector[0] * part.scale)
        for vector, part in zip(database.exact(plan), plan.bounded.sums, strict=True)
    )
    assert count == pytest.approx(2, rel=1e-4)
    assert total / count + float(plan.bounded.sums[1].offset) == pytest.approx(3.0, abs=1e-4)


def test_rows_without_a_person_are_one_person(database):
    plan = planned("SELECT count(*) FROM visits", clinic(max_rows=2))
    database.fill([(None, "north", 1.0, 1)] * 50)
    assert float(database.exact(plan)[0][0] * plan.bounded.sums[0].scale) == pytest.approx(2, rel=1e-4)


def test_nan_and_infinity_do_not_count(database):
    plan = planned("SELECT count(cost), sum(cost) FROM visits", clinic(rows=True))
    database.fill([(1, "north", value, 1) for value in NASTY])
    count, total = database.exact(plan)
    assert count[0] == 2  # the two finite ones, clamped
    assert float(total[0] * plan.bounded.sums[1].scale) == pytest.approx(2.0)


def test_groups_without_rows_are_there(database):
    plan = planned("SELECT ward, count(*) FROM visits GROUP BY ward", clinic())
    database.fill([])
    assert [vector.tolist() for vector in database.exact(plan)] == [[0, 0]]
