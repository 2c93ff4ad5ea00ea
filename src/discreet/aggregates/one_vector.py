"""Aggregates whose estimate is one noisy vector: their interval is the exact tail of the noise."""

from typing import ClassVar

import numpy as np

from discreet.aggregates.aggregate import AggregateDefinition, NoisyMeasure
from discreet.aggregates.left_out import Lost
from discreet.aggregates.shape import Shape
from discreet.arrays import ColumnValues, Floats
from discreet.model.query import Measure

LARGEST_SHOWN = 2.0**62


class OneVectorAggregate(AggregateDefinition):
    """The noisy vector is the estimate."""

    shape = Shape.AFFINE
    least: ClassVar[float] = -np.inf
    """The least possible truth, whatever the data."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        return noisy.sums[0]

    def reach(self, noisy: NoisyMeasure, values: Floats) -> tuple[Floats, Floats]:
        error = float(self.error(noisy.vectors[-1], noisy.noise[-1], noisy.confidence).high) * noisy.reach
        return np.maximum(values - error, self.least), np.maximum(values + error, self.least)

    def span(self, measure: Measure) -> tuple[float, float]:  # noqa: ARG002
        return self.least, np.inf

    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:
        least, most = self.span(low.measure)
        return np.clip(low.sums[0], least, most), np.clip(high.sums[0], least, most)


class CountingAggregate(OneVectorAggregate):
    """Counts are whole and not negative."""

    least = 0.0

    def guess(self, noisy: NoisyMeasure, values: Floats, lost: Lost) -> Floats:
        """What is left out, in proportion to what is counted: no group is known to lose more than others."""
        if noisy.measure.condition is not None or noisy.measure.argument is not None:
            return values
        counted = np.maximum(values, 0.0)
        total = float(counted.sum())
        return values + counted * (lost.guess / total) if total > 0 else values

    def shown(self, measure: Measure, raw: Floats) -> ColumnValues:  # noqa: ARG002
        return np.clip(np.rint(raw), 0, LARGEST_SHOWN).astype(np.int64)
