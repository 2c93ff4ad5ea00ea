"""Logistic regression by objective perturbation beside descent, at δ = 10⁻⁵, on made-up rows.

Both are discreet's. Scores are on rows that were held out: the log-loss (less is better) and the area
under the curve, the mean of several fits. `learn` has the same for Adult.
"""

import sys

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from timing import Figure, for_information, judge

from discreet.arrays import Floats
from discreet.learn import LogisticRegression

DELTA = 1e-5
SOLVERS = ("descent", "objective")
SHAPES = {(1_000, 5): 10, (10_000, 5): 5, (10_000, 50): 4, (100_000, 14): 2}
"""Rows and features, and how many fits."""

Bounds = list[tuple[float, float]]


def figures() -> list[Figure]:
    found = []
    for (rows, features), fits in SHAPES.items():
        x, y = _made_up(rows + 20_000, features)
        bounds = [(-1.0, 1.0)] * features
        found += beside_descent(f"{rows:,} × {features}", x, bounds, y, rows, fits)
    return found


def beside_descent(name: str, x: Floats, bounds: Bounds, y: Floats, rows: int, fits: int) -> list[Figure]:
    """Fits on so many of the rows, chosen anew for each, and scores on the others."""
    found = []
    for epsilon in (0.1, 1.0, 10.0):
        scores = {solver: np.zeros(2) for solver in SOLVERS}
        for _ in range(fits):
            order = np.random.default_rng().permutation(len(y))
            train, test = order[:rows], order[rows:]
            for solver in SOLVERS:
                model = LogisticRegression(
                    epsilon=epsilon, delta=DELTA, bounds=bounds, classes=(0, 1), solver=solver
                ).fit(x[train], y[train])
                chances = model.predict_proba(x[test])[:, 1].clip(1e-9, 1 - 1e-9)
                scores[solver] += log_loss(y[test], chances), roc_auc_score(y[test], chances)
        said = ", ".join(
            f"{solver} {loss:.4f} and {area:.4f}" for solver, (loss, area) in _means(scores, fits).items()
        )
        found.append(for_information(f"learn: {name}, ε = {epsilon:g}, log-loss and AUC", said))
    return found


def _means(scores: dict[str, Floats], fits: int) -> dict[str, Floats]:
    return {solver: total / fits for solver, total in scores.items()}


def _made_up(rows: int, features: int) -> tuple[Floats, Floats]:
    """Correlated features, and margins of standard deviation 2."""
    chance = np.random.default_rng(features)
    mixed = 0.5 * chance.normal(size=(features, features)) / features**0.5 + np.eye(features)
    x = np.clip(chance.normal(size=(rows, features)) @ mixed / 3, -1, 1)
    margins = x @ chance.normal(size=features)
    margins = 2 * margins / margins.std() - 0.5
    return x, (chance.random(rows) < 1 / (1 + np.exp(-margins))).astype(np.float64)


if __name__ == "__main__":
    sys.exit(judge(figures()))
