"""Regressors: linear regression by noisy statistics or descent, and Poisson regression by descent."""

from fractions import Fraction
from typing import Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Floats, Labels
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount, FitBudget
from discreet.learn.core.declarations import BoundPair, DeclaredBounds, Scaling, target_range
from discreet.learn.core.encoding import RowOwners, between, on_grid
from discreet.learn.descent.generalized_linear import fit_by_descent
from discreet.learn.descent.losses import Poisson, Squared, TabulatedFunction
from discreet.learn.estimators.base import PrivateModel, finite_targets, in_own_units
from discreet.learn.least_squares.coefficients import regress
from discreet.learn.least_squares.intervals import coefficient_intervals
from discreet.learn.least_squares.sufficient_statistics import (
    Products,
    ProductSums,
    product_sums,
    release_products,
)
from discreet.model.deadline import Deadline
from discreet.model.exact import Number, confidence_level, within
from discreet.model.privacy import PureLoss

MOST_FOR_STATISTICS = 300
"""The most features for which "auto" sums products. With more, the noise of so many sums is too much."""


class LeastSquares(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """What linear regression and ridge regression share."""

    target_bounds: BoundPair | None
    solver: str
    clip: float | None
    products_: Floats
    product_noise_: float

    def fit(self, X: object, y: object, groups: object = None) -> Self:  # noqa: N803
        """Spends `epsilon` and `delta`. `groups` has each row's person; without it, each row is one person's.

        Features and targets beyond their bounds are clamped.
        """
        return self.fit_within(self.own_budget(), X, y, groups)

    def _read(self, X: object, y: object) -> tuple[Floats, Floats]:  # noqa: N803
        x, targets = self._validated(X, y, y_numeric=True)
        return x, finite_targets(targets)

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        scaling = self._scaling(x.shape[1])
        account = self.open_account(people, budget=budget, deadline=deadline)
        middle, half = self._target()
        scaled = scaling.apply(x)
        with np.errstate(over="ignore"):
            targets = between((y - middle) / half, 1.0)
        if solver_of(self.solver, x.shape[1], self.batch) == "statistics":
            values = np.hstack([np.ones((len(x), 1)), scaled, targets[:, None]])
            rows = people.rows(on_grid(values, np.zeros(1), np.ones(1)))
            self.learn_from_products(product_sums(rows, account.order), account)
            return
        found = fit_by_descent(
            scaled,
            targets,
            Squared(),
            people,
            account,
            marks=scaling.marks,
            steps=self.steps,
            clip=self.clip,
            intercept=self._intercept(),
            ridge=self._penalty(),
        )
        self._keep(account, found.count, found.steps)
        self._set(found.coefficients, found.intercept, scaling)
        self.__dict__.pop("products_", None)  # of an earlier fit by sums of products

    def learn_from_products(self, exact: ProductSums, account: FitAccount) -> None:
        """Fit on the sums of products of rows (1, features, target), each scaled by its bounds.

        Spends the whole account.
        """
        scaling = self._scaling(exact.width - 2)
        noisy = release_products(exact, account, Fraction(1))
        found = regress(noisy, penalty=self._penalty(), intercept=self._intercept())
        self._keep(account, found.count, 1)
        self._set(found.coefficients[:, None], np.array([found.intercept]), scaling)
        self.products_ = noisy.sums[np.triu_indices(exact.width)]
        self.product_noise_ = noisy.deviation

    def _target(self) -> tuple[float, float]:
        """The middle and half of the range of the target."""
        low, high = target_range(self.target_bounds)
        return (low + high) / 2, (high - low) / 2

    def _set(self, coefficients: Floats, intercept: Floats, scaling: Scaling) -> None:
        middle, half = self._target()
        own, at = in_own_units(coefficients, intercept, scaling)
        self.coef_ = own[:, 0] * half
        self.intercept_ = float(at[0] * half + middle * self._intercept())

    def _penalty(self) -> float:
        return 0.0

    def intervals(self, confidence: float) -> Floats:
        """Low and high for each coefficient, each with this confidence; only after the statistics solver.

        They hold what the same fit would find without noise, and what it would find on all people, as in
        ordinary regression with even residuals. Where the noise drowned the data they have no end: from −∞ to
        ∞. See `discreet.learn.least_squares.intervals`.
        """
        check_is_fitted(self)
        if not hasattr(self, "products_"):
            raise InvalidInput(
                "This model has no intervals: it was fitted by descent, or by an older version.",
                remedy='Fit with solver="statistics".',
            )
        scaled = coefficient_intervals(
            self._products(),
            1 - float(confidence_level(confidence)),
            penalty=self._penalty(),
            intercept=self._intercept(),
        )
        return scaled * (self._target()[1] / self._scaling(len(scaled)).size)[:, None]

    def _products(self) -> Products:
        """The noisy sums of products that the fit released."""
        width = self.n_features_in_ + 2
        square = np.zeros((width, width))
        square[np.triu_indices(width)] = self.products_
        return Products(
            sums=square + np.triu(square, 1).T,
            deviation=self.product_noise_,
            laplace=isinstance(self.loss_, PureLoss),
        )

    def predict(self, X: object) -> Floats:  # noqa: N803
        return self._margins(X)[:, 0]

    def row_scores(self, X: object, y: object) -> Floats:  # noqa: N803
        return _closeness(self._row_margins(X)[:, 0], y, self.target_bounds)


class LinearRegression(LeastSquares):
    """Linear regression.

    Privacy
        (epsilon, delta)-differential privacy of all fitted attributes together, for people who have one row
        each, or up to `rows_per_person`; with delta=0 by Laplace noise (pure), otherwise by Gaussian noise
        (zCDP). `batch` is for solver="descent": see `discreet.learn.LogisticRegression`.

    Accuracy
        Sums of products with noise, solved so that directions which the noise drowns are left out: it never
        blows up. `intervals` says how sure the coefficients are, and which of them the noise drowned.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        bounds: DeclaredBounds | None = None,
        target_bounds: BoundPair | None = None,
        delta: Number = 0,
        noise: str = "auto",
        solver: str = "auto",
        steps: int | None = None,
        clip: float | None = None,
        batch: float | None = None,
        fit_intercept: bool = True,
        rows_per_person: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.delta = delta
        self.noise = noise
        self.solver = solver
        self.steps = steps
        self.clip = clip
        self.batch = batch
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours


class Ridge(LeastSquares):
    """Linear regression with the penalty alpha·‖coefficients‖², of features and target scaled by their
    bounds.

    Privacy and accuracy are as for `LinearRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        bounds: DeclaredBounds | None = None,
        target_bounds: BoundPair | None = None,
        alpha: float = 1.0,
        delta: Number = 0,
        noise: str = "auto",
        solver: str = "auto",
        steps: int | None = None,
        clip: float | None = None,
        batch: float | None = None,
        fit_intercept: bool = True,
        rows_per_person: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.alpha = alpha
        self.delta = delta
        self.noise = noise
        self.solver = solver
        self.steps = steps
        self.clip = clip
        self.batch = batch
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours

    def _penalty(self) -> float:
        return float(within(self.alpha, "alpha", Fraction(0), Fraction(10**12)))


class PoissonRegression(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """Poisson regression of counts between 0 and a declared number: predictions are e^margin.

    Privacy and accuracy are as for `discreet.learn.LogisticRegression`.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        bounds: DeclaredBounds | None = None,
        target_bounds: BoundPair | None = None,
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
        self.target_bounds = target_bounds
        self.delta = delta
        self.noise = noise
        self.steps = steps
        self.clip = clip
        self.batch = batch
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.neighbours = neighbours

    def fit(self, X: object, y: object, groups: object = None) -> Self:  # noqa: N803
        """Spends `epsilon` and `delta`. `groups` has each row's person; without it, each row is one person's.

        Features and counts beyond their bounds are clamped.
        """
        return self.fit_within(self.own_budget(), X, y, groups)

    def _read(self, X: object, y: object) -> tuple[Floats, Floats]:  # noqa: N803
        x, targets = self._validated(X, y, y_numeric=True)
        return x, finite_targets(targets)

    def learn(
        self, x: Floats, y: Labels, people: RowOwners, *, budget: FitBudget, deadline: Deadline | None
    ) -> None:
        _, high = target_range(self.target_bounds, least=0.0)
        scaling = self._scaling(x.shape[1])
        account = self.open_account(people, budget=budget, deadline=deadline)
        found = fit_by_descent(
            scaling.apply(x),
            np.clip(y, 0, high),
            Poisson(largest=high),
            people,
            account,
            marks=scaling.marks,
            steps=self.steps,
            clip=self.clip,
            penalty=self.penalty,
            intercept=self._intercept(),
        )
        own, intercept = in_own_units(found.coefficients, found.intercept, scaling)
        self.coef_ = own[:, 0]
        self.intercept_ = float(intercept[0] + np.log(high))
        self._keep(account, found.count, found.steps)

    def predict(self, X: object) -> Floats:  # noqa: N803
        return np.exp(np.minimum(self._margins(X)[:, 0], 700.0))

    def row_scores(self, X: object, y: object) -> Floats:  # noqa: N803
        rates = TabulatedFunction(np.exp, -40.0, 40.0)(self._row_margins(X)[:, 0])
        return _closeness(rates, y, self.target_bounds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _closeness(predicted: Floats, y: object, bounds: object) -> Floats:
    """1 − the squared error in units of the declared range, but at least 0."""
    low, high = target_range(bounds)
    error = (np.clip(predicted, low, high) - np.clip(finite_targets(y), low, high)) / (high - low)
    return 1 - error * error


def solver_of(solver: str, width: int, batch: object) -> str:
    if solver not in ("auto", "statistics", "descent"):
        raise InvalidInput("There is no such solver.", remedy='Give "auto", "statistics" or "descent".')
    if solver == "auto":
        solver = "statistics" if width <= MOST_FOR_STATISTICS else "descent"
    if solver == "statistics" and batch is not None:
        raise InvalidInput(
            "Sums of products take everyone at once: they have no batch.",
            remedy='Leave batch out, which is more accurate, or give solver="descent".',
        )
    return solver
