"""Is ε enough for so many features and rows? From public numbers, before anything is spent.

How good a model will be depends on the data. How large the noise is, relative to the signal, hardly does.
`curve` tries a model out on public data; this needs none.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from discreet.accounting.amplification import sampling_rate
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount
from discreet.learn.core.encoding import NOBODY
from discreet.learn.descent.generalized_linear import FOR_MOMENTS, INTERCEPT, usual_steps
from discreet.learn.estimators.base import Learner
from discreet.learn.estimators.regressors import LeastSquares, solver_of
from discreet.learn.least_squares.coefficients import REGULAR
from discreet.model.exact import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The length of the noise, divided by that of the signal, for features of ordinary spread."""

    noise: float

    @property
    def hopeless(self) -> bool:
        """The model will be mostly noise."""
        return self.noise >= 1

    def __str__(self) -> str:
        if self.hopeless:
            return (
                f"The noise is {self.noise:.2g} times what there is to learn: predictions will be mere"
                " guesses. Take fewer features, more rows or a larger epsilon."
            )
        if self.noise >= 0.1:
            return f"The noise is {self.noise:.0%} of what there is to learn: only strong effects will show."
        return (
            f"The noise is {self.noise:.1%} of what there is to learn: expect nearly the model without noise."
        )


def outlook(estimator: Learner, *, rows: int, features: int) -> Outlook:
    """The outlook of a model of `discreet.learn` on about so many rows (by weight) and features."""
    count, width = whole(rows, "rows", 1, 2**40), whole(features, "features", 1, 2**12)
    return Outlook(noise=noise_beside(estimator, _account(estimator, count), width, count))


def noise_beside(estimator: Learner, account: FitAccount, width: int, count: int) -> float:
    """The length of the noise, divided by that of the signal, for about so many rows."""
    most = estimator.rows_per_person
    weights = estimator.network_weights()
    if weights is not None and estimator.steps is not None:
        return account.deviation_of_steps(Fraction(1), float(most), estimator.steps) * sqrt(weights) / count
    if (
        isinstance(estimator, LeastSquares)
        and solver_of(estimator.solver, width, estimator.batch) == "statistics"
    ):
        length = _norm_of_products(width, account.order)
        deviation = account.deviation(Fraction(1), length * most)
        return REGULAR * deviation * sqrt(width) / (count / 3)
    length = (width + INTERCEPT) if account.order == 1 else sqrt(width + INTERCEPT**2)
    share = 1 - FOR_MOMENTS
    on_all = account.deviation(share, length * most) / count
    steps = estimator.steps or account.planned or usual_steps(on_all, account.order, account.rate)
    return account.deviation_of_steps(share, length * most, steps) * sqrt(width) / count


def _account(estimator: Learner, count: int) -> FitAccount:
    if estimator.batch is not None and sampling_rate(estimator.batch, "batch") * count < 1:
        raise InvalidInput(
            "A step would hold less than one row on average.", remedy="Give a larger batch, or none."
        )
    return estimator.open_account(NOBODY, budget=estimator.own_budget(), deadline=None)


def _norm_of_products(width: int, order: int) -> float:
    """The norm of the products of a row (1, features, target) whose values are spread evenly."""
    if order == 1:
        return ((1 + (width + 1) / 2) ** 2 + 1 + (width + 1) / 3) / 2
    return (1 + (width + 1) / 3) / sqrt(2)
