"""Totals agree with the sums of their parts where exact ones do; and intervals hold as often as they say.

Of 2,000 intervals at 95 %, less than 93.5 % or more than 96.5 % hold with probability 0.002 if that is right.
The noise is seeded, so that a test that passes goes on to.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.aggregates.weights import Norm
from discreet.model.deadline import Deadline
from discreet.noise.entropy import SystemEntropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.release.draw import answer_from, draw_noise, noisy_numbers
from discreet.release.drawn import Drawn
from discreet.release.estimate import noisy_measure
from discreet.release.exact_vectors import exact_vectors, public_keys
from discreet.release.reconcile import RECONCILED, _AddingTables, _adds_up, _has_tables, _subsets
from tests.question.clinic import Database, clinic, planned
from tests.question.noisy import answering

RUNS, LEAST, MOST = 2_000, 0.935, 0.965
CUBE = "GROUP BY CUBE (ward, age)"
FEW = "WHERE age IN (1, 2, 3)"
SQL = f"SELECT ward, age, count(*) AS n, sum(cost) AS s, avg(cost) AS m FROM visits {FEW} {CUBE}"
WARDS = ("north", "south", "attic", None)
ROWS = [(i // 7 if i % 3 else i, WARDS[i % 4], i % 9 - 3.3, i % 5 if i % 11 else None) for i in range(700)]
"""People with one row and with several, unlisted wards, and ages that are missing or not asked for."""
UNIQUE = [(i, *row[1:]) for i, row in enumerate(ROWS)]


def tables_of(sets, sizes, scales):
    shared = {
        subset: places
        for subset in _subsets(tuple(sizes))
        if len(places := tuple(i for i, each in enumerate(sets) if {*subset} <= {*each})) > 1
    }
    return _AddingTables(sets=sets, sizes=sizes, shared=shared, scales=scales)


def tables_in(plan):
    """Of a question by itself, with noise of one size."""
    return _AddingTables.of([plan.bounded], [1.0]) if _has_tables(plan.bounded.query) else None


def marginals(sets, sizes):
    """How each table follows from all cells: a matrix, made by counting."""
    rows = []
    for chosen in sets:
        for group in product(*(range(sizes[key]) for key in chosen)):
            wanted = dict(zip(chosen, group, strict=True))
            cells = product(*(range(size) for size in sizes.values()))
            rows.append([all(cell[key] == value for key, value in wanted.items()) for cell in cells])
    return np.array(rows, dtype=np.float64)


@given(
    sets=st.lists(st.lists(st.integers(0, 2), unique=True, max_size=3).map(tuple), min_size=2, max_size=6),
    sizes=st.tuples(*[st.integers(1, 3)] * 3),
    seed=st.integers(0, 1000),
    alike=st.booleans(),
)
def test_it_is_what_least_squares_give(sets, sizes, seed, alike):
    """Each table counts by 1/σ² of its noise."""
    sets, sizes = tuple(sets), dict(enumerate(sizes))
    generator = np.random.default_rng(seed)
    scales = (1.0, *(1.0 if alike else generator.uniform(0.2, 5) for _ in sets[1:]))
    matrix, tables = marginals(sets, sizes), tables_of(sets, sizes, scales)
    sigma = np.array(scales)[tables.table_of_group()]
    projection = matrix @ np.linalg.pinv(matrix / sigma[:, None]) / sigma
    noisy = generator.normal(size=len(matrix))
    assert np.allclose(tables.projected(noisy), projection @ noisy)
    spreads = np.array([law.spread for law in tables.mixed()])[tables.table_of_group()] * sigma
    assert np.allclose(spreads**2, np.diag(projection @ np.diag(sigma**2) @ projection.T))


@pytest.fixture(scope="module")
def database():
    found = Database()
    found.fill(ROWS)
    return found


@pytest.mark.parametrize(
    "sets",
    ["ROLLUP (ward, age)", "CUBE (age, ward)", "GROUPING SETS ((ward), (age), ())", "ward, ROLLUP (age)"],
)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("settings", [{}, {"max_rows": 1}, {"unique": True}, {"rows": True}])
def test_the_exact_sums_add_up_wherever_they_are_reconciled(sets, delta, settings):
    """Through the real SQL: with people who have too many rows, and with keys that are not listed."""
    database = Database()
    database.fill(UNIQUE if settings.get("unique") else ROWS)
    plan = planned(
        "SELECT count(*) AS n, sum(cost) AS s, avg(age) AS m, count(*) FILTER (WHERE cost > 0) AS k,"
        f" stddev(cost) AS d FROM visits {FEW} GROUP BY {sets}",
        clinic(delta=delta, **settings),
        Fraction(1, 10),
    )
    exact = exact_vectors(plan, database.results(plan))
    tables = tables_in(plan)
    checked = [i for i in exact.sums if _adds_up(plan, i)]
    assert len(checked) >= 4
    for i in checked:
        sums = exact.sums[i].astype(np.float64)
        assert np.allclose(tables.projected(sums), sums, rtol=1e-9)
    assert sum(exact.sums[i].any() for i in checked) >= 4


def test_what_does_not_add_up_is_left_alone(database):
    """A person may be in several groups, and weights in ℓ₂ depend on these."""
    plan = planned(f"SELECT count(DISTINCT patient) AS n FROM visits {FEW} {CUBE}", clinic(), Fraction(1, 10))
    assert not _adds_up(plan, 0)
    sums = exact_vectors(plan, database.results(plan)).sums[0].astype(np.float64)
    assert not np.allclose(tables_in(plan).projected(sums), sums)
    plan = planned(SQL, clinic(), Fraction(1, 10))
    squares = replace(plan.bounded.parts[0].weight, norm=Norm.L2)
    part = replace(plan.bounded.parts[0], weight=squares)
    odd = replace(plan, bounded=replace(plan.bounded, parts=(part, *plan.bounded.parts[1:])))
    assert (_adds_up(plan, 0), _adds_up(odd, 0)) == (True, False)
    assert not _adds_up(plan, len(plan.bounded.parts) - 1)  # what limits leave out is no table


def test_private_keys_and_single_tables_are_left_alone():
    private = planned("SELECT count(*) FROM visits GROUP BY note", clinic(delta=Fraction(1, 1000)), 1)
    assert tables_in(private) is None
    assert tables_in(planned("SELECT count(*) FROM visits GROUP BY ward", clinic())) is None


def test_an_answer_adds_up_and_says_so(database):
    plan = planned(SQL, clinic(), Fraction(1, 10))
    answer = answer_from(plan, draw_noise(plan, database.results(plan)), Deadline.after(600))
    wards, ages = (np.ma.getmaskarray(np.ma.asarray(answer.values[name])) for name in ("ward", "age"))
    total = answer.raw["n"][wards & ages]
    assert answer.raw["n"][~wards & ~ages].sum() == pytest.approx(total[0])
    assert answer.raw["s"][~wards & ages].sum() == pytest.approx(answer.raw["s"][wards & ages][0])
    assert RECONCILED in answer.notes
    alone = planned("SELECT ward, count(*) AS n FROM visits GROUP BY ward", clinic(), Fraction(1, 10))
    stored = draw_noise(alone, database.results(alone))
    assert RECONCILED not in answer_from(alone, stored, Deadline.after(600)).notes


def drawn_counts(plan, noisy):
    """The first measure, computed from what was drawn."""
    (measure, *_) = plan.bounded.measures
    (counts,) = noisy_measure(plan, measure, noisy, noisy.sums, plan.request.confidence).sums
    return counts


def test_what_was_drawn_before_is_answered_as_it_was(database):
    plan = planned(SQL, clinic(), Fraction(1, 10))
    drawn = Drawn.decode(draw_noise(plan, database.results(plan)))
    assert drawn.reconciled
    older = replace(drawn, reconciled=False)
    assert b"reconciled" not in older.encode()
    answer = answer_from(plan, older.encode(), Deadline.after(600))
    _, noisy, _ = noisy_numbers(plan, older, Deadline.after(600))
    assert answer.raw["n"].tolist() == drawn_counts(plan, noisy).tolist()
    assert RECONCILED not in answer.notes


def test_a_query_over_a_noisy_answer_sees_what_was_drawn(database):
    sql = f"SELECT sum(n) AS t FROM (SELECT ward, count(*) AS n FROM visits {FEW} GROUP BY ROLLUP (ward))"
    found = answering.answer(sql, clinic(), database.connection, epsilon=0.1)
    assert RECONCILED not in found.notes


def test_hardly_any_noise_is_left_as_it_is():
    plan = planned("SELECT count(*) FROM visits GROUP BY ROLLUP (ward)", clinic(unique=True), 1)
    assert not _adds_up(plan, 0)


@pytest.fixture
def seeded(monkeypatch):
    generator = np.random.default_rng(18)
    words = lambda _, count: generator.integers(0, 2**64, count, dtype=np.uint64)  # noqa: E731
    monkeypatch.setattr(SystemEntropy, "words", words)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)], ids=["Laplace", "Gaussian"])
def test_intervals_of_reconciled_numbers_hold_as_often_as_they_say(delta):
    """Of one cell, of a total by ward, and of the total of all: over 2,000 runs. And errors are smaller."""
    dataset = replace(clinic(delta=delta), left_out_share=Fraction(0))
    database = Database()
    database.fill([(i, WARDS[i % 2], i % 7 - 2.5, 1 + i % 3) for i in range(30_000)])
    sql = f"SELECT ward, age, count(*) AS n, avg(cost) AS m FROM visits {FEW} GROUP BY ROLLUP (ward, age)"
    plan = planned(sql, dataset, Fraction(1, 10))
    results = database.results(plan)
    truth, rows, total = database.values(plan)
    mean = float(plan.bounded.measures[1].vectors[1].vector.offset) + total / rows
    held, held_mean, drawn_off, off = [], [], [], []
    for _ in range(RUNS):
        stored = draw_noise(plan, results)
        found = answer_from(plan, stored, Deadline.after(600))
        held.append((found.low["n"] <= truth) & (truth <= found.high["n"]))
        held_mean.append((found.low["m"] <= mean) & (mean <= found.high["m"]))
        off.append(found.raw["n"] - truth)
        _, noisy, _ = noisy_numbers(plan, Drawn.decode(stored), Deadline.after(600))
        drawn_off.append(drawn_counts(plan, noisy) - truth)
    shares = np.mean(held, axis=0)[[0, 6, 8]]
    assert ((shares >= LEAST) & (shares <= MOST)).all(), shares
    shares = np.mean(held_mean, axis=0)[[0, 6, 8]]
    assert ((shares >= LEAST) & (shares <= 0.975)).all(), shares  # noise is drawn as that of one law: wider
    smaller = np.sqrt(np.mean(np.square(off), axis=0) / np.mean(np.square(drawn_off), axis=0))
    stated = np.array([law.spread for law in tables_in(plan).mixed()])[[0] * 6 + [1] * 2 + [2]]
    assert np.allclose(smaller, stated, rtol=0.08)
    assert (smaller < 0.95).all()
    assert len(public_keys(plan.bounded.query)[0]) == len(truth)


@pytest.mark.parametrize("weights", [[1.0], [0.5] * 4, [0.3] * 10, [1.0, 0.1, 0.1]])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_mixed_laplace_noise_reaches_as_far_as_it_is_said(weights, confidence):
    """In 400,000 draws the share that is further off has a standard error of 0.0008 at most."""
    law, level = DiscreteLaplace(scale=Fraction(100)), Fraction(confidence)
    reach = MixedNoise.of(np.array(weights)).reach(law, level) * -np.log(1 - float(level))
    noise = np.random.default_rng(3).laplace(size=(400_000, len(weights))) @ np.array(weights)
    assert np.mean(np.abs(noise) <= reach) == pytest.approx(float(level), abs=0.004)
    surely = MixedNoise.of(np.array(weights)).reach(law, 1 - Fraction(1, 10**5)) * np.log(10**5)
    assert np.mean(np.abs(noise) > surely) <= 1e-4
