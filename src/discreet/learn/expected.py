"""How good a model will be at which ε: tried out on public or synthetic data, before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidInput
from discreet.model.exact import positive_epsilon, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The score at one ε, over several fits: the mean, the worst and the best."""

    epsilon: float
    mean: float
    worst: float
    best: float


def curve(
    estimator: Any,
    X_public: Any,  # noqa: N803
    y_public: Any,
    epsilons: Sequence[float],
    *,
    fits: int = 5,
) -> list[Expected]:
    """Fits the estimator on three quarters of the rows given, as often as told, and scores it on the others.

    The rows must be public, or synthetic and paid for: these scores have no noise. Give about as many rows as
    the private data has, for accuracy depends on their number.
    """
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing, indexable

    whole(fits, "fits", 1, 10**4)
    rows, targets = indexable(X_public, y_public)
    count = len(targets)
    if count < 8:
        raise InvalidInput("Too few rows to try a model out on.", remedy="Give at least 8.")
    found = []
    for epsilon in epsilons:
        positive_epsilon(epsilon)
        scores = []
        for _ in range(fits):
            order = np.random.default_rng().permutation(count)
            train, test = order[: 3 * count // 4], order[3 * count // 4 :]
            model = clone(estimator).set_params(epsilon=epsilon)
            model.fit(_safe_indexing(rows, train), _safe_indexing(targets, train))
            scores.append(float(model.score(_safe_indexing(rows, test), _safe_indexing(targets, test))))
        found.append(
            Expected(epsilon=float(epsilon), mean=float(np.mean(scores)), worst=min(scores), best=max(scores))
        )
    return found
