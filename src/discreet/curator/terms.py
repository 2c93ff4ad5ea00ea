"""What an analyst gives with a question: its price or accuracy. Written once, for all methods that take it.

`model.request.request_of` reads the terms of a question, `curator.learning_rows` those of a SELECT of rows.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

from discreet.model.exact import Number

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
