"""Logistic regression by objective perturbation: noise is added to what is minimised, as a linear term.

`accounting.objective` has the theorem, for noise that is a real number and for a minimum that is exact.
Neither can be computed. This is the proof for what is computed instead.

Privacy
    1. A discrete Gaussian of variance s² + r² (r = 3) on the integers is a normal number b of variance s²,
       rounded to the integer k with probability ∝ e^(−(k − b)²/2r²), but for a factor of 1 ± 3η in every
       probability: by Poisson summation Σ_k e^(−(k − c)²/2r²) = r√(2π)·(1 ± η) for every c, η < 2·10⁻⁷⁷. So
       the noise in the objective is b + e, where each coordinate of e is within 60 units but with probability
       10⁻⁸⁶; and the moments, released before with discrete Gaussians, are normal ones that were rounded.
    2. θ̂, which `minimum` finds for b + e, has a gradient for b of at most g := 2^−gradient_bits: what is
       computed, its error for as many rows as there can be, and ‖e‖. So ‖θ̂ − θ‖₂ ≤ g/λ, θ the minimum for b.
       The most rows there can be is a noisy count plus 20 standard deviations: it is below the number of rows
       with probability e⁻²⁰⁰.
    3. What is released is θ̂ on a grid with discrete Laplace noise. In grid units, θ̂ and θ come to lie at most
       2p apart in ℓ₁, p coordinates: this changes no probability by more than a factor e^a, a = 2p/scale.
    Let I be the ideal mechanism, with b and θ in the place of b + e and θ̂, and τ the probability of all that
    was excluded. P ≤ e^a·I + τ and I ≤ e^a·P + τ for every event and all data, where P is what is computed;
    so if I is (ε₀, δ₀)-private, P is (ε₀ + 2a, e^a·δ₀ + (1 + e^(ε₀ + a))·τ)-private.
    How long the search for the minimum takes depends on the data. What is released does not depend on that.

    To replace a person is to remove one and to add one (`sampled_account.of_one`).

Accuracy
    Noise is drawn once. The ridge λ shrinks coefficients. Clipping gradients makes a loss of its own, which
    is convex too, and whose minimum is a little beyond that of logistic regression.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.objective import largest_objective_rho, least_ridge
from discreet.arrays import Floats, Integers
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount
from discreet.learn.core.encoding import ONE, SAFE, EncodedRows, RowOwners, on_grid
from discreet.learn.core.moments import release_moments
from discreet.learn.descent.generalized_linear import Linear, feature_scales
from discreet.learn.descent.sampled_account import of_one
from discreet.learn.objective.minimum import (
    FARTHEST_POINT,
    FLAT,
    HALF_BITS,
    POINT_BITS,
    RESIDUAL_ERROR,
    RIDGE_BITS,
    STEEPER,
    Perturbed,
    minimise,
)
from discreet.model.exact import RHO_RANGE, Number, exp_bounds, positive_delta, positive_epsilon, within
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ApproximateLoss, ConcentratedLoss
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_EPSILON = Fraction(30)
SMALLEST_DELTA = Fraction(1, 10**40)
MOST_FEATURES = 1000
"""√p · length of a row is then below 2¹², as `minimum` needs."""

MIDDLE = Fraction(1, 2)
"""m of the theorem, as a fraction of ε. A larger m needs less ridge."""
FOR_MOMENTS = Fraction(16, 100)
"""The share of ρ for the count, means and variances; a sixteenth of it for the count."""
LONG = 1.5
"""Rows are cut to this multiple of their typical length."""
CLIP, AT_NOISE = 0.5, 0.025
"""Gradients are cut to CLIP times that length, and to more where their relative noise is below AT_NOISE.

These, too, were found by trying them on made-up data and on Adult.
"""

_FOR_COUNT = Fraction(1, 16)
_APART = Fraction(1, 200)  # a, as a part of ε
_CONSTANT = Fraction(1, 10**8)  # C, as a part of ε
_SMOOTHING = Fraction(1, 10**60)  # of ε, for 3η in each of some thousand coordinates
_EXCLUDED = Fraction(1, 10**80)  # τ
_ROUNDING = 3  # r
_INFLATED = 1 + Fraction(1, 512)  # σ²/(σ² − r²) for the least σ² that moments may have
_LARGEST_ERROR = 60  # of a coordinate of e, in units: 20·r
_SURE = 20
_COUNT_ONE = 2**10
_LEAST_REACH = 2**8  # the reach of the histogram among the moments, which has a fifth of their share
_INVISIBLE = 0.05
"""The last noise is this part of the effect of the noise in the objective, if precision allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveBudget:
    """(ε, δ) under adding or removing a person, and how it is divided."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    """The ρ of the moments and of the objective together."""

    @classmethod
    def of(cls, epsilon: Number, delta: Number, neighbours: Neighbours) -> "ObjectiveBudget":
        group = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        instead = 'solver="descent"'
        one, small = of_one(positive_epsilon(epsilon), positive_delta(delta), group, instead)
        rho = Fraction(0)
        if one <= MOST_EPSILON and small >= SMALLEST_DELTA:
            apart = one * _APART + _SMOOTHING
            excluded = _EXCLUDED * (1 + exp_bounds(one, 40)[1])
            rho = largest_objective_rho(
                one - 2 * apart,
                (small - excluded) / exp_bounds(apart, 40)[1],
                constant=one * _CONSTANT,
                middle=one * MIDDLE,
                share_before=FOR_MOMENTS,
                inflated=_INFLATED,
            )
        before = rho * FOR_MOMENTS
        if before * _FOR_COUNT < RHO_RANGE[0] or 2 * before * 512 * (_ROUNDING**2 + 1) > _LEAST_REACH**2:
            raise InvalidInput(
                "At this epsilon and delta, objective perturbation has no account.",
                remedy=f'Give an epsilon of at most {MOST_EPSILON}, another delta, or solver="descent".',
            )
        return cls(epsilon=one, delta=small, rho=rho)

    @property
    def before(self) -> Fraction:
        return self.rho * FOR_MOMENTS

    @property
    def objective(self) -> Fraction:
        return self.rho - self.before

    @property
    def scale(self) -> Fraction:
        """The scale of the last noise, in grid units for each coordinate: a = 2p/(p·scale)."""
        return 2 / (self.epsilon * _APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectivePlan:
    """All numbers of the objective: from the budget, and from what was released."""

    width: int
    longest: int
    """The length of a row, in whole numbers of which ONE is 1."""
    clip: int
    """The length of a gradient, in the same."""
    ridge: int
    """λ, in units of 2^−RIDGE_BITS."""
    penalty: int
    """A further ridge for features alone, in the same units."""
    variance: Fraction
    """σ² of the noise."""
    rows: int
    """The most rows that there can be."""
    gradient_bits: int
    """The gradient at what is found is at most 2^−gradient_bits long."""
    grid_bits: int

    @property
    def noise_bits(self) -> int:
        """‖e‖ ≤ 60·√p·2^−noise_bits is an eighth of the gradient at most."""
        return self.gradient_bits + 3 + ceil(log2(_LARGEST_ERROR * (sqrt(self.width) + 1)))

    @classmethod
    def of(
        cls, budget: ObjectiveBudget, *, width: int, longest: int, clip: int, rows: int, penalty: float = 0.0
    ) -> "ObjectivePlan":
        length = longest / ONE
        ridge = ceil(_ridge(budget, Fraction(longest, ONE), Fraction(clip, ONE)) * 2**RIDGE_BITS)
        strength = ridge / 2**RIDGE_BITS
        variance = Fraction(clip**2, ONE**2) / (2 * budget.objective)
        visible = sqrt(variance) / (rows / 4 + strength)
        apart = float(budget.epsilon * _APART)
        wanted = strength * _INVISIBLE * visible * apart / (4 * sqrt(width))
        bits = floor(-log2(max(wanted, 8 * precision(rows, length, strength + penalty, width))))
        grid = floor(log2(strength) + log2(width) / 2) + bits
        while Fraction(4) ** grid > width * Fraction(ridge**2, 4**RIDGE_BITS) * Fraction(4) ** bits:
            grid -= 1  # a grid unit is at least g/(λ·√p): θ̂ and θ are p units apart, 2p when rounded
        return cls(
            width=width,
            longest=longest,
            clip=clip,
            ridge=ridge,
            penalty=int(penalty * 2**RIDGE_BITS),
            variance=variance,
            rows=rows,
            gradient_bits=bits,
            grid_bits=min(grid, POINT_BITS),
        )


def _ridge(budget: ObjectiveBudget, longest: Fraction, clip: Fraction) -> Fraction:
    """λ. A row of length x ≤ R has c·x ≤ L, so that its curvature u·x·(1 − u/cx) is at most u·R·(1 − u/L)."""
    least = least_ridge(
        middle=budget.epsilon * MIDDLE, rho=budget.objective, steepness=STEEPER * longest, reach=clip
    )
    return max(least, Fraction(FLAT) * longest**2 / (budget.epsilon * _CONSTANT))


def precision(rows: int, length: float, ridge: float, width: int) -> float:
    """How exact the gradient can be: the error of residuals, and what rounding a point does to it."""
    return rows * length * RESIDUAL_ERROR + (rows * length**2 / 4 + ridge) * sqrt(width) * 2.0**-POINT_BITS


def fit_by_objective(
    x: Floats,
    labels: Floats,
    people: RowOwners,
    budget: ObjectiveBudget,
    *,
    marks: NDArray[np.bool_],
    penalty: float = 0.0,
    intercept: bool = True,
    entropy: Entropy = SYSTEM,
) -> Linear:
    """Fit on features that are declared to lie between −1 and 1. Spends the whole budget.

    Each row is one person's. It counts fully, or not at all if its weight is 0.
    """
    penalty = float(within(penalty, "penalty", Fraction(0), Fraction(10**6)))
    account = FitAccount(
        ConcentratedLoss(rho=budget.before, delta=Fraction(0)),
        neighbours=Neighbours.ADD_REMOVE,
        entropy=entropy,
    )
    rows = _release_rows_at_most(people, account, _FOR_COUNT)
    found = release_moments(x, people, account, 1 - _FOR_COUNT)
    means, scale, length = feature_scales(found, marks, intercept=intercept, constant=1.0)
    values = on_grid(x, means, scale)
    if intercept:
        values = np.hstack([values, np.full((len(x), 1), float(ONE))])
    counted = people.weights > 0
    noise = length * sqrt(values.shape[1] / (2 * budget.objective)) / found.count
    plan = ObjectivePlan.of(
        budget,
        width=values.shape[1],
        longest=int(LONG * length * ONE),
        clip=int(_clip(noise) * length * ONE),
        rows=rows,
        penalty=penalty * found.count,
    )
    short = shortened(values[counted], plan.longest)
    theta = release_minimum(short, labels[counted], plan, budget, intercept=intercept, entropy=entropy)
    coefficients = scale[:, None] * theta[: x.shape[1], None]
    constant = theta[-1] if intercept else 0.0
    return Linear(
        coefficients=coefficients,
        intercept=constant - means @ coefficients,
        count=found.count,
        steps=1,
    )


def release_minimum(
    values: Floats,
    labels: Floats,
    plan: ObjectivePlan,
    budget: ObjectiveBudget,
    *,
    intercept: bool,
    entropy: Entropy,
) -> Floats:
    """Draw noise, and return the coordinates. The last is the constant's, if any, and has no penalty."""
    bits = plan.noise_bits
    variance = plan.variance * Fraction(4) ** bits + _ROUNDING**2
    nothing = np.array([0] * plan.width, dtype=object)  # integers of 64 bits would cut the noise off
    ridge = np.full(plan.width, plan.ridge, dtype=object)
    ridge[: plan.width - intercept] += plan.penalty
    problem = Perturbed(
        values=values,
        labels=labels,
        caps=gradient_caps(values, plan.clip),
        ridge=ridge,
        noise=DiscreteGaussian(sigma_squared=variance).release(nothing, entropy=entropy),
        noise_bits=bits,
        farthest=FARTHEST_POINT * ONE / plan.longest,
    )
    point = minimise(problem, 0.75 * 2.0**-plan.gradient_bits)
    return release_point(point, plan, budget, entropy)


def release_point(point: Integers, plan: ObjectivePlan, budget: ObjectiveBudget, entropy: Entropy) -> Floats:
    """Draw Laplace noise, and add it to the point on the grid. The sum is all that is released."""
    step = 2 ** (POINT_BITS - plan.grid_bits)
    rounded: Integers = (point + step // 2) // step
    noisy = DiscreteLaplace(scale=plan.width * budget.scale).release(rounded, entropy=entropy)
    found: Floats = noisy.astype(np.float64) * 2.0**-plan.grid_bits
    return found


def shortened(values: Floats, longest: int) -> Floats:
    """Rows in whole numbers, none longer than this: longer ones are scaled down and rounded towards 0."""
    norms = EncodedRows(values=values, weights=np.ones(len(values)), rows_per_person=1).norms(2)
    factors = np.where(norms > longest * SAFE, longest / np.maximum(norms, 1) * SAFE, 1.0)
    return np.trunc(values * factors[:, None])


def gradient_caps(values: Floats, clip: int) -> Floats:
    """The largest residual of each row, in units of 2^−HALF_BITS: at most 1, with cap · ‖row‖ ≤ clip."""
    rows = EncodedRows(values=values, weights=np.ones(len(values)), rows_per_person=1)
    return np.minimum(rows.caps(clip * 2**HALF_BITS, 2), 2.0**HALF_BITS)


def approximate(epsilon: Number, delta: Number) -> ApproximateLoss:
    """What a fit spends."""
    return ApproximateLoss(epsilon=positive_epsilon(epsilon), delta=positive_delta(delta))


def _release_rows_at_most(people: RowOwners, account: FitAccount, share: Fraction) -> int:
    """Draw noise, and raise the count so far that it is below the number of rows with probability e⁻²⁰⁰."""
    exact = np.array([int((people.weights > 0).sum()) * _COUNT_ONE])
    noisy = int(account.release(exact, reach=_COUNT_ONE, share=share)[0])
    above = _SURE * account.deviation(share, float(_COUNT_ONE)) * 1.001
    return max(1, ceil((noisy + above) / _COUNT_ONE) + 1)


def _clip(noise: float) -> float:
    """The clip, as a fraction of the gradient of a typical row with a residual of 1."""
    return float(min(LONG, CLIP * max(1.0, AT_NOISE / noise) ** 0.5))
