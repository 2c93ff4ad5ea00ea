"""count(DISTINCT x): different values, of which each person brings a few."""

from sqlglot import exp

from discreet.aggregates.aggregate import ArgumentReader, AskedMeasure
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import DistinctCount, Part
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate, Measure


class DistinctAggregate(CountingAggregate):
    """One vector that is bounded by dropping values, as different values cannot be weighed."""

    aggregate = Aggregate.DISTINCT
    filters_first = True
    usages = ("count(DISTINCT x)",)

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        if measure.argument is None:
            raise TypeError("A count of different values is of something.")
        source = bounds.query.source
        counted = DistinctCount(
            value=measure.argument,
            condition=measure.condition,
            values=source.max_groups,
            one_row=source.one_row_a_person,
            sets=bounds.one_group,
        )
        return (counted,)


def read_distinct(node: exp.Distinct, arguments: ArgumentReader) -> AskedMeasure:
    """count(DISTINCT …): people, if it is of the person column."""
    if len(node.expressions) != 1:
        raise QueryRefused("count(DISTINCT …) takes one thing.", remedy="Count one column.")
    argument = arguments.expression(node.expressions[0])
    if arguments.is_person(argument):
        return AskedMeasure(aggregate=Aggregate.PEOPLE, argument=None)
    return AskedMeasure(aggregate=Aggregate.DISTINCT, argument=argument)
