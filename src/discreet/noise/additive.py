"""Noise that is added to integers: which law goes with which currency, chosen in one place.

A pure ε is paid by discrete Laplace noise. A ρ is paid by discrete Gaussian noise: at the same ρ its error is
the smaller one, at every confidence above one half.
"""

from typing import TypeAlias

from discreet.model.privacy import PureLoss, Spend, amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

AdditiveNoise: TypeAlias = DiscreteLaplace | DiscreteGaussian


def law_for(spend: Spend) -> type[DiscreteLaplace] | type[DiscreteGaussian]:
    """The law of the noise that is paid in this currency."""
    return DiscreteLaplace if isinstance(spend, PureLoss) else DiscreteGaussian


def additive(spend: Spend, sensitivity: Sensitivity) -> AdditiveNoise:
    """The least noise that costs at most this."""
    return law_for(spend).for_loss(amount_of(spend), sensitivity)
