"""What all estimators share: declared settings, a fit that spends its budget, and what it released."""

from typing import Self, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.accounting.amplification import sampling_rate
from discreet.arrays import Floats, Labels
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount, FitBudget, OwnBudget
from discreet.learn.core.declarations import (
    DeclaredBounds,
    Scaling,
    declared_classes,
    feature_scaling,
    truth,
)
from discreet.learn.core.encoding import RowOwners, between, person_weights
from discreet.learn.descent.generalized_linear import FOR_MOMENTS, sampled_steps
from discreet.learn.descent.sampled_account import SampledAccount, numbered
from discreet.learn.estimators.clones import FittedOnce
from discreet.model.deadline import Deadline
from discreet.model.exact import Number
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import Loss

FeatureBounds: TypeAlias = list[tuple[float, float]]
TargetDeclaration: TypeAlias = tuple[float, float] | list[bool | int | float | str]
"""The bounds of a target, or its classes."""
PlainValue: TypeAlias = "bool | int | float | str | list[PlainValue] | None"
ModelState: TypeAlias = dict[str, PlainValue]
"""All that a fit released, as JSON has it."""
RELEASED = ("coef_", "intercept_", "rows_", "n_iter_", "products_", "product_noise_")
"""The attributes of a fitted model that come from noisy sums; all others are declared."""
_FARTHEST_MARGIN = 1e300


class Learner(FittedOnce):
    """What can be fitted on rows whose bounds, classes and people a policy declares."""

    epsilon: Number | None
    delta: Number
    noise: str
    rows_per_person: int
    neighbours: Neighbours | str
    batch: Number | None = None
    steps: int | None = None
    loss_: Loss

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        """Fit on finite rows, of which there may be none. Spends the whole budget.

        No step begins after the deadline, if there is one.
        """
        raise NotImplementedError

    def open_account(self, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None) -> FitAccount:
        """The account that pays for a fit on these people."""
        raise NotImplementedError

    def own_budget(self) -> OwnBudget:
        """What the model's own settings let a fit spend."""
        if self.epsilon is None:
            raise InvalidInput(
                "How much privacy this fit may spend is not said.",
                remedy="Give the model an epsilon, or fit it with curator.fit(model, sql, epsilon=…).",
            )
        return OwnBudget(epsilon=self.epsilon, delta=self.delta, noise=self.noise)

    def wants_classes(self) -> bool | None:
        """Whether it predicts classes; None if it can do both."""
        raise NotImplementedError

    def declared(self, bounds: FeatureBounds, target: TargetDeclaration) -> dict[str, object]:
        """The settings among bounds, target bounds and classes that the model does not have itself."""
        raise NotImplementedError

    def state(self) -> ModelState:
        """All that the fit released, as plain lists and numbers."""
        raise NotImplementedError

    def restore(self, state: ModelState, features: int) -> None:
        """Become the model that has this state."""
        raise NotImplementedError

    def description(self) -> str:
        """The same for two learners exactly if they would learn the same."""
        raise NotImplementedError

    def repeatable(self) -> bool:
        """Whether its description is the same when it is asked for again."""
        return True

    def network_weights(self) -> int | None:
        """How many weights a network trains; None for other models."""
        return None


class PrivateModel(Learner):
    """A linear model whose fitted attributes are declared, or made of noisy sums.

    Attributes
        coef_, intercept_, n_iter_: of the model; `rows_`: a noisy number of rows
        loss_: what the fit spent, under the declared neighbours
        n_features_in_, feature_names_in_: the shape and names of the table, which are public
    """

    bounds: DeclaredBounds | None
    fit_intercept: bool

    coef_: Floats
    intercept_: Floats | float
    rows_: float
    n_iter_: int

    def fit_within(self, budget: FitBudget, X: object, y: object, groups: object) -> Self:  # noqa: N803
        """Fit on rows as they came. Spends the whole budget."""
        x, targets = self._read(X, y)
        with self.only_fit():
            self.learn(x, targets, self._people(len(x), groups), budget=budget, deadline=None)
        return self

    def _read(self, X: object, y: object) -> tuple[Floats, Labels]:  # noqa: N803
        """Features and targets, all finite."""
        raise NotImplementedError

    def _validated(self, X: object, y: object, *, y_numeric: bool) -> tuple[Floats, Labels]:  # noqa: N803
        """Numbers, all finite, and the targets as they are."""
        try:
            x, targets = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=y_numeric)
        except ValueError as wrong:
            raise _without_values(wrong) from None
        return x, targets

    def wants_classes(self) -> bool:
        return bool(is_classifier(self))

    def declared(self, bounds: FeatureBounds, target: TargetDeclaration) -> dict[str, object]:
        given = {"bounds": bounds, ("classes" if self.wants_classes() else "target_bounds"): target}
        own = self.get_params()
        return {name: value for name, value in given.items() if own[name] is None}

    def state(self) -> ModelState:
        return {name: _plain_numbers(getattr(self, name)) for name in RELEASED if hasattr(self, name)}

    def restore(self, state: ModelState, features: int) -> None:
        for name, value in state.items():
            setattr(self, name, np.array(value) if isinstance(value, list) else value)
        if self.wants_classes():
            self.classes_ = declared_classes(self.get_params()["classes"])
        self.n_features_in_ = features

    def description(self) -> str:
        settings = {name: _listed(value) for name, value in sorted(self.get_params().items())}
        return f"{type(self).__name__}({settings!r})"

    def _people(self, count: int, groups: object) -> RowOwners:
        ids = None if groups is None else np.asarray(groups)
        weights = person_weights(ids, count, self.rows_per_person)
        return RowOwners(weights=weights, rows_per_person=self.rows_per_person, ids=ids)

    def open_account(self, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None) -> FitAccount:
        """The account that pays for a fit on these people: each step sees everyone, or a sample of them."""
        neighbours = relation(self.neighbours)
        if self.batch is None:
            total = budget.spend() if isinstance(budget, OwnBudget) else budget
            return FitAccount(total, neighbours=neighbours, deadline=deadline)
        if not isinstance(budget, OwnBudget):
            raise InvalidInput(
                "A fit on samples cannot be one of several that share a budget.", remedy="Give batch=None."
            )
        return SampledAccount(
            budget,
            rate=self.batch,
            people=numbered(people.ids, len(people.weights), self.rows_per_person),
            steps=self.steps or sampled_steps(sampling_rate(self.batch, "batch")),
            share=1 - FOR_MOMENTS,
            neighbours=neighbours,
        )

    def _scaling(self, width: int) -> Scaling:
        return feature_scaling(self.bounds, width, getattr(self, "feature_names_in_", None))

    def _intercept(self) -> bool:
        return truth(self.fit_intercept, "fit_intercept")

    def _keep(self, account: FitAccount, rows: float, steps: int) -> None:
        self.loss_ = account.spent()
        self.rows_ = rows
        self.n_iter_ = steps

    def _margins(self, X: object) -> Floats:  # noqa: N803
        check_is_fitted(self)
        if hasattr(X, "columns") and not hasattr(self, "feature_names_in_"):
            X = np.asarray(X)  # noqa: N806  it was fitted without names, which is not worth a warning
        margins: Floats = self._features(X) @ np.atleast_2d(self.coef_).T + self.intercept_
        return margins

    def _row_margins(self, X: object) -> Floats:  # noqa: N803
        """As `_margins`, with sums that are the same for a row wherever it stands.

        Margins that overflow are clamped: an error or a warning would reveal that there is such a row.
        """
        x, coefficients = self._features(X), np.atleast_2d(self.coef_)
        margins = np.zeros((len(x), len(coefficients)))
        with np.errstate(all="ignore"):
            for feature in range(x.shape[1]):
                margins += x[:, feature, None] * coefficients[:, feature]
            margins += self.intercept_
        return between(margins, _FARTHEST_MARGIN)

    def _features(self, X: object) -> Floats:  # noqa: N803
        """The features of rows to predict, checked against those of the fit."""
        try:
            x: Floats = validate_data(self, X, reset=False, dtype=np.float64)
        except ValueError as wrong:
            raise _without_values(wrong) from None
        return x

    def row_scores(self, X: object, y: object) -> Floats:  # noqa: N803
        """How well each row is predicted, from 0 to 1. Not private: `PrivateSearch` adds noise."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def plain(value: object) -> object:
    """The value, with arrays as lists and numbers."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _plain_numbers(released: Floats | float) -> PlainValue:
    return released.tolist() if isinstance(released, np.ndarray | np.generic) else released


def _listed(value: object) -> object:
    """With arrays and tuples as lists, so that the same bounds are equal however they are written."""
    value = plain(value)
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def in_own_units(coefficients: Floats, intercept: Floats, scaling: Scaling) -> tuple[Floats, Floats]:
    """From coefficients of scaled features, one column for each output, to those of the unscaled features."""
    own = coefficients / scaling.size[:, None]
    return own, intercept - scaling.shift @ own


def finite_targets(y: object) -> Floats:
    try:
        targets: Floats = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as wrong:
        raise _without_values(wrong) from None
    return targets


def relation(name: object) -> Neighbours:
    try:
        return Neighbours(name)
    except ValueError:
        raise InvalidInput(
            "There is no such relation of neighbours.", remedy='Give "add_remove" or "replace_one".'
        ) from None


def _without_values(wrong: ValueError) -> ValueError:
    """The error without values. scikit-learn's messages name shapes and kinds, but quote complex numbers;
    numpy's quote a text that is no number.
    """
    if "Complex data" in str(wrong):
        return InvalidInput("Complex data not supported.", remedy="Give real numbers.")
    if "could not convert" in str(wrong):
        return InvalidInput("Some values are not numbers.", remedy="Encode texts as numbers first.")
    return wrong
