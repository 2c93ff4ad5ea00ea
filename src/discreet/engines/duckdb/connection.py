"""How discreet opens DuckDB for a policy: in memory, with nothing loaded from elsewhere."""

import secrets
from pathlib import Path

import duckdb

from discreet.engines.base.execution import silently
from discreet.engines.duckdb.renewed import OpenDatabase
from discreet.errors import PolicyError

_SETTINGS = (
    "TimeZone = 'UTC'",
    "parquet_metadata_cache = true",
    # A cast that is pushed down into the reader of a CSV file drops the whole row where it fails, instead of
    # giving NULL: what one cell holds would decide about the others.
    "disabled_optimizers = 'type_pushdown,scalar_fn_pushdown'",
)
"""Global settings: every query has a cursor of its own, which does not see local ones."""


def opened(folder: Path, *, memory_limit: str | None, threads: int | None) -> OpenDatabase:
    """A database that spills to a folder of its own in this one.

    DuckDB makes and removes it. In one folder, two databases would write to files with the same names.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "temp_directory": str(folder / secrets.token_hex(8)),
    }
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    if threads is not None:
        settings["threads"] = threads
    connection = silently(lambda: duckdb.connect(":memory:", config=settings))
    if connection is None:
        raise PolicyError(
            "The database does not start with these limits.",
            remedy='Give memory_limit as text such as "4GB", and threads as a whole number from 1.',
        )
    for setting in _SETTINGS:
        connection.execute(f"SET GLOBAL {setting}")
    return OpenDatabase(connection, _watched(connection.cursor()))


def _watched(cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A cursor that can tell its progress. This is a setting of each cursor, to be made before the lock."""
    cursor.execute("SET enable_progress_bar = true")
    cursor.execute("SET enable_progress_bar_print = false")
    return cursor


def share_done(cursor: duckdb.DuckDBPyConnection) -> float | None:
    percent = cursor.query_progress()
    return percent / 100 if 0 <= percent <= 100 else None
