"""Where a ledger in PostgreSQL is: `postgresql://host/database#schema`."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from discreet.errors import InvalidInput

DEFAULT_SCHEMA = "discreet"
_SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_TAKEN = ("public", "information_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """A server's database, and the schema in it that holds the ledger and nothing else."""

    server: str = field(repr=False)
    """The address as libpq reads it."""
    schema: str
    name: str
    """What errors call it: without the user, the password and the options."""
    has_password: bool


def is_postgres(location: str) -> bool:
    return location.startswith(_SCHEMES)


def read_address(url: object) -> PostgresAddress:
    """Take an address apart. None of it is shown in an error, as a password may be in it."""
    if not isinstance(url, str) or not is_postgres(url) or not url.isprintable():
        raise InvalidInput(
            "This is no address of a ledger in PostgreSQL.", remedy="Write postgresql://HOST/DATABASE#SCHEMA."
        )
    server, hash_sign, fragment = url.partition("#")
    schema = fragment if hash_sign else DEFAULT_SCHEMA
    if not _SCHEMA.fullmatch(schema) or schema in _TAKEN:
        raise InvalidInput(
            "The schema of a ledger, after the #, is its own, in lower-case letters, digits and _.",
            remedy=f"Write #{DEFAULT_SCHEMA}; any # before it is written as %23.",
        )
    try:
        parts = urlsplit(server)
        options = parse_qs(parts.query)
    except ValueError:
        raise InvalidInput(
            "This address cannot be read.", remedy="Write postgresql://HOST/DATABASE#SCHEMA."
        ) from None
    user, _, hosts = parts.netloc.rpartition("@")
    return PostgresAddress(
        server=server,
        schema=schema,
        name=f"postgresql://{hosts}{parts.path}#{schema}",
        has_password=":" in user or "password" in options,
    )
