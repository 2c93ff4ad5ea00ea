"""What a person has one of: the fields of a relation that are the same in all rows of one person.

Grouped by such fields alone, each person is in one group, whatever `max_groups` is. That is so because of the
SQL, and not because the owner says so: of a column with `per_person = true`, the smallest value of each
person is read in all of their rows (`sql.relation`). In a table that is `unique`, a person has one row.
"""

from discreet.model.expression import Expression, fields_of
from discreet.model.policy import PersonColumn
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


def fields_with_one_value(relation: Relation) -> frozenset[str]:
    """The names of these fields."""
    match relation:
        case Scan():
            return frozenset(f"{relation.alias}.{column}" for column in _columns(relation))
        case FollowKey():  # of the other tables, one row is taken, as it is there
            return frozenset().union(*map(fields_with_one_value, relation.scans))
        case Filter() | FewRows():
            return fields_with_one_value(relation.source)
        case Lookup():
            return _looked_up(relation)
        case PersonJoin():
            return _joined(relation)
        case PerPerson():
            return _of_each(relation)
        case UnionAll():  # the rows of a person come from several relations, which may differ
            return frozenset()


def _columns(scan: Scan) -> set[str]:
    if scan.one_row_a_person:
        return set(scan.table.columns)
    person = scan.table.person
    return {*scan.table.per_person, *([person.name] if isinstance(person, PersonColumn) else [])}


def _looked_up(lookup: Lookup) -> frozenset[str]:
    """What is looked up by such fields, where no more than one row matches: the SQL counts them again."""
    below = fields_with_one_value(lookup.source)
    if lookup.matches > 1 or not all(_is_of(private, below) for private, _ in lookup.pairs):
        return below
    return below | {f"{lookup.alias}.{column}" for column in lookup.table.columns}


def _joined(join: PersonJoin) -> frozenset[str]:
    """In a LEFT JOIN, a person may have rows with a match and rows without, in which the right is NULL. Not
    so if all rows have the same on their side of the condition.
    """
    left, right = fields_with_one_value(join.left), fields_with_one_value(join.right)
    if join.keep_unmatched and not all(_is_of(each, left) for each, _ in join.pairs):
        return left
    return left | right


def _of_each(relation: PerPerson) -> frozenset[str]:
    below = fields_with_one_value(relation.source)
    keys = [field.name for field, expression in relation.keys if _is_of(expression, below)]
    one_row = len(keys) == len(relation.keys)
    values = [value.field.name for value in relation.values] if one_row else []
    return frozenset({relation.person.name, *keys, *values})


def _is_of(expression: Expression, names: frozenset[str]) -> bool:
    return all(field.name in names for field in fields_of(expression))
