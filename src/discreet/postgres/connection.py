"""What a connection to PostgreSQL is made with, and what its server must be."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra
from discreet.postgres.address import DatabaseAddress
from discreet.postgres.refusals import NOT_UNICODE, Refusal, too_old

if TYPE_CHECKING:
    import psycopg

OLDEST_SERVER = 14

_LIMITS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""In seconds, unless the address says otherwise."""


def connection_options(
    database: DatabaseAddress, *, of: str, usual: Mapping[str, Any]
) -> dict[str, Any] | None:
    """What the driver connects with: `usual`, unless the address says otherwise. None if it is no address.

    MissingExtra without the driver, which `of` needs: a source or a ledger.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtra(
            f"A {of} in PostgreSQL needs psycopg, which is not installed.",
            remedy='Run: pip install "discreet[postgres]"',
        ) from None
    try:
        given = psycopg.conninfo.conninfo_to_dict(database.url)
    except (psycopg.Error, ValueError):
        return None  # and no word of the error, which quotes the address
    return {**_LIMITS, **usual, **given, "client_encoding": "UTF8"}


def why_unfit(connection: "psycopg.Connection[Any]") -> Refusal | None:
    """Why this server cannot be used; None if it can."""
    if connection.info.server_version < OLDEST_SERVER * 10_000:
        return too_old(OLDEST_SERVER)
    if connection.info.parameter_status("server_encoding") != "UTF8":
        return NOT_UNICODE
    return None
