"""count(*), count(x): rows, or rows on which x is not NULL."""

import numpy as np
from sqlglot import exp

from discreet.aggregates.aggregate import ArgumentReader, AskedMeasure, NoisyMeasure
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.distinct import read_distinct
from discreet.aggregates.left_out import Lost
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Norm, Unit
from discreet.arrays import Floats
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate, Measure


class CountAggregate(CountingAggregate):
    """One vector of ones, in which rows of people with many rows are weighed down."""

    aggregate = Aggregate.COUNT
    usages = ("count(*)", "count(x)")
    offered = ("count",)
    nodes = (exp.Count,)
    counts = Unit.ROWS
    adds_up = True
    measured_together = True

    def read(self, node: exp.Expression, arguments: ArgumentReader) -> AskedMeasure:
        inner = node.this
        if node.expressions:
            raise QueryRefused("count(…) takes one thing.", remedy="Count one column, or count(*).")
        if isinstance(inner, exp.Distinct):
            return read_distinct(inner, arguments)
        every_row = inner is None or isinstance(inner, exp.Star)
        argument = None if every_row else arguments.expression(inner)
        return AskedMeasure(aggregate=Aggregate.COUNT, argument=argument)

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (count_of_rows(measure, bounds),)

    def with_left_out(
        self, noisy: NoisyMeasure, reach: tuple[Floats, Floats], lost: Lost
    ) -> tuple[Floats, Floats]:
        """Rows are lost only if they are counted: by a condition, perhaps none of them.

        Of all rows, noise and the guess are two errors that have nothing to do with each other.
        """
        low, high = reach
        all_counted = not noisy.grouped and noisy.measure.condition is None and noisy.measure.argument is None
        if not all_counted:
            return low, high + lost.of_counted(high)
        middle = (low + high) / 2
        return (
            middle + lost.guess - np.hypot(middle - low, lost.guess - lost.low),
            middle + lost.guess + np.hypot(high - middle, lost.high - lost.guess),
        )


def count_of_rows(measure: Measure, bounds: ContributionBounds) -> WeightedSum:
    """The number of rows of a measure. An average is divided by it."""
    selects = measure is bounds.selecting
    weight = bounds.row_weight(Norm.L1 if selects else bounds.norm, names_keys=selects)
    return bounds.ones(weight, measure.condition, measure.argument)
