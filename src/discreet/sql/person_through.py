"""Tables whose rows belong to the person whom another table names: each row with that person beside it.

    lineitem   JOIN (SELECT DISTINCT key, person FROM orders)   on the key

A row whose key leads to several people belongs to each of them, once: what a row of `orders` adds is then
rows of its own person, whatever its key is. So one person affects only their own rows, also where a key that
should be unique is not. A row whose key nobody has belongs to nobody, and is left out.

The same join brings columns of `orders` along, if a question asks for them (`FollowKey`). Of the rows of one
person with the same key it takes one.

Theorem. If a person is added or removed, exactly their rows come or go, at most as many as `lineitem` has of
them. Proof. A row of `lineitem` is joined on its key with one row for each person who has that key. Which row
that is depends on the rows of this person alone: it is the first of them in an order of values.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from discreet.dialects.dialect import Dialect
from discreet.model.policy import PrivateTable, Through
from discreet.model.query import FollowKey, Scan

OWNER_KEY = "owner_key"
_UNKNOWN = "_unknown_number"


def of_join(table: PrivateTable) -> set[str]:
    """The columns that the rows of a table meet their people by."""
    return set() if table.through is None else {table.through.key, table.through.person}


def known_after_join(sql: str, dialect: Dialect) -> str:
    """A value that no condition is met on before the table is read, in rows that are read `after_join`.

    A database that meets one on the owners first, and finds none, would not read the table at all. So the
    value has something of each row in it that is no column of the join, and is known when that row is read.
    """
    return f"CASE WHEN {_UNKNOWN} >= 0 THEN {sql} END" if dialect.unknown_number() else sql


def rows_with_people(
    table: PrivateTable, relations: Mapping[str, str], dialect: Dialect, *, after_join: bool = False
) -> str:
    """What stands after FROM for a table. Its rows have the person, if another table says who that is.

    `after_join` is whether something is `known_after_join`.
    """
    if table.through is None:
        return relations[table.name]
    return _owned(relations[table.name], table.through, relations, dialect, after_join=after_join)


def rows_with_owners(
    table: PrivateTable,
    through: Through,
    owners: str,
    columns: Sequence[str],
    relations: Mapping[str, str],
    dialect: Dialect,
    *,
    after_join: bool,
) -> str:
    """The same, with these columns of the owners: a SELECT of `OWNER_KEY`, the person as p, and columns.

    `after_join` is whether these are `known_after_join`: of several joins, the last one has all wait.
    """
    people = f"SELECT p AS {dialect.identifier(through.person)}, {', '.join([OWNER_KEY, *columns])}"
    people += f" FROM ({owners}) AS owners"
    return _joined(relations[table.name], through, people, columns, dialect, after_join=after_join)


def one_row_each(rows: str, columns: Sequence[str], order: Sequence[str]) -> str:
    """Of the rows of each person with the same `OWNER_KEY` the first in this order, in which NULLs are last.

    Rows that are equal in it are the same to whatever is computed from these columns: columns that are not in
    the order are the same in all rows of a person. Without an order, so are all of them.
    """
    chosen = ["p", OWNER_KEY, *columns]
    if not order:
        return f"SELECT DISTINCT {', '.join(chosen)} FROM ({rows}) AS known"
    ordered = ", ".join(f"{each} NULLS LAST" for each in order)
    place = f"row_number() OVER (PARTITION BY {OWNER_KEY}, p ORDER BY {ordered}) AS place"
    placed = f"SELECT {', '.join([*chosen, place])} FROM ({rows}) AS known"
    return f"SELECT {', '.join(chosen)} FROM ({placed}) AS placed WHERE place = 1"


def scans_that_differ(follow: FollowKey) -> list[Scan]:
    """The tables of which the rows of one person with the same key may come with different columns.

    Not so of one further on that was reached by the person itself: of that, each person has one row.
    """
    found = [follow.scans[1]]
    for before, scan in pairwise(follow.scans[1:]):
        through = before.table.through
        if through is None or through.other != through.person:
            found.append(scan)
    return found


def _owned(
    relation: str,
    through: Through,
    relations: Mapping[str, str],
    dialect: Dialect,
    *,
    after_join: bool = False,
) -> str:
    owner = relations[through.table]
    if through.further is not None:
        owner = _owned(owner, through.further, relations, dialect)
    name = dialect.identifier
    people = f"SELECT DISTINCT {name(through.other)} AS {OWNER_KEY}, {name(through.person)} FROM {owner}"
    return _joined(relation, through, people, (), dialect, after_join=after_join)


def _joined(
    relation: str,
    through: Through,
    people: str,
    columns: Sequence[str],
    dialect: Dialect,
    *,
    after_join: bool = False,
) -> str:
    name = dialect.identifier
    unknown = dialect.unknown_number() if after_join else ""
    rows = f"SELECT *, {unknown} AS {_UNKNOWN} FROM {relation}" if unknown else f"SELECT * FROM {relation}"
    known = [f"owner_row.{each}" for each in columns]
    if unknown:
        known = [f"{known_after_join(each, dialect)}" for each in known]
    brought = [f"{sql} AS {each}" for sql, each in zip(known, columns, strict=True)]
    chosen = ", ".join(["owned_row.*", f"owner_row.{name(through.person)}", *brought])
    return (
        f"(SELECT {chosen} FROM ({rows}) AS owned_row"
        f" JOIN ({people}) AS owner_row ON owned_row.{name(through.key)} = owner_row.{OWNER_KEY}) AS owned"
    )
