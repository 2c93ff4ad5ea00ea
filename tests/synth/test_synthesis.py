"""The whole loop: what it costs, what it may look at, and that it learns."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import Sensitivity
from discreet.synth import synthesis
from discreet.synth.domain import Domain
from discreet.synth.synthesis import synthesise

HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)
SMALL, WIDE = Domain(sizes=(3, 4, 2, 5)), Domain(sizes=(50, 40, 30, 20, 10, 9))


def table(domain, rows=20_000, seed=1):
    """Attributes that have much to do with the one before."""
    chance = np.random.default_rng(seed)
    columns = [chance.integers(0, domain.sizes[0], rows)]
    for size in domain.sizes[1:]:
        follows = columns[-1] * size // (columns[-1].max() + 1)
        columns.append(np.where(chance.random(rows) < 0.7, follows, chance.integers(0, size, rows)))
    return columns


def counting(columns, asked=None):
    def exact(marginals):
        if asked is not None:
            asked.extend((each.attributes, each.shape) for each in marginals)
        return [np.bincount(each.places(columns), minlength=each.cells) for each in marginals]

    return exact


def distance(columns, rows, marginal):
    first, second = (
        np.bincount(marginal.places(each), minlength=marginal.cells) / len(each[0])
        for each in (columns, rows)
    )
    return np.abs(first - second).sum() / 2


@pytest.mark.parametrize("domain", [SMALL, WIDE])
def test_measurements_cost_rho_together(domain, monkeypatch):
    spent = []
    measure = synthesis.measure

    def noted(marginal, counts, *, rho, sensitivity, unit):
        spent.append(rho)
        found = measure(marginal, counts, rho=rho, sensitivity=sensitivity, unit=unit)
        assert found.variance == pytest.approx(float(1 / (2 * rho)))
        return found

    monkeypatch.setattr(synthesis, "measure", noted)
    monkeypatch.setattr(synthesis, "SAMPLE", 2000)
    rho = Fraction(3, 7)
    synthesise(domain, counting(table(domain)), rho=rho, sensitivity=HISTOGRAM)
    assert sum(spent) == rho


def test_what_is_measured_of_a_small_domain_does_not_depend_on_the_data():
    asked = []
    for seed, rows in ((1, 20_000), (2, 10)):
        asked.append([])
        exact = counting(table(SMALL, rows, seed), asked[-1])
        synthesise(SMALL, exact, rho=Fraction(1, 10), sensitivity=HISTOGRAM)
    assert asked[0] == asked[1]
    assert len(asked[0]) == 4 + 6 + 4


@pytest.mark.parametrize(("domain", "order", "most"), [(SMALL, 3, 0.02), (WIDE, 2, 0.1)])
def test_tables_are_learnt(domain, order, most):
    """Far from independent: without learning, the tables of neighbours would be 0.4 off."""
    columns = table(domain)
    synthetic = synthesise(domain, counting(columns), rho=Fraction(1), sensitivity=HISTOGRAM)
    rows = synthetic.rows(20_000)
    assert np.mean([distance(columns, rows, marginal) for marginal in domain.marginals(order)]) < most
    assert abs(synthetic.people - 20_000) < 100
    assert all(column.max() < size for column, size in zip(rows, domain.sizes, strict=True))


def test_the_error_falls_with_rho():
    columns = table(SMALL)
    errors = []
    for rho in (Fraction(1, 10_000), Fraction(1, 100), Fraction(1)):
        synthetic = synthesise(SMALL, counting(columns), rho=rho, sensitivity=HISTOGRAM)
        rows = synthetic.rows(20_000)
        errors.append(np.mean([distance(columns, rows, marginal) for marginal in SMALL.marginals(3)]))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_counts_in_parts_of_a_person():
    columns = table(SMALL)
    sensitivity = Sensitivity.scalar(1024, Neighbours.ADD_REMOVE)

    def exact(marginals):
        return [1024 * each for each in counting(columns)(marginals)]

    synthetic = synthesise(SMALL, exact, rho=Fraction(1), sensitivity=sensitivity, unit=1024)
    assert abs(synthetic.people - 20_000) < 100


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (1, 1, 1), (2, 1, 3)])
def test_few_attributes_and_no_people(sizes):
    domain = Domain(sizes=sizes)
    empty = [np.empty(0, dtype=np.int64) for _ in sizes]
    synthetic = synthesise(domain, counting(empty), rho=Fraction(1, 10), sensitivity=HISTOGRAM)
    rows = synthetic.rows(100)
    assert [len(column) for column in rows] == [100] * len(sizes)
    assert np.isfinite(synthetic.records.weights).all()
