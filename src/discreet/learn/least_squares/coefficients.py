"""Linear regression from noisy sums of products.

The noise adds to the matrix of products one of random signs, whose eigenvalues reach 2·σ·√d (Wigner 1958).
In directions below that, noise drowns the data. Other private regressions divide by such eigenvalues, and
blow up. Here eigenvalue l of the noisy matrix is inverted as l/(l² + λ²), λ = REGULAR·σ·√d. That is about 1/l
where l is well above the noise, nearly 0 where it is below, and never more than 1/(2λ).

What the noise drowned is shrunk towards 0, so that these coefficients are for predicting. `intervals` says
how sure each of them is.
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
    residual: float
    """The noisy variance of what the coefficients leave unexplained."""


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
    return Regression(
        coefficients=coefficients,
        intercept=float(means[-1] - means[:-1] @ coefficients),
        count=count,
        residual=min(4.0, max(unexplained / count, 1e-6)),
    )
