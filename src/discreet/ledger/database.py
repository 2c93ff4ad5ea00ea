"""What a ledger needs of a database: transactions that nobody shares, on a connection that no fork inherits.

After a fork, the child must not use its parent's connection, not even close it. So a fork waits until nobody
is at work, and every connection is closed before it and opened again when it is needed.
"""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import DiscreetError, InvalidInput, LedgerClosed
from discreet.ledger.files import LOOK, locked


class Row(Protocol):
    """A row, by the names of its columns."""

    def __getitem__(self, column: str, /) -> Any: ...


class Transaction(Protocol):
    """SQL that every database of a ledger understands, with values by name: `:dataset`."""

    def rows(self, sql: str, **values: object) -> Sequence[Row]:
        """What a SELECT finds."""

    def change(self, sql: str, **values: object) -> int:
        """How many rows a statement changed."""

    def check(self) -> None:
        """LedgerClosed if the database is damaged, or its tables are not the ones that were made."""

    def commit(self) -> None:
        """Make it durable. Without this, nothing has happened."""


class Database(ABC):
    """Where a ledger is kept; `transaction` is the only way in, for one thread and one process at a time.

    All processes of a machine wait for one file lock, which is held until the anchor is written too.
    """

    def __init__(self, lock: Path) -> None:
        self._lock = lock
        self._mutex = threading.RLock()
        self._busy = False
        self._closed = False
        with _FORK.registering:
            _FORK.databases.add(self)

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call it; holds no secret."""

    @property
    def asked(self) -> Path:
        """A folder for the questions that are being asked on this machine."""
        return self._lock.with_name(self._lock.name.removesuffix(".lock") + ".asking")

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction that nobody shares. Commit it, or it is rolled back."""
        with self._inside(), locked(self._lock), self._begun() as transaction:
            yield transaction

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a ledger already; none is made by asking."""

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            self.disconnect()

    @abstractmethod
    def disconnect(self) -> None:
        """Close the connection, whatever state it is in; the next transaction opens another."""

    @abstractmethod
    def _begun(self) -> AbstractContextManager[Transaction]:
        """Connect if need be, and begin a transaction; at the end, roll back what was not committed."""

    @abstractmethod
    def _told(self, error: Exception) -> DiscreetError | None:
        """The database's error in our words: never its own, never an entry's content. None if not its."""

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """One thread at a time; errors leave in the caller's words."""
        with self._mutex, self._translated():
            if self._closed:
                raise LedgerClosed("This ledger was closed by this program.", remedy="Open it again.")
            if self._busy:  # only a signal handler gets here, and would wait for itself
                raise LedgerClosed(
                    "This thread is inside the ledger already.", remedy="Ask outside the handler."
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DiscreetError:
            raise
        except (UnicodeEncodeError, OverflowError):
            raise not_holdable() from None
        except OSError as error:
            raise LedgerClosed(
                f"The ledger {self.name} cannot be used: {error.strerror}.", remedy=LOOK
            ) from None
        except Exception as error:
            told = self._told(error)
            if told is None:
                raise
            self.disconnect()
            raise told from None


def not_holdable() -> InvalidInput:
    return InvalidInput("This text or number is none that a ledger can hold.", remedy="Give valid Unicode.")


class _Fork:
    """Holds every database still while this process forks."""

    def __init__(self) -> None:
        self.databases: weakref.WeakSet[Database] = weakref.WeakSet()
        self.registering = threading.Lock()
        self._held: list[Database] = []
        os.register_at_fork(before=self.hold, after_in_parent=self.release, after_in_child=self.release)

    def hold(self) -> None:
        self.registering.acquire()
        self._held = list(self.databases)
        for database in self._held:
            database._mutex.acquire()
            database.disconnect()

    def release(self) -> None:
        while self._held:
            self._held.pop()._mutex.release()
        self.registering.release()


_FORK = _Fork()
