"""What one person can change, through the real SQL: no norm of an actual move exceeds the claimed one.

Layer 1 of the privacy tests: no noise, no false alarms. Every aggregate, join and subquery is here, for both
relations of neighbours and both ways of weighing, on people that are worst for it and on random ones; random
questions are in test_random_questions.
"""

from datetime import date
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates.vectors import Histogram, LeftOut, Scores, WeightedSum
from discreet.aggregates.weights import Norm, Unit
from discreet.bounds.calibrate import unique_key_delta
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import amount_of
from discreet.noise.laplace import DiscreteLaplace
from tests.question.clinic import Database, clinic, planned

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
    # Quantiles, distinct values, selection, grouping sets
    "SELECT median(cost), quantile(age, 0.9) FROM visits",
    "SELECT ward, median(age) FILTER (WHERE cost > 0), max(cost) FROM visits GROUP BY ward",
    "SELECT count(DISTINCT note) FROM visits",
    "SELECT ward, count(DISTINCT age) FROM visits WHERE cost > -1 GROUP BY ward",
    "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 1",
    "SELECT ward FROM visits GROUP BY ward ORDER BY count(DISTINCT patient) LIMIT 1",
    "SELECT ward, cost > 0 AS pays, count(*), sum(cost) FROM visits GROUP BY ROLLUP (ward, pays)",
    "SELECT ward, floor(age / 50) AS half, count(DISTINCT patient), median(age), count(DISTINCT note)"
    " FROM visits GROUP BY CUBE (ward, half)",
    # Of two numbers
    "SELECT corr(cost, age), regr_slope(age, cost), covar_pop(age, cost) FROM visits",
    "SELECT ward, corr(cost, age) FILTER (WHERE note = 'a'), regr_intercept(cost, age * 0.3 - 5) FROM visits"
    " GROUP BY ward",
    "SELECT covar_samp(level, cost * age), regr_r2(level, age) FROM visits JOIN labs USING (patient)",
    # Vectors that are measured together
    "SELECT count(*) FILTER (WHERE cost > 0) / count(*) FROM visits",
    "SELECT ward, count(*) FILTER (WHERE age > 5), count_if(age > 50), count(*), avg(cost) FROM visits"
    " GROUP BY ward",
    "SELECT sum(cost) FILTER (WHERE note = 'a'), sum(CASE WHEN note = 'b' THEN cost END),"
    " count(*) FILTER (WHERE note = 'a'), variance(age), avg(age) FROM visits",
    "SELECT ward, cost > 0 AS pays, avg(age), count(*), sum(CASE WHEN note = 'a' THEN 1 ELSE 0 END)"
    " FROM visits GROUP BY CUBE (ward, pays)",
    "SELECT ward, count(*) FILTER (WHERE note = 'a'), count(*) FILTER (WHERE age > 5), stddev(level)"
    " FROM visits JOIN labs USING (patient) GROUP BY ward",
    # Other ways to write them
    "SELECT dayname(born) AS d, count_if(cost > 0), avg(cost > 1) FROM visits GROUP BY ALL",
    "SELECT width_bucket(cost, -2, 4, 3) AS bin, sum(round(age, -1)), sum(trunc(cost)) FROM visits"
    " GROUP BY bin",
    "SELECT quantile(cost, [0.25, 0.75]), sum(position('b' IN note)), sum(week(born + INTERVAL 7 DAY))"
    " FROM visits",
    "SELECT sum(date_diff('month', DATE '2020-01-31', born)), avg(born - DATE '2020-01-01') FROM visits",
    "SELECT region, count(v.patient), sum(cost) FROM wards w LEFT JOIN visits v USING (ward) GROUP BY region",
    "SELECT w.beds, sum(level) FROM labs l, visits v, wards w WHERE v.patient = l.patient AND w.ward = v.ward"
    " GROUP BY w.beds",
    "SELECT v.ward, sum(level) FROM labs l RIGHT JOIN visits v USING (patient) GROUP BY v.ward",
    # People in a subquery
    "SELECT ward, count(*), sum(cost) FROM visits WHERE patient IN (SELECT patient FROM labs WHERE level > 3)"
    " GROUP BY ward",
    "SELECT ward, count(DISTINCT patient) FROM visits WHERE patient NOT IN (SELECT patient FROM labs)"
    " GROUP BY ward",
    "SELECT count(*) FROM visits v WHERE age > 5"
    " OR NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient)",
    "SELECT patient IN (SELECT patient FROM labs GROUP BY patient HAVING count(*) > 1) AS often, sum(cost)"
    " FROM visits GROUP BY often",
    "SELECT ward, count(*), sum(cost) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l"
    " WHERE l.patient = v.patient AND l.level > v.age) GROUP BY ward",
    "SELECT ward, count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits b WHERE b.patient = v.patient"
    " AND b.ward = v.ward AND b.cost < v.cost AND b.note = 'a') GROUP BY ward",
    "SELECT count(*), sum(cost) FROM visits v WHERE cost > 3 OR EXISTS (SELECT 1 FROM labs l"
    " WHERE v.patient = l.patient AND v.age = l.level)",
    "SELECT count(*) FROM (SELECT patient FROM visits WHERE age > 5 INTERSECT SELECT patient FROM labs)",
    "SELECT count(*) FROM (SELECT patient FROM visits EXCEPT SELECT patient FROM labs WHERE level > 3)",
    # Rows of a public table
    "SELECT ward, count(*), sum(cost) FROM visits WHERE age IN"
    " (SELECT beds / 10 FROM wards WHERE region = 'up') GROUP BY ward",
    "SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.beds = v.age)",
    "SELECT v.ward, count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.beds = v.age * 10"
    " AND w.region <> 'far') OR cost > 3 GROUP BY v.ward",
    "SELECT v.ward, sum(cost * s.f) FROM visits v JOIN (VALUES ('north', 2), ('south', 3)) AS s (name, f)"
    " ON s.name = v.ward GROUP BY v.ward",
    # Joins
    "SELECT v.ward, count(*), count(level), sum(level) FROM visits v LEFT JOIN labs l"
    " ON v.patient = l.patient AND l.level > 3 GROUP BY v.ward",
    "SELECT ward, count(*), sum(level) FROM visits NATURAL JOIN labs GROUP BY ward",
    "SELECT v.ward, count(*), sum(n) FROM visits v JOIN (SELECT patient, ward, count(*) AS n FROM visits"
    " GROUP BY patient, ward) AS b ON v.patient = b.patient AND v.ward = b.ward GROUP BY v.ward",
    "SELECT region, count(*), sum(cost) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY region",
    "SELECT region, count(DISTINCT patient) FROM visits v LEFT JOIN wards w ON v.ward = w.ward"
    " WHERE region IN ('up', 'far') GROUP BY region",
    "SELECT w.ward, avg(cost) FROM wards w JOIN visits v USING (ward) GROUP BY w.ward",
    "SELECT ward, count(*), sum(level) FROM visits v JOIN labs l ON v.patient = l.patient GROUP BY ward",
    "SELECT ward, sum(level) FROM visits v LEFT JOIN labs l ON v.patient = l.patient AND v.age = l.level"
    " GROUP BY ward",
    "SELECT a.ward, count(*) FROM visits a JOIN visits b ON a.patient = b.patient AND a.cost < b.cost"
    " GROUP BY a.ward",
    "SELECT median(level * cost) FROM visits JOIN labs USING (patient)",
    # Subqueries
    "SELECT avg(n) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient)",
    "SELECT n, count(*) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) GROUP BY n",
    "SELECT count(*), sum(s) FROM (SELECT patient, sum(cost) AS s, max(age) AS a FROM visits"
    " GROUP BY patient HAVING count(*) > 1) WHERE a > 2",
    "SELECT ward, sum(n), avg(m) FROM (SELECT patient, ward, count(*) AS n, avg(cost) AS m FROM visits"
    " GROUP BY patient, ward) GROUP BY ward",
    "SELECT ward, count(DISTINCT patient) FROM (SELECT patient, ward FROM visits GROUP BY patient, ward)"
    " GROUP BY ward",
    "WITH rich AS (SELECT patient FROM visits GROUP BY patient HAVING sum(cost) > 2)"
    " SELECT ward, count(*) FROM visits JOIN rich USING (patient) GROUP BY ward",
    "WITH v AS (SELECT *, cost * 2 AS twice FROM visits WHERE age > 1)"
    " SELECT ward, sum(twice) FROM v GROUP BY ward",
    "SELECT least(greatest(n, 0), 3) AS few, count(*) FROM"
    " (SELECT patient, count(DISTINCT note) AS n FROM visits GROUP BY patient) GROUP BY few",
    "SELECT sum(x), median(x) FROM (SELECT patient, cost AS x FROM visits"
    " UNION ALL SELECT patient, level AS x FROM labs)",
    "SELECT count(DISTINCT patient) FROM (SELECT patient FROM visits UNION ALL SELECT patient FROM labs)",
    "SELECT avg(n) FROM (SELECT patient, count(*) AS n FROM (SELECT patient FROM visits"
    " UNION ALL SELECT patient FROM labs) GROUP BY patient)",
]
PRIVATE = [
    "SELECT note, count(*) FROM visits GROUP BY note",
    "SELECT note, count(DISTINCT patient), avg(cost) FROM visits GROUP BY note",
    "SELECT note, sum(cost) FROM visits GROUP BY note",
    "SELECT note, count(*) FILTER (WHERE age > 5), count(age), sum(age) FILTER (WHERE age > 5) FROM visits"
    " GROUP BY note",
    "SELECT note, ward, count(DISTINCT patient), count(*) FROM visits GROUP BY note, ward",
    "SELECT initial, count(*) FROM (SELECT left(note, 1) AS initial FROM visits) GROUP BY initial",
    "SELECT test, count(*) FROM visits JOIN labs USING (patient) GROUP BY test",
]
RELATIONS = list(Neighbours)
DELTAS = [0, "1e-6"]

NASTY = [float("nan"), float("inf"), float("-inf"), None, 1e308, -1e308]
ROWS = [
    ("north", 4.0, 3, "a", date(2024, 2, 29)),
    ("south", -2.0, 90, "b", date(9999, 12, 31)),
    ("north", float("nan"), None, None, None),
    ("elsewhere", 1e308, -5, "a", date(1, 1, 1)),
    (None, 0.3, 7, "c", date(2025, 12, 31)),
]
PEOPLE = [[], *([row] for row in ROWS), [ROWS[0], ROWS[1]], [ROWS[0]] * 3, [ROWS[1]] * 2 + [ROWS[0]] * 3]
TESTS = [[("x", 9)], [("x", 3), ("y", 9), ("z", 0)]]


@pytest.fixture(scope="module")
def database():
    return Database()


def norms(move):
    sizes = [abs(int(x)) for x in move]
    return {
        "l0": sum(1 for size in sizes if size),
        "linf": max(sizes, default=0),
        "l1": sum(sizes),
        "l2_squared": sum(size**2 for size in sizes),
    }


def rows_of(people):
    return [(person, *row) for person, rows in enumerate(people) for row in rows]


def claim(part, neighbours):
    if isinstance(part, Histogram):
        return part.histogram_sensitivity(neighbours)
    return part.sensitivity(neighbours)


def compare(plan, first, second):
    """The exact vectors on two neighbouring tables against what the plan claims."""
    for part, a, b in zip(plan.bounded.parts, first, second, strict=True):
        claimed = claim(part, plan.bounded.neighbours)
        if isinstance(part, Scores):
            moves = [int(x) for x in a - b]
            assert max(moves) - min(moves) <= claimed.range
            continue
        for norm, value in norms(a - b).items():
            assert value <= getattr(claimed, norm), (norm, part)
    compare_families(plan, [a - b for a, b in zip(first, second, strict=True)])


def compare_families(plan, moves):
    """What the vectors of a family lose together, by the laws of their noise, against its one price."""
    for block in plan.bounded.blocks:
        if len(block) > 1:
            lost = sum(lost_of(plan.mechanisms[i], moves[i]) for i in block)
            assert lost <= amount_of(plan.loss_of(block))


def lost_of(noise, move):
    if isinstance(noise, DiscreteLaplace):
        return norms(move)["l1"] / noise.scale
    return norms(move)["l2_squared"] / (2 * noise.sigma_squared)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_neighbour_moves_a_vector_further_than_claimed(database, question, delta):
    added, replaced = (planned(question, clinic(relation=relation, delta=delta)) for relation in RELATIONS)
    for other, tests in zip(PEOPLE[1:3], TESTS, strict=True):
        exact, other_exact = [], []
        for i, person in enumerate(PEOPLE):
            labs = [(0, *test) for test in TESTS[1]] + [(1, *test) for test in (tests if person else [])]
            labs += [(1, "w", 5)] * (3 if i == 5 else 0)
            database.fill(rows_of([other, person]), labs)
            exact.append(database.exact(added))
            same = added.bounded.apart is None and replaced.bounded.apart is None
            other_exact.append(exact[-1] if same else database.exact(replaced))
        for one in exact:
            compare(added, one, exact[0])
        for one, another in product(other_exact, other_exact):
            compare(replaced, one, another)


values = st.one_of(st.floats(-10, 10), st.sampled_from(NASTY))
row = st.tuples(
    st.sampled_from(["north", "south", "elsewhere", None, "North", ""]),
    values,
    st.one_of(st.none(), st.integers(-200, 200), st.sampled_from([2**63 - 1, -(2**63)])),
    st.sampled_from(["a", "b", "c", None]),
    st.sampled_from([None, date(1, 1, 1), date(2024, 12, 30), date(2025, 6, 15), date(9999, 12, 31)]),
)
person = st.lists(row, max_size=7)
tests_of = st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.integers(-3, 12)), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    question=st.sampled_from(QUESTIONS),
    relation=st.sampled_from(RELATIONS),
    delta=st.sampled_from(DELTAS),
    others=st.lists(person, max_size=3),
    one=person,
    other=person,
    labs=st.tuples(tests_of, tests_of, tests_of),
    max_rows=st.integers(1, 4),
    max_groups=st.integers(1, 3),
    null_person=st.booleans(),
)
def test_random_people_move_no_vector_further_than_claimed(
    question, relation, delta, others, one, other, labs, max_rows, max_groups, null_person
):
    database = Database()
    dataset = clinic(relation=relation, delta=delta, max_rows=max_rows, max_groups=max_groups)
    plan = planned(question, dataset)
    rest = rows_of(others)
    name = None if null_person else 99
    replaced = (other, labs[1]) if relation is Neighbours.REPLACE_ONE else ([], [])
    exact = []
    for rows, tests in ((one, labs[0]), replaced):
        database.fill(
            rest + [(name, *row) for row in rows],
            [(0, *test) for test in labs[2]] + [(name, *test) for test in tests],
        )
        exact.append(database.exact(plan))
    compare(plan, *exact)
    database.connection.close()


@settings(max_examples=100, deadline=None)
@given(
    question=st.sampled_from(PRIVATE),
    relation=st.sampled_from(RELATIONS),
    others=st.lists(person, max_size=3),
    one=person,
    other=person,
    tests=tests_of,
    max_rows=st.integers(1, 3),
    max_groups=st.integers(1, 3),
)
def test_private_keys_of_one_person_are_as_few_and_as_small_as_claimed(
    question, relation, others, one, other, tests, max_rows, max_groups
):
    """On keys that both neighbours have, vectors move no further than claimed; the keys that only one has,
    which the threshold has to hide, have no more counts than the δ was computed for.
    """
    database = Database()
    dataset = clinic(relation=relation, delta="1e-6", max_rows=max_rows, max_groups=max_groups)
    plan = planned(question, dataset)
    found = []
    for rows in (one, other if relation is Neighbours.REPLACE_ONE else []):
        labs = [(99, *test) for test in tests] if rows else []
        database.fill(rows_of(others) + [(99, *row) for row in rows], labs)
        found.append(database.by_key(plan))
    compare_keys(plan, *found)
    database.connection.close()


def compare_keys(plan, first, second):
    """The same with private keys: moves on keys that both neighbours have, counts on those that one has."""
    chosen = plan.bounded.selector
    selector = plan.bounded.parts[chosen]
    occurring = [{key for key, (count,) in each[chosen].items() if count > 0} for each in (first, second)]
    shared = occurring[0] & occurring[1]
    together = []
    for part, a, b in zip(plan.bounded.parts, first, second, strict=True):
        both = [()] if isinstance(part, LeftOut) else shared
        moves = [x - y for key in both for x, y in zip(a[key], b[key], strict=True)]
        for norm, value in norms(moves).items():
            assert value <= getattr(claim(part, plan.bounded.neighbours), norm), (norm, part)
        together.append(np.array([*moves, 0], dtype=object))
    compare_families(plan, together)
    for each, keys in zip((first, second), occurring, strict=True):
        counts = sorted((each[chosen][key][0] for key in keys - shared), reverse=True)
        assert allowed(selector, counts), (counts, selector)


def allowed(part, counts):
    """Whether one person's counts on keys of their own are among those that δ was computed for."""
    if not counts:
        return True
    weight = part.weighing
    if weight.norm is Norm.L2 and weight.unit is Unit.PEOPLE:
        return len(counts) <= {each: groups for groups, each in weight.profiles()}[counts[0]]
    claimed = part.sensitivity(Neighbours.ADD_REMOVE)
    return len(counts) <= claimed.l0 and sum(counts) <= claimed.l1 and max(counts) <= claimed.linf


@pytest.mark.parametrize("question", PRIVATE)
def test_the_delta_of_private_keys_is_all_of_the_question_s_share_and_no_more(question):
    dataset = clinic(delta="1e-6", max_rows=3, max_groups=2)
    plan = planned(question, dataset, epsilon=1)
    part = plan.bounded.parts[plan.bounded.selector]
    assert isinstance(part, WeightedSum)
    assert 0 < plan.loss.delta <= dataset.delta / 2
    lower = type(plan.threshold)(noise=plan.threshold.noise, threshold=plan.threshold.threshold - 1)
    share = plan.loss.rho / planned(question, dataset, epsilon=10).loss.rho * dataset.delta / 2
    assert unique_key_delta(part, plan.threshold) <= share < unique_key_delta(part, lower)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
def test_the_claim_is_attained(database, relation, delta):
    """Not needlessly large: a sum over one group."""
    plan = planned("SELECT sum(cost) FROM visits", clinic(relation=relation, delta=delta, max_rows=2))
    database.fill([(1, "north", 4.0, 1)] * 2)
    high = database.exact(plan)[0]
    database.fill([(1, "north", -2.0, 1)] * 2 if relation is Neighbours.REPLACE_ONE else [])
    low = database.exact(plan)[0]
    claimed = plan.bounded.parts[0].sensitivity(relation)
    assert norms(high - low)["l1"] * 4 >= 3 * claimed.l1


@pytest.mark.parametrize("delta", DELTAS)
def test_a_person_within_the_limit_counts_exactly(database, delta):
    dataset = clinic(max_rows=3, delta=delta)
    plan = planned("SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward", dataset)
    database.fill([(1, "north", 1.5, 1), (1, "south", 2.5, 1), (2, "north", -1.0, 1)])
    count, total = database.values(plan)
    assert count.tolist() == [2, 1]
    assert np.allclose(total, [0.5, 2.5], atol=1e-5)


def test_under_gaussian_noise_rows_in_several_groups_keep_more_of_their_weight(database):
    """Four rows in each of two groups, at most 4 count fully: ℓ₁ keeps a half of them, ℓ₂ 1/√2."""
    database.fill([(1, "north", 1.0, 1), (1, "south", 1.0, 1)] * 4)
    question = "SELECT ward, count(*) FROM visits GROUP BY ward"
    (l1,) = database.values(planned(question, clinic(max_rows=4)))
    (l2,) = database.values(planned(question, clinic(max_rows=4, delta="1e-6")))
    assert l1 == pytest.approx([2, 2], rel=1e-3)
    assert l2 == pytest.approx([8**0.5, 8**0.5], rel=1e-3)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_heavy_person_weighs_sum_and_count_alike(database, delta):
    """100 rows of one person, at most 2 count: the average of that person is unchanged."""
    plan = planned("SELECT ward, avg(cost) FROM visits GROUP BY ward", clinic(max_rows=2, delta=delta))
    database.fill([(1, "north", 3.0, 1)] * 100)
    count, total = (values[0] for values in database.values(plan))
    assert count == pytest.approx(2, rel=1e-2)
    assert total / count + float(plan.bounded.measures[0].vectors[1].vector.offset) == pytest.approx(
        3.0, abs=1e-4
    )


def test_rows_without_a_person_are_one_person(database):
    plan = planned("SELECT count(*) FROM visits", clinic(max_rows=2))
    database.fill([(None, "north", 1.0, 1)] * 50)
    assert database.values(plan)[0][0] == pytest.approx(2, rel=1e-4)


def test_nan_and_infinity_do_not_count(database):
    plan = planned("SELECT count(cost), sum(cost) FROM visits", clinic(rows=True))
    database.fill([(1, "north", value, 1) for value in NASTY])
    count, total = database.values(plan)
    assert count[0] == 2  # the two finite ones, clamped
    assert total[0] == pytest.approx(2.0)


def test_groups_without_rows_are_there(database):
    plan = planned("SELECT ward, count(*) FROM visits GROUP BY ward", clinic())
    database.fill([])
    assert [vector.tolist() for vector in database.values(plan)] == [[0, 0]]
