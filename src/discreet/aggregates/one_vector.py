"""Aggregates that are one noisy vector, as it is: their interval is the exact tail of the noise."""

from typing import ClassVar

import numpy as np

from discreet.aggregates.aggregate import AggregateDefinition, NoisyMeasure
from discreet.arrays import ColumnValues, Floats
from discreet.model.query import Measure

LARGEST_SHOWN = 2.0**62


class OneVectorAggregate(AggregateDefinition):
    """The noisy vector is the estimate."""

    least: ClassVar[float] = -np.inf
    """What the truth is at least, whatever the data."""

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        return noisy.sums[0]

    def reach(self, noisy: NoisyMeasure, values: Floats) -> tuple[Floats, Floats]:
        error = float(self.error(noisy.vectors[-1], noisy.noise[-1], noisy.confidence).high)
        return np.maximum(values - error, self.least), np.maximum(values + error, self.least)


class CountingAggregate(OneVectorAggregate):
    """Counts are whole and not negative."""

    least = 0.0

    def shown(self, measure: Measure, raw: Floats) -> ColumnValues:  # noqa: ARG002
        return np.clip(np.rint(raw), 0, LARGEST_SHOWN).astype(np.int64)
