"""What a ledger needs of a database: transactions that nobody shares, on a connection that no fork inherits.

There are two ways in, each with a connection of its own. A turn may add, and waits until no other process is
inside. A look only reads what is committed, and waits for nobody: a process that was stopped in its turn, or
that waits for a silent server, does not keep readers out.

After a fork, the child must not use its parent's connections, not even close them. So a fork waits until
nobody is at work, and every connection is closed before it and opened again when it is needed.
"""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import DiscreetError, InvalidInput, LedgerBusy, LedgerClosed
from discreet.ledger.file_lock import FileLock
from discreet.ledger.files import ADDED_NOTHING, LOOK


class DatabaseRow(Protocol):
    """A row, by the names of its columns."""

    def __getitem__(self, column: str, /) -> Any: ...


class Transaction(Protocol):
    """SQL that every database of a ledger understands, with values by name: `:dataset`."""

    def rows(self, sql: str, **values: object) -> Sequence[DatabaseRow]:
        """What a SELECT finds."""

    def change(self, sql: str, **values: object) -> int:
        """How many rows a statement changed."""

    def check(self) -> None:
        """LedgerClosed if the database is damaged, or its tables are not the ones that were made."""

    def commit(self) -> None:
        """Make it durable. Without this, nothing has happened."""


class Way(Enum):
    """How a connection is used; each way has one connection."""

    TURN = "turn"
    LOOK = "look"


class Database(ABC):
    """Where a ledger is kept: `transaction` to add, `reading` to look, each for one thread at a time.

    All turns of a machine wait for one file lock, which is held until the anchor is written too.
    """

    def __init__(self, lock: Path) -> None:
        self._lock = FileLock(lock)
        self._mutexes = {way: threading.RLock() for way in Way}
        self._busy: set[Way] = set()
        self._closed = False
        with _FORK.registering:
            _FORK.databases.add(self)

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call it; holds no secret."""

    @property
    @abstractmethod
    def patience(self) -> float:
        """How many seconds to wait for others on this machine."""

    @property
    def server(self) -> str:
        """Which server it is on, and on which of its timelines, once it was connected to; "" if unknown."""
        return ""

    @property
    def asked(self) -> Path:
        """A folder for the questions that are being asked on this machine."""
        return self._lock.path.with_name(self._lock.path.name.removesuffix(".lock") + ".asking")

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction that nobody shares. Commit it, or it is rolled back."""
        with self._inside(Way.TURN), self._lock.held(self.name, self.patience), self._begun() as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """All that is committed at one moment, to be read only. Nobody is waited for.

        Only if the ledger has no tables yet, this takes a turn, in which they are made.
        """
        with ExitStack() as stack:
            stack.enter_context(self._inside(Way.LOOK))
            seen = stack.enter_context(self._seen())
            if seen is None:
                stack.close()
                seen = stack.enter_context(self.transaction())
            yield seen

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """Whether nobody else has a turn on this machine. If so, nobody gets one before this ends.

        Threads that share this handle count as others.
        """
        mutex = self._mutexes[Way.TURN]
        if Way.TURN in self._busy or not mutex.acquire(blocking=False):
            yield False
            return
        try:
            with self._lock.held_if_free() as free:
                yield free
        finally:
            mutex.release()

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a ledger already; none is made by asking."""

    def close(self) -> None:
        for way, mutex in self._mutexes.items():
            with mutex:
                self._closed = True
                self.disconnect(way)

    @abstractmethod
    def disconnect(self, way: Way) -> None:
        """Close a connection, whatever state it is in; the next transaction opens another."""

    @abstractmethod
    def _begun(self) -> AbstractContextManager[Transaction]:
        """Connect if need be, and begin a transaction; at the end, roll back what was not committed."""

    @abstractmethod
    def _seen(self) -> AbstractContextManager[Transaction | None]:
        """The same to read only; None if the tables of this version are not there."""

    @abstractmethod
    def _told(self, error: Exception) -> DiscreetError | None:
        """The database's error in our words: never its own, never an entry's content. None for others."""

    @contextmanager
    def _inside(self, way: Way) -> Iterator[None]:
        """One thread at a time; errors leave in the caller's words."""
        mutex = self._mutexes[way]
        if not mutex.acquire(timeout=self.patience):
            raise LedgerBusy(
                f"Another thread has kept the ledger {self.name} for {self.patience:g} seconds.",
                remedy=f"Ask again later: {ADDED_NOTHING}",
            )
        try:
            with self._translated(way), self._alone(way):
                yield
        finally:
            mutex.release()

    @contextmanager
    def _alone(self, way: Way) -> Iterator[None]:
        if self._closed:
            raise LedgerClosed("This ledger was closed by this program.", remedy="Open it again.")
        if way in self._busy:  # only a signal handler gets here, and would wait for itself
            raise LedgerClosed("This thread is inside the ledger already.", remedy="Ask outside the handler.")
        try:
            self._busy.add(way)
            yield
        finally:
            self._busy.discard(way)

    @contextmanager
    def _translated(self, way: Way) -> Iterator[None]:
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
            self.disconnect(way)
            raise told from None


def not_holdable() -> InvalidInput:
    return InvalidInput("This text or number is none that a ledger can hold.", remedy="Give valid Unicode.")


class _Fork:
    """Holds every database still while this process forks."""

    def __init__(self) -> None:
        self.databases: weakref.WeakSet[Database] = weakref.WeakSet()
        self.registering = threading.Lock()
        self._held: list[Database] = []
        os.register_at_fork(
            before=self.hold, after_in_parent=self.release, after_in_child=self.release_in_child
        )

    def hold(self) -> None:
        self.registering.acquire()
        self._held = list(self.databases)
        for database in self._held:
            for way, mutex in database._mutexes.items():
                mutex.acquire()
                database.disconnect(way)

    def release(self) -> None:
        while self._held:
            for mutex in self._held.pop()._mutexes.values():
                mutex.release()
        self.registering.release()

    def release_in_child(self) -> None:
        for database in self._held:
            database._lock.forget()
        self.release()


_FORK = _Fork()


def written_later(ledger: str) -> LedgerClosed:
    return LedgerClosed(
        f"The ledger {ledger} was written by a later version of discreet, and this one cannot read it.",
        remedy="Install that version or a later one: pip install --upgrade discreet. Nothing was spent.",
    )
