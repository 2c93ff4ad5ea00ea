"""What a round of selecting and measuring costs, in either currency, and how rounds are paced.

Amounts are fractions of an ε, or of a ρ. They add up under adaptive composition, also when a round's amount
depends on earlier answers, as long as their sum never passes a bound that was fixed in advance (Rogers, Roth,
Ullman, Vadhan, arXiv 1605.08294v3, for ε; Feldman, Zrnic, arXiv 2008.11193v3, Theorem 4.3 for Rényi losses).
How they grow is from AIM (McKenna, Mullins, Sheldon, Miklau, arXiv 2201.12677v1, Algorithm 3).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, pi, sqrt
from typing import Protocol

from discreet.errors import InvalidInput
from discreet.model.exact import positive_epsilon, positive_rho
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity
from discreet.noise.additive import AdditiveNoise, additive
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip, Selection

FIRST_ROUNDS = 16
"""If `rounds` is not given, the first rounds cost as if there were so many for each attribute (AIM)."""
_LEAST_VARIANCE = 1e-6


class RoundPricing(Protocol):
    """A currency: its mechanisms, at an amount of it."""

    @property
    def total(self) -> Fraction: ...

    @property
    def selecting(self) -> Fraction:
        """The part of a round that goes to selection."""
        ...

    @property
    def growth(self) -> int:
        """By what factor half the noise raises the amount."""
        ...

    def expected_size(self, variance: float) -> float:
        """The mean of |noise| that has this variance."""
        ...

    def selection(self, amount: Fraction, sensitivity: ScoreSensitivity) -> Selection: ...

    def noise(self, amount: Fraction, sensitivity: Sensitivity) -> AdditiveNoise: ...


@dataclass(frozen=True, slots=True)
class Pure:
    """ε: permute-and-flip, and Laplace noise. Half of a round goes to each, as in the theorem of MWEM."""

    total: Fraction
    selecting: Fraction = Fraction(1, 2)
    growth: int = 2

    def expected_size(self, variance: float) -> float:
        return sqrt(variance / 2)

    def selection(self, amount: Fraction, sensitivity: ScoreSensitivity) -> Selection:
        return PermuteAndFlip.for_loss(amount, sensitivity)

    def noise(self, amount: Fraction, sensitivity: Sensitivity) -> AdditiveNoise:
        return additive(PureLoss(epsilon=amount), sensitivity)


@dataclass(frozen=True, slots=True)
class Concentrated:
    """ρ: the exponential mechanism, and Gaussian noise, which gets nine tenths (AIM)."""

    total: Fraction
    selecting: Fraction = Fraction(1, 10)
    growth: int = 4

    def expected_size(self, variance: float) -> float:
        return sqrt(2 * variance / pi)

    def selection(self, amount: Fraction, sensitivity: ScoreSensitivity) -> Selection:
        return ExponentialMechanism.for_concentrated_loss(amount, sensitivity)

    def noise(self, amount: Fraction, sensitivity: Sensitivity) -> AdditiveNoise:
        return additive(ConcentratedLoss(rho=amount, delta=Fraction(0)), sensitivity)


def price(loss: Spend) -> RoundPricing:
    if isinstance(loss, PureLoss):
        return Pure(positive_epsilon(loss.epsilon))
    if isinstance(loss, ConcentratedLoss):
        return Concentrated(positive_rho(loss.rho))
    raise InvalidInput("What may be spent is an ε or a ρ.", remedy="Give a PureLoss or a ConcentratedLoss.")


def variance(noise: AdditiveNoise) -> float:
    """The variance of one number; never 0, so that it can be divided by."""
    if isinstance(noise, DiscreteGaussian):
        return max(float(noise.sigma_squared), _LEAST_VARIANCE)
    step = 1 / float(noise.scale)
    return max(2 * exp(-step) / expm1(-step) ** 2, _LEAST_VARIANCE)


class Pace:
    """Amounts of rounds, one after the other, that add up to the total exactly.

    With a number of rounds they are all the same. Without, they start small. If a round taught little, its
    noise was too large, and the next rounds have half of it. What is left for at most two rounds is spent on
    one.
    """

    def __init__(self, price: RoundPricing, total: Fraction, attributes: int, rounds: int | None) -> None:
        self.left = total
        self._each = total / (rounds or FIRST_ROUNDS * attributes)
        self._growth = 1 if rounds else price.growth
        self._most = 1 if rounds else 2

    def take(self) -> Fraction:
        """The amount of the next round."""
        amount = self.left if self.left <= self._most * self._each else self._each
        self.left -= amount
        return amount

    def taught_little(self) -> None:
        self._each *= self._growth
