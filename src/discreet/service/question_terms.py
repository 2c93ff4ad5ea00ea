"""What is asked, and at which price: as it came in, so that the same can be asked again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidInput
from discreet.model.exact import Number

_PRICES = ("epsilon", "rho", "within")
_KNOWN = (*_PRICES, "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTerms:
    """The price or the accuracy of a question, and the confidence of its errors."""

    epsilon: Number | None = None
    rho: Number | None = None
    within: Number | None = None
    confidence: Number = 0.95

    @classmethod
    def read(cls, given: Mapping[str, Any], default_epsilon: Fraction | None = None) -> "AskedTerms":
        """From a request; the account's own price if it names none."""
        unknown = sorted(set(given) - set(_KNOWN))
        if unknown:
            raise InvalidInput(f"“{unknown[0]}” is unknown.", remedy=f"Give some of: {', '.join(_KNOWN)}.")
        terms = {name: value for name, value in given.items() if value is not None}
        for name, value in terms.items():
            if type(value) not in (int, float):
                raise InvalidInput(f"“{name}” must be a number.", remedy=f'Write "{name}": 0.1')
        if default_epsilon is not None and not any(name in terms for name in _PRICES):
            terms["epsilon"] = float(default_epsilon)
        return cls(**terms)

    def given(self) -> dict[str, Any]:
        """As `curator.ask` takes them."""
        return {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "within": self.within,
            "confidence": self.confidence,
        }

    def price_or_accuracy(self) -> dict[str, Any]:
        """What was set, without the confidence."""
        return {name: value for name, value in self.given().items() if name in _PRICES}

    def price(self) -> dict[str, Any]:
        """As `curator.synthesize` and `curator.fit` take them."""
        return {"epsilon": self.epsilon, "rho": self.rho}

    def text(self) -> str:
        """The same terms give the same text."""
        return json.dumps({name: float(value) for name, value in self.given().items() if value is not None})

    @classmethod
    def from_text(cls, text: str) -> "AskedTerms":
        return cls(**json.loads(text))
