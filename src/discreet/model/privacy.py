"""Privacy losses: what a release costs, in three currencies, exactly.

A loss is a claim about *all* neighbours under one relation. Losses add up under composition, also
when later questions depend on earlier answers, in the sense of the theorem named at each ``compose``. Only
losses under the same relation may be added up: whoever keeps a budget must see to that.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import InvalidInput, NotComposable
from discreet.model.conversion import concentrated_delta, concentrated_epsilon
from discreet.model.exact import (
    SMALLEST_DELTA,
    Number,
    exact_fraction,
    exp_bounds,
    positive_count,
    positive_delta,
    within,
)

AMOUNT_UNITS = 10**15
"""Units in an ε or a ρ of 1: accounts are kept in whole ones, see `ledger.units`."""
DELTA_UNITS = 10**18
"""Units in a δ of 1."""
_LARGEST_LOSS = Fraction(10**12)


@dataclass(frozen=True, slots=True, kw_only=True)
class PureLoss:
    """ε-differential privacy: P(M(D) ∈ S) ≤ e^ε · P(M(D′) ∈ S) for all neighbours and events."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        epsilon = within(self.epsilon, "epsilon", Fraction(0), _LARGEST_LOSS)
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def compose(self, other: "Loss") -> "Loss":
        """Sum of ε, adaptively (Dwork, McSherry, Nissim, Smith 2006; lecture 003 §29.4)."""
        if isinstance(other, PureLoss):
            return PureLoss(epsilon=self.epsilon + other.epsilon)
        return _loss(other).compose(self)

    def for_group(self, size: int) -> "PureLoss":
        """kε for groups of k (lecture 002, Theorem 2)."""
        return PureLoss(epsilon=self.epsilon * positive_count(size, "size"))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The ε of the (ε, δ) statement; a pure loss needs no δ."""
        positive_delta(delta)
        return self.epsilon

    def approximate(self) -> "ApproximateLoss":
        return ApproximateLoss(epsilon=self.epsilon, delta=Fraction(0))

    def concentrated(self) -> "ConcentratedLoss":
        """ε-DP is ε²/2-zCDP (Bun & Steinke 2016, arXiv 1605.02065v1, Proposition 1.4)."""
        return ConcentratedLoss(rho=self.epsilon**2 / 2, delta=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateLoss:
    """(ε, δ)-differential privacy: P(M(D) ∈ S) ≤ e^ε · P(M(D′) ∈ S) + δ."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        epsilon = within(self.epsilon, "epsilon", Fraction(0), _LARGEST_LOSS)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", _loss_delta(self.delta))

    def compose(self, other: "Loss") -> "Loss":
        """Sum of ε and of δ, adaptively (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006)."""
        other = _loss(other)
        if isinstance(other, ConcentratedLoss):
            return other.compose(self)
        return ApproximateLoss(
            epsilon=self.epsilon + other.epsilon, delta=min(Fraction(1), self.delta + other.delta)
        )

    def for_group(self, size: int) -> "ApproximateLoss":
        """(kε, δ·(e^(kε) − 1)/(e^ε − 1)): one neighbour after the other (proof of Vadhan 2017, Lemma 2.2)."""
        k = positive_count(size, "size")
        delta = max(self.delta, SMALLEST_DELTA) if self.delta else Fraction(0)
        return ApproximateLoss(
            epsilon=self.epsilon * k, delta=min(Fraction(1), delta * _geometric_sum(self.epsilon, k))
        )

    def epsilon_at(self, delta: Number) -> Fraction:
        """The ε at a δ that is at least this loss's own."""
        if positive_delta(delta) < self.delta:
            raise InvalidInput(
                "This loss holds only at a larger delta than was asked for.",
                remedy="Ask at its own delta or above.",
            )
        return self.epsilon

    def concentrated(self) -> "ConcentratedLoss":
        """(ε, δ)-DP is δ-approximately ε²/2-zCDP (Bun & Steinke 2016, v1, section 8)."""
        return ConcentratedLoss(rho=self.epsilon**2 / 2, delta=self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedLoss:
    """δ-approximate ρ-zCDP (Bun & Steinke 2016, arXiv 1605.02065v1, section 8).

    Except for events of probability δ, the Rényi divergence of order α is at most ρα, for all α > 1.
    """

    rho: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        rho = within(self.rho, "rho", Fraction(0), _LARGEST_LOSS)
        object.__setattr__(self, "rho", rho)
        object.__setattr__(self, "delta", _loss_delta(self.delta))

    def compose(self, other: "Loss") -> "Loss":
        """Sum of ρ and of δ, adaptively (Bun & Steinke 2016, v1, section 8)."""
        other = _loss(other)
        if not isinstance(other, ConcentratedLoss):
            other = other.concentrated()
        return ConcentratedLoss(rho=self.rho + other.rho, delta=min(Fraction(1), self.delta + other.delta))

    def for_group(self, size: int) -> "ConcentratedLoss":
        """k²ρ for groups of k (Bun & Steinke 2016, v1, Proposition 1.9); only without a δ."""
        k = positive_count(size, "size")
        if self.delta and k > 1:
            raise NotComposable(
                "Group privacy of a concentrated loss with a delta has no simple rule.",
                remedy="Convert first: loss.approximate(delta).for_group(k).",
            )
        return ConcentratedLoss(rho=self.rho * k**2, delta=self.delta)

    def epsilon_at(self, delta: Number) -> Fraction:
        """The least ε of an (ε, δ) statement at this δ, rounded up."""
        spare = positive_delta(delta) - self.delta
        if spare <= 0:
            raise InvalidInput(
                "This loss holds only at a larger delta than was asked for.",
                remedy="Ask at a delta above the loss's own.",
            )
        return concentrated_epsilon(self.rho, spare)

    def delta_at(self, epsilon: Number) -> Fraction:
        """The least δ of an (ε, δ) statement at this ε, rounded up."""
        exact = within(epsilon, "epsilon", Fraction(0), _LARGEST_LOSS)
        return min(Fraction(1), self.delta + concentrated_delta(self.rho, exact))

    def approximate(self, delta: Number) -> ApproximateLoss:
        """The same claim as (ε, δ)."""
        return ApproximateLoss(epsilon=self.epsilon_at(delta), delta=exact_fraction(delta, "delta"))


Loss: TypeAlias = PureLoss | ApproximateLoss | ConcentratedLoss
Spend: TypeAlias = PureLoss | ConcentratedLoss
"""What is charged: losses that add up, in one of two currencies, ε or ρ."""


def amount_of(spend: Spend) -> Fraction:
    """Its ε, or its ρ."""
    return spend.epsilon if isinstance(spend, PureLoss) else spend.rho


def spend_of(amount: Fraction, *, concentrated: bool) -> Spend:
    """An amount of ρ if losses are concentrated, else of ε; without a δ."""
    if concentrated:
        return ConcentratedLoss(rho=amount, delta=Fraction(0))
    return PureLoss(epsilon=amount)


def share_of(spend: Spend, share: Fraction) -> Spend:
    """A share of it, without its δ: shares that add up to 1 compose to the whole, in either currency."""
    return spend_of(amount_of(spend) * share, concentrated=isinstance(spend, ConcentratedLoss))


def _loss(value: Loss) -> Loss:
    if not isinstance(value, PureLoss | ApproximateLoss | ConcentratedLoss):
        raise InvalidInput("Only losses can be added up.", remedy="Give PureLoss(epsilon=…) or another loss.")
    return value


def _loss_delta(value: object) -> Fraction:
    return within(value, "delta", Fraction(0), Fraction(1))


def _geometric_sum(epsilon: Fraction, terms: int) -> Fraction:
    """1 + e^ε + … + e^((terms−1)ε), rounded up."""
    if epsilon == 0 or terms == 1:
        return Fraction(terms)
    if epsilon * terms > 2000:
        return 1 / SMALLEST_DELTA**20
    if epsilon < Fraction(1, 10**12):
        return terms * exp_bounds(epsilon * terms, 40)[1]
    return (exp_bounds(epsilon * terms, 40)[1] - 1) / (exp_bounds(epsilon, 40)[0] - 1)
