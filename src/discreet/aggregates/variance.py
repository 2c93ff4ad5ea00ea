"""variance(x), stddev(x): the mean of the squares less the square of the mean."""

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    ArgumentReader,
    AskedMeasure,
    NoisyMeasure,
    clamping_notes,
)
from discreet.aggregates.average import ratio
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.count import count_of_rows
from discreet.aggregates.sum import sum_of_values
from discreet.aggregates.vectors import Part
from discreet.arrays import Floats
from discreet.model.query import Aggregate, Measure

_DEVIATIONS = (exp.Stddev, exp.StddevSamp, exp.StddevPop)


class VarianceAggregate(AggregateDefinition):
    """Divided by n, as n is noisy anyway. A standard deviation is its root."""

    aggregate = Aggregate.VARIANCE
    usages = ("variance(x)", "var_pop(x)", "stddev(x)", "stddev_pop(x)", "stddev_samp(x)")
    offered = ("variance", "stddev")
    nodes = (exp.Variance, exp.VariancePop, *_DEVIATIONS)
    squares = (1 / 9, 4 / 3, 1.0)
    """c = 1 for the squares, 2/√3 for the sum, and 1/3 for the count."""
    error_of = "total"

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        return AskedMeasure(
            aggregate=self.aggregate,
            argument=arguments.number(node.this, self.aggregate.value),
            function="sqrt" if isinstance(node, _DEVIATIONS) else None,
        )

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (
            count_of_rows(measure, bounds),
            sum_of_values(measure, bounds, centred=True, power=1),
            sum_of_values(measure, bounds, centred=True, power=2),
        )

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        count, total, squares = noisy.sums
        return np.maximum(ratio(squares, count) - ratio(total, count) ** 2, 0.0)

    def notes(self, measure: Measure) -> list[str]:
        return clamping_notes(measure)
