"""What a relation is made of: its tables, joins and expressions, and how many rows lookups make of one."""

from collections.abc import Iterable

from discreet.model.expression import Expression, fields_of, owners, title
from discreet.model.policy import PersonColumn, PrivateTable, ValueType
from discreet.model.query import (
    FewRows,
    Filter,
    FollowKey,
    Lookup,
    Pair,
    PerPerson,
    PersonJoin,
    Relation,
    Scan,
    UnionAll,
)


def columns_of(shared: Iterable[Expression]) -> str:
    """What a public table is joined on, in words."""
    return " and ".join(dict.fromkeys(title(field.name) for each in shared for field in fields_of(each)))


def joins_people(relation: Relation) -> bool:
    match relation:
        case Scan() | FollowKey():
            return False
        case PersonJoin():
            return True
        case FewRows() | Filter() | Lookup() | PerPerson():
            return joins_people(relation.source)
        case UnionAll():
            return any(joins_people(branch.source) for branch in relation.branches)


def follows_a_key(relation: Relation) -> bool:
    """Whether it has a join along the key by which one table says whose the rows of another are."""
    match relation:
        case Scan():
            return False
        case FollowKey():
            return True
        case FewRows() | Filter() | Lookup() | PerPerson():
            return follows_a_key(relation.source)
        case PersonJoin():
            return follows_a_key(relation.left) or follows_a_key(relation.right)
        case UnionAll():
            return any(follows_a_key(branch.source) for branch in relation.branches)


def reads_by_key(relation: Relation) -> bool:
    """Whether rows of a table are joined with those that say whose they are, and else with public ones."""
    while isinstance(relation, Filter | Lookup):
        relation = relation.source
    match relation:
        case FollowKey():
            return True
        case Scan():
            return relation.table.through is not None
    return False


def type_of_person(relation: Relation) -> ValueType:
    """The type of the ids of the people that rows belong to."""
    match relation:
        case Scan(table=PrivateTable(person=PersonColumn(name=name), columns=columns)):
            return columns[name].type
        case FollowKey():
            return type_of_person(relation.child)
        case PersonJoin():
            return type_of_person(relation.left)
        case PerPerson():
            return relation.person.type
        case UnionAll():
            return type_of_person(relation.branches[0].source)
        case Filter() | FewRows() | Lookup():
            return type_of_person(relation.source)
    raise TypeError("Rows without ids belong to nobody who could be told apart.")


def expressions_of(relation: Relation) -> list[Expression]:
    """All that a relation computes from rows."""
    match relation:
        case Scan() | FollowKey():
            return []
        case FewRows():
            return expressions_of(relation.source)
        case Filter():
            return [relation.predicate, *expressions_of(relation.source)]
        case Lookup():
            return [*sides_of(relation.pairs), *expressions_of(relation.source)]
        case PersonJoin():
            below = [*expressions_of(relation.left), *expressions_of(relation.right)]
            return [*sides_of(relation.pairs), *below]
        case PerPerson():
            values = [e for v in relation.values for e in (v.argument, v.condition) if e is not None]
            return [*(key for _, key in relation.keys), *values, *expressions_of(relation.source)]
        case UnionAll():
            return [
                e for branch in relation.branches for e in (*branch.columns, *expressions_of(branch.source))
            ]


def sides_of(pairs: Iterable[Pair]) -> list[Expression]:
    """All that is compared in a join."""
    return [side for pair in pairs for side in pair]


def matches(relation: Relation) -> int:
    """How many rows lookups make of one row, even if these are then grouped by what was looked up."""
    match relation:
        case Scan() | FollowKey():
            return 1
        case Filter() | FewRows():
            return matches(relation.source)
        case Lookup():
            return matches(relation.source) * relation.matches
        case PersonJoin():
            return matches(relation.left) * matches(relation.right)
        case PerPerson():
            return matches(relation.source) if relation.keys else 1
        case UnionAll():
            return max(matches(branch.source) for branch in relation.branches)


def aliases_of(relation: Relation) -> set[str]:
    """What the names of a relation's fields begin with."""
    match relation:
        case Scan():
            return {relation.alias}
        case FollowKey():
            return {scan.alias for scan in relation.scans}
        case FewRows() | Filter():
            return aliases_of(relation.source)
        case Lookup():
            return {relation.alias, *aliases_of(relation.source)}
        case PersonJoin():
            return aliases_of(relation.left) | aliases_of(relation.right)
        case PerPerson():
            return owners(relation.person)
        case UnionAll():
            return {alias for each in relation.fields for alias in owners(each)}


def looked_up(relation: Relation) -> list[Lookup]:
    """All joins with public tables."""
    match relation:
        case Scan() | FollowKey():
            return []
        case Lookup():
            return [relation, *looked_up(relation.source)]
        case Filter() | FewRows() | PerPerson():
            return looked_up(relation.source)
        case PersonJoin():
            return [*looked_up(relation.left), *looked_up(relation.right)]
        case UnionAll():
            return [lookup for branch in relation.branches for lookup in looked_up(branch.source)]


def sides_cut(relation: Relation) -> list[FewRows]:
    """All sides of joins from which people with many rows are left out, for the notes of an answer."""
    match relation:
        case Scan() | FollowKey():
            return []
        case FewRows():
            return [relation, *sides_cut(relation.source)]
        case Filter() | Lookup() | PerPerson():
            return sides_cut(relation.source)
        case PersonJoin():
            return [*sides_cut(relation.left), *sides_cut(relation.right)]
        case UnionAll():
            return [few for branch in relation.branches for few in sides_cut(branch.source)]


def tables_of(relation: Relation) -> list[str]:
    """The tables about people that a relation reads, by their names."""
    match relation:
        case Scan():
            return [relation.table.name]
        case FollowKey():
            return list(dict.fromkeys(scan.table.name for scan in relation.scans))
        case FewRows() | Filter() | Lookup() | PerPerson():
            return tables_of(relation.source)
        case PersonJoin():
            return list(dict.fromkeys([*tables_of(relation.left), *tables_of(relation.right)]))
        case UnionAll():
            return list(dict.fromkeys(n for branch in relation.branches for n in tables_of(branch.source)))
