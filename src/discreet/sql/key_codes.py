"""Public keys that are texts, read as whole numbers: the places of their values among the public ones.

Where a join brings such a key along from another table (`FollowKey`), it is read once for each row of that
table. Whole numbers go through joins, and are grouped, faster than texts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.dialects.dialect import Dialect
from discreet.functions.registry import emit
from discreet.model.expression import Field
from discreet.model.policy import PersonColumn, ValueType
from discreet.model.query import Filter, FollowKey, GroupKey, Query, Relation, Scan

_MOST_CODED = 100
"""Values. All are written in each statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCode:
    """The place of a key's value, as a column; NULL where it is none of the public ones."""

    name: str
    read: Field
    values: tuple[str, ...]
    brought_by: str | None
    """The alias of the table that a join brings it along from."""
    column: Field
    """The column of the table itself."""

    @property
    def field(self) -> Field:
        return Field(name=self.name, type=ValueType.INTEGER)

    def sql(self, dialect: Dialect, *, of_table: bool = False) -> str:
        """From rows of a relation, or of the table."""
        place = dialect.place_among(emit(self.column if of_table else self.read, dialect), self.values)
        return f"{place} AS {self.name}"


def key_codes(query: Query, dialect: Dialect) -> dict[int, KeyCode]:
    """The keys that are read so, by their positions. Groups with private keys have the values."""
    if not dialect.has_places or query.private_keys:
        return {}
    codes = ((i, _code(f"g{i}", key, query.source)) for i, key in enumerate(query.keys))
    return {i: code for i, code in codes if code is not None}


def _code(name: str, key: GroupKey, source: Relation) -> KeyCode | None:
    read, values = key.expression, _texts(key.values or ())
    if not isinstance(read, Field) or read.type is not ValueType.TEXT or key.total or not values:
        return None
    for scan in _owners(source):
        for column in _plain_columns(scan):
            if read.name == f"{scan.alias}.{column}":
                own = Field(name=column, type=read.type)
                return KeyCode(name=name, read=read, values=values, brought_by=scan.alias, column=own)
    return KeyCode(name=name, read=read, values=values, brought_by=None, column=read)


def _owners(relation: Relation) -> Sequence[Scan]:
    while isinstance(relation, Filter):
        relation = relation.source
    return relation.scans[1:] if isinstance(relation, FollowKey) else ()


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    """None if one is no text, such as NULL, or there are too many."""
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if len(texts) == len(values) <= _MOST_CODED else ()


def _plain_columns(scan: Scan) -> Iterable[str]:
    """Columns that are read as they are: no person, no key that a row is met by, no value of a person."""
    table = scan.table
    met = {table.person.name} if isinstance(table.person, PersonColumn) else set()
    if table.through is not None:
        met |= {table.through.key, table.through.person}
    return [name for name in table.columns if name not in met and name not in table.per_person]
