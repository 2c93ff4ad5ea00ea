"""How many rows the sides of a join pass on, for each row of a table.

A database skips to pass on the rows of one side if nobody has a row on the other. What it skips must be about
what it takes to read a table. So rows that a side has made of each of them count as often: by a join with a
public table, by a join inside of a union or of groups, by a union.
"""

from discreet.bounds.person_work import rows_of
from discreet.bounds.relation_tree import aliases_of
from discreet.model.expression import owners
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    Lookup,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)


def passed_on(relation: Relation) -> int:
    """Of the side that passes on most, over all joins on the person; 0 without one. A union adds up those of
    all of its tables.
    """
    match relation:
        case Scan() | FollowKey():
            return 0
        case FewRows() | Filter() | Lookup() | PerPerson():
            return passed_on(relation.source)
        case PersonJoin():
            return max(_by_side(relation.left), _by_side(relation.right))
        case UnionAll():
            return sum(passed_on(branch.source) for branch in relation.branches)


def _by_side(side: Relation) -> int:
    """A join on one side of another passes on its own sides: only people in all of them are joined."""
    below = side
    while isinstance(below, Filter | Lookup):
        below = below.source
    return passed_on(side) if isinstance(below, PersonJoin) else max(made_of_a_row(side), passed_on(side))


def made_of_a_row(relation: Relation, read: set[str] | None = None) -> int:
    """How many rows there are of a relation for each row of the largest table; if `read` names sources, of
    rows that differ in what is read of these.

    A join pairs each row of one side with at most so many as a person has on the other (`rows_of`).
    """
    match relation:
        case Scan() | FollowKey():
            return 1
        case FewRows() | Filter():
            return made_of_a_row(relation.source, read)
        case Lookup():
            own = 1 if read is not None and read <= aliases_of(relation.source) else max(1, relation.matches)
            return own * made_of_a_row(relation.source, read)
        case PersonJoin(left=left, right=right):
            for side in (left, right):
                if read is not None and read <= aliases_of(side):
                    return made_of_a_row(side, read)
            of_left, of_right = made_of_a_row(left, read), made_of_a_row(right, read)
            return of_left if relation.meets_one else min(of_left * rows_of(right), of_right * rows_of(left))
        case PerPerson():
            keys = [owners(key) for _, key in relation.keys]
            return made_of_a_row(relation.source, set[str]().union(*keys)) if keys else 1
        case UnionAll():
            return sum(made_of_a_row(branch.source) for branch in relation.branches)
