"""Tables at several resolutions: one basis, and the best estimate from all of them."""

from math import prod

import numpy as np
import pytest

from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.cached.least_squares import Tables, gains, variance
from discreet.synth.cached.readings import Spread
from discreet.synth.cached.resolutions import (
    all_levels,
    bins,
    coarser,
    energies,
    radices,
    transform,
    whole_cells,
)
from discreet.synth.cached.split_price import divided
from discreet.synth.core.domain import Domain

SIZES = (8, 5, 3)  # the first has two digits of three values, one of them made up
DOMAIN = Domain(sizes=SIZES)
CHANCE = np.random.default_rng(5)
COUNTS = CHANCE.integers(0, 100, SIZES)


def spread(variance):
    return Spread(variance=variance, laplace=False, smooth=True, step=1.0)


@pytest.mark.parametrize("size", [*range(2, 300), 999, 1000, 4097, 10_000])
def test_digits_hold_all_values_and_few_more(size):
    own = radices(size)
    assert size <= prod(own) <= max(1.35 * size, size + 4)
    assert min(own) >= 2
    assert max(own) <= 8


@pytest.mark.parametrize("sizes", [(8,), (16, 7), (10, 3, 5)])
def test_the_basis_is_orthonormal_and_in_the_order_of_levels(sizes):
    digits = tuple(radices(size) for size in sizes)
    shape = [prod(own) for own in digits]
    cells = prod(shape)
    rows = np.array([transform(row.reshape(shape), digits).reshape(-1) for row in np.eye(cells)])
    assert np.allclose(rows @ rows.T, np.eye(cells))
    for levels in all_levels(sizes):
        kept = tuple(slice(bins(size, level)) for size, level in zip(sizes, levels, strict=True))
        values = CHANCE.random([bins(size, level) for size, level in zip(sizes, levels, strict=True)])
        for axis, (size, level) in enumerate(zip(sizes, levels, strict=True)):
            values = np.repeat(values, prod(radices(size)[level:]), axis=axis)
        found = transform(values, digits)  # constant in the bins of a table: nothing beyond its levels
        inside = found[kept].copy()
        found[kept] = 0
        assert np.abs(found).max() < 1e-9
        assert (inside**2).sum() == pytest.approx((values**2).sum())


def test_energies_add_up_by_band():
    question = CountingQuestion.where(DOMAIN, {0: [1, 2, 3, 4], 2: [0]})
    tables = Tables(SIZES)
    found = energies(tables.coefficients(question), question.mask.shape)
    assert found.sum() == pytest.approx(whole_cells(question.mask).sum())
    assert len(found) == len(all_levels(question.mask.shape))
    total = CountingQuestion.where(DOMAIN, {})
    assert energies(tables.coefficients(total), ()).tolist() == [1.0]


def test_a_coarse_table_is_the_fine_one_added_up():
    table = COUNTS.sum(axis=(1, 2))
    assert coarser(table, (2,)).tolist() == [*table.tolist(), 0]
    assert coarser(table, (1,)).tolist() == [table[:3].sum(), table[3:6].sum(), table[6:].sum()]
    assert coarser(table, (0,)).tolist() == [table.sum()]
    assert coarser(COUNTS.sum(axis=2), (0, 1)).tolist() == [COUNTS.sum(axis=(0, 2)).tolist()]


def design(attributes, levels):
    """Each cell of a table as a sum of records, of which some are made up."""
    whole = [prod(radices(size)) for size in SIZES]
    columns = np.unravel_index(np.arange(prod(whole)), whole)
    place = np.zeros(prod(whole), dtype=int)
    for a, level in zip(attributes, levels, strict=True):
        kept = bins(SIZES[a], level)
        place = place * kept + columns[a] // (whole[a] // kept)
    return np.eye(int(place.max()) + 1)[place].T


READ = [
    {((0, 1), (2, 1)): 2.0},
    {((0, 1), (2, 1)): 2.0, ((0, 1), (1, 1)): 0.5, ((0, 1), (1, 0)): 4.0},
    {((0, 1), (2, 1)): 2.0, ((1, 2), (1, 1)): 5.0, ((0,), (1,)): 0.3, ((), ()): 1.0},
    {((0, 1, 2), (2, 1, 1)): 3.0, ((0, 2), (1, 0)): 0.1, ((0, 1), (0, 1)): 2.0},
]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_weighted_least_squares(read, seed):
    """By a dense pseudo-inverse over all records."""
    chance = np.random.default_rng(seed)
    question = CountingQuestion.about(DOMAIN, (0, 1), chance.random((8, 5)) < 0.5)
    tables, noisy = Tables(SIZES), []
    for (attributes, levels), each in read.items():
        others = tuple(a for a in range(3) if a not in attributes)
        counts = coarser(np.asarray(COUNTS.sum(axis=others)), levels).reshape(-1)
        noisy.append(counts + chance.normal(0, np.sqrt(each), counts.size))
        tables.learn(attributes, levels, noisy[-1], spread(each))
    rows = np.vstack([design(*key) / np.sqrt(each) for key, each in read.items()])
    values = np.concatenate([y / np.sqrt(each) for y, each in zip(noisy, read.values(), strict=True)])
    asked = whole_cells(question.mask).reshape(-1) @ design((0, 1), (2, 1))
    precise = np.linalg.pinv(rows.T @ rows)
    coefficients = tables.coefficients(question)
    found = variance(energies(coefficients, question.mask.shape), tables.precisions((0, 1)))
    assert found == pytest.approx(asked @ precise @ asked)
    assert tables.estimate(question, coefficients) == pytest.approx(asked @ precise @ rows.T @ values)


def test_two_readings_of_a_table_are_one_of_their_precisions():
    one, two = Tables(SIZES), Tables(SIZES)
    for value in (2.0, 6.0):
        one.learn((0,), (2,), np.full(9, value), spread(value))
    two.learn((0,), (2,), np.full(9, 3.0), spread(1.5))
    question = CountingQuestion.where(DOMAIN, {0: [3]})
    assert np.allclose(one.precisions((0,)), two.precisions((0,)))
    coefficients = one.coefficients(question)
    assert one.estimate(question, coefficients) == pytest.approx(two.estimate(question, coefficients))


def test_what_no_table_holds_has_no_variance():
    tables = Tables(SIZES)
    tables.learn((0, 1), (1, 1), np.zeros(15), spread(1.0))
    for allowed, known in (({0: [0, 1, 2]}, True), ({0: [0, 1]}, False), ({2: [0]}, False), ({}, True)):
        question = CountingQuestion.where(DOMAIN, allowed)
        energy = energies(tables.coefficients(question), question.mask.shape)
        found = variance(energy, tables.precisions(question.attributes))
        assert (found is not None) is known


def test_gains_are_those_of_a_table_that_is_learnt():
    levels = all_levels((8, 5))
    for place, each in enumerate(levels):
        tables = Tables(SIZES)
        cells = bins(8, each[0]) * bins(5, each[1])
        tables.learn((0, 1), each, np.zeros(cells), spread(0.25))
        assert np.allclose(tables.precisions((0, 1)), 4 * gains((8, 5))[:, place])


@pytest.mark.parametrize("power", [1, 2], ids=["ρ", "ε"])
def test_a_sum_is_divided_better_than_between_one_or_all(power):
    sizes = (16, 7)
    energy = np.zeros(len(all_levels(sizes)))
    tables = Tables((16, 7))
    for low, high in ((0, 9), (3, 12), (2, 5), (6, 16)):
        question = CountingQuestion.where(Domain(sizes=sizes), {0: range(low, high), 1: range(1, 4)})
        energy += energies(tables.coefficients(question), sizes)
    raised, known = gains(sizes), np.zeros(len(energy))

    def cost(parts):
        bands = known + raised @ parts**power
        return (energy / bands)[energy > 1e-12].sum() if (bands > 0).all() else np.inf

    parts = divided(1.0, energy, known, raised, lambda x: x**power)
    assert parts.sum() == pytest.approx(1)
    assert cost(parts) < cost(np.full(len(parts), 1 / len(parts)))
    assert cost(parts) <= min(cost(each) for each in np.eye(len(parts)))
    if power == 1:  # convex: no other division is better
        for _ in range(200):
            other = CHANCE.dirichlet(np.full(len(parts), 0.3))
            assert cost(parts) <= cost(0.9 * parts + 0.1 * other) * (1 + 1e-3)
