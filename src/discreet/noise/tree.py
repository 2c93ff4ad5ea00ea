"""Trees of counts over public bins: building them, least squares on noisy ones, and its exact error.

The levels of a tree are partitions of the same bins, from at most `branching` coarse nodes down to the
bins themselves; every node is the sum of its children. There is no root among the counts: it would be
one level more to pay for, and the total is the sum of the top level anyway. One level is a flat
histogram. Where the bins do not fill the tree, the missing nodes do not exist: nobody can ever be in
them, so they are counted as a known zero, without noise.

Least squares: given independent noise of equal variance on all nodes, the estimate that is consistent
(children sum to parents) and nearest to the noisy counts has the least variance of all linear unbiased
ones, for every sum of bins (Gauss-Markov). Hay, Rastogi, Miklau, Suciu (VLDB 2010, arXiv 0904.0942v5,
section 4) compute it in two passes; here for any branching and for trees that are not full: on the way
up each node's own count is averaged with the sum of its children by inverse variance, on the way down
the gap to the parent is divided among the children in proportion to their variance.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers

_ABSENT = -1e300  # a child that does not exist, where the largest children are looked for


@dataclass(frozen=True, slots=True)
class TreeShape:
    """How many nodes each level has. Public: it depends on no row."""

    leaves: int
    branching: int

    @property
    def height(self) -> int:
        """How many levels are counted: the least h ≥ 1 with branching^h ≥ leaves."""
        height, reach = 1, self.branching
        while reach < self.leaves:
            height, reach = height + 1, reach * self.branching
        return height

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes on each level, from the coarsest down to the leaves."""
        widths = (self.branching**below for below in reversed(range(self.height)))
        return tuple(-(-self.leaves // width) for width in widths)

    def count(self, histogram: Integers) -> Integers:
        """The exact counts of all nodes, the coarsest level first: the vector that is noised."""
        levels = [histogram]
        for size in reversed(self.sizes[:-1]):
            levels.append(self._children(levels[-1], size, 0).sum(axis=1))
        return np.concatenate(levels[::-1])

    def split(self, nodes: Floats) -> list[Floats]:
        """The vector of all nodes, level by level."""
        return np.split(nodes, np.cumsum(self.sizes)[:-1])

    def least_squares(self, noisy: Floats) -> list[Floats]:
        """The consistent levels that are nearest to the noisy ones."""
        levels, variances = self.split(noisy), subtree_variances(self)
        for level in reversed(range(self.height - 1)):
            below = self._sums(levels[level + 1], level)
            below_variance = self._sums(variances[level + 1], level)
            levels[level] = (below_variance * levels[level] + below) / (1 + below_variance)
        for level in range(self.height - 1):
            missing = levels[level] - self._sums(levels[level + 1], level)
            missing /= self._sums(variances[level + 1], level)
            shares = np.repeat(missing, self.branching)[: self.sizes[level + 1]]
            levels[level + 1] = levels[level + 1] + variances[level + 1] * shares
        return levels

    def nonnegative(self, estimates: list[Floats]) -> Floats:
        """Leaf counts ≥ 0: from the total down, the children nearest to the estimates that still sum up.

        A node that cannot be told from an empty one becomes exactly 0, and so does all below it.
        """
        parents: Floats = np.maximum(estimates[0].sum(keepdims=True), 0.0)
        for level in estimates:
            children = self._children(level, len(parents), _ABSENT)
            parents = _onto_simplex(children, parents).reshape(-1)[: len(level)]
        return parents

    def _sums(self, children: Floats, level: int) -> Floats:
        sums: Floats = self._children(children, self.sizes[level], 0).sum(axis=1)
        return sums

    def _children(self, values: NDArray[np.generic], parents: int, absent: float) -> Integers:
        """One row for each parent, with `absent` for the children that do not exist."""
        padded = np.full(parents * self.branching, absent, dtype=values.dtype)
        padded[: len(values)] = values
        return padded.reshape(parents, self.branching)


@lru_cache(maxsize=8)
def subtree_variances(shape: TreeShape) -> tuple[Floats, ...]:
    """The variance of each node's estimate from its subtree alone, for noise of variance 1."""
    levels = [np.ones(shape.leaves)]
    for level in reversed(range(shape.height - 1)):
        below = shape._sums(levels[-1], level)
        levels.append(below / (1 + below))
    return tuple(levels[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class PrefixErrors:
    """Second moments of the least-squares errors, for noise of variance 1 on every node.

    At each edge i = 0 … leaves, for F(i), the count of all leaves below i, and the total T = F(leaves).
    """

    variance: Floats
    with_total: Floats
    total: float
    leaf_with_prefix: Floats
    """The covariance of each leaf's count with F at the edge before it; `leaf` is its variance."""
    leaf: Floats
    leaf_with_total: Floats

    def against(self, p: float) -> Floats:
        """The variance of F(i) − p·T at each edge i."""
        spread = self.variance - 2 * p * self.with_total + p * p * self.total
        return np.maximum(spread, 0.0)

    def against_inside(self, p: float, leaf: int, part: float) -> float:
        """The variance of F − p·T where this part of a leaf is below, and its rows are spread evenly."""
        inside = 2 * self.leaf_with_prefix[leaf] + part * self.leaf[leaf] - 2 * p * self.leaf_with_total[leaf]
        edge = self.variance[leaf] - 2 * p * self.with_total[leaf] + p * p * self.total
        return max(0.0, float(edge + part * inside))


@lru_cache(maxsize=8)
def prefix_errors(shape: TreeShape) -> PrefixErrors:
    """Computed exactly, from the top down.

    A child's error is r = s/S of its parent's (s the child's variance from its own subtree, S the sum over
    its siblings and itself) plus a part of its own. Those parts have covariance diag(s) − s·sᵀ/S among
    siblings, and no other. So five moments of each node follow from its parent's.
    """
    variances = subtree_variances(shape)
    total = float(variances[0].sum())
    # Of the edge where the node starts (f), of its count (x) and of the total (t).
    ff, fx, xx, ft, xt = (np.array([start]) for start in (0.0, 0.0, total, 0.0, total))
    for level, size in enumerate(shape.sizes):
        own = shape._children(variances[level], len(ff), 0.0)
        siblings = own.sum(axis=1, keepdims=True)
        before = np.cumsum(own, axis=1) - own
        r, w = own / siblings, before / siblings
        ff, fx, xx, ft, xt = (moment[:, np.newaxis] for moment in (ff, fx, xx, ft, xt))
        ff, fx, xx, ft, xt = (
            moment.reshape(-1)[:size]
            for moment in (
                ff + 2 * w * fx + w * w * xx + before * (1 - w),
                r * (fx + w * xx) - before * r,
                r * r * xx + own * (1 - r),
                ft + w * xt,
                r * xt,
            )
        )
    return PrefixErrors(np.append(ff, total), np.append(ft, total), total, fx, xx, xt)


def middle_variance(shape: TreeShape) -> float:
    """About the largest variance of F(i) − T/2, quickly computed, for comparing shapes.

    It is that of a full tree, on a way down that takes the child before or after the middle, or both in turn.
    """
    low = (shape.branching - 1) // 2
    return max(_variance_on_the_way(shape, turns) for turns in ((low, low), (low, low + 1)))


def _variance_on_the_way(shape: TreeShape, turns: tuple[int, int]) -> float:
    """The recursion of `prefix_errors` in a full tree, for the children that are taken in turn."""
    b = shape.branching
    variances = [1.0]
    for _ in range(shape.height - 1):
        variances.append(1 / (1 + 1 / (b * variances[-1])))
    total = b * variances[-1]
    ff, fx, xx, ft, xt = 0.0, 0.0, total, 0.0, total
    for step, own in enumerate(reversed(variances)):
        turn = turns[step % 2]
        r, w, before = 1 / b, turn / b, turn * own
        ff, fx, xx, ft, xt = (
            ff + 2 * w * fx + w * w * xx + before * (1 - w),
            r * (fx + w * xx) - before * r,
            r * r * xx + own * (1 - r),
            ft + w * xt,
            r * xt,
        )
    return ff - ft + total / 4


def _onto_simplex(points: Floats, sums: Floats) -> Floats:
    """In each row, the nearest point with entries ≥ 0 that add up to the given sum ≥ 0.

    That is max(x − τ, 0), with the τ that makes the sum right (Held, Wolfe, Crowder 1974).
    """
    descending = -np.sort(-points, axis=1)
    excess = np.cumsum(descending, axis=1) - sums[:, np.newaxis]
    thresholds = excess / np.arange(1, points.shape[1] + 1)
    kept = np.maximum(np.count_nonzero(descending > thresholds, axis=1), 1)
    tau = np.take_along_axis(thresholds, kept[:, np.newaxis] - 1, axis=1)
    return np.maximum(points - tau, 0.0)
