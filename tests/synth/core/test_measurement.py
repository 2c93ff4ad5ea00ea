"""Marginals with noise: the law of what is released, and what it costs."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss, share_of
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core.domain import Domain
from discreet.synth.core.measurement import (
    MarginalReader,
    Measurement,
    combined,
    distances,
    measure,
    noise,
)

HISTOGRAM = Sensitivity.histogram(Neighbours.ADD_REMOVE)
DOMAIN = Domain(sizes=(2, 2))
(TABLE,) = DOMAIN.marginals(2)
MANY = 400_000


def laplace(epsilon, reach=60):
    weights = {x: exp(-abs(x) * epsilon) for x in range(-reach, reach + 1)}
    return {x: weight / sum(weights.values()) for x, weight in weights.items()}


def gaussian(rho, reach=60):
    weights = {x: exp(-(x**2) * rho) for x in range(-reach, reach + 1)}  # σ² = 1/(2ρ)
    return {x: weight / sum(weights.values()) for x, weight in weights.items()}


LOSSES = [
    (PureLoss(epsilon=Fraction(1, 2)), laplace(0.5)),
    (ConcentratedLoss(rho=Fraction(1, 8), delta=Fraction(0)), gaussian(0.125)),
]


@pytest.mark.parametrize(("loss", "law"), LOSSES)
def test_the_noise_has_the_law_of_its_loss(loss, law):
    """Of 400,000 draws, each value within 6 standard deviations: a false alarm once in 10⁷ tests."""
    wide = Domain(sizes=(100, 100)).marginals(2)[0]
    exact = np.arange(10_000)
    draws = [measure(wide, exact, loss=loss, sensitivity=HISTOGRAM) for _ in range(MANY // 10_000)]
    found = np.concatenate([each.counts - exact for each in draws])
    for value, probability in law.items():
        if probability * MANY > 20:
            off = (found == value).sum() - probability * MANY
            assert abs(off) < 6 * (probability * MANY) ** 0.5, value
    variance = sum(value**2 * probability for value, probability in law.items())
    assert draws[0].variance == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize(("loss", "law"), LOSSES)
def test_two_neighbours_are_as_alike_as_the_loss_says(loss, law):
    """A person moves one cell of the table by 1, and the released counts' law by no more than the loss.

    Summed over the law that the test above finds in the draws: the largest log-ratio for a pure loss, and the
    Rényi divergences of a concentrated one.
    """
    columns, more = (
        [np.array([0, 1, 1]), np.array([0, 0, 1])],
        [np.array([0, 1, 1, 1]), np.array([0, 0, 1, 0])],
    )
    moved = TABLE.counts(more) - TABLE.counts(columns)
    assert sorted(moved) == [0, 0, 0, 1]
    inner = range(-40, 41)
    if isinstance(loss, PureLoss):
        assert max(abs(log(law[x] / law[x - 1])) for x in inner) <= float(loss.epsilon) + 1e-9
    else:
        for order in (1.5, 2, 4):
            divergence = log(sum(law[x] ** order * law[x - 1] ** (1 - order) for x in inner)) / (order - 1)
            assert divergence <= float(loss.rho) * order + 1e-9


@pytest.mark.parametrize(("loss", "law"), LOSSES)
def test_distances_share_the_loss_of_all(loss, law):
    """Each of 400 gets a 400th, so at 400 times the loss the noise of one. As above: once in 10⁷ tests."""
    all_of_them = share_of(loss, Fraction(400))
    exact = [np.array([3, 1, 4]) for _ in range(400)]
    expected = [np.array([1, 5, 4]) for _ in range(400)]
    draws = [distances(exact, expected, loss=all_of_them, sensitivity=HISTOGRAM) for _ in range(MANY // 400)]
    found = np.concatenate(draws) - 6
    for value, probability in law.items():
        if probability * MANY > 20:
            off = (found == value).sum() - probability * MANY
            assert abs(off) < 6 * (probability * MANY) ** 0.5, value


def test_a_distance_that_moves_by_two_has_twice_the_noise():
    loss = PureLoss(epsilon=Fraction(1, 10))
    replaced = MarginalReader(None, loss, Sensitivity.histogram(Neighbours.REPLACE_ONE), 1)
    added = MarginalReader(None, loss, HISTOGRAM, 1)
    assert replaced.sigma_of_distance(Fraction(1), 7) == pytest.approx(
        2 * added.sigma_of_distance(Fraction(1), 7), rel=1e-3
    )


@pytest.mark.parametrize(("loss", "_law"), LOSSES)
def test_parts_add_up_to_the_whole(loss, _law):
    shares = [Fraction(1, 3), Fraction(1, 7), Fraction(11, 21)]
    first, *others = [share_of(loss, share) for share in shares]
    for other in others:
        first = first.compose(other)
    assert first == loss


def test_counts_in_parts_of_a_person_have_that_much_less_variance():
    loss, sensitivity = PureLoss(epsilon=Fraction(1, 10)), Sensitivity.scalar(1024, Neighbours.ADD_REMOVE)
    assert noise(loss, sensitivity, 1024) == pytest.approx(200, rel=1e-3)


@pytest.mark.parametrize("loss", [PureLoss(epsilon=Fraction(10**4)), ConcentratedLoss(rho=10**4, delta=0)])
def test_a_variance_is_never_zero(loss):
    assert 0 < noise(loss, HISTOGRAM) < 0.001


def test_two_measurements_make_a_better_one():
    def made(counts, variance):
        return Measurement(marginal=TABLE, counts=np.array(counts), variance=variance)

    both = combined(made([0.0, 0, 0, 0], 3.0), made([4.0, 8, 12, 16], 1.0))
    assert both.counts.tolist() == [3, 6, 9, 12]
    assert both.variance == pytest.approx(0.75)
