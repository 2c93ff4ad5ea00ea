"""Losses in whole units, as a ledger keeps them: integers add up exactly, on every database.

A charge is rounded up and a budget down, so that rounding never lets anybody have more than was declared.
A tenth is a whole number of units: ten charges of 0.1 fill a budget of 1.
"""

import math
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.errors import InvalidInput, NotComposable
from discreet.model.privacy import (
    AMOUNT_UNITS,
    DELTA_UNITS,
    ApproximateLoss,
    ConcentratedLoss,
    PureLoss,
    Spend,
)

LARGEST = 10**18
"""The most units in a budget. Twice that is below 2⁶³, so that no sum of spent and asked overflows."""


class Currency(StrEnum):
    PURE = "pure"
    CONCENTRATED = "concentrated"


class Units(NamedTuple):
    """An amount of ε or ρ, and of δ."""

    currency: Currency
    amount: int
    delta: int

    @property
    def loss(self) -> Spend:
        if self.currency is Currency.PURE:
            return PureLoss(epsilon=Fraction(self.amount, AMOUNT_UNITS))
        return ConcentratedLoss(
            rho=Fraction(self.amount, AMOUNT_UNITS), delta=Fraction(self.delta, DELTA_UNITS)
        )

    @property
    def none(self) -> "Units":
        """Nothing, in this currency."""
        return Units(self.currency, 0, 0)

    def plus(self, other: "Units") -> "Units":
        return Units(self.currency, self.amount + other.amount, self.delta + other.delta)

    def within(self, most: "Units") -> bool:
        """Whether this is no more than another, in amount and in δ, and of its currency."""
        return self.currency is most.currency and self.amount <= most.amount and self.delta <= most.delta

    def smaller(self, other: "Units") -> "Units":
        """The smaller amount with the smaller δ."""
        return Units(self.currency, min(self.amount, other.amount), min(self.delta, other.delta))


def budget_units(budget: object, name: str) -> Units:
    """A budget, rounded down; refused if it is too large to be one."""
    if not isinstance(budget, PureLoss | ConcentratedLoss):
        raise InvalidInput(
            f"{name} must be a PureLoss or a ConcentratedLoss, not a {type(budget).__name__}.",
            remedy="Give PureLoss(epsilon=…) or ConcentratedLoss(rho=…, delta=…).",
        )
    currency, amount, delta = _scaled(budget)
    if amount > LARGEST:
        raise InvalidInput(
            f"{name} is more than {LARGEST // AMOUNT_UNITS}, which protects nobody.",
            remedy="Declare a smaller one; an ε of a few units is usual.",
        )
    return Units(currency, math.floor(amount), math.floor(delta))


def charge_units(loss: object, currency: Currency) -> Units:
    """A loss in the currency of the account that pays it, rounded up."""
    if not isinstance(loss, PureLoss | ApproximateLoss | ConcentratedLoss):
        raise InvalidInput(
            f"A loss is expected, not a {type(loss).__name__}.", remedy="Give PureLoss or ConcentratedLoss."
        )
    if currency is Currency.CONCENTRATED and not isinstance(loss, ConcentratedLoss):
        loss = loss.concentrated()
    if isinstance(loss, ApproximateLoss) or _scaled(loss)[0] is not currency:
        raise NotComposable(
            "A budget of pure ε cannot pay a loss that has a delta or is concentrated.",
            remedy="Give the dataset a delta, or ask with Laplace noise and public keys.",
        )
    _, amount, delta = _scaled(loss)
    return Units(currency, math.ceil(amount), math.ceil(delta))


def filter_of(budget: Spend, spent: Spend) -> PureFilter | ConcentratedFilter:
    """The privacy filter of an account: it admits a charge, or refuses it."""
    if isinstance(budget, PureLoss) and isinstance(spent, PureLoss):
        return PureFilter(epsilon=budget.epsilon, spent=spent)
    if isinstance(budget, ConcentratedLoss) and isinstance(spent, ConcentratedLoss):
        return ConcentratedFilter(rho=budget.rho, delta=budget.delta, spent=spent)
    raise InvalidInput(
        "A budget and what is spent of it must be in one currency.",
        remedy="Give both as PureLoss, or both as ConcentratedLoss.",
    )


def _scaled(loss: Spend) -> tuple[Currency, Fraction, Fraction]:
    if isinstance(loss, PureLoss):
        return Currency.PURE, loss.epsilon * AMOUNT_UNITS, Fraction(0)
    return Currency.CONCENTRATED, loss.rho * AMOUNT_UNITS, loss.delta * DELTA_UNITS
