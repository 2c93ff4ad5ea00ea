"""Classifiers: logistic regression by objective perturbation or descent, support vectors by descent."""

from dataclasses import replace
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from discreet.arrays import Floats, Labels
from discreet.learn.core.account import FitBudget
from discreet.learn.core.declarations import (
    DeclaredBounds,
    DeclaredClasses,
    Scaling,
    declared_classes,
    places,
)
from discreet.learn.core.encoding import RowOwners
from discreet.learn.descent.generalized_linear import Linear, fit_by_descent
from discreet.learn.descent.losses import Logistic, ModelLoss, SmoothedHinge, Softmax
from discreet.learn.estimators.base import PrivateModel, in_own_units, relation
from discreet.learn.estimators.solver_choice import objective_budget
from discreet.learn.objective.perturbation import ObjectiveBudget, approximate, fit_by_objective
from discreet.model.deadline import Deadline
from discreet.model.exact import Number


class _Classifier(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    classes: DeclaredClasses | None
    clip: float | None
    penalty: float
    classes_: Labels

    def fit(self, X: object, y: object, groups: object = None) -> Self:  # noqa: N803
        """Spends `epsilon` and `delta`. `groups` has each row's person; without it, each row is one person's.

        Rows whose label is not declared count for nothing; features beyond their bounds are clamped.
        """
        return self.fit_within(self.own_budget(), X, y, groups)

    def _read(self, X: object, y: object) -> tuple[Floats, Labels]:  # noqa: N803
        x, labels = self._validated(X, y, y_numeric=False)
        check_classification_targets(labels)
        return x, np.asarray(labels)

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        classes = declared_classes(self.classes)
        targets, declared = places(y, classes)
        scaling = self._scaling(x.shape[1])
        account = self.open_account(people, budget=budget, deadline=deadline)
        people = replace(people, weights=people.weights * declared)
        outputs = 1 if len(classes) == 2 else len(classes)
        found = fit_by_descent(
            scaling.apply(x),
            targets,
            self._loss(outputs),
            people,
            account,
            marks=scaling.marks,
            outputs=outputs,
            steps=self.steps,
            clip=self.clip,
            penalty=self.penalty,
            intercept=self._intercept(),
        )
        self._set(found, scaling, classes)
        self._keep(account, found.count, found.steps)

    def _set(self, found: Linear, scaling: Scaling, classes: Labels) -> None:
        own, intercept = in_own_units(found.coefficients, found.intercept, scaling)
        self.classes_ = classes
        self.coef_ = own.T
        self.intercept_ = intercept

    def _loss(self, outputs: int) -> ModelLoss:
        raise NotImplementedError

    def decision_function(self, X: object) -> Floats:  # noqa: N803
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: object) -> Labels:  # noqa: N803
        return self._labels(self._margins(X))

    def row_scores(self, X: object, y: object) -> Floats:  # noqa: N803
        right = self._labels(self._row_margins(X)) == np.asarray(y)
        return np.asarray(right, dtype=np.float64)

    def _labels(self, margins: Floats) -> Labels:
        chosen = (margins[:, 0] > 0).astype(int) if margins.shape[1] == 1 else margins.argmax(axis=1)
        labels: Labels = self.classes_[chosen]
        return labels


class LogisticRegression(_Classifier):
    """Logistic regression, of two classes or of several.

    Privacy
        (epsilon, delta)-differential privacy of all fitted attributes together, for people who have one row
        each, or up to `rows_per_person`; with delta=0 by Laplace noise (pure), otherwise by Gaussian noise.
        solver="descent" adds noise to each step (zCDP). With `batch`, each step sees each person with that
        probability, and `loss_` is pure, or one (ε, δ). solver="objective" adds noise once, to what is
        minimised: one (ε, δ). It takes two classes, one row a person, and an epsilon of at most 30, or 60 for
        replace_one. "auto" is "objective" where that is possible, by declarations and never by the data;
        with a curator it is "descent", because a curator's budget is of another kind.

    Accuracy
        Errors come from the noise, from clipping, and from stopping early or a ridge; all shrink as epsilon
        times the number of rows grows. See `discreet.learn.estimators.solver_choice` and
        `discreet.learn.curve`.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        bounds: DeclaredBounds | None = None,
        classes: DeclaredClasses | None = None,
        delta: Number = 0,
        noise: str = "auto",
        solver: str = "auto",
        steps: int | None = None,
        clip: float | None = None,
        batch: float | None = None,
        penalty: float = 0.0,
        fit_intercept: bool = True,
        rows_per_person: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.delta = delta
        self.noise = noise
        self.solver = solver
        self.steps = steps
        self.clip = clip
        self.batch = batch
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        classes, neighbours = declared_classes(self.classes), relation(self.neighbours)
        outputs = 1 if len(classes) == 2 else len(classes)
        own = objective_budget(
            self, budget, width=x.shape[1], outputs=outputs, ids=people.ids is not None, neighbours=neighbours
        )
        if own is None:
            super().learn(x, y, people, budget=budget, deadline=deadline)
            return
        targets, declared = places(y, classes)
        scaling = self._scaling(x.shape[1])
        found = fit_by_objective(
            scaling.apply(x),
            targets,
            replace(people, weights=people.weights * declared),
            ObjectiveBudget.of(own.epsilon, own.delta, neighbours),
            marks=scaling.marks,
            penalty=self.penalty,
            intercept=self._intercept(),
        )
        self._set(found, scaling, classes)
        self.loss_ = approximate(own.epsilon, own.delta)
        self.rows_, self.n_iter_ = found.count, found.steps

    def _loss(self, outputs: int) -> ModelLoss:
        return Logistic() if outputs == 1 else Softmax()

    def predict_proba(self, X: object) -> Floats:  # noqa: N803
        margins = self._margins(X)
        if margins.shape[1] == 1:
            margins = np.hstack([np.zeros_like(margins), margins])
        margins -= margins.max(axis=1, keepdims=True)
        powers = np.exp(margins)
        shares: Floats = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def predict_log_proba(self, X: object) -> Floats:  # noqa: N803
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class LinearSVC(_Classifier):
    """A linear support vector machine with a smoothed hinge; with several classes, each against all others.

    Privacy and accuracy are as for `LogisticRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        bounds: DeclaredBounds | None = None,
        classes: DeclaredClasses | None = None,
        delta: Number = 0,
        noise: str = "auto",
        steps: int | None = None,
        clip: float | None = None,
        batch: float | None = None,
        penalty: float = 0.0,
        fit_intercept: bool = True,
        rows_per_person: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.delta = delta
        self.noise = noise
        self.steps = steps
        self.clip = clip
        self.batch = batch
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours

    def _loss(self, outputs: int) -> ModelLoss:  # noqa: ARG002
        return SmoothedHinge()
