"""Counting questions: which cells, and how they are taken apart."""

import numpy as np
import pytest

from discreet.errors import InvalidInput
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.core.domain import Domain

DOMAIN = Domain(sizes=(3, 4, 2, 5))


def test_the_order_of_attributes_does_not_matter():
    mask = np.random.default_rng(1).random((4, 3)) < 0.5
    one = CountingQuestion.about(DOMAIN, (1, 0), mask)
    two = CountingQuestion.about(DOMAIN, (0, 1), mask.T)
    assert one.attributes == (0, 1)
    assert one.key == two.key


def test_an_attribute_that_does_not_matter_is_dropped():
    chosen = np.array([True, False, True])
    wide = CountingQuestion.about(DOMAIN, (0, 2), np.outer(chosen, [True, True]))
    assert wide.key == CountingQuestion.about(DOMAIN, (0,), chosen).key
    everyone = CountingQuestion.about(DOMAIN, (0, 1), np.ones((3, 4), bool))
    assert everyone.key == CountingQuestion.about(DOMAIN, (), np.array(True)).key
    assert not everyone.empty


def test_no_cells_are_an_empty_question():
    nobody = CountingQuestion.where(DOMAIN, {0: [], 1: [2]})
    assert nobody.empty
    assert nobody.key != CountingQuestion.where(DOMAIN, {}).key


def test_where_is_the_cells_that_all_allow():
    question = CountingQuestion.where(DOMAIN, {3: [1, 4], 0: [0]})
    assert question.attributes == (0, 3)
    assert question.mask.sum() == 2
    assert question.mask[0, 1]
    assert question.mask[0, 4]


def test_different_questions_have_different_keys():
    keys = {CountingQuestion.where(DOMAIN, {0: [i], 1: [j]}).key for i in range(3) for j in range(4)}
    assert len(keys) == 12


def test_the_exact_count_is_that_of_its_cells():
    table = np.arange(12)
    assert CountingQuestion.where(DOMAIN, {0: [1], 1: [0, 3]}).count(table) == 4 + 7


@pytest.mark.parametrize(
    ("attributes", "mask"),
    [
        ((0, 0), np.ones((3, 3), bool)),
        ((4,), np.ones(3, bool)),
        ((-1,), np.ones(5, bool)),
        ((0,), np.ones(4, bool)),
        ((0,), np.ones(3)),
        ((0, 1), np.ones((4, 3), bool)),
    ],
)
def test_what_is_no_question_is_refused(attributes, mask):
    with pytest.raises(InvalidInput):
        CountingQuestion.about(DOMAIN, attributes, mask)


@pytest.mark.parametrize("allowed", [{4: [0]}, {-1: [0]}, {0: [3]}, {0: [-1]}, {0: [0.5]}])
def test_what_no_record_has_is_refused(allowed):
    with pytest.raises(InvalidInput):
        CountingQuestion.where(DOMAIN, allowed)


def test_a_question_that_is_too_wide_is_refused():
    with pytest.raises(InvalidInput, match="too wide"):
        CountingQuestion.about(Domain(sizes=(10_000, 10_000)), (0, 1), np.ones((1, 1), bool))
