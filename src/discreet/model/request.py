"""What an analyst is willing to pay, or how accurate the answer has to be."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.model.exact import (
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
