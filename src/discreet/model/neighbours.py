"""Who counts as a neighbour: the relation between data sets that a privacy claim is about."""

from enum import Enum


class Neighbours(Enum):
    """When two data sets are neighbours.

    A claim under one relation is not a claim under the other: replacing a person is removing one and
    adding another, so what is ε under add/remove can be 2ε under replace-one. The lectures use both
    words for it ("differ in one entry" and "|D₁ΔD₂| = 1"); discreet always says which.
    """

    ADD_REMOVE = "add_remove"
    """One person is in one data set and not in the other. The number of people is private."""

    REPLACE_ONE = "replace_one"
    """One person's rows are other rows in the other data set. The number of people is public."""
