"""Quantiles over public bins, any number of them from one noisy tree of counts.

Privacy
    What is released is the vector of the counts of all nodes of a tree over the bins, each plus
    independent discrete Laplace or Gaussian noise; the loss is that of the noise at the vector's
    sensitivity (see `laplace` and `gaussian`). A row is in exactly one node of each level, so the vector
    is `height` histograms side by side: ℓ₀, ℓ₁ and ℓ₂² are `height` times those of one histogram, ℓ∞ is
    the same. That holds on coarser levels too. Rows of a person that meet in one node count
    together, and a histogram's bound by the *sum* of a person's rows, ‖a‖₁ ≤ max_rows, allows for that.
    (A bound on ‖a‖₂ over the leaves would not do: it grows when leaves are merged.)
    All else, on `NoisyTree`, is computed from the noisy counts and public facts alone: post-processing.
    Hierarchical counts: Hay, Rastogi, Miklau, Suciu (VLDB 2010, arXiv 0904.0942v5).

Accuracy
    Least squares over the tree (see `tree`) estimates F(i) − p·N, the rows below leaf i against p times all
    rows, with an error of known law (see `sum_tails`). `interval` keeps each leaf that this law does not rule
    out as the true quantile. Only the test at the true leaf matters, so it holds at its confidence for any
    data and any number of leaves. It reaches to the first and last leaf that is kept, so where a leaf holds
    fewer rows than its noise, it covers more often than stated. `rank_error` is the reach of that law at the
    worst leaf, before any data is read; the estimate's rank is within it more often than stated (measured).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import InvalidInput
from discreet.model.exact import LARGEST_SENSITIVITY, Number, confidence_level, round_down, whole, within
from discreet.model.interval import Interval
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.sensitivity import Sensitivity
from discreet.noise.additive import additive, law_for
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.integers import as_integers
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sum_tails import one_sided_reach
from discreet.noise.tree import TreeShape, middle_variance, prefix_errors

LARGEST_LEAVES = 2**20
_SAFE_SUM = 2**62
_FAR = 2**400  # counts beyond this are as good as infinite, and floats can still add them up


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileTree:
    """Adds noise to the counts of a tree with this branching over this many bins."""

    noise: DiscreteLaplace | DiscreteGaussian
    leaves: int
    branching: int

    def __post_init__(self) -> None:
        if not isinstance(self.noise, DiscreteLaplace | DiscreteGaussian):
            raise InvalidInput(
                "The noise of a quantile tree must be a mechanism for integers.",
                remedy="Give a DiscreteLaplace or a DiscreteGaussian.",
            )
        object.__setattr__(self, "leaves", _leaves(self.leaves))
        object.__setattr__(self, "branching", _branching(self.branching))

    @classmethod
    def for_loss(
        cls,
        loss: Spend,
        *,
        leaves: int,
        neighbours: Neighbours,
        max_rows: int = 1,
        branching: int | None = None,
    ) -> "QuantileTree":
        """The least noise that costs at most this loss: Laplace for a pure ε, Gaussian for a ρ.

        Without a branching, the one with about the least error at this loss is taken.
        """
        if not isinstance(loss, PureLoss | ConcentratedLoss):
            raise InvalidInput(
                "A quantile tree is calibrated to a pure or a concentrated loss.",
                remedy="Give PureLoss(epsilon=…) or ConcentratedLoss(rho=…, delta=0).",
            )
        shape = _shape(leaves, branching, law_for(loss))
        noise = additive(loss, _sensitivity(shape, neighbours, max_rows))
        return cls(noise=noise, leaves=shape.leaves, branching=shape.branching)

    @classmethod
    def for_error(
        cls,
        error: int,
        confidence: Number,
        *,
        leaves: int,
        law: type[DiscreteLaplace] | type[DiscreteGaussian],
        branching: int | None = None,
    ) -> "QuantileTree":
        """The most noise, hence the least loss, with a rank_error of at most `error` for every p."""
        error = whole(error, "error", 1, LARGEST_SENSITIVITY)
        if law not in (DiscreteLaplace, DiscreteGaussian):
            raise InvalidInput(
                "There is no such law of noise.", remedy="Give DiscreteLaplace or DiscreteGaussian."
            )
        shape = _shape(leaves, branching, law)
        low, high = Fraction(1, 2**40), Fraction(2 * error)
        best = _with_scale(law, shape, low)
        while high > low * Fraction(1_000_001, 1_000_000):
            middle = round_down(math.sqrt(low) * math.sqrt(high))
            tree = _with_scale(law, shape, middle)
            fits = tree.rank_error(confidence) <= error
            best, low, high = (tree, middle, high) if fits else (best, low, middle)
        return best

    @property
    def shape(self) -> TreeShape:
        return TreeShape(self.leaves, min(self.branching, max(2, self.leaves)))

    @property
    def height(self) -> int:
        """How many levels are noised; each row is counted once on each."""
        return self.shape.height

    def sensitivity(self, neighbours: Neighbours, max_rows: int = 1) -> Sensitivity:
        """What one person with at most max_rows rows (or weight) in all changes in the vector of nodes."""
        return _sensitivity(self.shape, neighbours, max_rows)

    def loss(self, neighbours: Neighbours, *, max_rows: int = 1) -> Spend:
        """The loss of all levels. The sensitivity is derived here, as a histogram's would be too small."""
        return self.noise.loss(self.sensitivity(neighbours, max_rows))

    def rank_error(self, confidence: Number, *, p: Number | None = None) -> int:
        """By how many rows a rank may be off, at this confidence; for the worst p unless one is given."""
        miss = float(1 - confidence_level(confidence)) / 2
        errors = prefix_errors(self.shape)
        shares = (0.0, 1.0) if p is None else (float(_share(p)),)  # the variance is convex in p
        squares = np.array([max(errors.against(share).max() for share in shares)])
        return math.ceil(float(one_sided_reach(self.noise, squares, miss)[0]))

    def interval(self, confidence: Number) -> Interval:
        """Where the error of a rank lies, in rows, before any data is read."""
        reach = Fraction(self.rank_error(confidence))
        return Interval(low=-reach, high=reach, confidence=confidence_level(confidence))

    def release(self, histogram: Integers, *, entropy: Entropy = SYSTEM) -> "NoisyTree":
        """The noisy tree of a histogram: exact integers, one for each leaf."""
        return NoisyTree(mechanism=self, noisy=self.release_nodes(histogram, entropy=entropy))

    def release_nodes(self, histogram: Integers, *, entropy: Entropy = SYSTEM) -> Integers:
        """The noisy counts of all nodes alone, the coarsest level first."""
        exact = as_integers(histogram)
        _check_length(exact, (self.leaves,), "leaves")
        wide = exact.dtype == object
        if not wide and int(np.abs(exact.astype(np.float64)).max()) >= _SAFE_SUM // self.leaves:
            exact = exact.astype(object)  # sums of leaves must not wrap around
        noisy = self.noise.release(self.shape.count(exact), entropy=entropy)
        if not wide:  # the kind of the result must not tell how large the counts are
            noisy = np.clip(noisy, -(2**63), 2**63 - 1).astype(np.int64)
        return noisy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTree:
    """A released tree. All that is computed from it is free."""

    mechanism: QuantileTree
    noisy: Integers
    """What was released: the noisy counts of all nodes, the coarsest level first."""

    levels: tuple[Floats, ...] = field(init=False, repr=False)
    """Least-squares counts of all nodes, the coarsest level first: children sum to their parents."""
    prefix: Floats = field(init=False, repr=False)
    """At each edge i = 0 … leaves, the estimated rows below leaf i: unbiased, but not always increasing."""
    _growing: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        noisy = as_integers(self.noisy)
        shape = self.mechanism.shape
        _check_length(noisy, (sum(shape.sizes),), "nodes")
        near = np.clip(noisy, -_FAR, _FAR) if noisy.dtype == object else noisy
        levels = shape.least_squares(near.astype(np.float64))
        object.__setattr__(self, "noisy", noisy)
        object.__setattr__(self, "levels", tuple(levels))
        object.__setattr__(self, "prefix", np.concatenate([[0.0], np.cumsum(levels[-1])]))
        object.__setattr__(self, "_growing", np.cumsum(shape.nonnegative(levels)))

    @property
    def total(self) -> float:
        """The estimated number of rows; it may be negative, when there are few."""
        return float(self.prefix[-1])

    def rank(self, leaf: int) -> float:
        """The estimated number of rows below a leaf; of all rows at leaf = leaves."""
        return float(self.prefix[whole(leaf, "leaf", 0, self.mechanism.leaves)])

    def quantile(self, p: Number) -> int:
        """The leaf that p of the rows are in or below: p = 0 is the first with any row, p = 1 the last.

        It never decreases with p. A tree that looks empty is read as if its rows were evenly spread.
        """
        share = _share(p)
        total = float(self._growing[-1])
        if total <= 0:
            return max(0, math.ceil(share * self.mechanism.leaves) - 1)
        if share == 0:
            return int(np.searchsorted(self._growing, 0.0, side="right"))
        return int(np.searchsorted(self._growing, float(share) * total, side="left"))

    def position(self, p: Number) -> float:
        """The same, between leaves: i + ½ is the middle of leaf i. Rows are spread evenly over their leaf."""
        leaf, share = self.quantile(p), float(_share(p))
        total = float(self._growing[-1])
        if total <= 0:
            return share * self.mechanism.leaves
        before = float(self._growing[leaf - 1]) if leaf else 0.0
        inside = float(self._growing[leaf]) - before
        return leaf + (min(1.0, max(0.0, (share * total - before) / inside)) if inside > 0 else 0.0)

    def quantiles(self, shares: Iterable[Number]) -> list[int]:
        """The leaf of each p, from the same tree: they never cross."""
        return [self.quantile(p) for p in shares]

    def interval(self, p: Number, confidence: Number, *, between: int = 0) -> Interval:
        """From leaf to leaf, both included: where the true p-quantile of the histogram lies.

        If leaf i is the quantile, then F(i) ≤ p·N ≤ F(i + 1). So i is kept unless the estimate of
        F(i) − p·N is too high above 0 or that of F(i + 1) − p·N too far below; at the true leaf each
        happens with half of the probability of a miss. An empty histogram has no quantile to contain.

        A quantile between two rows, such as the mean of the middle two, may lie between their leaves. The
        lower of these rows has ⌊p·(N − 1)⌋ rows before it, the upper one ⌈p·(N − 1)⌉. So the leaf i of the
        lower one has F(i + 1) > p·N − p, and that of the upper one F(i) < p·N + 1 − p. With `between`, how
        much one row counts, both of their leaves are inside.
        """
        level = confidence_level(confidence)
        surplus, reach = self._surplus(p, level)
        row, share = whole(between, "between", 0, LARGEST_SENSITIVITY), float(_share(p))
        may_end = np.flatnonzero(surplus[1:] >= -reach[1:] - row * share)
        may_start = np.flatnonzero(surplus[:-1] <= reach[:-1] + row * (1 - share))
        middle = self.quantile(p)
        low = int(may_end[0]) if len(may_end) else middle
        high = int(may_start[-1]) if len(may_start) else middle
        ends = sorted((low, middle, high))
        return Interval(low=Fraction(ends[0]), high=Fraction(ends[-1]), confidence=level)

    def position_interval(self, p: Number, confidence: Number) -> tuple[float, float]:
        """Where the position lies at which the true p-quantile is, if rows are spread evenly over leaves.

        Only then: of rows that lie at one end of a leaf it holds nothing. `interval` always does.

        Then F is a straight line over each leaf, and the quantile v has F(v) = p·N exactly. So v is kept
        unless the estimate of F(v) − p·N is too far from 0 on either side.
        """
        level = confidence_level(confidence)
        surplus, reach = self._surplus(p, level)
        middle, leaves = self.position(p), self.mechanism.leaves
        reached = np.flatnonzero(surplus >= -reach)
        low = self._crossing(p, level, int(reached[0]) - 1, +1) if len(reached) else float(leaves)
        passed = np.flatnonzero(surplus <= reach)
        high = self._crossing(p, level, int(passed[-1]), -1) if len(passed) else 0.0
        return min(low, middle), max(high, middle)

    def _crossing(self, p: Number, confidence: Fraction, leaf: int, side: int) -> float:
        """Where in a leaf the estimate of F − p·N is as far from 0 as it may be, below (+1) or above (−1)."""
        if not 0 <= leaf < self.mechanism.leaves:
            return float(min(max(leaf, 0), self.mechanism.leaves))
        share, miss = float(_share(p)), float(1 - confidence) / 2
        errors = prefix_errors(self.mechanism.shape)
        start, inside = self.prefix[leaf] - share * self.total, self.levels[-1][leaf]
        low, high = 0.0, 1.0
        for _ in range(30):
            part = (low + high) / 2
            square = np.array([errors.against_inside(share, leaf, part)])
            reach = side * float(one_sided_reach(self.mechanism.noise, square, miss)[0])
            low, high = (part, high) if start + part * inside + reach < 0 else (low, part)
        return leaf + high

    def _surplus(self, p: Number, confidence: Fraction) -> tuple[Floats, Floats]:
        """The estimate of F − p·N at each edge, and how far it may be off on one side."""
        share = float(_share(p))
        squares = prefix_errors(self.mechanism.shape).against(share)
        reach = one_sided_reach(self.mechanism.noise, squares, float(1 - confidence) / 2)
        return self.prefix - share * self.total, reach


def leaf_bounds(
    leaf: int, low: int | Fraction, high: int | Fraction, leaves: int
) -> tuple[Fraction, Fraction]:
    """Where leaf number `leaf` of `leaves` equal bins of [low, high] starts and ends, exactly."""
    leaves = _leaves(leaves)
    leaf = whole(leaf, "leaf", 0, leaves - 1)
    if not low < high:
        raise InvalidInput("The lower bound must be below the upper bound.", remedy="Swap or widen them.")
    width = Fraction(high - low) / leaves
    return low + leaf * width, low + (leaf + 1) * width


def _sensitivity(shape: TreeShape, neighbours: Neighbours, max_rows: int) -> Sensitivity:
    """A histogram's, once for each level; on a level of few nodes, no more than those can change."""
    level = Sensitivity.histogram(neighbours, max_rows=max_rows)
    moves = [min(level.l1 // level.linf, size) for size in shape.sizes]  # whole persons, at most
    return Sensitivity(
        neighbours=neighbours,
        l0=sum(min(level.l0, size) for size in shape.sizes),
        linf=level.linf,
        l1=sum(moves) * level.linf,
        l2_squared=sum(moves) * level.linf**2,
    )


def _shape(
    leaves: int, branching: int | None, law: type[DiscreteLaplace] | type[DiscreteGaussian]
) -> TreeShape:
    """The shape asked for, or the one with about the least error at equal loss.

    For each height, the least branching that reaches all leaves. The noise of each node has a standard
    deviation in proportion to the height (Laplace) or to its root (Gaussian).
    """
    leaves = _leaves(leaves)
    if branching is not None:
        return TreeShape(leaves, min(_branching(branching), max(2, leaves)))

    def error(shape: TreeShape) -> float:
        levels = shape.height**2 if law is DiscreteLaplace else shape.height
        return levels * middle_variance(shape)

    heights = range(1, max(1, (leaves - 1).bit_length()) + 1)
    return min((TreeShape(leaves, _least_branching(leaves, height)) for height in heights), key=error)


def _least_branching(leaves: int, height: int) -> int:
    branching: int = max(2, math.floor(leaves ** (1 / height)) - 1)
    while branching**height < leaves:
        branching += 1
    return branching


def _with_scale(
    law: type[DiscreteLaplace] | type[DiscreteGaussian], shape: TreeShape, scale: Fraction
) -> QuantileTree:
    noise = (
        DiscreteLaplace(scale=scale) if law is DiscreteLaplace else DiscreteGaussian(sigma_squared=scale**2)
    )
    return QuantileTree(noise=noise, leaves=shape.leaves, branching=shape.branching)


def _leaves(value: object) -> int:
    return whole(value, "leaves", 1, LARGEST_LEAVES)


def _branching(value: object) -> int:
    return whole(value, "branching", 2, LARGEST_LEAVES)


def _share(value: object) -> Fraction:
    return within(value, "p", Fraction(0), Fraction(1))


def _check_length(values: Integers, shape: tuple[int], parts: str) -> None:
    if values.shape != shape:
        raise InvalidInput(
            f"There must be one count for each of the {shape[0]} {parts}, in one row.",
            remedy="Count every bin, also the empty ones.",
        )
