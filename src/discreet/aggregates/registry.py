"""The aggregates that can be asked for, and nothing else. A new one is one file, and one line here."""

from collections.abc import Mapping

from sqlglot import exp

from discreet.aggregates.aggregate import AggregateDefinition
from discreet.aggregates.average import AverageAggregate
from discreet.aggregates.count import CountAggregate
from discreet.aggregates.distinct import DistinctAggregate
from discreet.aggregates.people import PeopleAggregate
from discreet.aggregates.quantile import QuantileAggregate
from discreet.aggregates.second_moments import (
    CorrelationAggregate,
    CovarianceAggregate,
    InterceptAggregate,
    SlopeAggregate,
)
from discreet.aggregates.sum import SumAggregate
from discreet.aggregates.variance import VarianceAggregate
from discreet.model.query import Aggregate

AGGREGATES: Mapping[Aggregate, AggregateDefinition] = {
    each.aggregate: each
    for each in (
        CountAggregate(),
        PeopleAggregate(),
        DistinctAggregate(),
        SumAggregate(),
        AverageAggregate(),
        VarianceAggregate(),
        QuantileAggregate(),
        CovarianceAggregate(),
        CorrelationAggregate(),
        SlopeAggregate(),
        InterceptAggregate(),
    )
}

READERS: Mapping[type[exp.Expression], AggregateDefinition] = {
    node: each for each in AGGREGATES.values() for node in each.nodes
}
"""For each sqlglot node, the aggregate that reads it."""


def offered() -> str:
    """All aggregates in words, for refusals."""
    *names, last = (name for each in AGGREGATES.values() for name in each.offered)
    return f"{', '.join(names)} or {last}"
