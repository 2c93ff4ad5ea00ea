"""The model that an analyst gets. It predicts from tables with the columns of the SELECT."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags

from discreet.answers.wording import MISSING, counted, measure_text, price_text
from discreet.arrays import ColumnValues, Floats, Labels
from discreet.errors import InvalidInput
from discreet.learn.estimators.base import Learner
from discreet.model.policy import KeyValue
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt

_CONFIDENCE = 0.95
_LABEL = "Each error holds at 95 % confidence: for the noise, and for who was asked if residuals are even."
_DROWNED = f"{MISSING} is drowned by noise. More ε helps, or fewer features, or Ridge with a large alpha."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of the tables that a model predicts from: a number, or one of some values."""

    name: str
    values: tuple[KeyValue, ...] | None = None
    """None for a number."""
    first: int = 0
    """The first value that has a feature."""

    @property
    def features(self) -> tuple[str, ...]:
        if self.values is None:
            return (self.name,)
        return tuple(f"{self.name} = {value}" for value in self.values[self.first :])


class LinearModel(Protocol):
    """What is shown of a linear model; regressors have no classes, and classifiers no intervals."""

    coef_: Floats
    intercept_: Floats | float
    classes_: Labels

    def intervals(self, confidence: float) -> Floats: ...


class DeclaredColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table with the columns of a SELECT into features, by declarations alone."""

    def __init__(self, columns: tuple[TableColumn, ...]) -> None:
        self.columns = columns

    def fit(self, X: object, y: object = None) -> "DeclaredColumns":  # noqa: ARG002, N803
        """Does nothing: all is declared."""
        return self

    def transform(self, X: object) -> Floats:  # noqa: N803
        """A data frame or mapping with these columns by name, or rows in the order of the SELECT."""
        return np.hstack([_features(column, values) for column, values in self._read(X)])

    def get_feature_names_out(self, input_features: object = None) -> ColumnValues:  # noqa: ARG002
        return np.array([name for column in self.columns for name in column.features], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns a table to predict from must have: those of the SELECT but the last."""
        return len(self.columns)

    @property
    def feature_names_in_(self) -> ColumnValues:
        return np.array([column.name for column in self.columns], dtype=object)

    def _read(self, table: object) -> list[tuple[TableColumn, ColumnValues]]:
        table = table.to_pandas() if hasattr(table, "to_pandas") else table
        if hasattr(table, "columns") or isinstance(table, Mapping):
            named = cast(Mapping[str, object], table)
            missing = [column.name for column in self.columns if column.name not in named]
            if missing:
                raise InvalidInput(
                    f"The table has no column “{missing[0]}”.",
                    remedy=f"Give all of: {', '.join(column.name for column in self.columns)}.",
                )
            return [(column, _single(column, named[column.name])) for column in self.columns]
        rows = np.asarray(table, dtype=object)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise InvalidInput(
                f"The rows do not have the {len(self.columns)} columns that the model learnt from.",
                remedy="Give a data frame, or rows with"
                f" {', '.join(column.name for column in self.columns)}, in this order.",
            )
        return [(column, rows[:, i]) for i, column in enumerate(self.columns)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803  scikit-learn's own signature
        return f"DeclaredColumns({', '.join(column.name for column in self.columns)})"


class FittedModel(Pipeline):  # type: ignore[misc]
    """A pipeline of scikit-learn: the declared columns, then the model; with its cost, and what is left."""

    charged: Spend
    left: Spend
    receipt: Receipt
    repeated: bool
    """Whether the same model was fitted before. Then this is that model, and it was free."""

    @classmethod
    def of(
        cls,
        columns: tuple[TableColumn, ...],
        model: Learner,
        *,
        receipt: Receipt,
        left: Spend,
        repeated: bool,
    ) -> "FittedModel":
        found = cls([("columns", DeclaredColumns(columns)), ("model", model)])
        found.charged, found.left, found.receipt, found.repeated = receipt.charged, left, receipt, repeated
        return found

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, in the order of the coefficients."""
        return tuple(self[0].get_feature_names_out())

    def price(self) -> str:
        """What it cost and what is left, in a sentence."""
        if not hasattr(self, "receipt"):
            return "Not fitted: a copy of a model that was."
        free = "Fitted before: the same model, free" if self.repeated else ""
        return price_text(self.charged, self.left, self.receipt, free=free)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803  scikit-learn's own signature
        return str(self)

    def __str__(self) -> str:
        linear = hasattr(self[-1], "coef_")
        head = f"{type(self[-1]).__name__} of {counted(len(self.features), 'feature')}"
        lines = [head, *(_coefficients(self[-1], self.features) if linear else ()), self.price()]
        return "\n".join(lines)


def _coefficients(model: LinearModel, features: tuple[str, ...]) -> list[str]:
    """A line for each coefficient, with its error where that is known; a column for each class."""
    values = np.atleast_2d(model.coef_)
    width = max(map(len, (*features, "intercept")))
    heads = []
    if len(values) > 1:
        heads.append(" " * width + "".join(f" {each!s:>11.11}" for each in model.classes_))
    ends = model.intervals(_CONFIDENCE) if hasattr(model, "products_") else None
    lines = [f"{'intercept':{width}}" + "".join(f"{each:12.4g}" for each in np.atleast_1d(model.intercept_))]
    for i, name in enumerate(features):
        numbers = "".join(f"{each:12.4g}" for each in values[:, i])
        error = "" if ends is None else f" {_error_text(values[0, i], *ends[i])}"
        lines.append(f"{name:{width}}{numbers}{error}")
    if ends is not None:
        lines.append(_LABEL if np.isfinite(ends).any() else _DROWNED)
    return [*heads, *lines]


def _single(column: TableColumn, values: object) -> ColumnValues:
    found: ColumnValues = np.atleast_1d(np.asarray(values))
    if found.ndim != 1:
        raise InvalidInput(
            f"The table has several columns “{column.name}”.", remedy="Give each column a name of its own."
        )
    return found


def _features(column: TableColumn, values: ColumnValues) -> Floats:
    if column.values is not None:
        return _marks(column, column.values, values)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"“{column.name}” has values that are no numbers.", remedy="Give numbers."
        ) from None
    if not np.isfinite(numbers).all():
        raise InvalidInput(
            f"“{column.name}” has values that are missing or not finite.",
            remedy="Leave these rows out, as the fit did.",
        )
    return numbers[:, None]


def _marks(column: TableColumn, declared: tuple[KeyValue, ...], values: ColumnValues) -> Floats:
    if values.dtype.kind == "M":  # as data frames have dates
        values = values.astype("datetime64[D]").astype(object)
    marks: Floats = np.column_stack([values == value for value in declared]).astype(np.float64)
    if not marks.any(axis=1).all():
        raise InvalidInput(
            f"“{column.name}” has values that are not declared.",
            remedy="Leave these rows out, as the fit did.",
        )
    return marks[:, column.first :]


def _error_text(value: float, low: float, high: float) -> str:
    """A dash where the noise drowned the coefficient, so that it may be anything."""
    if not (math.isfinite(low) or math.isfinite(high)):
        return MISSING
    return measure_text(value, low, high)[1] or MISSING
