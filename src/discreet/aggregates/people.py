"""count(DISTINCT person): people with at least one row."""

from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Unit, Weight
from discreet.model.expression import Expression
from discreet.model.query import Aggregate, Measure


class PeopleAggregate(CountingAggregate):
    """One vector of ones, over pairs of person and group. `distinct.py` reads it."""

    aggregate = Aggregate.PEOPLE
    usages = ("count(DISTINCT patient)",)
    counts = Unit.PEOPLE
    filters_first = True

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (count_of_people(measure.condition, bounds),)


def count_of_people(condition: Expression | None, bounds: ContributionBounds) -> WeightedSum:
    """The people with a row on which a condition is true."""
    query = bounds.query
    if query.source.one_row_a_person:
        return bounds.ones(None, condition, None)
    if not query.keys:
        return bounds.ones(Weight.one(Unit.PEOPLE), condition, None)
    names_keys = query.private_keys and condition is None
    weight = Weight.for_people(query.source.max_groups, bounds.norm, names_keys=names_keys)
    return bounds.ones(weight, condition, None)
