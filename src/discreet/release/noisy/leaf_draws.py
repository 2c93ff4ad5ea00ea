"""The noisy answer of a leaf, less other noise of the same law: as many times as need be."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.left_out import NOTHING
from discreet.aggregates.registry import AGGREGATES
from discreet.aggregates.shape import Shape
from discreet.arrays import ColumnValues, Floats
from discreet.model.expression import Field
from discreet.model.policy import ValueType
from discreet.release.estimate import draw_sums, near_threshold, noisy_measure
from discreet.release.noisy.draw_sql import ENDS
from discreet.release.outputs import NoisyGroups


class LeafDraws:
    """The columns of a leaf's answer for some draws of its noise at a time."""

    def __init__(self, leaf: NoisyGroups, seed: list[int], miss: Fraction, *, with_lost: bool) -> None:
        """`miss` is the probability that any group near the threshold is not where it is said to be."""
        self._leaf = leaf
        self._generator = np.random.default_rng(seed)
        self._miss = miss
        self._with_lost = with_lost
        self.near: NDArray[np.bool_] = np.zeros(leaf.groups, dtype=np.bool_)
        """The groups that would not be seen had their noise been a little smaller."""
        if leaf.plan.threshold is not None:
            self.near = near_threshold(leaf.plan, leaf.noisy, 1 - miss / max(1, leaf.groups))

    def columns(self, draws: int, *, sided: bool) -> dict[str, ColumnValues]:
        """row_number, draw, keys and measures, with a row for each group and draw."""
        leaf = self._leaf
        at = np.repeat(np.arange(leaf.groups), draws)
        found: dict[str, ColumnValues] = {"row_number": at, "draw": np.tile(np.arange(draws), leaf.groups)}
        found |= {name: column[at] for name, column in leaf.key_columns().items()}
        measures = leaf.plan.bounded.measures
        parts = {part for each in measures for part in each.parts}
        sums = draw_sums(leaf.plan, leaf.noisy, parts, at, self._generator)
        for each in measures:
            definition = AGGREGATES[each.measure.aggregate]
            if definition.shape is Shape.BENT:
                continue
            noisy = noisy_measure(leaf.plan, each, leaf.noisy, sums, leaf.plan.request.confidence)
            low = high = definition.estimate(noisy)
            if sided and leaf.plan.bounded.selector in each.parts and self.near.any():
                low, high = self._near(each.measure.name, low, at)
            if self._with_lost:
                lost = leaf.lost.get(each.measure.name, NOTHING)
                low, high = definition.with_left_out(noisy, (low, high), lost)
            name = each.measure.name
            if sided:
                found |= self._both_ends(name, low, high, at)
            else:
                found[name] = leaf.shown_cells(name, low, at)
        return found

    def tails(self, miss: Fraction) -> dict[str, ColumnValues]:
        """A single draw: where each measure of each group lies, but for a probability of `miss` each."""
        leaf = self._leaf
        at = np.arange(leaf.groups)
        found: dict[str, ColumnValues] = {"row_number": at, "draw": np.zeros(leaf.groups, dtype=np.int64)}
        found |= leaf.key_columns()
        for each in leaf.plan.bounded.measures:
            definition = AGGREGATES[each.measure.aggregate]
            if definition.shape is Shape.BENT:
                continue
            box = leaf.intervals.from_vectors(Field(name=each.measure.name, type=ValueType.NUMBER), at, miss)
            low, high = box.low, box.high
            if self._with_lost:
                noisy = noisy_measure(leaf.plan, each, leaf.noisy, leaf.noisy.sums, 1 - miss)
                lost = leaf.lost.get(each.measure.name, NOTHING)
                low, high = definition.with_left_out(noisy, (low, high), lost)
            found |= self._both_ends(each.measure.name, low, high, at)
        return found

    def _both_ends(
        self, name: str, low: Floats, high: Floats, at: NDArray[np.int64]
    ) -> dict[str, ColumnValues]:
        ends = zip(ENDS, (low, high), strict=True)
        return {f"{name}_{end}": self._leaf.shown_cells(name, each, at) for end, each in ends}

    def _near(self, name: str, drawn: Floats, at: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Groups that passed a threshold narrowly lie between ends that hold for all of them at once."""
        some = np.flatnonzero(self.near)
        own = Field(name=name, type=ValueType.NUMBER)
        box = self._leaf.intervals.from_vectors(own, some, self._miss / len(some))
        low, high = drawn.copy(), drawn.copy()
        lows, highs = np.full(self._leaf.groups, np.nan), np.full(self._leaf.groups, np.nan)
        lows[some], highs[some] = box.low, box.high
        chosen = self.near[at]
        low[chosen], high[chosen] = lows[at[chosen]], highs[at[chosen]]
        return low, high
