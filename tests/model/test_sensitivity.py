"""What one person can change says for which neighbours; the audit enumerates that it is right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from tests.bad_values import BAD_COUNTS

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def test_the_two_relations_differ_by_a_factor_of_two_on_histograms():
    assert Sensitivity.histogram(ADD_REMOVE).l1 == 1
    assert Sensitivity.histogram(REPLACE_ONE).l1 == 2
    assert Sensitivity.histogram(REPLACE_ONE).l2_squared == 2


def test_a_sum_moves_by_a_value_or_by_a_difference():
    assert Sensitivity.sum(20, 50, ADD_REMOVE).l1 == 50
    assert Sensitivity.sum(20, 50, REPLACE_ONE).l1 == 30


def test_the_factor_two_of_selection_is_derived():
    assert ScoreSensitivity.counts(ADD_REMOVE).range == 1
    assert ScoreSensitivity.counts(REPLACE_ONE).range == 2
    assert ScoreSensitivity.bounded(1, ADD_REMOVE).range == 2


@given(moves=st.lists(st.integers(-9, 9), min_size=1, max_size=6).filter(any))
def test_the_norms_of_any_actual_move_are_accepted(moves):
    Sensitivity(
        neighbours=ADD_REMOVE,
        l0=sum(1 for move in moves if move),
        linf=max(map(abs, moves)),
        l1=sum(map(abs, moves)),
        l2_squared=sum(move**2 for move in moves),
    )


@pytest.mark.parametrize(
    "norms", [(1, 2, 1, 4), (1, 1, 2, 1), (2, 1, 2, 3), (1, 3, 3, 8), (3, 1, 2, 5)], ids=repr
)
def test_norms_that_no_move_has_are_refused(norms):
    l0, linf, l1, l2_squared = norms
    with pytest.raises(InvalidInput):
        Sensitivity(neighbours=ADD_REMOVE, l0=l0, linf=linf, l1=l1, l2_squared=l2_squared)


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_sensitivity_is_a_positive_whole_number(value):
    with pytest.raises(InvalidInput):
        Sensitivity.scalar(value, ADD_REMOVE)
    with pytest.raises(InvalidInput):
        Sensitivity.histogram(ADD_REMOVE, max_rows=value)
    with pytest.raises(InvalidInput):
        Sensitivity.counting_queries(value, ADD_REMOVE)
    with pytest.raises(InvalidInput):
        ScoreSensitivity.bounded(value, ADD_REMOVE)


@pytest.mark.parametrize("bounds", [(5, 5), (5, 3), (0.0, 1), (None, 1), (0, float("inf"))], ids=repr)
def test_bounds_are_whole_numbers_in_order(bounds):
    with pytest.raises(InvalidInput):
        Sensitivity.sum(*bounds, ADD_REMOVE)
    with pytest.raises(InvalidInput):
        ScoreSensitivity.additive(*bounds, ADD_REMOVE)


@pytest.mark.parametrize("relation", [None, "add_remove", 1])
def test_a_sensitivity_names_its_neighbours(relation):
    with pytest.raises(InvalidInput):
        Sensitivity.scalar(1, relation)
    with pytest.raises(InvalidInput):
        ScoreSensitivity(neighbours=relation, range=1)
