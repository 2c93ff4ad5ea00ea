"""What an analyst gives with a question: its price or accuracy. Written once, for all methods that take it.

`request_for` reads the terms of a question, `price_of_rows` those of a SELECT of rows.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from discreet.answers.wording import epsilon_within, rounded_down
from discreet.bounds.calibrate import budget_of, charge_of, check_cap, least_amount, too_dear
from discreet.errors import InvalidInput
from discreet.model.exact import Number, positive_epsilon, positive_rho
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend, amount_of, share_of
from discreet.model.report import check_no_error
from discreet.model.request import ByEpsilon, ByRho, Request, request_of

if TYPE_CHECKING:
    from discreet.synth.plan.attributes import Bins

M = TypeVar("M", bound=Callable[..., object])

_DEFAULTS = {"confidence": 0.95, "workload": ()}
"""Defaults as signatures show them; all others are None."""


class RowTerms(TypedDict, total=False):
    """Of a model, or of a check of a synthetic table: one of the two."""

    epsilon: Number | None
    rho: Number | None


class QuestionTerms(RowTerms, total=False):
    """Of a question: one price, or the error that it may have; and the confidence, 0.95 by default."""

    within: Number | None
    confidence: Number


class SynthesisTerms(RowTerms, total=False):
    """Of a synthetic table: one price; the bins of numbers; questions that it has to answer well."""

    bins: "Bins"
    workload: Sequence[str]


def spelled_out(terms: type) -> Callable[[M], M]:
    """Show the `**terms` of a method one by one in help() and notebooks. Other names raise a TypeError."""
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=annotation)
        for name, annotation in terms.__annotations__.items()
    ]

    def spell(method: M) -> M:
        own = signature(method)
        others = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        shown = own.replace(parameters=[*others, *named])

        @wraps(method)
        def checked(*given: object, **terms: object) -> object:
            for name in terms.keys() - shown.parameters.keys():
                raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}")
            return method(*given, **terms)

        vars(checked)["__signature__"] = shown
        return cast(M, checked)

    return spell


_PRICES = ("epsilon", "rho", "within")
_SUGGESTED = Fraction(1, 10)
"""The share of what is left that is suggested to somebody who names no price."""


def request_for_report(terms: dict[str, Any], dataset: Dataset, left: Callable[[], Spend]) -> Request:
    """The same for a report, whose price is split over its questions."""
    check_no_error(terms.get("within"))
    if dataset.default_price is None and all(terms.get(name) is None for name in _PRICES):
        raise InvalidInput("A report needs one price.", remedy=_price_suggestion(dataset, left()))
    return request_for(terms, dataset, left)


def request_for(terms: dict[str, Any], dataset: Dataset, left: Callable[[], Spend]) -> Request:
    """What an analyst gave, as a request to this dataset. `left` is what they may still spend."""
    if dataset.default_price is not None and all(terms.get(name) is None for name in _PRICES):
        terms = {**terms, "epsilon": dataset.default_price}
    check_price(terms, dataset, left)
    return request_of(**terms)


def check_price(terms: dict[str, Any], dataset: Dataset, left: Callable[[], Spend]) -> None:
    """Refuse no price at all, with a suggestion, and an ε above the whole budget."""
    if all(terms.get(name) is None for name in _PRICES):
        raise InvalidInput(
            "A question needs one price, or one accuracy.", remedy=_suggestion(dataset, left())
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
    return f"{_price_suggestion(dataset, left)} Or say with within= how far the answer may be off."


def _price_suggestion(dataset: Dataset, left: Spend) -> str:
    budget = budget_of(dataset)
    tenth = share_of(left, _SUGGESTED)
    if amount_of(tenth) < least_amount(dataset):
        return "Give a price, such as epsilon=0.1; hardly anything is left of the budget."
    epsilon = epsilon_within(tenth, budget)
    suggested = min(epsilon or float(amount_of(tenth)), float(dataset.question_epsilon))
    return f"Give a price: epsilon={rounded_down(suggested, 2):g} takes a tenth of what is left for you."


def price_of_rows(dataset: Dataset, *, epsilon: Number | None = None, rho: Number | None = None) -> Spend:
    """The price of learning from rows. All of it is spent on noise, so its δ is 0."""
    if (epsilon is None) == (rho is None):
        raise InvalidInput("This needs one price.", remedy="Give either epsilon= or rho=.")
    price = ByRho(rho=positive_rho(rho)) if epsilon is None else ByEpsilon(epsilon=positive_epsilon(epsilon))
    loss = charge_of(price, dataset)
    check_cap(loss, dataset)
    return loss if isinstance(loss, PureLoss) else ConcentratedLoss(rho=loss.rho, delta=Fraction(0))
