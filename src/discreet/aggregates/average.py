"""avg(x): a noisy sum over a noisy count."""

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import AggregateDefinition, NoisyMeasure, clamped, clamping_notes
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.count import count_of_rows
from discreet.aggregates.sum import sum_of_values
from discreet.aggregates.vectors import Part, WeightedSum, known
from discreet.arrays import Floats
from discreet.model.query import Aggregate, Measure


class AverageAggregate(AggregateDefinition):
    """The sum is of distances from the middle of the bounds: they are half as large as values can be."""

    aggregate = Aggregate.AVERAGE
    usages = ("avg(x)",)
    offered = ("avg",)
    nodes = (exp.Avg,)
    squares = (1 / 3, 1.0)
    """c = 1 for the sum, and 1/√3 for the count, which only matters as far as the mean is off the middle."""
    error_of = "total"

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return count_of_rows(measure, bounds), sum_of_values(measure, bounds, centred=True, power=1)

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        count, total = noisy.sums
        middle = float(known(WeightedSum, noisy.vectors[1]).offset)
        return clamped(ratio(total, count) + middle, noisy.measure)

    def notes(self, measure: Measure) -> list[str]:
        return clamping_notes(measure)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """NaN where the noisy count is too small to divide by."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator >= 0.5)
