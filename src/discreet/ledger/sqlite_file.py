"""A SQLite file that is changed by one writer at a time, over threads, processes and forks.

SQLite's own lock is asked for again and again, so that under load some process may never get it. A file lock
is waited for. After a fork, SQLite's state in the child is not to be used, not even to be closed; so a fork
waits until nobody is at work, and every connection is closed before it and opened again when it is needed.
"""

import errno
import fcntl
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from discreet.errors import InvalidInput, LedgerClosed
from discreet.ledger.anchor import sync_directory
from discreet.ledger.sqlite_schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, check_schema

PATIENCE_MILLISECONDS = 10_000
"""How long another program, which does not know our lock, may keep the database."""

_REMEDIES = {
    "SQLITE_BUSY": ("is locked by another program.", "Close the program that has it open for writing."),
    "SQLITE_FULL": ("cannot be written: the disk is full.", "Free some space and ask again."),
    "SQLITE_READONLY": ("cannot be written.", "Give this user the right to write it and its directory."),
    "SQLITE_CANTOPEN": (
        "cannot be opened.",
        "Check that it exists and that this user may write it and its directory.",
    ),
    "SQLITE_NOTADB": ("is not a database.", "Name the ledger's own file, or restore its latest backup."),
    "SQLITE_CORRUPT": ("is damaged.", "Restore its latest backup and call rebase."),
}
_OTHERWISE = "Look at the disk and at the rights on the file; nothing was spent by this call."


class SqliteFile:
    """One file; `transaction` is the only way in."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = resolved(path, "a ledger")
        self._connection: sqlite3.Connection | None = None
        self._mutex = threading.RLock()
        self._identity = (0, 0)
        self._busy = False
        self._closed = False
        with _FORK.registering:
            _FORK.files.add(self)

    @property
    def path(self) -> Path:
        return self._path

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection, inside a transaction that nobody shares. Commit it, or it is rolled back."""
        with self._mutex, self._translated(), self._turn():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        with self._mutex, self._translated():
            self._closed = True
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the file lock. It ends with this process, however that ends."""
        if self._busy:  # only a signal handler gets here, and would wait for itself
            raise LedgerClosed("This thread is inside the ledger already.", remedy="Ask outside the handler.")
        handle = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._busy = True
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            self._busy = False
            os.close(handle)

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerClosed("This ledger was closed by this program.", remedy="Open it again.")
        if self._connection is not None and self._identity != self._identity_now():
            self.disconnect()  # another file was put in its place: what we have open is no longer the ledger
        if self._connection is None:
            self._create_if_missing()
            self._connection = self._opened()
            self._identity = self._identity_now()
        return self._connection

    def _create_if_missing(self) -> None:
        """Readable by its owner only: it holds questions and answers."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            sync_directory(self._path.parent)
        effective = os.access in os.supports_effective_ids
        if not os.access(self._path, os.R_OK | os.W_OK, effective_ids=effective):
            # SQLite would open it for reading, and leave files behind that its owner cannot write either
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=PATIENCE_MILLISECONDS / 1000,
            isolation_level=None,
            check_same_thread=False,  # the mutex lets one thread in at a time
        )
        try:
            connection.row_factory = sqlite3.Row
            for setting in ("foreign_keys=ON", "trusted_schema=OFF", "fullfsync=ON", "synchronous=FULL"):
                connection.execute(f"PRAGMA {setting}")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; refuse a database that is something else."""
        tables = _number(connection, "SELECT count(*) FROM sqlite_master")
        found = (_number(connection, "PRAGMA application_id"), _number(connection, "PRAGMA user_version"))
        if tables and found != (APPLICATION_ID, SCHEMA_VERSION):
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
        check_schema(connection)

    def _identity_now(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors in the caller's words: never SQL, never an entry's content."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
            raise self._unusable(code) from None
        except UnicodeDecodeError:  # SQLite quotes the damaged schema in its message, as it found it
            raise self._unusable("SQLITE_CORRUPT") from None
        except (UnicodeEncodeError, OverflowError):
            raise InvalidInput(
                "This text or number is none that a ledger can hold.", remedy="Give valid Unicode."
            ) from None
        except OSError as error:
            raise LedgerClosed(
                f"The ledger {self._path.name} cannot be used: {error.strerror}.", remedy=_OTHERWISE
            ) from None

    def _unusable(self, code: str) -> LedgerClosed:
        with suppress(sqlite3.Error):
            self.disconnect()
        primary = "_".join(code.split("_")[:2])
        problem, remedy = _REMEDIES.get(primary, (f"cannot be used ({code}).", _OTHERWISE))
        return LedgerClosed(f"The ledger {self._path.name} {problem}", remedy=remedy)


def resolved(path: str | os.PathLike[str], what: str) -> Path:
    """The file itself, whatever link leads to it: one file has one lock and one anchor."""
    try:
        place = Path(path).resolve()
        if place.parent.is_dir() and not place.is_dir():
            return place
    except (TypeError, ValueError):
        pass  # not a path at all
    except OSError as error:
        raise LedgerClosed(
            f"The path of {what} cannot be read: {error.strerror}.", remedy=_OTHERWISE
        ) from None
    raise InvalidInput(
        f"This cannot be {what}: it is a directory, or is in none.",
        remedy="Give the path of a file in a directory that exists.",
    )


class _Fork:
    """Holds every file still while this process forks."""

    def __init__(self) -> None:
        self.files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
        self.registering = threading.Lock()
        self._held: list[SqliteFile] = []
        os.register_at_fork(before=self._hold, after_in_parent=self._release, after_in_child=self._release)

    def _hold(self) -> None:
        self.registering.acquire()
        self._held = list(self.files)
        for file in self._held:
            file._mutex.acquire()
            with suppress(sqlite3.Error):
                file.disconnect()

    def _release(self) -> None:
        while self._held:
            self._held.pop()._mutex.release()
        self.registering.release()


_FORK = _Fork()


def _number(connection: sqlite3.Connection, sql: str) -> int:
    with closing(connection.execute(sql)) as cursor:
        return int(cursor.fetchone()[0])
