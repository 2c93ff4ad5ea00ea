"""Where something in PostgreSQL is: a database, and after the # what is in it.

A table is at `postgresql://host/database#schema.table`, a ledger at `postgresql://host/database#schema`.
Neither the user nor the options of an address are ever shown, as a password may be there.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from discreet.errors import InvalidInput, PolicyError

SCHEMA_OF_TABLES = "public"
SCHEMA_OF_LEDGERS = "discreet"

TABLE_FORM = "Write postgresql://HOST/DATABASE#TABLE or …#SCHEMA.TABLE."
LEDGER_FORM = "Write postgresql://HOST/DATABASE#SCHEMA."

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = ("password", "sslpassword")
_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_TABLE = re.compile(rf"(?:(?P<schema>{_NAME})\.)?(?P<table>{_NAME})")
_LEDGER = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_TAKEN = ("public", "information_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """What stands before the #."""

    url: str = field(repr=False)
    """The address as libpq reads it."""
    name: str
    """What errors call the database: without the user, the password and the options."""
    has_password: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """A database, and a table in it."""

    database: DatabaseAddress
    schema: str
    table: str

    @property
    def name(self) -> str:
        return f"{self.database.name}#{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAddress:
    """A database, and the schema in it that holds the ledger and nothing else."""

    database: DatabaseAddress
    schema: str

    @property
    def name(self) -> str:
        return f"{self.database.name}#{self.schema}"


def is_postgres(location: str) -> bool:
    return location.startswith(_SCHEMES)


def read_table_address(location: str) -> TableAddress:
    """Where a source is, or a PolicyError."""
    database = _database(location)
    if database is None:
        raise PolicyError(
            "This source is no address of a table in PostgreSQL.",
            remedy=f"{TABLE_FORM} All tables of a policy are in one database.",
        )
    place = _TABLE.fullmatch(location.partition("#")[2])
    if place is None:
        raise PolicyError(
            f"The source {database.name} does not name a table after the #.",
            remedy=f'{TABLE_FORM} Names with dots, blanks or capitals stand in quotes: #"My Schema"."Table".',
        )
    schema, table = place["schema"], place["table"]
    return TableAddress(
        database=database, schema=_name(schema) if schema else SCHEMA_OF_TABLES, table=_name(table)
    )


def read_ledger_address(location: object) -> LedgerAddress:
    """Where a ledger is, or an InvalidInput that shows nothing of the address."""
    database = _database(location) if isinstance(location, str) else None
    if database is None:
        raise InvalidInput("This is no address of a ledger in PostgreSQL.", remedy=LEDGER_FORM)
    _, hash_sign, fragment = str(location).partition("#")
    schema = fragment if hash_sign else SCHEMA_OF_LEDGERS
    if not _LEDGER.fullmatch(schema) or schema in _TAKEN:
        raise InvalidInput(
            "The schema of a ledger, after the #, is its own, in lower-case letters, digits and _.",
            remedy=f"Write #{SCHEMA_OF_LEDGERS}; any # before it is written as %23.",
        )
    return LedgerAddress(database=database, schema=schema)


def _database(location: str) -> DatabaseAddress | None:
    """None if this is no address. The parser's error is not passed on: it quotes what it could not read."""
    if not is_postgres(location) or not location.isprintable():
        return None
    url = location.partition("#")[0]
    user, rest = _user_and_rest(url.partition("://")[2])
    try:
        parts = urlsplit(f"postgresql://{rest}")
        options = parse_qs(parts.query)
    except ValueError:
        return None
    more_of_user, _, hosts = parts.netloc.rpartition("@")  # a password with an @ in it
    return DatabaseAddress(
        url=url,
        name=f"postgresql://{hosts}{parts.path}",
        has_password=":" in user + more_of_user or any(secret in options for secret in _SECRETS),
    )


def _user_and_rest(address: str) -> tuple[str, str]:
    """Split as libpq does: all before an @ belongs to the user, even a question mark."""
    user, at, rest = address.partition("@")
    return (user, rest) if at and "/" not in user else ("", address)


def _name(written: str) -> str:
    """As in SQL: in quotes as it is, without them in lower case."""
    if written.startswith('"'):
        return written[1:-1].replace('""', '"')
    return re.sub("[A-Z]+", lambda capitals: capitals[0].lower(), written)
