"""Tables whose rows belong to the person whom another table names: each row with that person beside it.

    lineitem   JOIN (SELECT DISTINCT key, person FROM orders)   on the key

A row whose key leads to several people belongs to each of them, once: what a row of `orders` adds is then
rows of its own person, whatever its key is. So one person affects only their own rows, also where a key that
should be unique is not. A row whose key nobody has belongs to nobody, and is left out.
"""

from collections.abc import Mapping

from discreet.dialects.dialect import Dialect
from discreet.model.policy import Dataset, PrivateTable, Through


def relations_with_people(relations: Mapping[str, str], dataset: Dataset, dialect: Dialect) -> dict[str, str]:
    """What stands after FROM for each table."""
    found = dict(relations)
    for name, table in dataset.tables.items():
        if isinstance(table, PrivateTable) and table.through is not None:
            found[name] = _owned(relations[name], table.through, relations, dialect)
    return found


def _owned(relation: str, through: Through, relations: Mapping[str, str], dialect: Dialect) -> str:
    owner = relations[through.table]
    if through.further is not None:
        owner = _owned(owner, through.further, relations, dialect)
    name = dialect.identifier
    people = f"SELECT DISTINCT {name(through.other)} AS owner_key, {name(through.person)} FROM {owner}"
    return (
        f"(SELECT owned_row.*, owner_row.{name(through.person)} FROM (SELECT * FROM {relation}) AS owned_row"
        f" JOIN ({people}) AS owner_row ON owned_row.{name(through.key)} = owner_row.owner_key) AS owned"
    )
