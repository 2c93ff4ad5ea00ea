"""Which vectors are measured together, and that what is computed from them is what it was: but for its noise.

How much smaller errors are follows from the laws of the noise. Nothing is drawn here.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates.joint import Basis, JointSum, RowCell, VectorFamily
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.vectors import LeftOut
from discreet.bounds.calibrate import calibrate
from discreet.bounds.identity import question_identity
from discreet.bounds.split_price import split, variance_of
from discreet.errors import QueryRefused
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import amount_of
from discreet.model.request import ByEpsilon, Request, Within
from discreet.noise.laplace import DiscreteLaplace
from tests.bounds.test_one_person import person, rows_of
from tests.question.clinic import Database, clinic, planned

A, B = "count(*) FILTER (WHERE note = 'a')", "count(*) FILTER (WHERE note = 'b')"
OLD = [f"count(*) FILTER (WHERE age > {age})" for age in (20, 40, 60, 80)]
DELTAS = [0, "1e-6"]
RELATIONS = list(Neighbours)


def plan_of(measures, **settings):
    return planned(f"SELECT {', '.join(measures)} FROM visits", clinic(**settings))


def apart(plan, dataset):
    return plan if plan.bounded.apart is None else calibrate(plan.bounded.apart, plan.request, dataset)


def deviation(plan, each):
    """Of the noise of a vector, in the units of the question: by the laws of what it is computed from."""
    variance = 0.0
    for i, weight in each.terms:
        noise, scale = plan.mechanisms[i], float(plan.bounded.parts[i].scale)
        of_one = 2 * float(noise.scale) ** 2 if isinstance(noise, DiscreteLaplace) else noise.sigma_squared
        variance += float(weight) ** 2 * float(of_one) * scale**2
    return variance**0.5


def smaller(measures, **settings):
    """By which factor the noise of each vector is smaller than it was apart, at the same price."""
    dataset = clinic(**settings)
    plan = plan_of(measures, **settings)
    before = apart(plan, dataset)
    assert amount_of(plan.loss) == pytest.approx(float(amount_of(before.loss)), rel=1e-12)
    return [
        deviation(before, old) / deviation(plan, new)
        for one, other in zip(before.bounded.measures, plan.bounded.measures, strict=True)
        for old, new in zip(one.vectors, other.vectors, strict=True)
    ]


@pytest.mark.parametrize(
    ("measures", "delta", "factors"),
    [
        (["avg(cost)"], 0, [1.73, 1.20]),  # its count, and its sum
        (["avg(cost)", "count(cost)"], 0, [1.35, 1.49, 1.35]),
        (["variance(cost)"], 0, [3.11, 1.65, 1.49]),
        (["count(*)", A], 0, [2**0.5, 2]),
        (["count(*)", A], "1e-6", [1, 2**0.5]),
        (["count(*)", A, B], "1e-6", [1, 3**0.5, 3**0.5]),
        (OLD, 0, [4 / n**0.5 for n in (4, 3, 2, 1)]),
        (OLD, "1e-6", [2 / n**0.5 for n in (4, 3, 2, 1)]),
        (
            ["sum(cost) FILTER (WHERE note = 'a')", "sum(CASE WHEN note = 'b' THEN cost ELSE 0 END)"],
            0,
            [2, 2],
        ),
        (["count(*)", "avg(CASE WHEN note = 'a' THEN 1 ELSE 0 END)"], 0, [1.91, 2.75, 2.69]),
        (["avg(cost)"], "1e-6", [1, 1]),
        (["sum(cost)"], 0, [1]),
        (["count(*)", "count(DISTINCT patient)"], 0, [1, 1]),
    ],
)
def test_how_much_smaller_the_noise_is(measures, delta, factors):
    assert smaller(measures, delta=delta, max_rows=3) == pytest.approx(factors, rel=0.01)


WORKLOADS = [
    ["avg(cost)"], ["variance(cost)"], ["avg(cost)", "variance(cost)", "count(*)"], ["count(*)", A, B], OLD,
    ["count(*)", "count(cost)", "avg(cost)"], ["count(*)", "avg(cost)", "avg(age)"], ["sum(age)", "count(*)"],
    [f"count(*) FILTER (WHERE length(note) % {i} = 0)" for i in range(2, 6)],
    [*OLD, A, B, "count(*)"], ["avg(cost) FILTER (WHERE note = 'a')", "avg(cost) FILTER (WHERE note = 'b')"],
    ["sum(cost)", "sum(cost) FILTER (WHERE age > 9)"], ["corr(cost, age)", "count(*)", A],
    ["median(age)", A, B], ["count(*)", A, "count(DISTINCT note)"],
]  # fmt: skip


def error_of(plan, *, concentrated):
    """Σ c²·s², with s the noise of each vector, relative to what it would be at the whole price alone."""
    shares = split(plan.bounded, concentrated=concentrated)
    return sum(
        square
        * variance_of(each, plan.bounded, concentrated=concentrated)
        / float(shares[each.terms[0][0]]) ** (1 if concentrated else 2)
        for measure in plan.bounded.measures
        for square, each in zip(AGGREGATES[measure.measure.aggregate].squares, measure.vectors, strict=True)
    )


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.value)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("measures", WORKLOADS, ids=" ".join)
def test_it_is_never_worse_than_apart(measures, delta, relation):
    settings = {"delta": delta, "relation": relation, "max_rows": 3}
    plan = plan_of(measures, **settings)
    before = apart(plan, clinic(**settings))
    error, old = (error_of(each, concentrated=bool(delta)) for each in (plan, before))
    assert plan is before or error < 0.96 * old


@pytest.mark.parametrize("delta", DELTAS)
def test_the_order_of_measures_makes_no_difference(delta):
    dataset = clinic(delta=delta)
    found = {
        question_identity(planned(f"SELECT {', '.join(each)} FROM visits", dataset))
        for each in permutations(["avg(cost)", "count(*)", A, OLD[0]])
    }
    assert len(found) == 1


def test_it_has_an_identity_of_its_own():
    plan = plan_of(["count(*)", A])
    before, after = question_identity(apart(plan, clinic())), question_identity(plan)
    assert before.startswith("question-2:")
    assert after.startswith("question-4:")
    other = question_identity(plan_of(["count(*)", B]))
    assert len({before, after, other}) == 3


# What is computed


MEASURES = [
    "count(*)", "count(cost)", "avg(cost)", "avg(age)", "variance(cost)", "stddev(age)", "sum(cost)",
    "sum(age)",
    A, B, OLD[0], OLD[1], "avg(cost > 0)", "count_if(age > 50)", "sum(CASE WHEN age > 50 THEN cost END)",
    "sum(CASE WHEN note = 'a' THEN 3 ELSE 0 END)", "avg(cost) FILTER (WHERE note = 'b')",
    "count(CASE WHEN cost > 0 THEN 1 END)", "sum(CASE WHEN age > 20 THEN cost ELSE 0 END)",
    "avg(CASE WHEN note = 'a' THEN 1 ELSE 0 END)", "variance(age) FILTER (WHERE age > 20)",
    "count(*) FILTER (WHERE age BETWEEN 5 AND 20)", "sum(cost) FILTER (WHERE note IN ('a', 'b'))",
    "avg(CASE WHEN cost > 0 THEN age END)", "sum(CASE WHEN note = 'a' THEN 2 * age END)",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    measures=st.lists(st.sampled_from(MEASURES), min_size=1, max_size=5, unique=True),
    people=st.lists(person, max_size=6),
    delta=st.sampled_from(DELTAS),
    by=st.sampled_from(["", "ward"]),
    max_rows=st.integers(1, 3),
    rows=st.booleans(),
)
def test_the_same_is_computed_together_as_apart(measures, people, delta, by, max_rows, rows):
    database = Database()
    database.fill(rows_of(people))
    dataset = clinic(delta=delta, max_rows=max_rows, rows=rows)
    sql = f"SELECT {', '.join(measures)} FROM visits" + (f" GROUP BY {by}" if by else "")
    plan = planned(sql, dataset)
    together, before = database.values(plan), database.values(apart(plan, dataset))
    database.connection.close()
    for one, other, each in zip(together, before, vectors_of(plan), strict=True):
        step = 2 * float(each.grid) * max(1.0, float(each.bound)) if each.value is not None else 0.0
        assert np.allclose(one, other, atol=1e-9 + 20 * step, rtol=1e-9)


def vectors_of(plan):
    wanted = dict.fromkeys(each for measure in plan.bounded.measures for each in measure.vectors)
    return [each.vector for each in wanted]


def test_counts_of_all_rows_are_one_cell_without_conditions():
    """The database refused SQL with nothing in that place."""
    plan = plan_of(["avg(1)", "count(*)"], delta="1e-6", max_rows=2)
    assert any(isinstance(part, JointSum) and not part.family.conditions for part in plan.bounded.parts)
    database = Database()
    database.fill([(1, "south", 0.0, 1), (1, "south", 0.0, 1), (2, "north", 1.0, 2)])
    before = apart(plan, clinic(delta="1e-6", max_rows=2))
    for found, wanted in zip(database.values(plan), database.values(before), strict=True):
        assert found == pytest.approx(wanted)


def test_bernstein_polynomials_add_up_to_powers():
    """Exactly, for every step of a value."""
    cells = {basis: RowCell(pattern=1, basis=basis) for basis in (Basis.LINE, Basis.PARABOLA)}
    for basis, cell in cells.items():
        family = VectorFamily(
            conditions=(), value=None, offset=Fraction(-3, 2), grid=Fraction(1, 2), steps=9, cells=(cell,)
        )
        for q in range(10):
            functions = {Basis.LINE: (9 - q, q), Basis.PARABOLA: ((9 - q) ** 2, 2 * q * (9 - q), q * q)}[
                basis
            ]
            assert sum(functions) == family.bound(cell)
            for power in range(basis.degree + 1):
                weights = family.weights(cell, power, Fraction(1, 3))
                value = sum(
                    weight * each / family.bound(cell)
                    for weight, each in zip(weights, functions, strict=True)
                )
                assert value == (Fraction(-3, 2) + Fraction(q, 2) - Fraction(1, 3)) ** power


def test_a_family_has_one_cell_for_a_pattern():
    cell = RowCell(pattern=1, basis=Basis.COUNT)
    with pytest.raises(TypeError, match="one cell"):
        VectorFamily(
            conditions=(),
            value=None,
            offset=Fraction(0),
            grid=Fraction(1),
            steps=1,
            cells=(cell, replace(cell, basis=Basis.LINE)),
        )


# Price


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("measures", [["count(*)", A], OLD, ["sum(cost)", "count(cost)"]], ids=" ".join)
@pytest.mark.parametrize("error", [5, 60, 4000])
def test_within_an_error_it_costs_less(measures, delta, error):
    dataset = clinic(delta=delta, epsilon=1000)
    request = Request(price=Within(error=Fraction(error)), confidence=Fraction(95, 100))
    plan = plan_of(measures, delta=delta)
    found = calibrate(plan.bounded, request, dataset, at_any_price=True)
    before = calibrate(plan.bounded.apart or plan.bounded, request, dataset, at_any_price=True)
    assert all(found.error(each).high <= error for each in found.bounded.measures)
    assert amount_of(found.loss) <= amount_of(before.loss)


def test_within_an_error_is_much_cheaper_where_cells_are_few():
    dataset = clinic(epsilon=1000)
    request = Request(price=Within(error=Fraction(40)), confidence=Fraction(95, 100))
    plan = calibrate(plan_of(OLD).bounded, request, dataset)
    before = calibrate(plan.bounded.apart, request, dataset)
    assert amount_of(plan.loss) < amount_of(before.loss) * 0.5


def test_a_family_costs_what_one_of_its_vectors_does():
    plan = plan_of(["count(*)", A, "avg(cost)"])
    (block,) = [block for block in plan.bounded.blocks if len(block) > 1]
    assert all(isinstance(plan.bounded.parts[i], JointSum) for i in block)
    lost = [part for part in plan.bounded.parts if isinstance(part, LeftOut)]
    measured = amount_of(plan.loss) * (1 - plan.bounded.left_out_share)
    assert len(lost) == 1
    for i in block:
        assert amount_of(
            plan.mechanisms[i].loss(plan.bounded.parts[i].sensitivity(Neighbours.ADD_REMOVE))
        ) == (measured)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_pivot_has_as_many_cells_as_values(delta):
    counts = [f"count(*) FILTER (WHERE note = '{chr(97 + i)}')" for i in range(26)]
    plan = plan_of([*counts, "count(*)"], delta=delta)
    assert sum(isinstance(part, JointSum) for part in plan.bounded.parts) == 27


def test_where_cells_would_be_too_many_there_are_several_families():
    texts = [f"count(*) FILTER (WHERE length(note) % {i} = 0)" for i in range(2, 12)]
    assert max(map(len, plan_of(texts).bounded.blocks)) <= 8


def test_numbers_that_would_be_too_large_are_apart():
    """Squares of 2²¹ steps, from the middle, fit 64 bits with their weight. From an end they do not."""
    assert bases_of_variance(20) == {Basis.PARABOLA}
    assert bases_of_variance(21) == {Basis.LINE}
    with pytest.raises(QueryRefused, match="too large"):
        bases_of_variance(22)


def bases_of_variance(bits):
    table = clinic().tables["visits"]
    cost = replace(table.columns["cost"], unit=Fraction(6, 2**bits))
    table = replace(table, columns={**table.columns, "cost": cost})
    plan = planned("SELECT variance(cost) FROM visits", replace(clinic(), tables={"visits": table}))
    return {part.cell.basis for part in plan.bounded.parts if isinstance(part, JointSum)}


def test_a_price_by_epsilon_is_spent_to_the_last_unit():
    dataset = clinic()
    plan = plan_of([*OLD, "avg(cost)", "median(age)"])
    assert plan.loss.epsilon == 1
    again = calibrate(
        plan.bounded, Request(price=ByEpsilon(epsilon=Fraction(1, 3)), confidence=Fraction(1, 2)), dataset
    )
    assert again.loss.epsilon == pytest.approx(1 / 3, abs=1e-9)
