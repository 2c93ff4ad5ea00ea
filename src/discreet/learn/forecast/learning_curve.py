"""How good a model is at each ε, tried on public or synthetic data before anything is spent."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, overload

import numpy as np

from discreet.errors import InvalidInput
from discreet.learn.forecast.picture import html_figure, standalone_svg, text_lines
from discreet.model.exact import positive_epsilon, whole


class Estimator(Protocol):
    """What scikit-learn's estimators have, and an epsilon among their settings."""

    def fit(self, X: object, y: object) -> object: ...  # noqa: N803
    def score(self, X: object, y: object) -> float: ...  # noqa: N803
    def get_params(self, deep: bool = True) -> dict[str, object]: ...
    def set_params(self, **settings: object) -> Self: ...


NO_NOISE = 10**6
"""An ε at which there is no noise to speak of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The score at one ε, over several fits: the mean, the worst and the best."""

    epsilon: float
    mean: float
    worst: float
    best: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve(Sequence[Expected]):
    """The scores at several ε, the least first; a picture in notebooks, else a table."""

    points: tuple[Expected, ...]
    score: str
    """What is measured: accuracy, or R²."""
    without_noise: float
    """The mean score of the same model at an ε so large that there is no noise to speak of."""
    guessing: float
    """The score of always predicting the most common class, or the mean."""
    fits: int
    rows: int
    """How many rows a fit had; a third as many judged it."""

    @overload
    def __getitem__(self, index: int) -> Expected: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Expected, ...]: ...
    def __getitem__(self, index: int | slice) -> Expected | tuple[Expected, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def svg(self) -> str:
        """A picture that needs nothing else, for light and for dark pages."""
        return standalone_svg(self)

    def write(self, path: str | Path) -> None:
        """The picture as a file, such as curve.svg."""
        if Path(path).suffix != ".svg":
            raise InvalidInput("The picture is an SVG.", remedy="Give a name that ends in .svg.")
        Path(path).write_text(self.svg(), encoding="utf-8")

    def __str__(self) -> str:
        return "\n".join(text_lines(self))

    def _repr_html_(self) -> str:
        return html_figure(self)


def curve(
    estimator: Estimator,
    X_public: object,  # noqa: N803
    y_public: object,
    epsilons: Sequence[float],
    *,
    fits: int = 5,
) -> Curve:
    """Fit the estimator `fits` times on three quarters of the rows, and score it on the others.

    The rows must be public, or synthetic and paid for: these scores have no noise. Give about as many rows as
    the private data has, for accuracy depends on their number.
    """
    from sklearn.base import is_classifier
    from sklearn.utils import indexable

    whole(fits, "fits", 1, 10**4)
    if not len(epsilons):
        raise InvalidInput("There is no ε to try.", remedy="Give some: [0.1, 0.3, 1, 3].")
    for epsilon in epsilons:
        positive_epsilon(epsilon)
    rows, targets = indexable(X_public, y_public)
    count = len(targets)
    if count < 8:
        raise InvalidInput("Too few rows to try a model out on.", remedy="Give at least 8.")
    scores = {
        epsilon: [_score(estimator, rows, targets, epsilon) for _ in range(fits)]
        for epsilon in sorted(epsilons)
    }
    free = _at_any_epsilon(estimator)
    return Curve(
        points=tuple(
            Expected(epsilon=float(epsilon), mean=float(np.mean(each)), worst=min(each), best=max(each))
            for epsilon, each in scores.items()
        ),
        score="accuracy" if is_classifier(estimator) else "R²",
        without_noise=float(np.mean([_score(free, rows, targets, NO_NOISE) for _ in range(fits)])),
        guessing=_most_common(targets) if is_classifier(estimator) else 0.0,
        fits=fits,
        rows=3 * count // 4,
    )


def _at_any_epsilon(estimator: Estimator) -> Estimator:
    """The estimator, changed so that it can also be fitted at an ε so large that there is no noise.

    There, sampled steps have no account for replacing a person, and objective perturbation has none at all.
    Descent under add/remove learns the same.
    """
    from discreet.learn.estimators.clones import separate_copy

    free = separate_copy(estimator)
    settings = free.get_params(deep=False)
    if "neighbours" in settings:
        free.set_params(neighbours="add_remove")
    if settings.get("solver") == "objective":
        free.set_params(solver="descent")
    return free


def _score(estimator: Estimator, rows: object, targets: Sized, epsilon: float) -> float:
    from sklearn.utils import _safe_indexing

    from discreet.learn.estimators.clones import separate_copy

    order = np.random.default_rng().permutation(len(targets))
    train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
    model = separate_copy(estimator).set_params(epsilon=epsilon)
    model.fit(_safe_indexing(rows, train), _safe_indexing(targets, train))
    return float(model.score(_safe_indexing(rows, test), _safe_indexing(targets, test)))


def _most_common(targets: object) -> float:
    _, counts = np.unique(np.asarray(targets), return_counts=True)
    return float(counts.max() / counts.sum())
