"""Domains, marginals and bins."""

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.synth.core.domain import Domain, Marginal, bins


def test_marginals_are_all_tables_of_so_many_attributes():
    domain = Domain(sizes=(3, 4, 5))
    assert domain.cells == 60
    assert [each.attributes for each in domain.marginals(2)] == [(0, 1), (0, 2), (1, 2)]
    assert [each.shape for each in domain.marginals(2)] == [(3, 4), (3, 5), (4, 5)]
    assert [each.cells for each in domain.marginals(3)] == [60]


def test_places_are_those_of_the_table():
    domain = Domain(sizes=(3, 4, 5))
    columns = np.unravel_index(np.arange(60), domain.sizes)
    for marginal in domain.marginals(2):
        chosen = [columns[i] for i in marginal.attributes]
        assert (marginal.places(columns) == np.ravel_multi_index(chosen, marginal.shape)).all()


def test_a_coarse_table_is_the_fine_one_added_up():
    columns = [np.array([0, 1, 2, 2, 3]), np.array([1, 0, 1, 1, 0])]
    coarse = Marginal(attributes=(0, 1), codes=(np.array([0, 0, 1, 1]), np.array([0, 1])))
    assert coarse.shape == (2, 2)
    assert np.bincount(coarse.places(columns), minlength=4).tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
def test_bins_join_neighbours_and_leave_what_is_large_alone(most):
    shares = np.array([0.01, 0.02, 0.5, 0.01, 0.01, 0.2, 0.05, 0.05, 0.15])
    codes = bins(shares, most)
    assert codes[0] == 0
    assert set(np.diff(codes)) <= {0, 1}
    held = np.bincount(codes, weights=shares)
    assert (held[held < 1 / most] > 0).all()
    assert len(held) <= 2 * most + 1
    for value in np.flatnonzero(shares[1:] >= 1 / most) + 1:
        assert codes[value] > codes[value - 1]


@pytest.mark.parametrize("sizes", [(), (0,), (10_001,), (2.5,)])
def test_what_is_no_domain_is_refused(sizes):
    with pytest.raises(InvalidInput):
        Domain(sizes=sizes)
