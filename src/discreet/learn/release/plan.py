"""What will be learnt, and its price: no data is read, and nothing is spent."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from discreet.compile.calibrate import Charge
from discreet.compile.dialects.dialect import Dialect
from discreet.compile.exact import Results
from discreet.compile.rows import RowQuery
from discreet.compile.statement import Statement
from discreet.errors import InvalidInput, QueryRefused
from discreet.learn.base import PrivateModel
from discreet.learn.declared import declared_classes
from discreet.learn.regressors import LeastSquares, solver_of
from discreet.learn.release.columns import (
    Choice,
    Column,
    Number,
    choice_column,
    feature_columns,
    number_column,
)
from discreet.learn.release.rows import Fetched, Summed, class_values
from discreet.model.exact import whole
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss

_LEARNT = ("coef_", "intercept_", "rows_", "n_iter_", "coef_error_")
"""The attributes of a fitted model that come from noisy sums; all others are declared."""
_FROM_POLICY = ("epsilon", "delta", "noise", "rows_per_person", "neighbours")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """The model, the columns that it learns from, and the whole price."""

    model: str
    """What it is, with all its settings."""
    data: Fetched | Summed
    """What is read, and how."""
    loss: Charge
    neighbours: Neighbours
    estimator: PrivateModel = field(repr=False, compare=False)
    """Not fitted, with all that the policy declares."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.data.columns

    @property
    def target(self) -> Column:
        return self.data.target

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.features)

    def statement(self, tables: Mapping[str, str], dialect: Dialect) -> Statement:
        return self.data.statement(tables, dialect)

    def learnt(self, results: Results) -> bytes:
        """All that is released, to be stored before anybody sees any of it; it costs `loss`."""
        model = self._model()
        if isinstance(self.data, Summed):
            _least_squares(model).learn_from_products(self.data.sums(results))
        else:
            _learn(model, self.data.rows(results))
        state = {name: _plain(getattr(model, name)) for name in _LEARNT if hasattr(model, name)}
        return json.dumps(state).encode()

    def fitted(self, stored: bytes) -> PrivateModel:
        """The model, from what was released. Free."""
        model: PrivateModel = self._model()
        for name, value in json.loads(stored).items():
            setattr(model, name, np.array(value) if isinstance(value, list) else value)
        model.loss_ = self.loss
        model.n_features_in_ = len(self.features)
        if isinstance(self.target, Choice):
            model.classes_ = declared_classes(model.get_params()["classes"])
        del model._total
        return model

    def rehearse(self) -> None:
        """Fit it on nobody: settings that are wrong are refused before anything is spent."""
        if isinstance(self.data, Summed):
            _least_squares(self._model()).learn_from_products(self.data.nothing())
        else:
            _learn(self._model(), self.data.nobody())

    def _model(self) -> Any:
        model = clone(self.estimator)
        model._total = self.loss
        return model


def plan_fit(model: object, rows: RowQuery, loss: Charge, neighbours: Neighbours) -> FitPlan:
    """A model of the last column by the others."""
    if not isinstance(model, PrivateModel):
        raise InvalidInput(
            "Only discreet's own models can be fitted here.",
            remedy="Give one of discreet.learn, such as LogisticRegression().",
        )
    if len(rows.columns) < 2:
        raise QueryRefused(
            "A model predicts the last column from those before it, and there is only one.",
            remedy="Write SELECT feature, …, target FROM table.",
        )
    _check_settings(model)
    whole(rows.source.max_rows, "The number of rows that one person can have here", 1, 2**20)
    columns = feature_columns(rows.columns[:-1], intercept=bool(model.fit_intercept))
    target = _target(model, rows)
    estimator = _declared(model, columns, target, rows.source.max_rows, neighbours)
    plan = FitPlan(
        model=_described(estimator),
        data=_data(estimator, rows, columns, target, loss),
        loss=loss,
        neighbours=neighbours,
        estimator=estimator,
    )
    plan.rehearse()
    return plan


def _target(model: PrivateModel, rows: RowQuery) -> Column:
    last = rows.columns[-1]
    return choice_column(last) if is_classifier(model) else number_column(last)


def _data(
    model: PrivateModel, rows: RowQuery, columns: tuple[Column, ...], target: Column, loss: Charge
) -> Fetched | Summed:
    """Sums where the model is made of them and one statement can have them all; else rows."""
    width = sum(len(column.features) for column in columns)
    by_sums = isinstance(model, LeastSquares) and solver_of(model.solver, width, model.batch) == "statistics"
    if by_sums and isinstance(target, Number) and _bounds_are_declared(model, columns, target):
        order = 1 if isinstance(loss, PureLoss) else 2
        summed = Summed(source=rows.source, columns=columns, target=target, order=order)
        if summed.fits_a_statement():
            return summed
    return Fetched(source=rows.source, columns=columns, target=target)


def _bounds_are_declared(model: Any, columns: tuple[Column, ...], target: Number) -> bool:
    """Whether values are clamped to what the policy declares, and not to bounds of the model's own."""
    return (model.bounds, model.target_bounds) == (_bounds(columns), target.bounds[0])


def _declared(
    model: PrivateModel,
    columns: tuple[Column, ...],
    target: Column,
    rows_per_person: int,
    neighbours: Neighbours,
) -> PrivateModel:
    """The model with what the policy says, where it says nothing itself."""
    known: dict[str, Any] = {"rows_per_person": rows_per_person, "neighbours": neighbours.value}
    if model.bounds is None:
        known["bounds"] = _bounds(columns)
    if isinstance(target, Choice):
        if model.get_params()["classes"] is None:
            known["classes"] = class_values(target).tolist()
    elif model.get_params()["target_bounds"] is None:
        known["target_bounds"] = target.bounds[0]
    declared: PrivateModel = clone(model).set_params(**known)
    return declared


def _bounds(columns: tuple[Column, ...]) -> list[tuple[float, float]]:
    return [pair for column in columns for pair in column.bounds]


def _check_settings(model: PrivateModel) -> None:
    """What the policy and the price decide is not for the model to say."""
    defaults = {name: each.default for name, each in signature(type(model)).parameters.items()}
    for name in _FROM_POLICY:
        if getattr(model, name) != defaults[name]:
            raise InvalidInput(
                f"The model has a {name} of its own.",
                remedy=f"Leave {name} out: the policy says whose privacy it is, and epsilon= or rho= of fit"
                " what may be spent.",
            )


def _learn(model: PrivateModel, rows: tuple[Any, Any, Any]) -> None:
    with np.errstate(all="ignore"):  # a warning would tell of the data
        model.learn(*rows)


def _least_squares(model: Any) -> LeastSquares:
    if not isinstance(model, LeastSquares):
        raise TypeError("Only least squares are made of sums.")
    return model


def _described(model: PrivateModel) -> str:
    settings = {name: _plain(value) for name, value in sorted(model.get_params().items())}
    return f"{type(model).__name__}({settings!r})"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
