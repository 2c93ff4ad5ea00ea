"""What objective perturbation claims: minima of one feature, whose law the theorem gives.

A minimum is at most t exactly if the noise in the objective is at least what makes t the minimum.
"""

from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.audit.claims import ADD_REMOVE, Claim, Outcomes, Side
from discreet.audit.laws import Probabilities
from discreet.learn.core.encoding import ONE
from discreet.learn.objective.minimum import RIDGE_BITS
from discreet.learn.objective.perturbation import ObjectiveBudget, ObjectivePlan, release_minimum
from discreet.model.privacy import ApproximateLoss
from discreet.noise.entropy import SYSTEM

_CLAIMED = ApproximateLoss(epsilon=Fraction(1), delta=Fraction(1, 100))
_PEOPLE = [(1.0, 0.0), (-0.6, 1.0), (1.0, 1.0)]
"""A feature and a label of each; the neighbour lacks the last."""
_EDGES = np.linspace(-2.5, 2.5, 24)
"""The edges of the cells of outcomes, in standard deviations of the noise divided by the ridge."""


def objective_claims() -> Iterator[Claim]:
    """The minimum alone: the moments before it get discrete Gaussian noise, as everywhere."""
    budget = ObjectiveBudget.of(_CLAIMED.epsilon, _CLAIMED.delta, ADD_REMOVE)
    plan = ObjectivePlan.of(budget, width=1, longest=ONE, clip=ONE // 2, rows=10)
    sigma, ridge = float(plan.variance) ** 0.5, plan.ridge / 2**RIDGE_BITS
    edges = _EDGES * sigma / ridge

    def law(side: Side) -> Probabilities:
        below = [NormalDist().cdf(float(each) / sigma) for each in _pull(edges, side, ridge)]
        return np.diff(np.array([0.0, *below, 1.0]))

    def draw(side: Side, count: int) -> Outcomes:
        x, labels = np.array(_people(side)).T
        values = np.rint(x[:, None] * ONE)
        drawn = [
            release_minimum(values, labels, plan, budget, intercept=False, entropy=SYSTEM)[0]
            for _ in range(count)
        ]
        return np.searchsorted(edges, drawn).astype(np.int64)

    yield Claim(
        name="Learning: objective perturbation",
        claimed=_CLAIMED,
        stated=_CLAIMED,
        law=law,
        draw=draw,
        samples=2**10,
    )


def _people(side: Side) -> list[tuple[float, float]]:
    return _PEOPLE if side == 0 else _PEOPLE[:-1]


def _pull(t: Floats, side: Side, ridge: float) -> Floats:
    """−b for which t is the minimum; the clip is half of the longest row."""
    total = ridge * t
    for x, label in _people(side):
        cap, sign = min(1.0, 0.5 / abs(x)), 1 - 2 * label
        total = total + sign * cap * x / (1 + np.exp(np.log(cap) - sign * t * x))
    return total
