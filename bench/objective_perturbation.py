"""Objective perturbation for logistic regression, in floats, to compare with.

Kifer, Smith & Thakurta 2012 (COLT, Algorithm 1, Gaussian noise): minimise Σ loss + ½·Δ·‖w‖² + bᵀw, b Gaussian
of variance ζ²·(8·ln(2/δ) + 4ε)/ε², where ζ bounds a row's gradient and Δ ≥ 2λ/ε its curvature λ. It is
private only where the minimum and the noise are exact real numbers, which no computer has.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]


class ObjectivePerturbation:
    """Rows are shortened to a length of 1, so that ζ = 1 and λ = ¼."""

    def __init__(self, epsilon: float, delta: float, size: Floats, length: float) -> None:
        self.epsilon, self.delta, self.size, self.length = epsilon, delta, size, length

    def fit(self, x: Floats, y: Floats) -> "ObjectivePerturbation":
        rows = self._rows(x)
        variance = (8 * np.log(2 / self.delta) + 4 * self.epsilon) / self.epsilon**2
        noise = np.random.default_rng().normal(scale=variance**0.5, size=rows.shape[1])
        ridge = 0.5 / self.epsilon

        def objective(w: Floats) -> tuple[float, Floats]:
            margins = rows @ w
            loss = np.logaddexp(0, margins).sum() - y @ margins + ridge / 2 * w @ w + noise @ w
            return float(loss), rows.T @ (expit(margins) - y) + ridge * w + noise

        self.weights = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
        return self

    def decision_function(self, x: Floats) -> Floats:
        margins: Floats = self._rows(x) @ self.weights
        return margins

    def _rows(self, x: Floats) -> Floats:
        rows = np.hstack([x / self.size, np.ones((len(x), 1))]) / self.length
        long = np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        shortened: Floats = rows / long
        return shortened
