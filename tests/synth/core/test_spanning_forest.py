"""Where the fit of a wide table begins: the strongest relations, drawn exactly."""

import numpy as np
import pytest

from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import Sample, Term, shares
from discreet.synth.core.spanning_forest import _exponents, _information, _spanning, planted

PEOPLE = 100_000.0
FIRST, SECOND = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.1, 0.1])
JOINT = np.array([[0.3, 0.1, 0.05, 0.05], [0.05, 0.2, 0.03, 0.02], [0.05, 0.1, 0.02, 0.03]])
CODES = (np.array([0, 1, 2], dtype=np.int32), np.array([0, 1, 2, 2], dtype=np.int32))


def pair(attributes, table, variance=1.0, codes=None):
    codes = codes or tuple(np.arange(size, dtype=np.int32) for size in table.shape)
    marginal = Marginal(attributes=attributes, codes=codes)
    return Measurement(marginal=marginal, counts=table.ravel() * PEOPLE, variance=variance)


def test_two_attributes_are_drawn_from_their_table():
    """400,000 records in 12 cells, each within 6 standard deviations: a false alarm once in 10⁷ tests."""
    chance, count = np.random.default_rng(), 400_000
    for child in (0, 1):
        sample = Sample([FIRST, SECOND], count, chance)
        term = _exponents(pair((0, 1), JOINT), [FIRST, SECOND], PEOPLE, chance)
        sample.follow(term, child)
        found = shares(sample, term.marginal)
        assert (np.abs(found - JOINT.ravel()) < 6 * np.sqrt(JOINT.ravel() / count) + 1e-4).all()


def test_within_a_bin_values_have_their_law():
    """As above; the last bin has two values."""
    chance, count = np.random.default_rng(), 400_000
    term = Term(Marginal(attributes=(0, 1), codes=CODES))
    term.exponents[:] = np.log([1.5, 0.5, 1.0, 0.5, 1.25, 1.5, 0.5, 1.875, 0.25])
    for child in (0, 1):
        sample = Sample([FIRST, SECOND], count, chance)
        sample.follow(term, child)
        odds = np.exp(term.exponents).reshape(3, 3)[:, CODES[1]]
        joint = np.outer(FIRST, SECOND) * odds
        joint *= (FIRST / joint.sum(axis=1))[:, None] if child else SECOND / joint.sum(axis=0)
        found = shares(sample, Marginal.full(Domain(sizes=(3, 4)), (0, 1)))
        assert (np.abs(found - joint.ravel()) < 6 * np.sqrt(joint.ravel() / count)).all()


def test_a_forest_has_the_laws_of_its_attributes():
    term = _exponents(pair((0, 1), JOINT, variance=1e6), [FIRST, SECOND], PEOPLE, np.random.default_rng())
    table = np.outer(FIRST, SECOND) * np.exp(term.exponents.reshape(3, 4))
    assert table.sum(axis=1) == pytest.approx(FIRST)
    assert table.sum(axis=0) == pytest.approx(SECOND)


def test_information_is_that_of_the_table_and_none_where_noise_hides_it():
    laws = [JOINT.sum(axis=1), JOINT.sum(axis=0)]
    even = np.outer(*laws)
    exact = (JOINT * np.log(JOINT / even)).sum()
    assert _information(pair((0, 1), JOINT), laws, PEOPLE) == pytest.approx(exact, rel=1e-3)
    assert _information(pair((0, 1), JOINT, variance=1e9), laws, PEOPLE) == 0
    assert _information(pair((0, 1), even), laws, PEOPLE) == pytest.approx(0, abs=1e-6)


def test_the_first_edges_that_close_no_circle_are_taken():
    some = [pair(each, np.ones((2, 2)) / 4) for each in ((0, 1), (2, 3), (1, 0), (1, 2), (0, 3), (4, 5))]
    taken = [each.marginal.attributes for each in _spanning(some, 6)]
    assert taken == [(0, 1), (2, 3), (1, 2), (4, 5)]


def test_the_ends_of_a_chain_know_of_each_other():
    """Ten attributes that agree with the one before nine times in ten; within 6 standard deviations."""
    chance, count = np.random.default_rng(), 100_000
    table, laws = np.array([[0.45, 0.05], [0.05, 0.45]]), [np.full(2, 0.5)] * 10
    pairs = [pair((int(i), int(i) + 1), table) for i in chance.permutation(9)]
    sample = Sample(laws, count, chance)
    terms = planted(sample, pairs, laws, PEOPLE, chance)
    assert len(terms) == 9
    agree = (sample.columns[0] == sample.columns[9]).mean()
    assert agree == pytest.approx(0.5 + 0.8**9 / 2, abs=6 * 0.5 / count**0.5 + 1e-3)
