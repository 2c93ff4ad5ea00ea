"""What an analyst is willing to pay, or how accurate the answer has to be."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import InvalidInput
from discreet.model.exact import (
    Number,
    confidence_level,
    exact_fraction,
    positive_epsilon,
    positive_rho,
    within,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByEpsilon:
    """Pay this ε: pure, or at the dataset's δ."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRho:
    """Pay this ρ, in a dataset whose budget has a δ."""

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_rho(self.rho))


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Be within ± error of the bounded truth, in each cell, at the least price."""

    error: Fraction

    def __post_init__(self) -> None:
        exact_fraction(self.error, "within")
        error = within(self.error, "within", Fraction(1, 10**12), Fraction(2**60))
        object.__setattr__(self, "error", error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A price or an accuracy, and the confidence that errors are stated at."""

    price: "ByEpsilon | ByRho | Within"
    confidence: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", confidence_level(self.confidence))


Price: TypeAlias = ByEpsilon | ByRho | Within


def request_of(
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    within: Number | None = None,
    confidence: Number = 0.95,
) -> Request:
    """From what an analyst gives: exactly one price or accuracy."""
    prices: list[Price] = []
    if epsilon is not None:
        prices.append(ByEpsilon(epsilon=positive_epsilon(epsilon)))
    if rho is not None:
        prices.append(ByRho(rho=positive_rho(rho)))
    if within is not None:
        prices.append(Within(error=exact_fraction(within, "within")))
    if len(prices) != 1:
        raise InvalidInput(
            "A question needs one price, or one accuracy.",
            remedy="Give exactly one of epsilon=, rho= and within=.",
        )
    return Request(price=prices[0], confidence=confidence_level(confidence))
