"""count(*), count(x): rows, or rows on which x is not NULL."""

from sqlglot import exp

from discreet.aggregates.aggregate import ArgumentReader, AskedMeasure
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.distinct import read_distinct
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Norm, Unit
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate, Measure


class CountAggregate(CountingAggregate):
    """One vector of ones, in which rows of people with many rows are weighed down."""

    aggregate = Aggregate.COUNT
    usages = ("count(*)", "count(x)")
    offered = ("count",)
    nodes = (exp.Count,)
    counts = Unit.ROWS

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


def count_of_rows(measure: Measure, bounds: ContributionBounds) -> WeightedSum:
    """The rows that a measure is of: what it is divided by, too, if it is an average."""
    selects = measure is bounds.selecting
    weight = bounds.row_weight(Norm.L1 if selects else bounds.norm, names_keys=selects)
    return bounds.ones(weight, measure.condition, measure.argument)
