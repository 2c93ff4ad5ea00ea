"""Whatever is asked, one person moves no vector further than claimed, and SQL means what it means.

Random questions on random rows, through the real SQL: no noise, no false alarms. Examples are the same
every time; with DISCREET_HUNT=5000 in the environment, as many others.
"""

import os
from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from discreet.errors import QueryRefused
from discreet.model.neighbours import Neighbours
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from tests.bounds.test_one_person import DELTAS, RELATIONS, compare, compare_keys, person, rows_of, tests_of
from tests.question.clinic import Database, clinic, has_one_of, planned
from tests.question.random_questions import questions
from tests.question.releasing import release

SHAPES = {
    *("visits", "labs", "WITH", "CTE used again", "subquery of rows", "UNION ALL", "lookup"),
    *("per person", "per person and key", "HAVING of people", "join of people", "join of people on more"),
    *("LEFT JOIN", "WHERE", "FILTER", "grouping sets", "selection", "private keys", "quantile"),
    *("count", "count people", "count other", "sum", "avg", "variance", "count_if", "pairs of numbers"),
    *("people of a subquery", "EXISTS", "pattern", "dates", "days as keys", "bins", "other ways to write"),
}
TOO_MUCH = ("could have too many rows", "too many different things", "computes too much from the rows")
"""Why a question may be refused for what one person's rows would take."""
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
HUNT = int(os.environ.get("DISCREET_HUNT", "0"))
RANDOM = settings(max_examples=HUNT or 300, derandomize=not HUNT, suppress_health_check=SLOW)
NO_TIE = np.pi / 10_000  # 0.0525, off by its last bit, would be 0.052 or 0.053
DATABASE = Database()
ASKED: Counter[str] = Counter()


WORST = [
    ("north", 4.0, 3, "a"),
    ("south", -2.0, 99, "b"),
    ("north", 4.0, 50, "c"),
    ("south", 2.5, 7, "d"),
] * 2
"""Somebody who is everywhere, has everything, and more of it than anybody counts for."""
WORST_TESTS = [("x", 9), ("y", 7), ("z", 3), ("x", 3)]


@st.composite
def neighbours(draw, relation, *, unique):
    """The rows of both tables with a person, and without or with another in their place."""
    most = 1 if unique else 8
    name = draw(st.sampled_from([99, 99, None]))
    others = draw(st.lists(person, max_size=2))
    rest = rows_of([rows[:most] for rows in others])
    rest_labs = [(0, *test) for test in draw(tests_of)]
    found = []
    for present in (True, relation is Neighbours.REPLACE_ONE):
        worst = draw(st.integers(0, 3)) < 3
        rows = (WORST if worst else draw(person))[:most] if present else []
        tests = (WORST_TESTS if worst else draw(tests_of)) if present else []
        visits = rest + [(name, *row[:4], date(2026, 1, 1 + i)) for i, row in enumerate(rows)]
        found.append((visits, rest_labs + [(name, *test) for test in tests]))
    return found


def test_no_question_lets_one_person_move_more_than_claimed():
    """And every shape of a question is among those that were asked."""
    ASKED.clear()
    ask_of_neighbours()
    assert set(+ASKED) >= SHAPES


@RANDOM
@given(st.data(), questions(), st.sampled_from(RELATIONS), st.sampled_from(DELTAS))
def ask_of_neighbours(data, question, relation, delta):
    said = data.draw(st.sets(st.sampled_from(["ward", "cost", "age", "note", "born"])))
    dataset = has_one_of(  # of these, although nobody has one only
        *said,
        relation=relation,
        delta="1e-6" if question.private else delta,
        unique=data.draw(st.sampled_from([False, False, True])),
        max_rows=data.draw(st.integers(1, 4)),
        max_groups=data.draw(st.integers(1, 3)),
        labs_limit=data.draw(st.integers(1, 3)),
    )
    plan = asked(question, dataset)
    private = plan.bounded.query.private_keys
    exact = []
    for visits, labs in data.draw(neighbours(relation, unique=dataset.tables["visits"].unique)):
        DATABASE.fill(visits, labs)
        exact.append(DATABASE.by_key(plan) if private else DATABASE.exact(plan))
    (compare_keys if private else compare)(plan, *exact)


def asked(question, dataset):
    try:
        plan = planned(question.sql, dataset)
    except QueryRefused as refused:  # each side of a join may have 32 rows of a person, or more
        assert any(reason in str(refused) for reason in TOO_MUCH)  # noqa: PT017
        reject()
    ASKED.update(question.shapes)
    ASKED["private keys"] += plan.bounded.query.private_keys
    return plan


# What questions mean

fair_row = st.tuples(
    st.sampled_from(["north", "south"]),
    st.integers(-8, 16).map(lambda quarters: quarters / 4),
    st.integers(0, 99),
    st.sampled_from(["a", "b", "bb"]),
    st.sampled_from([date(2026, 1, 1), date(2026, 2, 28)]),
)
fair_test = st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 9))


@st.composite
def fair_people(draw):
    """Rows of people who are all within every limit, without NULLs and within all bounds."""
    people = range(draw(st.integers(0, 6)))
    return (
        [(one, *row) for one in people for row in draw(st.lists(fair_row, max_size=3))],
        [(one + 1, *test) for one in people for test in draw(st.lists(fair_test, max_size=3))],
    )


def without_noise(patch):
    def exact(_, vector, **__):
        return np.array(vector)

    for law in (DiscreteLaplace, DiscreteGaussian):
        patch.setattr(law, "release", exact)


@RANDOM
@given(questions(), st.sampled_from(DELTAS), fair_people())
def test_without_noise_and_within_all_limits_answers_are_those_of_plain_sql(question, delta, rows):
    if not question.exact:
        return
    limits = {"max_rows": 12, "max_groups": 12, "labs_limit": 12}
    try:
        plan = planned(question.sql, clinic(delta="1e-6" if question.private else delta, **limits))
    except QueryRefused:  # too many joins: a person could have 12 to that number of rows
        return
    if plan.threshold is not None:
        if plan.bounded.parts[plan.bounded.selector].weighing.whole < 2:
            return  # one person alone is never named
        plan = replace(plan, threshold=replace(plan.threshold, threshold=2))
    DATABASE.fill(*rows)
    with pytest.MonkeyPatch.context() as patch:
        without_noise(patch)
        released = release(plan, DATABASE.results(plan))
    answer = list(zip(*(released.values[name].tolist() for name in released.columns), strict=True))
    agree(plan, question, answer, DATABASE.connection.execute(question.sql).fetchall())


def agree(plan, question, answer, truth):
    """Every group that SQL has, but for those of NULL or of no public key; all others are empty."""
    size = len(question.keys)
    several = len(plan.bounded.query.sets) > 1
    listed = [None if key.values is None else set(key.values) for key in plan.bounded.query.keys]
    expected = Counter()
    for row in truth:
        public = all(
            values is None or value in values or (several and value is None)
            for value, values in zip(row[:size], listed, strict=True)
        )
        if public:
            expected[rounded(row, size)] += 1
    found = Counter(rounded(row, size) for row in answer)
    named = {row[:size] for row in expected}
    empty = Counter({row: n for row, n in found.items() if row[:size] not in named})
    assert found - empty == expected
    assert all(not cell for row in empty for cell in row[size:])


def rounded(row, keys):
    """Sums of values on the grid agree to far more digits; a sum of nothing is 0 here, and NULL in SQL."""
    numbers = (0.0 if cell is None else float(cell) for cell in row[keys:])
    return (*row[:keys], *(0.0 if np.isnan(each) else round(each + NO_TIE, 3) for each in numbers))
