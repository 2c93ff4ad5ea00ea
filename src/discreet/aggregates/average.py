"""avg(x): a noisy sum over a noisy count."""

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import (
    AggregateDefinition,
    NoisyMeasure,
    beyond_bounds,
    bounds_of,
    clamped,
    clamping_notes,
    share_left_out,
)
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.count import count_of_rows
from discreet.aggregates.left_out import Lost
from discreet.aggregates.shape import Shape
from discreet.aggregates.sum import sum_of_values
from discreet.aggregates.vectors import Part, WeightedSum, known
from discreet.arrays import Floats
from discreet.model.query import Aggregate, Measure


class AverageAggregate(AggregateDefinition):
    """The sum is of distances from the middle of the bounds: they are at most half the range."""

    aggregate = Aggregate.AVERAGE
    usages = ("avg(x)",)
    offered = ("avg",)
    nodes = (exp.Avg,)
    adds_up = True
    measured_together = True
    squares = (1 / 3, 1.0)
    """c = 1 for the sum, and 1/√3 for the count, which only matters as far as the mean is off the middle."""
    shape = Shape.SMOOTH
    error_of = "total"
    takes_conditions = True

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return count_of_rows(measure, bounds), sum_of_values(measure, bounds, centred=True, power=1)

    def estimate(self, noisy: NoisyMeasure) -> Floats:
        count, total = noisy.sums
        middle = float(known(WeightedSum, noisy.vectors[1]).offset)
        return clamped(ratio(total, count) + middle, noisy.measure)

    def with_left_out(
        self, noisy: NoisyMeasure, reach: tuple[Floats, Floats], lost: Lost
    ) -> tuple[Floats, Floats]:
        """The mean of rows that are left out is as far from the nearer bound as that of others, or twice, or
        half as far.
        """
        (low, high), (least, most) = reach, bounds_of(noisy.measure)
        share = share_left_out(noisy.sums[0], lost)
        from_least = (low + high) / 2 - least <= most - (low + high) / 2
        lower = np.where(from_least, least + (low - least) / 2, np.maximum(most - 2 * (most - low), least))
        upper = np.where(from_least, np.minimum(least + 2 * (high - least), most), most - (most - high) / 2)
        low, high = low - share * (low - lower), high + share * (upper - high)
        whole = not noisy.grouped and noisy.measure.condition is None
        return beyond_bounds(low, high, lost, (most - least) / np.maximum(noisy.sums[0], 1.0), whole=whole)

    def guess(self, noisy: NoisyMeasure, values: Floats, lost: Lost) -> Floats:
        """With what clamping takes off, if all of it is of these rows."""
        if noisy.grouped or noisy.measure.condition is not None:
            return values
        least, most = bounds_of(noisy.measure)
        return values + (most - least) * (lost.above.guess - lost.below.guess) / np.maximum(
            noisy.sums[0], 1.0
        )

    def span(self, measure: Measure) -> tuple[float, float]:
        return bounds_of(measure)

    def box(self, low: NoisyMeasure, high: NoisyMeasure) -> tuple[Floats, Floats]:
        middle = float(known(WeightedSum, low.vectors[1]).offset)
        least, most = ratio_box((low.sums[1], high.sums[1]), (low.sums[0], high.sums[0]))
        return clamped(least + middle, low.measure), clamped(most + middle, low.measure)

    def notes(self, measure: Measure) -> list[str]:
        return clamping_notes(measure)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """NaN where the noisy count is too small to divide by."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator >= 0.5)


def ratio_box(total: tuple[Floats, Floats], count: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Of a total and a count that is above 0: a count that may be near 0 bounds nothing on that side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = (1 / np.where(end > 0, end, 0.0) for end in (count[1], count[0]))
        low = np.where(total[0] >= 0, total[0] * least, total[0] * most)
        high = np.where(total[1] >= 0, total[1] * most, total[1] * least)
    unknown = ~(count[1] > 0)
    low, high = (
        np.where(unknown | np.isnan(low), -np.inf, low),
        np.where(unknown | np.isnan(high), np.inf, high),
    )
    return low, high
