"""What PostgreSQL's catalogue says of a table: enough to read it, and to notice a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.engines.postgres.errors import missing_table, no_permission, not_a_table
from discreet.engines.postgres.types import NativeType
from discreet.errors import PolicyError
from discreet.postgres.address import TableAddress

if TYPE_CHECKING:
    from discreet.engines.postgres.session import Connection

_READABLE = ("r", "p", "v", "m", "f")
"""Tables, partitioned tables, views, materialized views, foreign tables."""

_RELATION = """
SELECT relation.oid, relkind::text, relrowsecurity, has_schema_privilege(home.oid, 'USAGE'),
    CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(relation.oid) ELSE '' END
FROM pg_class AS relation JOIN pg_namespace AS home ON home.oid = relnamespace
WHERE nspname = %s AND relname = %s
"""

_COLUMNS = """
WITH RECURSIVE made_of (number, type, modifier) AS (
    SELECT attnum, atttypid, atttypmod FROM pg_attribute
        WHERE attrelid = %(relation)s AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT number, typbasetype, typtypmod FROM made_of JOIN pg_type ON oid = type WHERE typtype = 'd'
)
SELECT attname::text, attnum, atttypid, modifier,
    CASE WHEN attgenerated::text = 'v' THEN NULL
        WHEN typtype = 'e' THEN 'enum'
        WHEN nspname = 'pg_catalog' OR typname = 'citext' THEN typname::text END,
    has_column_privilege(attrelid, attnum, 'SELECT')
FROM made_of JOIN pg_attribute ON attrelid = %(relation)s AND attnum = number
    JOIN pg_type ON pg_type.oid = type JOIN pg_namespace ON pg_namespace.oid = typnamespace
WHERE typtype <> 'd'
ORDER BY attnum
"""
"""Domains are resolved to their base types. Columns that are computed when they are read, which
PostgreSQL 18 has, are not supported: a cell may make that fail.
"""

_BEHIND = """
WITH RECURSIVE led_to (origin, oid) AS (
    SELECT ev_class, refobjid FROM pg_rewrite JOIN pg_depend ON objid = pg_rewrite.oid
        WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass AND refobjid <> ev_class
    UNION ALL SELECT inhparent, inhrelid FROM pg_inherits
),
behind (oid) AS (
    SELECT %s::oid
    UNION SELECT led_to.oid FROM behind JOIN led_to ON origin = behind.oid
)
SELECT relation.oid, nspname::text, relname::text,
    (SELECT oid FROM pg_database WHERE datname = current_database())
FROM behind JOIN pg_class AS relation ON relation.oid = behind.oid
    JOIN pg_namespace AS home ON home.oid = relnamespace
"""
"""The relation, the tables behind a view, and the partitions of a table."""

_NOT_READABLE = """
WITH RECURSIVE behind (relation, number, reader) AS (
    SELECT each, 0, (SELECT oid FROM pg_roles WHERE rolname = current_user) FROM unnest(%s::oid[]) AS each
    UNION
    SELECT refobjid, refobjsubid, CASE WHEN EXISTS (
            SELECT FROM pg_options_to_table(reloptions)
                WHERE option_name = 'security_invoker' AND option_value::boolean
        ) THEN reader ELSE relowner END
    FROM behind JOIN pg_class AS relation_ ON relation_.oid = relation AND relkind = 'v'
        JOIN pg_rewrite ON ev_class = relation
        JOIN pg_depend ON objid = pg_rewrite.oid AND classid = 'pg_rewrite'::regclass
            AND refclassid = 'pg_class'::regclass AND refobjid <> relation
)
SELECT relation FROM behind WHERE NOT CASE
    WHEN number = 0 THEN has_any_column_privilege(reader, relation, 'SELECT')
    ELSE has_column_privilege(reader, relation, number::smallint, 'SELECT') END
LIMIT 1
"""
"""Of some relations and what is behind their views: one that cannot be read. What a view reads, its owner has
to have the right to read, or whoever asks if it has `security_invoker`.
"""

_MAY_ASK_FOR_SYSTEM = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
_SYSTEM = "SELECT system_identifier FROM pg_control_system()"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnInCatalogue:
    name: str
    number: int
    type: int
    """Its own type, which may be a domain."""
    native: NativeType
    is_readable: bool
    """Whether this role may read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationInCatalogue:
    """A table. Two are equal exactly if it was not dropped, re-created or altered in between."""

    oid: int
    kind: str
    has_row_security: bool
    is_reachable: bool
    definition: str
    """Of a view."""
    columns: tuple[ColumnInCatalogue, ...]


def look_up(connection: "Connection", address: TableAddress) -> RelationInCatalogue | None:
    """A table as it is now; None if there is none of that name."""
    found = connection.execute(_RELATION, [address.schema, address.table]).fetchone()
    if found is None:
        return None
    oid, kind, has_row_security, is_reachable, definition = found
    columns = connection.execute(_COLUMNS, {"relation": oid}).fetchall()
    return RelationInCatalogue(
        oid=oid,
        kind=kind,
        has_row_security=has_row_security,
        is_reachable=is_reachable,
        definition=definition,
        columns=tuple(
            ColumnInCatalogue(
                name=name,
                number=number,
                type=own,
                native=NativeType(name=native, modifier=modifier),
                is_readable=is_readable,
            )
            for name, number, own, modifier, native, is_readable in columns
        ),
    )


def names_of(connection: "Connection", address: TableAddress, oid: int) -> frozenset[str]:
    """The names of a table and of what is behind it: by address, and by the server's own numbers."""
    allowed = connection.execute(_MAY_ASK_FOR_SYSTEM).fetchone()
    system = connection.execute(_SYSTEM).fetchone() if allowed and allowed[0] else None
    names = set()
    for relation, schema, table, database in connection.execute(_BEHIND, [oid]).fetchall():
        names.add(f"server {address.database.name.casefold()}#{schema}#{table}")
        if system is not None:
            names.add(f"oid {system[0]} {database} {relation}")
    return frozenset(names)


def is_all_readable(connection: "Connection", relations: Sequence[int]) -> bool:
    """Whether all relations can be read, and all that is behind them. Nothing is planned for that."""
    return connection.execute(_NOT_READABLE, [list(relations)]).fetchone() is None


def readable(address: TableAddress, relation: RelationInCatalogue | None) -> RelationInCatalogue:
    """The table, if this role may read it; a PolicyError that says why not."""
    if relation is None:
        raise missing_table(address.name)
    if relation.kind not in _READABLE:
        raise not_a_table(address.name)
    if not relation.is_reachable or not any(column.is_readable for column in relation.columns):
        raise no_permission(address.name)
    _check_names(address, relation)
    return relation


def _check_names(address: TableAddress, relation: RelationInCatalogue) -> None:
    names = [column.name.casefold() for column in relation.columns if column.is_readable]
    if len(set(names)) < len(names):
        raise PolicyError(
            f"The source {address.name} has columns whose names differ only in upper and lower case.",
            remedy="Make a view that gives them other names, and name that instead.",
        )
