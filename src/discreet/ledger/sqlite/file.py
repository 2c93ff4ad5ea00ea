"""A SQLite file that is changed by one writer at a time, over threads, processes and forks.

SQLite asks for its own lock again and again, so that under load some process may never get it. The wait for a
file lock is fair. A look needs neither: what was committed can be read beside a writer.
"""

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerBusy, LedgerClosed
from discreet.ledger.chain import RESTORE
from discreet.ledger.database import Database, DatabaseRow, Way, written_later
from discreet.ledger.files import LOOK, resolved, sync_directory
from discreet.ledger.sqlite.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, UPGRADES, check_schema

PATIENCE_MILLISECONDS = 10_000
"""How long another program, which does not know our lock, may keep the database."""
PATIENCE_SECONDS = 30.0
"""How long another process may keep our lock: a turn takes milliseconds."""

_REMEDIES = {
    "SQLITE_BUSY": ("is locked by another program.", "Close the program that has it open for writing."),
    "SQLITE_FULL": ("cannot be written: the disk is full.", "Free some space and ask again."),
    "SQLITE_READONLY": ("cannot be written.", "Give this user the right to write it and its directory."),
    "SQLITE_CANTOPEN": (
        "cannot be opened.",
        "Check that it exists and that this user may write it and its directory.",
    ),
    "SQLITE_NOTADB": ("is not a database.", "Name the ledger's own file, or restore its latest backup."),
    "SQLITE_CORRUPT": ("is damaged.", "Restore its latest backup, then run “discreet ledger rebase”."),
}


class SqliteTransaction:
    """The statements of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, **values: object) -> Sequence[DatabaseRow]:
        with closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def change(self, sql: str, **values: object) -> int:
        with closing(self._connection.execute(sql, values)) as cursor:
            return cursor.rowcount

    def check(self) -> None:
        with closing(self._connection.execute("PRAGMA integrity_check")) as cursor:
            if cursor.fetchone()[0] != "ok":
                raise LedgerClosed("The ledger's file is damaged.", remedy=RESTORE)
        check_schema(self._connection)

    def commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if _kind(_code(error)) == "SQLITE_IOERR":  # the log may hold the whole entry all the same
                raise LedgerClosed(
                    "The disk failed while an entry was written, so that it may have been made or not.",
                    remedy="Look at the disk, then at discreet budget: it shows what is spent.",
                ) from None
            raise


class SqliteFile(Database):
    """One file, with its lock beside it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = resolved(path, "a ledger")
        self._connection: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._identities = dict.fromkeys(Way, (0, 0))
        super().__init__(Path(f"{self._path}.lock"))

    @property
    def path(self) -> Path:
        return self._path

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def patience(self) -> float:
        return PATIENCE_SECONDS

    def exists(self) -> bool:
        return self._path.is_file()

    def disconnect(self, way: Way) -> None:
        if way is Way.TURN:
            connection, self._connection = self._connection, None
        else:
            connection, self._reader = self._reader, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _begun(self) -> Iterator[SqliteTransaction]:
        connection = self._connected()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteTransaction(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    @contextmanager
    def _seen(self) -> Iterator[SqliteTransaction | None]:
        connection = self._reading()
        if connection is None:
            yield None
            return
        connection.execute("BEGIN")
        try:
            yield SqliteTransaction(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _connected(self) -> sqlite3.Connection:
        self._leave_what_was_replaced(Way.TURN)
        if self._connection is None:
            self._create_if_missing()
            self._connection = self._opened()
            self._identities[Way.TURN] = self._identity_now()
        return self._connection

    def _reading(self) -> sqlite3.Connection | None:
        """A connection that cannot write; None if there is no ledger of this version."""
        self._leave_what_was_replaced(Way.LOOK)
        if self._reader is None:
            if not self._path.is_file():
                return None
            self._check_rights()
            self._reader = self._opened_to_read()
            self._identities[Way.LOOK] = self._identity_now()
        return self._reader

    def _leave_what_was_replaced(self, way: Way) -> None:
        """If another file was put in its place, what we have open is no longer the ledger."""
        connection = self._connection if way is Way.TURN else self._reader
        if connection is not None and self._identities[way] != self._identity_now():
            self.disconnect(way)

    def _create_if_missing(self) -> None:
        """Readable by its owner only: it holds questions and answers."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            sync_directory(self._path.parent)
        self._check_rights()

    def _check_rights(self) -> None:
        effective = os.access in os.supports_effective_ids
        if not os.access(self._path, os.R_OK | os.W_OK, effective_ids=effective):
            # SQLite would open it for reading, and leave files behind that its owner cannot write either
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _opened(self) -> sqlite3.Connection:
        connection = self._plain()
        try:
            for setting in ("foreign_keys=ON", "fullfsync=ON", "synchronous=FULL"):
                connection.execute(f"PRAGMA {setting}")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _opened_to_read(self) -> sqlite3.Connection | None:
        connection = self._plain()
        try:
            if self._is_of_this_version(connection):
                check_schema(connection)
                connection.execute("PRAGMA query_only=ON")
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None

    def _plain(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=PATIENCE_MILLISECONDS / 1000,
            isolation_level=None,
            check_same_thread=False,  # the mutex lets one thread in at a time
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA trusted_schema=OFF")
        return connection

    def _is_of_this_version(self, connection: sqlite3.Connection) -> bool:
        found = (_number(connection, "PRAGMA application_id"), _number(connection, "PRAGMA user_version"))
        return found == (APPLICATION_ID, SCHEMA_VERSION)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; refuse a database that is something else."""
        tables = _number(connection, "SELECT count(*) FROM sqlite_master")
        version = _number(connection, "PRAGMA user_version")
        ours = _number(connection, "PRAGMA application_id") == APPLICATION_ID
        if tables and ours and version > SCHEMA_VERSION:
            raise written_later(self._path.name)
        if tables and not (ours and (version == SCHEMA_VERSION or version in UPGRADES)):
            raise LedgerClosed(
                f"{self._path.name} is a database, but not a ledger that this version can read.",
                remedy="Name the ledger's own file, or use the version of discreet that wrote it.",
            )
        with closing(connection.execute("PRAGMA journal_mode=WAL")) as cursor:
            if cursor.fetchone()[0] != "wal":
                raise LedgerClosed(
                    "The file system of the ledger has no shared memory, which SQLite's log needs.",
                    remedy="Keep the ledger on a local disk.",
                )
        if not tables:
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        elif version in UPGRADES:
            _upgrade(connection)
        check_schema(connection)

    def _identity_now(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def _told(self, error: Exception) -> LedgerClosed | None:
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes the damaged schema in its message, as it is
            code = "SQLITE_CORRUPT"
        elif isinstance(error, sqlite3.Error):
            code = _code(error)
        else:
            return None
        problem, remedy = _REMEDIES.get(_kind(code), (f"cannot be used ({code}).", LOOK))
        kind = LedgerBusy if _kind(code) == "SQLITE_BUSY" else LedgerClosed
        return kind(f"The ledger {self._path.name} {problem}", remedy=remedy)


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring the tables of an older version up to date, at once or not at all. No entry is touched."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        while (version := _number(connection, "PRAGMA user_version")) in UPGRADES:
            for statement in UPGRADES[version]:
                connection.execute(statement)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, sql: str) -> int:
    with closing(connection.execute(sql)) as cursor:
        return int(cursor.fetchone()[0])


def _code(error: sqlite3.Error) -> str:
    """SQLite's own name for what failed."""
    return str(getattr(error, "sqlite_errorname", "SQLITE_ERROR"))


def _kind(code: str) -> str:
    """Without its details."""
    return "_".join(code.split("_")[:2])
