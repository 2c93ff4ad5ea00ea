"""count(DISTINCT person): people with at least one row."""

import numpy as np

from discreet.aggregates.aggregate import AskedMeasure, NoisyMeasure
from discreet.aggregates.bounding import ContributionBounds
from discreet.aggregates.left_out import Lost
from discreet.aggregates.one_vector import CountingAggregate
from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Unit, Weight
from discreet.arrays import Floats
from discreet.model.expression import Expression
from discreet.model.query import Aggregate, Measure, Relation


class PeopleAggregate(CountingAggregate):
    """One vector of ones, over pairs of person and group. `distinct.py` reads it."""

    aggregate = Aggregate.PEOPLE
    usages = ("count(DISTINCT patient)",)
    counts = Unit.PEOPLE
    measured_together = True
    loses = "pairs of person and group"

    def limit_text(self, source: Relation) -> str:
        return f"{source.max_groups:,} groups"

    def vectors(self, measure: Measure, bounds: ContributionBounds) -> tuple[Part, ...]:
        return (count_of_people(measure.condition, bounds),)

    def with_left_out(
        self,
        noisy: NoisyMeasure,  # noqa: ARG002
        reach: tuple[Floats, Floats],
        lost: Lost,
    ) -> tuple[Floats, Floats]:
        """Each person who is in too many groups loses less than one in each."""
        low, high = reach
        return low, high + np.minimum(lost.of_one_group, lost.in_proportion(high))


PEOPLE = AskedMeasure(aggregate=Aggregate.PEOPLE, argument=None)
"""The people behind each group, as a question would ask for them."""


def count_of_people(condition: Expression | None, bounds: ContributionBounds) -> WeightedSum:
    """The people with a row on which a condition is true."""
    query = bounds.query
    if query.source.one_row_a_person:
        return bounds.ones(None, condition, None)
    if not query.keys or bounds.one_each:
        return bounds.ones(Weight.one(Unit.PEOPLE), condition, None)
    names_keys = query.private_keys and condition is None
    weight = Weight.for_people(query.source.max_groups, bounds.norm, names_keys=names_keys)
    return bounds.ones(weight, condition, None)
