"""Counts come from SQL as they should, and no person moves any table by more than was said."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.dialects.duckdb import DUCKDB
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import resolve_rows
from discreet.sql.emit import emit_sql
from discreet.synth.core.domain import Marginal
from discreet.synth.plan.attributes import attributes_of
from discreet.synth.plan.count_tables import Counted, counting, sets_of
from discreet.synth.plan.synthesis_plan import SynthesisPlan
from tests.question.clinic import Database, clinic, public_keys

DATABASE = Database()
SQL = "SELECT ward, age, cost FROM visits"
WARDS = [("north", 0), ("south", 1), (None, 2), ("elsewhere", 2)]
ROW = st.tuples(
    st.integers(1, 4),
    st.sampled_from([ward for ward, _ in WARDS]),
    st.sampled_from([-2.0, -1.0, 0.5, 4.0, 100.0, None, float("nan")]),
    st.sampled_from([0, 19, 20, 55, 99, 120, None]),
)


def planned(*, wide=False, **settings):
    dataset = clinic(**settings)
    rows = resolve_rows(parse_sql(SQL), dataset, public_keys)
    attributes = attributes_of(rows.columns, {"age": 5, "cost": 3})
    bounded = counting(rows, attributes, dataset, sets=sets_of(3, wide=wide))
    return SynthesisPlan(attributes=attributes, bounded=bounded, loss=PureLoss(epsilon=1), dataset=dataset)


def counted(plan, rows):
    DATABASE.fill(rows)
    tables = {"visits": "visits", "labs": "labs", "wards": "wards"}
    results = []
    for statement in emit_sql(plan, tables, DUCKDB):
        found = DATABASE.connection.execute(statement.sql).fetchnumpy()
        results.append((statement, found))
    return Counted(plan.domain, plan.bounded, results)


def code_of(row):
    """What a row should be counted as, from the declarations."""
    _, ward, cost, age = row
    place = dict(WARDS)[ward]
    if place is None:
        return None
    aged = 5 if age is None else min(max(age, 0), 99) // 20
    costly = 3 if cost is None or cost != cost else min(int((min(max(cost, -2), 4) + 2) // 2), 2)
    return place, aged, costly


def expected(rows, marginal, *, whole, most):
    people = Counter(row[0] for row in rows if code_of(row) is not None)
    table = np.zeros(marginal.shape, dtype=np.int64)
    for row in rows:
        code = code_of(row)
        if code is not None:
            weight = whole * min(most, people[row[0]]) // people[row[0]]
            weight = whole if people[row[0]] <= most else most * whole // people[row[0]]
            table[tuple(code[i] for i in marginal.attributes)] += weight
    return table.ravel()


def marginals(plan, *, wide):
    orders = (1, 2) if wide else (1, 2, 3)
    return [each for order in orders for each in plan.domain.marginals(order)]


@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=40)
@given(rows=st.lists(ROW, max_size=15))
def test_tables_are_those_of_weighted_rows(wide, rows):
    plan = planned(wide=wide)
    exact = counted(plan, rows)
    chosen = marginals(plan, wide=wide)
    for marginal, table in zip(chosen, exact(chosen), strict=True):
        assert table.tolist() == expected(rows, marginal, whole=plan.unit, most=2).tolist()


def norms(first, second):
    moved = np.abs(first.astype(object) - second.astype(object))
    return int(sum(moved)), int(sum(move * move for move in moved))


def coarse(marginal):
    """The same table with neighbouring values joined."""
    codes = tuple(code // 2 for code in marginal.codes)
    return Marginal(attributes=marginal.attributes, codes=codes)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("wide", [False, True])
@settings(max_examples=30)
@given(rows=st.lists(ROW, max_size=12), other=st.lists(ROW, max_size=8))
def test_no_person_moves_any_table_by_more_than_its_sensitivity(relation, wide, rows, other):
    """Fine or coarse, of one attribute or of several; somebody leaves, or is somebody else."""
    plan = planned(wide=wide, relation=relation)
    allowed = plan.sensitivity
    replaced = [(1, *row[1:]) for row in other] if relation is Neighbours.REPLACE_ONE else []
    neighbour = [row for row in rows if row[0] != 1] + replaced
    chosen = marginals(plan, wide=wide)
    chosen += [coarse(each) for each in chosen]
    for first, second in zip(counted(plan, rows)(chosen), counted(plan, neighbour)(chosen), strict=True):
        l1, l2_squared = norms(first, second)
        assert l1 <= allowed.l1
        assert l2_squared <= allowed.l2_squared


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_is_reached(relation):
    plan = planned(relation=relation)
    rows = [(1, "north", 4.0, 99)] * 2
    neighbour = [(1, "south", -2.0, 0)] * 2 if relation is Neighbours.REPLACE_ONE else []
    (table,) = plan.domain.marginals(3)
    (first,), (second,) = counted(plan, rows)([table]), counted(plan, neighbour)([table])
    assert norms(first, second) == (plan.sensitivity.l1, plan.sensitivity.l2_squared)


def test_one_row_a_person_needs_no_weights():
    plan = planned(unique=True)
    assert plan.unit == 1
    assert (plan.sensitivity.l1, plan.sensitivity.l2_squared) == (1, 1)
    rows = [(i, "north", 1.0, i % 100) for i in range(50)]
    (table,) = counted(plan, rows)(plan.domain.marginals(1)[:1])
    assert table.tolist() == [50, 0, 0]


def test_an_empty_table_has_no_counts():
    plan = planned()
    assert all(not table.any() for table in counted(plan, [])(marginals(plan, wide=False)))


def test_a_wide_table_is_counted_by_pairs_and_a_small_one_at_once():
    assert planned().bounded.query.sets == ((0, 1, 2),)
    assert planned(wide=True).bounded.query.sets == ((0,), (1,), (2,), *combinations(range(3), 2))


def test_a_statement_reads_the_columns_of_its_own_table_only():
    """Every row has a value of every attribute, so the others need not be looked at."""
    for statement in emit_sql(planned(wide=True), {"visits": "visits"}, DUCKDB):
        read = {name for name in ("ward", "age", "cost") if name in statement.sql}
        assert len(read) == len(statement.keys)
