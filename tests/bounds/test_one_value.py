"""What a person has one of (`per_person`, and all columns of a unique table): each person is in one group.

Layer 1 of the privacy tests, as in test_one_person, with data for which the declaration is wrong: people have
rows that differ in what they should have one of. Whatever the rows hold, no vector moves further than
claimed, under both relations and both ways of weighing, with public and with private keys.
"""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates.vectors import LeftOut, WeightedSum
from discreet.bounds.one_value import fields_with_one_value
from discreet.model.neighbours import Neighbours
from tests.bounds.test_one_person import (
    DELTAS,
    PEOPLE,
    RELATIONS,
    compare,
    compare_keys,
    person,
    rows_of,
    tests_of,
)
from tests.question.clinic import Database, clinic, has_one_of, planned

DECLARED = ("ward", "age", "note", "born")
"""What the policy says a patient has one of. No patient in these tests keeps to it."""
PUBLIC = [
    "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward",
    "SELECT ward, count(DISTINCT patient) FILTER (WHERE cost > 0) FROM visits GROUP BY ward",
    "SELECT ward, count(*), sum(cost), avg(cost), variance(cost) FROM visits WHERE age > 2 GROUP BY ward",
    "SELECT floor(age / 50) AS half, ward, count(DISTINCT patient), count(*) FROM visits GROUP BY half, ward",
    "SELECT ward, median(cost), count(DISTINCT note), count(DISTINCT cost > 0) FROM visits GROUP BY ward",
    "SELECT count(DISTINCT note), count(DISTINCT patient) FROM visits",
    "SELECT ward, age > 50 AS old, count(DISTINCT patient), sum(cost) FROM visits GROUP BY CUBE (ward, old)",
    "SELECT ward, cost > 0 AS pays, count(DISTINCT patient) FROM visits GROUP BY ROLLUP (ward, pays)",
    "SELECT patient % 2 = 0 AS even, count(DISTINCT patient), sum(cost) FROM visits GROUP BY even",
    "SELECT ward, count(DISTINCT v.patient), sum(level) FROM visits v JOIN labs l ON v.patient = l.patient"
    " GROUP BY ward",
    "SELECT ward, count(DISTINCT l.patient), count(*) FROM labs l LEFT JOIN visits v"
    " ON v.patient = l.patient AND v.age = l.level WHERE ward IN ('north', 'south') GROUP BY ward",
    "SELECT coalesce(ward, 'none') AS place, count(DISTINCT l.patient) FROM labs l LEFT JOIN visits v"
    " ON v.patient = l.patient AND v.cost = l.level"
    " WHERE coalesce(ward, 'none') IN ('north', 'none') GROUP BY place",
    "SELECT w, sum(n), count(DISTINCT patient) FROM (SELECT patient, ward AS w, age, count(*) AS n"
    " FROM visits GROUP BY patient, ward, age) WHERE w IN ('north', 'south') GROUP BY w",
    "SELECT region, count(DISTINCT patient) FROM visits JOIN wards ON visits.ward = wards.ward"
    " GROUP BY region",
    "SELECT ward, count(DISTINCT patient) FROM (SELECT patient, ward FROM visits UNION ALL"
    " SELECT patient, test AS ward FROM labs) WHERE ward IN ('north', 'x') GROUP BY ward",
]
PRIVATE = [
    "SELECT note, count(*) FROM visits GROUP BY note",
    "SELECT note, count(DISTINCT patient), avg(cost) FROM visits WHERE cost > 0 GROUP BY note",
    "SELECT note, sum(cost) FROM visits GROUP BY note",
    "SELECT note, born, count(*), count(DISTINCT patient) FROM visits GROUP BY note, born",
    "SELECT left(note, 1) AS initial, count(*) FROM visits GROUP BY initial",
    "SELECT note, count(*) FROM visits JOIN labs USING (patient) GROUP BY note",
    "SELECT note, count(*) FROM labs l LEFT JOIN visits v ON v.patient = l.patient AND v.age = l.level"
    " GROUP BY note",
    "SELECT right(CAST(patient AS TEXT), 1) AS last, count(*) FROM visits GROUP BY last",
]


def declared(columns=DECLARED, **settings):
    """The clinic, with columns of which a patient is said to have one value."""
    return has_one_of(*columns, **settings)


def unique(**settings):
    """The clinic in which nobody has two visits, joined with labs, of which they have several."""
    return clinic(unique=True, **settings)


@pytest.fixture(scope="module")
def database():
    return Database()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("question", PUBLIC)
def test_no_neighbour_moves_a_vector_further_than_claimed(database, question, delta):
    labs = [(0, "x", 9), (0, "y", 3), (1, "x", 3), (1, "z", 90), (1, "w", 4)]
    added, replaced = (
        planned(question, declared(relation=relation, delta=delta, max_rows=3, max_groups=2))
        for relation in RELATIONS
    )
    exact = []
    for one in PEOPLE:
        database.fill(rows_of([PEOPLE[6], one]), labs if one else labs[:2])
        exact.append(database.exact(added))
    for one in exact:
        compare(added, one, exact[0])
    for one, another in product(exact, exact):
        compare(replaced, one, another)


@settings(max_examples=120, deadline=None)
@given(
    question=st.sampled_from(PUBLIC),
    relation=st.sampled_from(RELATIONS),
    delta=st.sampled_from(DELTAS),
    others=st.lists(person, max_size=3),
    people=st.tuples(person, person),
    labs=st.tuples(tests_of, tests_of, tests_of),
    limits=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    columns=st.sets(st.sampled_from(DECLARED)),
    name=st.sampled_from([99, None]),
)
def test_random_people_move_no_vector_further_than_claimed(
    question, relation, delta, others, people, labs, limits, columns, name
):
    database = Database()
    dataset = declared(columns, relation=relation, delta=delta, max_rows=limits[0], max_groups=limits[1])
    plan = planned(question, dataset)
    second = (people[1], labs[1]) if relation is Neighbours.REPLACE_ONE else ([], [])
    exact = []
    for rows, tests in ((people[0], labs[0]), second):
        database.fill(
            rows_of(others) + [(name, *row) for row in rows],
            [(0, *test) for test in labs[2]] + [(name, *test) for test in tests],
        )
        exact.append(database.exact(plan))
    compare(plan, *exact)
    database.connection.close()


@settings(max_examples=120, deadline=None)
@given(
    question=st.sampled_from(PRIVATE),
    relation=st.sampled_from(RELATIONS),
    others=st.lists(person, max_size=3),
    people=st.tuples(person, person),
    tests=tests_of,
    limits=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    columns=st.sets(st.sampled_from(DECLARED)),
)
def test_private_keys_of_one_person_are_as_few_and_as_small_as_claimed(
    question, relation, others, people, tests, limits, columns
):
    database = Database()
    dataset = declared(columns, relation=relation, delta="1e-6", max_rows=limits[0], max_groups=limits[1])
    plan = planned(question, dataset)
    found = []
    for rows in (people[0], people[1] if relation is Neighbours.REPLACE_ONE else []):
        database.fill(
            rows_of(others) + [(99, *row) for row in rows], [(99, *test) for test in tests] if rows else []
        )
        found.append(database.by_key(plan))
    compare_keys(plan, *found)
    database.connection.close()


@pytest.mark.parametrize("question", PRIVATE[:6])
def test_a_person_whose_rows_differ_has_one_private_key(database, question):
    plan = planned(question, declared(delta="1e-6", max_rows=3, max_groups=2))
    database.fill([(1, "north", 1.0, i, note) for i, note in enumerate("abc")], [(1, "x", 3), (1, "y", 4)])
    selecting = database.by_key(plan)[plan.bounded.selector]
    assert [key for key, (count,) in selecting.items() if count] == [
        key for key in selecting if key[0] == "a"
    ]
    assert plan.bounded.parts[plan.bounded.selector].sensitivity(Neighbours.ADD_REMOVE).l0 == 1


# What it is for


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
@pytest.mark.parametrize("delta", DELTAS)
def test_people_by_what_they_have_one_of_have_the_noise_of_one_group(relation, delta):
    question = "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward"
    settings = {"relation": relation, "delta": delta, "max_rows": 9}
    one, several = (planned(question, clinic(**settings, max_groups=most)) for most in (1, 7))
    said = planned(question, declared(**settings, max_groups=7))
    errors = [plan.error(plan.bounded.measures[0]).high for plan in (said, one, several)]
    assert errors[0] <= errors[1] < errors[2]
    assert not any(isinstance(part, LeftOut) for part in said.bounded.parts)


def test_more_private_keys_are_named():
    question = "SELECT note, count(DISTINCT patient) FROM visits GROUP BY note"
    settings = {"delta": "1e-6", "max_rows": 20, "max_groups": 10}
    said, several = planned(question, declared(**settings)), planned(question, clinic(**settings))
    needed = [
        plan.threshold.threshold * plan.bounded.parts[plan.bounded.selector].scale for plan in (said, several)
    ]
    assert 2 * needed[0] < needed[1]


@pytest.mark.parametrize("delta", DELTAS)
def test_the_smallest_value_in_the_table_counts_whatever_is_filtered(database, delta):
    """A patient has rows in both wards. Their ward is north, also where only rows of south are left."""
    dataset = declared(delta=delta, max_rows=4)
    database.fill([(1, "south", 3.0, 1), (1, "north", 1.0, 2), (1, None, 2.0, 3), (2, "south", 3.0, 4)])
    counted = "SELECT ward, count(*), count(DISTINCT patient), sum(cost) FROM visits {} GROUP BY ward"
    rows, people, costs = database.values(planned(counted.format(""), dataset))
    assert (rows.tolist(), people.tolist()) == ([3, 1], [1, 1])
    assert costs.tolist() == pytest.approx([6, 3])
    rows, people, _ = database.values(planned(counted.format("WHERE cost > 2.5"), dataset))
    assert (rows.tolist(), people.tolist()) == ([1, 1], [1, 1])
    rows, people, _ = database.values(planned(counted.format("WHERE ward = 'south'"), dataset))
    assert (rows.tolist(), people.tolist()) == ([1], [1])


def test_who_has_no_value_at_all_has_none(database):
    database.fill([(1, None, 1.0, 1), (1, None, 2.0, 1), (2, "north", 1.0, 1), (2, None, 1.0, 1)])
    place = "coalesce(ward, 'none')"
    question = f"SELECT {place} AS place, count(DISTINCT patient), count(*) FROM visits"
    plan = planned(f"{question} WHERE {place} IN ('none', 'north') GROUP BY place", declared(max_rows=4))
    people, rows = database.values(plan)
    assert (people.tolist(), rows.tolist()) == ([1, 1], [2, 2])


def test_not_a_number_is_no_smallest_value(database):
    """Of a column of numbers: NaN and infinite values are missing, and do not hide the others."""
    database.fill([(1, "north", float("-inf"), 1), (1, "north", float("nan"), 1), (1, "north", 3.0, 1)])
    plan = planned("SELECT sum(cost), count(cost) FROM visits", declared(("cost",), max_rows=3))
    assert [values.tolist() for values in database.values(plan)] == [
        [pytest.approx(9, abs=1e-4)],
        [3],
    ]


def test_rows_without_a_person_have_one_value_together(database):
    database.fill([(None, "south", 1.0, 1), (None, "north", 1.0, 1), (1, "south", 1.0, 1)])
    plan = planned("SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward", declared())
    assert database.values(plan)[0].tolist() == [1, 1]


# Where it holds


JOINED = "FROM labs l JOIN visits v ON v.patient = l.patient"


@pytest.mark.parametrize(
    ("question", "one_each"),
    [
        (f"SELECT ward, count(*) {JOINED} GROUP BY ward", True),
        (f"SELECT ward, floor(age / 50) AS half, count(*) {JOINED} GROUP BY ward, half", True),
        (f"SELECT ward, level, count(*) {JOINED} GROUP BY ward, level", False),
        (f"SELECT ward, count(*) {JOINED.replace('JOIN', 'LEFT JOIN')} GROUP BY ward", True),
        (
            f"SELECT ward, count(*) {JOINED.replace('JOIN', 'LEFT JOIN')} AND v.age = l.level GROUP BY ward",
            False,
        ),
        ("SELECT ward, count(*) FROM visits GROUP BY ward", True),
        ("SELECT test, count(*) FROM labs WHERE test IN ('x') GROUP BY test", False),
        (
            "SELECT n, count(*) FROM labs JOIN (SELECT patient, count(*) AS n FROM labs GROUP BY patient)"
            " USING (patient) GROUP BY n",
            True,
        ),
        (
            "SELECT n, count(*) FROM (SELECT patient, test, count(*) AS n FROM labs GROUP BY patient, test)"
            " GROUP BY n",
            False,
        ),
    ],
)
def test_every_column_of_a_unique_table_is_one_that_a_person_has_one_of(question, one_each):
    (part, *_) = planned(question, unique()).bounded.parts
    assert isinstance(part, WeightedSum)
    assert part.one_each is one_each


def test_rows_of_several_tables_may_differ():
    rows = "SELECT patient, ward AS k FROM visits UNION ALL SELECT patient, test AS k FROM labs"
    plan = planned(f"SELECT k, count(*) FROM ({rows}) WHERE k IN ('x', 'north') GROUP BY k", declared())
    assert not plan.bounded.parts[0].one_each


@pytest.mark.parametrize(("key", "values"), [("ward", 1), ("cost > 0", 5)])
def test_of_what_a_person_has_one_of_one_value_counts_in_each_group_that_they_are_in(key, values):
    question = f"SELECT {key} AS k, count(DISTINCT note) FROM visits GROUP BY k"
    plan = planned(question, declared(max_rows=9, max_groups=5))
    assert plan.bounded.parts[0].values == values
    assert any(isinstance(part, LeftOut) for part in plan.bounded.parts) is (values > 1)


@pytest.mark.parametrize(("matches", "known"), [(1, True), (2, False)])
def test_what_is_looked_up_by_it_is_so_too_if_one_row_matches(matches, known):
    plan = planned(
        "SELECT region, count(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY region",
        declared(),
    )
    lookup = replace(plan.bounded.query.source, matches=matches)
    assert ("t1.region" in fields_with_one_value(lookup)) is known


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(
    "question",
    [
        f"SELECT ward, count(DISTINCT v.patient), count(*), sum(level) {JOINED} GROUP BY ward",
        f"SELECT age >= 50 AS old, ward, count(DISTINCT v.patient) {JOINED} GROUP BY old, ward",
    ],
)
def test_people_of_a_unique_table_move_no_vector_further_than_claimed(database, question, delta, relation):
    plan = planned(question, unique(relation=relation, delta=delta, labs_limit=2))
    labs = [(0, "x", 9), (0, "y", 3)]
    others = [[], *([row] for row in PEOPLE[6]), *([row] for row in PEOPLE[8][-1:])]
    exact = []
    for one, tests in product(others, ([], [(1, "x", 3)], [(1, "x", 3)] * 5)):
        database.fill(rows_of([PEOPLE[1], one]), labs + tests)
        exact.append(database.exact(plan))
    for one, another in product(exact, exact if relation is Neighbours.REPLACE_ONE else exact[:1]):
        compare(plan, one, another)
