"""The fields of a relation, and those that it reads itself."""

from discreet.model.expression import Expression, fields_of
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


def collect_fields(relation: Relation, names: set[str]) -> None:
    """Add the fields that the tree itself reads."""

    def read(*expressions: Expression | None) -> None:
        names.update(field.name for each in expressions if each is not None for field in fields_of(each))

    match relation:
        case Filter():
            read(relation.predicate)
            collect_fields(relation.source, names)
        case FewRows():
            collect_fields(relation.source, names)
        case Lookup():
            read(*(side for pair in relation.pairs for side in pair))
            collect_fields(relation.source, names)
        case PersonJoin():
            read(*(side for pair in relation.pairs for side in pair))
            collect_fields(relation.left, names)
            collect_fields(relation.right, names)
        case PerPerson():
            read(*(expression for _, expression in relation.keys))
            for value in relation.values:
                read(value.argument, value.condition)
            collect_fields(relation.source, names)
        case UnionAll():
            for branch in relation.branches:
                read(*branch.columns)
                collect_fields(branch.source, names)


def names_of(relation: Relation) -> list[str]:
    """All fields of a relation."""
    match relation:
        case Scan():
            return [f"{relation.alias}.{column}" for column in relation.table.columns]
        case FollowKey():
            return [name for scan in relation.scans for name in names_of(scan)]
        case Filter() | FewRows():
            return names_of(relation.source)
        case Lookup():
            public = [f"{relation.alias}.{column}" for column in relation.table.columns]
            return [*names_of(relation.source), *public]
        case PersonJoin():
            return [*names_of(relation.left), *names_of(relation.right)]
        case PerPerson():
            keys = [field.name for field, _ in relation.keys]
            return [relation.person.name, *keys, *(value.field.name for value in relation.values)]
        case UnionAll():
            return [field.name for field in relation.fields]
