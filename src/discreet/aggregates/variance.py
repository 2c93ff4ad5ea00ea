"""variance(x), stddev(x): the mean of the squares less the square of the mean."""

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    ArgumentReader,
    AskedMeasure,
    NoisyMeasure,
    bounds_of,
    clamping_notes,
    share_left_out,
)
from discreet.aggregates.average import ratio, ratio_box
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.count import count_of_rows
from discreet.aggregates.left_out import Lost
from discreet.aggregates.shape import Shape
from discreet.aggregates.sum import sum_of_values
from discreet.aggregates.vectors import Part
from discreet.arrays import Floats
from discreet.model.query import Aggregate, Measure

_DEVIATIONS = (exp.Stddev, exp.StddevSamp, exp.StddevPop)


class VarianceAggregate(AggregateDefinition):
    """It divides by n, not n − 1, as n is noisy anyway. A standard deviation is its root."""

    aggregate = Aggregate.VARIANCE
    usages = ("variance(x)", "var_pop(x)", "stddev(x)", "stddev_pop(x)", "stddev_samp(x)")
    offered = ("variance", "stddev")
    nodes = (exp.Variance, exp.VariancePop, *_DEVIATIONS)
    adds_up = True
    measured_together = True
    squares = (1 / 9, 4 / 3, 1.0)
    """c = 1 for the squares, 2/√3 for the sum, and 1/3 for the count."""
    shape = Shape.SMOOTH
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

    def with_left_out(
        self, noisy: NoisyMeasure, reach: tuple[Floats, Floats], lost: Lost
    ) -> tuple[Floats, Floats]:
        """Var = (1 − f)·v + f·v′ + f·(1 − f)·(m − m′)², where f of the rows have the mean m′ and variance v′.

        v′ ≤ s²/4 and |m − m′| ≤ s, for values within a span of s.
        """
        (low, high), (least, most) = reach, bounds_of(noisy.measure)
        share, square = share_left_out(noisy.sums[0], lost), (most - least) ** 2
        low, high = low * (1 - share), high * (1 - share) + share * square / 4 + share * (1 - share) * square
        beyond = lost.above.squares + lost.below.squares + 2 * (lost.above.high + lost.below.high)
        return low, high + square * beyond / np.maximum(noisy.sums[0], 1.0)

    def span(self, measure: Measure) -> tuple[float, float]:
        """At most the square of half of the range (Popoviciu 1935)."""
        low, high = bounds_of(measure)
        return 0.0, ((high - low) / 2) ** 2

    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:
        count = low.sums[0], high.sums[0]
        mean = ratio_box((low.sums[1], high.sums[1]), count)
        squares = ratio_box((np.maximum(low.sums[2], 0.0), high.sums[2]), count)
        farthest = np.maximum(np.abs(mean[0]), np.abs(mean[1])) ** 2
        nearest = np.maximum(0.0, np.maximum(mean[0], -mean[1])) ** 2
        least, most = self.span(low.measure)
        return np.clip(squares[0] - farthest, least, most), np.clip(squares[1] - nearest, least, most)

    def notes(self, measure: Measure) -> list[str]:
        return clamping_notes(measure)
