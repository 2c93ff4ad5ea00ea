"""Weights on all records: sums and products along axes are those that a list of records gives."""

from itertools import permutations

import numpy as np
import pytest

from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.records import shares
from discreet.synth.core.weight_array import Halves, scale, table


def weighted(sizes):
    domain = Domain(sizes=sizes)
    cells = Cells(domain)
    cells.weights = np.random.default_rng(1).random(domain.cells)
    return domain, cells


def agree(domain, cells, marginal):
    np.testing.assert_allclose(table(cells.weights, domain, marginal), shares(cells, marginal), rtol=1e-12)
    factors = np.random.default_rng(2).random(marginal.cells)
    scaled = cells.weights.copy()
    scale(scaled, domain, marginal, factors)
    np.testing.assert_allclose(scaled, cells.weights * factors[cells.places(marginal)], rtol=1e-12)


@pytest.mark.parametrize("sizes", [(3, 4, 2, 5), (30, 3, 40, 2, 3), (5000,), (1, 1), (2, 1, 3), (2000, 3)])
def test_every_table_in_every_order(sizes):
    domain, cells = weighted(sizes)
    for order in range(1, len(sizes) + 1):
        for attributes in permutations(range(len(sizes)), order):
            agree(domain, cells, Marginal.full(domain, attributes))


def test_coarse_tables():
    domain, cells = weighted((6, 50, 40))
    codes = (np.array([0, 0, 1, 1, 1, 2]), np.arange(50) // 7, np.arange(40))
    for attributes in permutations(range(3)):
        for order in (1, 2, 3):
            chosen = attributes[:order]
            agree(
                domain,
                cells,
                Marginal(attributes=chosen, codes=tuple(codes[i].astype(np.int32) for i in chosen)),
            )


def test_halves():
    domain, cells = weighted((6, 50, 40))
    whole = Marginal.full(domain, (2, 0))
    mask = np.random.default_rng(3).random(whole.cells) < 0.3
    agree(domain, cells, Halves(attributes=whole.attributes, codes=whole.codes, table=whole, mask=mask))
