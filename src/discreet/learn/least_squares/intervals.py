"""How sure the coefficients of a linear regression are: intervals that hold where the noise is large, too.

Without noise the coefficients θ, the intercept among them, solve A·θ = b, with A the sums of products among
features and b those with the target. What is known are A + N and b + e, N symmetric, with noise of one
standard deviation σ in every entry. To divide by the noisy A, or by a regularised one, is biased: noise, and
what was done against it, pull coefficients towards 0. But of the *true* θ

    (b + e) − (A + N)·θ = e − N·θ

is noise alone, known in law. So all θ for which the left side is no larger than such noise are a set that
holds the true one, whatever A is (Fieller 1954; Anderson & Rubin 1949). No θ is left out because of a bias.

The set
    With z = (θ, −1), entry i of the noise has the variance σ²·|z|², entries i and j the covariance σ²·θᵢθⱼ.
    That is at most σ²·(1 + 2|θ|²) in every direction. What the choice of people adds, as in ordinary
    regression with even residuals, is r·A, r their variance. With C = σ² + r·A and κ the largest eigenvalue
    of σ²·C⁻¹, the covariance is at most C·(1 + 2κ|θ|²), and the set is

        |C^(−½)·(b − A·θ)|² ≤ q·(1 + 2κ|θ|²)

    a quadric. The interval of a coefficient is its shadow, in closed form. For q serves the square of what
    one normal (or Laplace) draw reaches: all other coefficients are fitted, so that one direction is left.
    For the same sets of instrumental variables this q is proved to be enough, however weakly the other
    coefficients are known (Guggenberger, Kleibergen, Mavroeidis, Chen, Econometrica 80, 2012). For noise in
    a symmetric A it is measured, by tests.

Drowned
    If the noise may have made up one direction of A, the set has no end, and so has the interval of every
    coefficient that is not at right angles to it: what that direction would do to the others is not known.
    Then it is from −∞ to ∞. Whether it is, is decided at a tenth of the miss, so that a direction that is
    noise is hardly ever taken for data. A penalty, which is public, is added to A: with a large one nothing
    drowns, and intervals are for the coefficients of the same ridge regression.
"""

from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.learn.least_squares.coefficients import regress
from discreet.learn.least_squares.sufficient_statistics import Products
from discreet.noise.sum_tails import laplace_deviations

_LEAST = 1e-9
_SHOWN = 0.1
"""Of the miss: at which it is decided whether a direction has drowned."""


def coefficient_intervals(
    found: Products, miss: float, *, penalty: float = 0.0, intercept: bool = True
) -> Floats:
    """Low and high for each coefficient, in the units of the products; without end where it drowned."""
    pilot = regress(found, penalty=penalty, intercept=intercept)
    first = 0 if intercept else 1
    among, with_target = found.sums[first:-1, first:-1], found.sums[first:-1, -1]
    eigenvalues, vectors = np.linalg.eigh(among)
    noise = found.deviation**2 + _LEAST
    sampling = pilot.residual * np.maximum(eigenvalues, 0)
    whiten = vectors / np.sqrt(noise + sampling)
    share = 2 * noise / (noise + sampling.min())
    penalties = np.diag([penalty] * len(among))
    penalties[0, 0] *= not intercept
    system, target = whiten.T @ (among + penalties), whiten.T @ with_target
    _, scales, directions = np.linalg.svd(system)
    width = len(pilot.coefficients)
    if scales[-1] ** 2 <= share * _reach(found, miss * _SHOWN) ** 2:
        return np.tile([-np.inf, np.inf], (width, 1))
    limit = _reach(found, miss) ** 2
    inverse = (directions.T / (scales**2 - share * limit)) @ directions
    along = system.T @ target
    middle = inverse @ along
    size = max(0.0, float(along @ middle - target @ target + limit))
    half = np.sqrt(size * np.diag(inverse))
    return np.column_stack([middle - half, middle + half])[-width:]


def _reach(found: Products, miss: float) -> float:
    """In standard deviations: what the noise of one direction stays within."""
    if found.laplace:
        return float(laplace_deviations(miss / 2)[0])
    return -NormalDist().inv_cdf(miss / 2)
