"""Values that are computed exactly from the rows of one person, as columns of a relation."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.model.expression import Expression, Field


class PersonAggregate(Enum):
    """What can be computed exactly from the rows of one person."""

    COUNT = "count"
    DISTINCT = "count_distinct"
    SUM = "sum"
    AVERAGE = "avg"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonValue:
    """One aggregate over the rows of one person, as a field of the relation above."""

    field: Field
    aggregate: PersonAggregate
    argument: Expression | None
    condition: Expression | None
    grid: Fraction
    """Sums are taken of whole multiples of this, so that they do not depend on the order of rows."""
