"""count(DISTINCT x): different values, of which each person adds a few at most."""

from sqlglot import exp

from discreet.aggregates.aggregate import ArgumentReader, AskedMeasure, NoisyMeasure
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.left_out import Lost
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import DistinctCount, Part
from discreet.arrays import Floats
from discreet.errors import QueryRefused
from discreet.model.query import Aggregate, Measure, Relation


class DistinctAggregate(CountingAggregate):
    """One vector. It is bounded by dropping values, as different values cannot be weighed down."""

    aggregate = Aggregate.DISTINCT
    loses = "values of one person"
    usages = ("count(DISTINCT x)",)

    def limit_text(self, source: Relation) -> str:
        return f"{source.max_groups:,} values"

    def guess(self, noisy: NoisyMeasure, values: Floats, lost: Lost) -> Floats:  # noqa: ARG002
        """Others may have the values that were dropped of one person."""
        return values

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        if measure.argument is None:
            raise TypeError("A count of different values is of something.")
        source = bounds.query.source
        keys = [key.expression for key in bounds.query.keys]
        one_each = all(bounds.has_one_value(each) for each in (*keys, measure.argument))
        counted = DistinctCount(
            value=measure.argument,
            condition=measure.condition,
            values=1 if one_each else source.max_groups,
            one_row=source.one_row_a_person,
            sets=bounds.one_group,
            one_each=one_each,
        )
        return (counted,)


def read_distinct(node: exp.Distinct, arguments: ArgumentReader) -> AskedMeasure:
    """count(DISTINCT …), which counts people if it is of the person column."""
    if len(node.expressions) != 1:
        raise QueryRefused("count(DISTINCT …) takes one thing.", remedy="Count one column.")
    argument = arguments.expression(node.expressions[0])
    if arguments.is_person(argument):
        return AskedMeasure(aggregate=Aggregate.PEOPLE, argument=None)
    return AskedMeasure(aggregate=Aggregate.DISTINCT, argument=argument)
