"""An argument of a wrong kind gets the one clear error, never a traceback about attributes."""

from fractions import Fraction

import pytest

from discreet.errors import InvalidInput
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip
from discreet.noise.threshold import StabilityThreshold

VECTOR = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
SCORES = ScoreSensitivity.counts(Neighbours.ADD_REMOVE)
LAPLACE, GAUSSIAN = DiscreteLaplace(scale=Fraction(1)), DiscreteGaussian(sigma_squared=Fraction(1))
NO_SENSITIVITY = [None, 1, 1.0, "1", True, float("nan"), float("inf"), 0, -1, 10**300]


@pytest.mark.parametrize("value", [*NO_SENSITIVITY, SCORES], ids=repr)
def test_noise_needs_a_sensitivity_of_numbers(value):
    for attempt in (
        lambda: DiscreteLaplace.for_loss(1, value),
        lambda: DiscreteGaussian.for_loss(1, value),
        lambda: LAPLACE.loss(value),
        lambda: GAUSSIAN.loss(value),
        lambda: StabilityThreshold.for_delta(1e-6, value, LAPLACE),
        lambda: StabilityThreshold(noise=LAPLACE, threshold=9).loss(value),
    ):
        with pytest.raises(InvalidInput, match="Sensitivity"):
            attempt()


@pytest.mark.parametrize("value", [*NO_SENSITIVITY, VECTOR], ids=repr)
def test_selection_needs_a_sensitivity_of_scores(value):
    for kind in (PermuteAndFlip, ExponentialMechanism):
        with pytest.raises(InvalidInput, match="ScoreSensitivity"):
            kind.for_loss(1, value)
        with pytest.raises(InvalidInput, match="ScoreSensitivity"):
            kind(temperature=Fraction(1)).loss(value)
    with pytest.raises(InvalidInput, match="ScoreSensitivity"):
        ExponentialMechanism(temperature=Fraction(1)).concentrated_loss(value)


@pytest.mark.parametrize("other", [None, 1, 0.5, "1", VECTOR], ids=repr)
def test_only_losses_are_added_up(other):
    zero = Fraction(0)
    for loss in (
        PureLoss(epsilon=zero),
        ApproximateLoss(epsilon=zero, delta=zero),
        ConcentratedLoss(rho=zero, delta=zero),
    ):
        with pytest.raises(InvalidInput):
            loss.compose(other)
