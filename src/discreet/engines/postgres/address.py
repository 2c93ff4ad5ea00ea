"""Where a table in PostgreSQL is: `postgresql://host/database#schema.table`."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from discreet.engines.base.execution import silently
from discreet.errors import MissingExtra, PolicyError

DEFAULT_SCHEMA = "public"

_SCHEMES = ("postgresql://", "postgres://")
_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_PLACE = re.compile(rf"(?:(?P<schema>{_NAME})\.)?(?P<table>{_NAME})")
_SECRETS = ("password", "sslpassword")
_FORM = "Write postgresql://HOST/DATABASE#TABLE or …#SCHEMA.TABLE."


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """A database, and a table in it."""

    server: str = field(repr=False)
    """What stands before the #: the address as libpq reads it."""
    schema: str
    table: str
    database: str
    """What errors call the database: without the user and the options."""

    @property
    def name(self) -> str:
        return f"{self.database}#{self.schema}.{self.table}"


def is_postgres(location: str) -> bool:
    return location.startswith(_SCHEMES)


def read_address(location: str) -> PostgresAddress:
    """Take a source apart. Neither its user nor its options are ever shown, as a password may be there."""
    server, _, place = location.partition("#")
    parts = silently(lambda: urlsplit(server))
    if not is_postgres(location) or not location.isprintable() or parts is None:
        raise PolicyError(
            "This source is no address of a table in PostgreSQL.",
            remedy=f"{_FORM} All tables of a policy are in one database.",
        )
    named = _PLACE.fullmatch(place)
    database = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if named is None:
        raise PolicyError(
            f"The source {database} does not name a table after the #.",
            remedy=f'{_FORM} Names with dots, blanks or capitals stand in quotes: #"My Schema"."Table".',
        )
    schema, table = named["schema"], named["table"]
    return PostgresAddress(
        server=server,
        schema=_name(schema) if schema else DEFAULT_SCHEMA,
        table=_name(table),
        database=database,
    )


def connection_options(address: PostgresAddress) -> dict[str, Any]:
    """What the driver connects with; MissingExtra without it."""
    try:
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtra(
            "A source in PostgreSQL needs psycopg, which is not installed.",
            remedy='Run: pip install "discreet[postgres]"',
        ) from None
    options = silently(lambda: conninfo_to_dict(address.server))
    if options is None:
        raise PolicyError(f"The source {address.database} is no address of PostgreSQL.", remedy=_FORM)
    if any(secret in options for secret in _SECRETS):
        raise PolicyError(
            f"The source {address.database} has a password in it, and everybody may read a policy.",
            remedy="Take it out, change it, and give it in the file that PGPASSFILE or PGSERVICEFILE names,"
            " or as PGPASSWORD.",
        )
    return dict(options)


def _name(written: str) -> str:
    """As in SQL: in quotes as it is, without them in lower case."""
    if written.startswith('"'):
        return written[1:-1].replace('""', '"')
    return re.sub("[A-Z]+", lambda capitals: capitals[0].lower(), written)
