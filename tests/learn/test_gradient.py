"""One person moves the sum of clipped gradients by no more than is claimed: exactly, rounding included."""

import itertools

import numpy as np
import pytest

from discreet.learn.core.encoding import FARTHEST, ONE, EncodedRows, on_grid, person_weights
from discreet.learn.descent.gradient import RESIDUAL_ONE, ClippedGradient
from discreet.learn.descent.losses import (
    Logistic,
    Poisson,
    SmoothedHinge,
    Softmax,
    Squared,
    TabulatedFunction,
)

LOSSES = {
    "squared": (Squared(), 1, (-3.0, 0.3, 3.0)),
    "logistic": (Logistic(), 1, (0.0, 1.0)),
    "poisson": (Poisson(largest=7.0), 1, (0.0, 2.0, 7.0)),
    "hinge": (SmoothedHinge(), 1, (0.0, 1.0)),
    "softmax": (Softmax(), 3, (0.0, 1.0, 2.0)),
}
COORDINATES = (-float(FARTHEST), -1.0, 0.0, 1 / 3, 1.0, 31.7)


def norm_within(vector, reach, order):
    """In Python's integers, which have no rounding."""
    entries = [int(x) for x in vector.flat]
    if order == 1:
        return sum(abs(x) for x in entries) <= reach
    return sum(x * x for x in entries) <= reach**2


def sums(loss, rows, targets, weights, **clipping):
    return ClippedGradient.of(loss, rows, targets, **clipping).sum(weights)


@pytest.mark.parametrize("clip", [1e-9, 0.01, 1.0, 40.0])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_one_row_adds_at_most_the_reach(name, order, clip):
    """Every row of a small domain that includes the ends, at weights from none to the largest."""
    loss, outputs, labels = LOSSES[name]
    points = np.array([[*x, 1.0] for x in itertools.product(COORDINATES, repeat=2)])
    x, y = np.repeat(points, len(labels), axis=0), np.tile(labels, len(points))
    rows = EncodedRows(values=on_grid(x, np.zeros(1), np.ones(1)), weights=np.ones(len(x)), rows_per_person=1)
    chance = np.random.default_rng(1)
    for size in (0, 0.01, 1, 1e3, 1e9):
        weights = size * chance.normal(size=(3, outputs))
        gradient = ClippedGradient.of(loss, rows, y, clip=clip, order=order)
        whole = gradient.sum(weights)
        each = np.zeros_like(whole)
        for i in range(len(x)):
            alone = EncodedRows(values=rows.values[i : i + 1], weights=np.ones(1), rows_per_person=1)
            one = sums(loss, alone, y[i : i + 1], weights, clip=clip, order=order)
            assert norm_within(one, gradient.reach, order)
            each += one
        assert np.array_equal(each, whole)  # no row changes what another adds


@pytest.mark.parametrize("name", LOSSES)
def test_the_sum_does_not_depend_on_the_order_of_rows_nor_on_their_number(name):
    """Many rows, several blocks: removing one takes off exactly what it adds alone."""
    loss, outputs, labels = LOSSES[name]
    chance = np.random.default_rng(2)
    values = on_grid(chance.normal(size=(5003, 17)) * 3, np.zeros(1), np.ones(1))
    y, weights = chance.choice(labels, size=5003), chance.normal(size=(17, outputs))
    whole = sums(
        loss,
        EncodedRows(values=values, weights=np.ones(5003), rows_per_person=1),
        y,
        weights,
        clip=0.7,
        order=2,
    )
    for removed in (0, 1, 2, 3, 4999, 5002):
        kept = np.arange(5003) != removed
        shuffled = chance.permutation(np.flatnonzero(kept))
        without = sums(
            loss,
            EncodedRows(values=values[shuffled], weights=np.ones(5002), rows_per_person=1),
            y[shuffled],
            weights,
            clip=0.7,
            order=2,
        )
        one = EncodedRows(values=values[removed : removed + 1], weights=np.ones(1), rows_per_person=1)
        assert np.array_equal(
            whole - without, sums(loss, one, y[removed : removed + 1], weights, clip=0.7, order=2)
        )


def test_rows_on_the_edge_of_rounding_do_not_move_with_their_place():
    """Residuals as near a tie as floats can be: a margin that is off by one bit would round the other way.

    A product of matrices of floats is off by that bit, or not, depending on where a row stands.
    """
    chance = np.random.default_rng(7)
    values = on_grid(chance.normal(size=(4001, 51)), np.zeros(1), np.ones(1))
    weights = chance.normal(size=(51, 1))
    margins = (values @ weights)[:, 0] / ONE
    ties = margins - (np.rint(margins * RESIDUAL_ONE) + 0.5) / RESIDUAL_ONE
    y = margins - ties - (chance.integers(-9, 9, 4001) + 0.5) / RESIDUAL_ONE
    for targets in (y, margins - 0.5 / RESIDUAL_ONE):
        whole = None
        for shift in range(9):
            order = np.roll(np.arange(4001), shift * 7)
            rows = EncodedRows(values=values[order], weights=np.ones(4001), rows_per_person=1)
            found = sums(Squared(), rows, targets[order], weights, clip=1e3, order=2)
            whole = found if whole is None else whole
            assert np.array_equal(found, whole)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_a_person_with_many_rows_adds_no_more_than_one_with_the_declared_number(name, order):
    """All rows of a person alike and long: the worst case of the triangle inequality."""
    loss, outputs, labels = LOSSES[name]
    chance = np.random.default_rng(3)
    for count, most in itertools.product((1, 2, 3, 7, 50), (1, 3)):
        groups = np.array(["me"] * count)
        x = np.repeat(chance.normal(size=(1, 5)) * 9, count, axis=0)
        rows = EncodedRows(
            values=on_grid(x, np.zeros(1), np.ones(1)),
            weights=person_weights(groups, count, most),
            rows_per_person=most,
        )
        gradient = ClippedGradient.of(loss, rows, np.full(count, labels[-1]), clip=0.3, order=order)
        assert gradient.reach == most * int(0.3 * ONE * RESIDUAL_ONE)
        assert norm_within(gradient.sum(chance.normal(size=(5, outputs))), gradient.reach, order)


def test_the_weights_of_a_person_add_up_to_the_declared_number_of_rows():
    groups = np.array([1, 2, 2, 3, 3, 3, 2, 2])
    assert person_weights(groups, 8, 2) == pytest.approx([1, 0.5, 0.5, 2 / 3, 2 / 3, 2 / 3, 0.5, 0.5])
    assert person_weights(None, 3, 2).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", LOSSES)
def test_without_clipping_it_is_the_gradient(name):
    """Beside differences of the loss itself."""
    loss, outputs, labels = LOSSES[name]
    chance = np.random.default_rng(4)
    x, y = chance.normal(size=(400, 3)), chance.choice(labels, size=400)
    weights = chance.normal(size=(3, outputs)) / 3
    rows = EncodedRows(values=on_grid(x, np.zeros(1), np.ones(1)), weights=np.ones(400), rows_per_person=1)
    found = sums(loss, rows, y, weights, clip=1e3, order=2) / (ONE * RESIDUAL_ONE)

    def value(at):
        m = x @ at
        match name:
            case "squared":
                return ((m[:, 0] - y) ** 2 / 2).sum()
            case "logistic":
                return (np.logaddexp(0, m[:, 0]) - y * m[:, 0]).sum()
            case "poisson":
                return (np.exp(m[:, 0]) - y / 7 * m[:, 0])[m[:, 0] < 0.5].sum() + (
                    (np.exp(0.5) - y / 7) * m[:, 0]
                )[m[:, 0] >= 0.5].sum()
            case "hinge":
                t = (2 * y - 1) * m[:, 0]
                return np.where(t >= 1, 0, np.where(t <= 0, 0.5 - t, (1 - t) ** 2 / 2)).sum()
            case _:
                return (np.log(np.exp(m).sum(axis=1)) - m[np.arange(400), y.astype(int)]).sum()

    for i, j in itertools.product(range(3), range(outputs)):
        step = np.zeros((3, outputs))
        step[i, j] = 1e-4
        assert found[i, j] == pytest.approx((value(weights + step) - value(weights - step)) / 2e-4, abs=0.5)


def test_a_table_is_near_its_function():
    table = TabulatedFunction(np.exp, -24.0, 0.0)
    x = np.linspace(-30, 1, 999)
    assert np.abs(table(x.copy()) - np.exp(np.clip(x, -24, 0))).max() < 4e-4
