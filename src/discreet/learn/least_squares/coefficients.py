"""Linear regression from noisy sums of products, and how sure its coefficients are.

The noise adds to the matrix of products one of random signs, whose eigenvalues reach 2·σ·√d (Wigner 1958).
What the data says in directions below that is drowned, and to divide by such eigenvalues is what makes other
private regressions blow up. Here eigenvalue l of the noisy matrix is inverted as l/(l² + λ²), λ =
REGULAR·σ·√d: 1/l where the data speaks, next to 0 where it does not, never more than 1/(2λ).

Intervals
    To first order the coefficients are off by F·(A·N·u + g): F the regularised inverse; N the noise of all
    products, known in law, A what centres features by their means, u the residual's coefficients (−intercept,
    −w, 1); and g what the choice of people adds, as in ordinary regression with even residuals. Intervals are
    for what the same fit would find on all people, without noise: they do not include what regularisation
    takes off a coefficient.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.learn.least_squares.sufficient_statistics import Products

REGULAR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Coefficients in the units of the products, and the noisy number of rows."""

    coefficients: Floats
    intercept: float
    count: float
    covariance: Floats


def regress(found: Products, *, penalty: float = 0.0, intercept: bool = True) -> Regression:
    """Regress the last coordinate on the others. The first one is 1."""
    count = max(float(found.sums[0, 0]), found.deviation, 1.0)
    means = np.clip(found.sums[0, 1:] / count, -1, 1) * intercept
    centred = found.sums[1:, 1:] - count * np.outer(means, means)
    among, with_target = centred[:-1, :-1], centred[:-1, -1]
    width = len(with_target)
    eigenvalues, vectors = np.linalg.eigh(among)
    positive = np.maximum(eigenvalues, 0) + penalty
    filtered = positive / (positive**2 + (REGULAR * found.deviation) ** 2 * width + 1e-9)
    inverse = (vectors * filtered) @ vectors.T
    coefficients = inverse @ with_target
    unexplained = float(
        centred[-1, -1] - 2 * coefficients @ with_target + coefficients @ among @ coefficients
    )
    residual = min(4.0, max(unexplained / count, 1e-6))
    spread = residual * (vectors * positive) @ vectors.T + _noise(coefficients, means, found.deviation)
    return Regression(
        coefficients=coefficients,
        intercept=float(means[-1] - means[:-1] @ coefficients),
        count=count,
        covariance=inverse @ spread @ inverse,
    )


def _noise(coefficients: Floats, means: Floats, deviation: float) -> Floats:
    """The covariance of A·N·u, N symmetric with independent entries on and above the diagonal.

    u is what a row (1, features, target) is multiplied with for its residual, and A takes a feature's mean,
    times the constant, off each feature.
    """
    intercept = means[-1] - means[:-1] @ coefficients
    u = np.concatenate([[-intercept], -coefficients, [1.0]])
    within = (np.diag(u @ u - u**2) + np.outer(u, u))[:-1, :-1]
    centring = np.hstack([-means[:-1, None], np.eye(len(coefficients))])
    covariance: Floats = deviation**2 * centring @ within @ centring.T
    return covariance
