"""The last stage: noise, then whatever the question computes from noisy numbers, which is free."""

import numpy as np
from numpy.typing import NDArray

from discreet.answers.released import Released
from discreet.compile.calibrate import Plan
from discreet.compile.estimate import Noisy
from discreet.compile.exact import Column, Exact, Results, exact_vectors
from discreet.compile.notes import notes_of
from discreet.compile.outputs import compute_outputs
from discreet.compile.parts import Histogram, Scores, known
from discreet.model.query import Picks
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.quantile import NoisyTree, QuantileTree
from discreet.noise.selection import Selection


def release(plan: Plan, results: Results) -> Released:
    """Add noise to the exact results of a plan's statements, and compute the answer."""
    exact = exact_vectors(plan, results)
    shown, counts = _shown(plan, exact)
    noisy = _noisy(plan, exact, shown, counts)
    keys = tuple(key[shown] for key in exact.keys)
    return compute_outputs(plan, keys, noisy, len(shown), notes_of(plan))


def _shown(plan: Plan, exact: Exact) -> tuple[NDArray[np.intp], Column | None]:
    """The groups of the answer: all public ones, the picked ones, or those whose noisy count passes."""
    if plan.bounded.query.picks is not None:
        return _picked(plan, exact), None
    if plan.threshold is None or plan.bounded.selector is None:
        return np.arange(len(exact)), None
    return plan.threshold.release(exact.sums[plan.bounded.selector])


def _picked(plan: Plan, exact: Exact) -> NDArray[np.intp]:
    picks = known(Picks, plan.bounded.query.picks)
    mechanism = plan.mechanisms[0]
    if not isinstance(mechanism, Selection):
        raise TypeError("A selection is expected here.")
    scores = exact.sums[0] if picks.largest else -exact.sums[0]
    return np.array(mechanism.release_top(scores, min(picks.count, len(scores))), dtype=np.intp)


def _noisy(plan: Plan, exact: Exact, shown: NDArray[np.intp], counts: Column | None) -> Noisy:
    """Noise on every vector; on one that selected the groups it has been added already."""
    sums, trees = {}, {}
    for i, (mechanism, part) in enumerate(zip(plan.mechanisms, plan.bounded.parts, strict=True)):
        match part, mechanism:
            case Scores(), _:
                continue
            case Histogram(), QuantileTree():
                trees[i] = _trees(mechanism, part, exact, i, shown)
            case _ if i == plan.bounded.selector and counts is not None:
                sums[i] = counts.astype(np.float64) * float(part.scale)
            case _, DiscreteLaplace() | DiscreteGaussian():
                vector = exact.sums[i][shown]
                released = mechanism.release(vector) if len(vector) else vector
                sums[i] = released.astype(np.float64) * float(part.scale)
    return Noisy(sums=sums, trees=trees)


def _trees(
    mechanism: QuantileTree, part: Histogram, exact: Exact, index: int, shown: NDArray[np.intp]
) -> list[NoisyTree]:
    return [mechanism.release(exact.histogram(index, int(group), part.leaves)) for group in shown]
