"""Where a service keeps accounts, sessions, approvals and its log: a SQLite file, or a schema in PostgreSQL.

The same SQL runs on both, with values by name (`:name`). A change is durable when its transaction ends. The
budget is not kept here: that is the ledger's, whatever happens to this database.
"""

import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import DiscreetError, LedgerBusy, LedgerClosed
from discreet.postgres.address import LedgerAddress, is_postgres, read_ledger_address
from discreet.service.storage.schema import MARK, NEWEST_TABLE, TABLES

if TYPE_CHECKING:
    import psycopg

_PATIENCE_SECONDS = 20.0
_FAILED = "Look at what keeps it: the disk, its rights, the server. What was charged is in the ledger."


class Changes(Protocol):
    """The statements of one transaction."""

    def rows(self, sql: str, **values: object) -> list[Mapping[str, Any]]:
        """What a query finds."""

    def change(self, sql: str, **values: object) -> int:
        """How many rows a statement changed."""


class ServiceDatabase(Protocol):
    """Transactions, one at a time for each process."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Changes]:
        """All of it is durable at its end, or nothing of it if an error leaves it.

        One that is not durable outlives the process, but not a power cut: for what the ledger has too.
        """

    def reading(self) -> AbstractContextManager[Changes]:
        """Only looks, and waits for nobody who writes."""

    def close(self) -> None: ...


def open_database(location: str) -> ServiceDatabase:
    """Made if it is not there."""
    if is_postgres(location):
        return PostgresServiceDatabase(read_ledger_address(location))
    return SqliteServiceDatabase(Path(location))


class _SqliteChanges:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, **values: object) -> list[Mapping[str, Any]]:
        with closing(self._connection.execute(sql, values)) as cursor:
            return [dict(row) for row in cursor.fetchall()]

    def change(self, sql: str, **values: object) -> int:
        with closing(self._connection.execute(sql, values)) as cursor:
            return cursor.rowcount


class SqliteServiceDatabase:
    """One file, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._durable = True
        self._reading_lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Changes]:
        with self._lock, self._translated():
            if self._connection is None:
                self._connection = self._opened()
            connection = self._connection
            if durable != self._durable:
                connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield _SqliteChanges(connection)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[Changes]:
        with self._reading_lock, self._translated():
            if self._reader is None:
                with self._lock:
                    self._reader = self._opened()
            yield _SqliteChanges(self._reader)

    def close(self) -> None:
        with self._reading_lock, self._lock:
            for connection in (self._reader, self._connection):
                if connection is not None:
                    connection.close()
            self._reader = self._connection = None
            self._durable = True

    def _opened(self) -> sqlite3.Connection:
        self._path.touch(mode=0o600)
        connection = sqlite3.connect(
            self._path, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {setting}")
        with closing(connection.execute("PRAGMA user_version")) as cursor:
            version = cursor.fetchone()[0]
        if version > MARK:
            raise _written_later(self._path.name)
        if version < MARK:
            connection.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                connection.execute(table.format(bytes="BLOB", number="INTEGER"))
            connection.execute(f"PRAGMA user_version = {MARK}")
            connection.execute("COMMIT")
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            kind = LedgerBusy if busy else LedgerClosed
            raise kind(f"The service's file {self._path.name} cannot be used.", remedy=_FAILED) from None
        except (sqlite3.DatabaseError, OSError):
            raise LedgerClosed(
                f"The service's file {self._path.name} cannot be used.", remedy=_FAILED
            ) from None


class _PostgresChanges:
    def __init__(self, connection: "psycopg.Connection[dict[str, Any]]") -> None:
        self._connection = connection

    def rows(self, sql: str, **values: object) -> list[Mapping[str, Any]]:
        return list(self._connection.execute(_with_places(sql), values).fetchall())

    def change(self, sql: str, **values: object) -> int:
        return self._connection.execute(_with_places(sql), values).rowcount


class PostgresServiceDatabase:
    """A schema beside the ledger's, for several hosts: the ledger's name with _service after it."""

    def __init__(self, address: LedgerAddress) -> None:
        self._address = address
        self._schema = f"{address.schema[:50]}_service"
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[dict[str, Any]] | None = None

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Changes]:
        with self._lock, self._translated():
            if self._connection is None or self._connection.closed:
                self._connection = self._opened()
            with self._connection.transaction():
                self._connection.execute(f"SET LOCAL search_path TO {self._schema}, pg_temp".encode())
                setting = b"on" if durable else b"off"
                self._connection.execute(b"SET LOCAL synchronous_commit TO " + setting)
                yield _PostgresChanges(self._connection)

    def reading(self) -> AbstractContextManager[Changes]:
        return self.transaction(durable=False)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(Exception):
                    connection.close()

    def _opened(self) -> "psycopg.Connection[dict[str, Any]]":
        import psycopg
        from psycopg.rows import dict_row

        from discreet.postgres.connection import connection_options

        options = connection_options(self._address.database, of="ledger", usual={"connect_timeout": 10})
        connection = psycopg.connect(**(options or {}), autocommit=True, row_factory=dict_row)
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [0x64737276])
            newest = f"{self._schema}.{NEWEST_TABLE}"
            found = connection.execute("SELECT to_regclass(%s) AS found", [newest]).fetchone()
            if found is None or found["found"] is None:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}".encode())
                connection.execute(f"SET LOCAL search_path TO {self._schema}, pg_temp".encode())
                for table in TABLES:
                    connection.execute(table.format(bytes="BYTEA", number="BIGINT").encode())
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except DiscreetError:
            raise
        except psycopg.Error:
            self._connection = None
            raise LedgerBusy(
                f"The service's tables at {self._address.name} cannot be used.", remedy=_FAILED
            ) from None


@cache
def _with_places(sql: str) -> bytes:
    """Values by name as psycopg writes them."""
    return re.sub(r":(\w+)", r"%(\1)s", sql).encode()


def _written_later(name: str) -> LedgerClosed:
    return LedgerClosed(
        f"{name} was written by a later version of discreet.",
        remedy="Install that version or a later one: pip install --upgrade discreet.",
    )
