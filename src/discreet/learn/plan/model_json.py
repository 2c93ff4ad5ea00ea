"""Models as JSON: what is to be fitted, and what was. To read it runs nothing but discreet's own models."""

import math
from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from typing import Any, cast

import numpy as np

from discreet import learn
from discreet.answers.columns import as_column, iso_cells, kind_of, plain_cells
from discreet.answers.json_reading import read_column
from discreet.answers.released import Released
from discreet.errors import InvalidInput
from discreet.learn.estimators.base import RELEASED, PrivateModel, plain
from discreet.learn.plan.fitted_model import FittedModel, TableColumn
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt

KINDS = ("LinearRegression", "LinearSVC", "LogisticRegression", "PoissonRegression", "Ridge")
"""Models that are all data: no function and no network of somebody's own."""
_CONFIDENCE = 0.95
_DEEPEST = 2
"""Bounds are a list of pairs."""
_NOTE = "Each interval holds at 95 % confidence: for the noise, and for who was asked if residuals are even."


def model_request(model: object) -> tuple[str, dict[str, Any]]:
    """The kind of a model, and the settings that it does not have by default."""
    kind = type(model).__name__
    if not isinstance(model, PrivateModel) or kind not in KINDS or type(model) is not getattr(learn, kind):
        raise InvalidInput(
            "A service fits discreet's own linear models only.", remedy=f"Give one of: {', '.join(KINDS)}."
        )
    usual = {name: each.default for name, each in signature(type(model)).parameters.items()}
    own = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    return kind, {name: _setting(name, value) for name, value in own.items() if value != usual[name]}


def new_model(kind: str, settings: Mapping[str, Any]) -> PrivateModel:
    """A model that is not fitted yet."""
    if kind not in KINDS:
        raise InvalidInput(f"A service fits no “{kind[:100]}”.", remedy=f"Name one of: {', '.join(KINDS)}.")
    made = getattr(learn, kind)
    known = signature(made).parameters
    for name, value in settings.items():
        if name not in known:
            raise InvalidInput(
                f"{kind} has no setting “{name[:100]}”.", remedy=f"It has: {', '.join(known)}."
            )
        _setting(name, value)
    return cast(PrivateModel, made(**settings))


def model_json(fitted: FittedModel) -> dict[str, Any]:
    """All that a fitted model is."""
    model = fitted[-1]
    return {
        "kind": type(model).__name__,
        "settings": {
            name: _setting(name, plain(value)) for name, value in model.get_params(deep=False).items()
        },
        "columns": [_column_json(column) for column in fitted[0].columns],
        "state": {name: _with_words(value) for name, value in model.state().items()},
    }


def read_model(found: Mapping[str, Any], *, receipt: Receipt, left: Spend, repeated: bool) -> FittedModel:
    """The model that `model_json` wrote."""
    columns = tuple(_read_column(column) for column in found["columns"])
    model = new_model(found["kind"], found["settings"])
    state = {name: _without_words(value) for name, value in found["state"].items() if name in RELEASED}
    model.restore(state, sum(len(column.features) for column in columns))
    model.loss_ = receipt.charged
    return FittedModel.of(columns, model, receipt=receipt, left=left, repeated=repeated)


def coefficient_table(fitted: FittedModel) -> Released:
    """The intercept and the coefficients: one column, or one for each class. Intervals, if there are any."""
    model, features = fitted[-1], fitted.features
    values = np.column_stack([np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)])
    several = len(values) > 1
    names = [f"coefficient of {each}" for each in model.classes_] if several else ["coefficient"]
    columns = {"feature": ["intercept", *features], **dict(zip(names, values, strict=True))}
    ends = model.intervals(_CONFIDENCE) if hasattr(model, "products_") else None
    unknown = [[math.nan, math.nan]]
    low, high = (None, None) if ends is None else np.vstack([unknown, ends]).T
    return Released(
        columns=tuple(columns),
        values={name: as_column(column) for name, column in columns.items()},
        raw={} if low is None else {names[0]: values[0]},
        low={} if low is None else {names[0]: low},
        high={} if high is None else {names[0]: high},
        confidence=_CONFIDENCE,
        notes=() if low is None else (_NOTE,),
    )


def _column_json(column: TableColumn) -> dict[str, Any]:
    if column.values is None:
        return {"name": column.name, "type": None, "values": None, "first": 0}
    values = as_column(column.values)
    return {
        "name": column.name,
        "type": kind_of(values),
        "values": list(iso_cells(values)),
        "first": column.first,
    }


def _read_column(found: Mapping[str, Any]) -> TableColumn:
    if found["values"] is None:
        return TableColumn(name=str(found["name"]))
    values = plain_cells(read_column(found["values"], found["type"]))
    return TableColumn(name=str(found["name"]), values=cast(Any, tuple(values)), first=int(found["first"]))


def _setting(name: str, value: object, depth: int = 0) -> object:
    """A setting as JSON has it."""
    if isinstance(value, list | tuple | np.ndarray) and depth < _DEEPEST:
        return [_setting(name, plain(each), depth + 1) for each in value]
    if isinstance(value, Fraction):
        return float(value)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise InvalidInput(
            f"The setting “{name}” cannot be sent to a service.", remedy="Give a number, a text, or a list."
        )
    return value


def _with_words(value: object) -> object:
    """JSON has no ∞ and no NaN."""
    if isinstance(value, list):
        return [_with_words(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _without_words(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    return float(value) if isinstance(value, str) else value
