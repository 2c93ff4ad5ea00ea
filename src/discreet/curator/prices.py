"""The price of what is asked: read, or asked for with a suggestion."""

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any

from discreet.answers.wording import epsilon_within, rounded_down
from discreet.bounds.calibrate import budget_of, least_amount, too_dear
from discreet.errors import InvalidInput
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend, amount_of, share_of
from discreet.model.request import Request, request_of

_PRICES = ("epsilon", "rho", "within")
_SUGGESTED = Fraction(1, 10)
"""The share of what is left that is suggested to somebody who names no price."""


def request_for(terms: dict[str, Any], dataset: Dataset, left: Callable[[], Spend]) -> Request:
    """What an analyst gave, as a request to this dataset. `left` is what they may still spend."""
    check_price(terms, dataset, left)
    return request_of(**terms)


def check_price(terms: dict[str, Any], dataset: Dataset, left: Callable[[], Spend]) -> None:
    """Refuse no price at all, with a suggestion, and an ε above the whole budget."""
    if all(terms.get(name) is None for name in _PRICES):
        raise InvalidInput(
            "What it may cost is missing.", remedy=f"{_suggestion(dataset, left())} Nothing was spent."
        )
    epsilon = terms.get("epsilon")
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not math.isfinite(epsilon):
        return
    if epsilon > dataset.epsilon:
        raise too_dear(dataset)
    if epsilon <= 0:
        raise InvalidInput(
            f"epsilon must be above 0, not {float(epsilon):g}.", remedy=_suggestion(dataset, left())
        )


def _suggestion(dataset: Dataset, left: Spend) -> str:
    budget = budget_of(dataset)
    tenth = share_of(left, _SUGGESTED)
    if amount_of(tenth) < least_amount(dataset):
        return "Give a price, such as epsilon=0.1; hardly anything is left of the budget."
    epsilon = epsilon_within(tenth, budget)
    suggested = min(epsilon or float(amount_of(tenth)), float(dataset.question_epsilon))
    return (
        f"Give a price: epsilon={rounded_down(suggested, 2):g} takes a tenth of what is left for you."
        " Or say with within= how far the answer may be off."
    )
