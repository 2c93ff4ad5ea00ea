"""Pick one of several models, for the price of one fit.

Privacy
    A coin decides for each person whether their rows are for fitting or for judging. Rows for fitting are in
    all fits, which share the budget. Rows for judging are only in the scores, of which one selection is
    released. A person is in one part or the other, and which one says nothing about anyone else, so that the
    whole costs no more than the dearer part: given the coins this is parallel composition (McSherry 2009),
    and averaging over coins adds no Rényi divergence (van Erven & Harremoës, arXiv 1206.2459v2, Theorem 13:
    joint quasi-convexity). A person's scores add up to between 0 and rows_per_person, in whole numbers.
    Without groups, each row has its own coin, and a person's B rows may be in both parts. As
    all noise is for B of them, j in the fits and B − j in the scores cost the shares j/B and (B − j)/B of ε,
    or their squares of ρ: no more than one together.
"""

from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Floats, Labels
from discreet.errors import InvalidInput
from discreet.learn.core.encoding import person_weights, persons
from discreet.learn.estimators.base import PrivateModel, relation
from discreet.learn.estimators.clones import separate_copy
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.sensitivity import ScoreSensitivity
from discreet.noise.entropy import SYSTEM
from discreet.noise.sampling import bernoulli
from discreet.noise.selection import ExponentialMechanism, PermuteAndFlip

FOR_JUDGING = Fraction(1, 5)
SCORE_ONE = 2**8
ParameterGrid: TypeAlias = Mapping[str, Sequence[object]]


class PrivateSearch(BaseEstimator):  # type: ignore[misc]
    """What GridSearchCV does, at a price: the estimator's own epsilon and delta, once, for the whole search.

    `grid` has lists of values by parameter. Each of k candidates is fitted with 1/k of the budget, so
    try only a few. The result is in `best_params_`, `best_estimator_` and `loss_`; there are no scores.
    """

    def __init__(self, estimator: PrivateModel, grid: ParameterGrid) -> None:
        self.estimator = estimator
        self.grid = grid

    def fit(self, X: object, y: Sized, groups: object = None) -> "PrivateSearch":  # noqa: N803
        """Spends the estimator's epsilon and delta."""
        model = self.estimator
        if not isinstance(model, PrivateModel):
            raise InvalidInput(
                "Only discreet's models can be searched.", remedy="Give one of discreet.learn."
            )
        if model.batch is not None:
            raise InvalidInput(
                "Fits on samples cannot share the budget of a search.", remedy="Give a model with batch=None."
            )
        candidates, total = _candidates(self.grid), model.own_budget().spend()
        with model.only_fit():
            fitted, chosen = _search(model, candidates, total, X, y, groups)
        self.best_params_ = candidates[chosen]
        self.best_estimator_ = fitted
        self.loss_ = total
        return self

    def predict(self, X: object) -> Labels:  # noqa: N803
        check_is_fitted(self)
        predicted: Labels = self.best_estimator_.predict(X)
        return predicted


_PRIVACY = frozenset({"epsilon", "delta", "noise", "rows_per_person", "neighbours", "batch"})


def _candidates(grid: ParameterGrid) -> list[dict[str, object]]:
    if not isinstance(grid, Mapping) or not grid or not all(len(values) for values in grid.values()):
        raise InvalidInput("The grid is empty.", remedy='Give values by parameter: {"steps": [10, 30]}.')
    if _PRIVACY & set(grid):
        raise InvalidInput("What a fit costs cannot be searched for.", remedy="Set it on the estimator.")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _search(
    model: PrivateModel,
    candidates: list[dict[str, object]],
    total: Spend,
    x: object,
    y: Sized,
    groups: object,
) -> tuple[PrivateModel, int]:
    """The chosen candidate, fitted, and which one it is. Spends the total."""
    people = np.arange(len(y)) if groups is None else np.asarray(groups)
    judging = _draw_coins(people)
    fitting = ~judging
    part, own = _part(total, len(candidates)), None if groups is None else people[fitting]
    learnt_from = _safe_indexing(x, fitting), _safe_indexing(y, fitting)
    fitted: list[PrivateModel] = []
    for parameters in candidates:
        each: PrivateModel = separate_copy(model).set_params(**parameters)
        fitted.append(each.fit_within(part, *learnt_from, own))
    own = None if groups is None else people[judging]
    weights = person_weights(own, int(judging.sum()), model.rows_per_person)
    judged = _safe_indexing(x, judging), _safe_indexing(y, judging)
    scores = [_score(each, *judged, weights) if judging.any() else 0 for each in fitted]
    chosen = _release_choice(scores, total, model)
    return fitted[chosen], chosen


def _draw_coins(people: Labels) -> NDArray[np.bool_]:
    """One coin for each person, for all of their rows: true for judging."""
    of_person = persons(people)
    coins = bernoulli(FOR_JUDGING, int(of_person.max()) + 1, SYSTEM)
    mine: NDArray[np.bool_] = coins[of_person]
    return mine


def _part(total: Spend, parts: int) -> Spend:
    if isinstance(total, PureLoss):
        return PureLoss(epsilon=total.epsilon / parts)
    return ConcentratedLoss(rho=total.rho / parts, delta=Fraction(0))


def _score(model: PrivateModel, x: object, y: object, weights: Floats) -> int:
    """A row adds a whole number between 0 and SCORE_ONE times its weight."""
    each = np.clip(model.row_scores(x, y), 0, 1) * np.floor(weights * SCORE_ONE)
    return int(np.floor(each).sum())


def _release_choice(scores: list[int], total: Spend, model: PrivateModel) -> int:
    most = SCORE_ONE * model.rows_per_person
    sensitivity = ScoreSensitivity.additive(0, most, relation(model.neighbours))
    selection: PermuteAndFlip | ExponentialMechanism
    if isinstance(total, PureLoss):
        selection = PermuteAndFlip.for_loss(total.epsilon, sensitivity)
    else:
        selection = ExponentialMechanism.for_concentrated_loss(total.rho, sensitivity)
    return selection.release(scores)
