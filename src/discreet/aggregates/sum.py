"""sum(x): values clamped to their bounds, rounded to a public grid and added up as integers."""

from fractions import Fraction
from math import floor

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import NoisyMeasure, beyond_bounds, bounds_of, clamping_notes
from discreet.aggregates.bounding import ContributionBounds, bounded_argument
from discreet.aggregates.grid import grid_of, steps
from discreet.aggregates.left_out import Lost
from discreet.aggregates.one_vector import LARGEST_SHOWN, OneVectorAggregate
from discreet.aggregates.vectors import Part, WeightedSum, known
from discreet.aggregates.weights import Norm
from discreet.arrays import ColumnValues, Floats
from discreet.model.policy import ValueType
from discreet.model.query import Aggregate, Measure


class SumAggregate(OneVectorAggregate):
    """One vector that is not centred: a group without rows has the sum 0."""

    aggregate = Aggregate.SUM
    takes_conditions = True
    usages = ("sum(x)",)
    offered = ("sum",)
    nodes = (exp.Sum,)
    adds_up = True
    measured_together = True

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (sum_of_values(measure, bounds, centred=False, power=1),)

    def with_left_out(
        self, noisy: NoisyMeasure, reach: tuple[Floats, Floats], lost: Lost
    ) -> tuple[Floats, Floats]:
        """Rows that are left out have values like those that count: on average, half of that or twice.

        If values have both signs, anything within the bounds. What clamping takes off comes on top.
        """
        low, high = reach
        least, most = bounds_of(noisy.measure)
        whole = not noisy.grouped and noisy.measure.condition is None
        total = float(np.maximum(noisy.sums[0], 0.0).sum())
        if lost.counted and least >= 0 and total > 0:
            mean, largest = (each / lost.counted for each in (total, max(total, float(high.sum()))))
            usual = max(least, mean / 2), min(most, 2 * largest)
            with np.errstate(over="ignore"):
                lost_here = lost.of_counted(high / usual[0])
            low, high = low + usual[0] * (lost.low if whole else 0.0), high + usual[1] * lost_here
        else:
            low, high = low + min(least, 0.0) * lost.high, high + max(most, 0.0) * lost.high
        return beyond_bounds(low, high, lost, most - least, whole=whole)

    def guess(self, noisy: NoisyMeasure, values: Floats, lost: Lost) -> Floats:
        """What is left out, in proportion to what counts. In ℓ₂ it is not known how many rows count."""
        weight = known(WeightedSum, noisy.vectors[0]).weight
        if not lost.counted or weight is None or weight.norm is not Norm.L1:
            return values
        found: Floats = values * (1 + lost.guess / lost.counted)
        if noisy.grouped or noisy.measure.condition is not None:
            return found
        least, most = bounds_of(noisy.measure)
        return found + (most - least) * (lost.above.guess - lost.below.guess)

    def span(self, measure: Measure) -> tuple[float, float]:
        """On one side of 0, if all values are."""
        low, high = bounds_of(measure)
        return 0.0 if low >= 0 else -np.inf, 0.0 if high <= 0 else np.inf

    def shown(self, measure: Measure, raw: Floats) -> ColumnValues:
        """Sums of whole numbers are whole."""
        if measure.argument is None or measure.argument.type is not ValueType.INTEGER:
            return raw
        return np.clip(np.rint(raw), -LARGEST_SHOWN, LARGEST_SHOWN).astype(np.int64)

    def notes(self, measure: Measure) -> list[str]:
        return clamping_notes(measure)


def sum_of_values(measure: Measure, bounds: ContributionBounds, *, centred: bool, power: int) -> WeightedSum:
    """The sum of values to a power; if centred, of their distances from the middle of their bounds."""
    argument, span = bounded_argument(measure)
    grid = grid_of(argument, span)
    offset = floor((span.low + span.high) / 2 / grid) * grid if centred else Fraction(0)
    most = max(steps(span.low - offset, grid), steps(span.high - offset, grid), 1)
    return WeightedSum(
        weight=bounds.row_weight(bounds.norm),
        value=argument,
        condition=measure.condition,
        not_null=argument,
        offset=offset,
        grid=grid,
        power=power,
        largest=most**power,
        signed=power == 1 and span.low < offset < span.high,
        sets=bounds.one_group,
        one_each=bounds.one_each,
    )
