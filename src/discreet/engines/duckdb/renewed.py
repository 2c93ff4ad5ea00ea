"""A database that is opened anew after many statements, in a moment when none runs.

DuckDB notes each block of memory that a statement has used, and a note keeps some 200 bytes. It removes notes
of blocks that are gone only from a queue with more than 32,768 of them, and has eight queues: the memory of a
service would grow for 20,000 questions. A database that was just opened has no notes.

*Privacy*: when it is opened anew follows from the number of statements alone, and nothing that is refused
follows from what is found then.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import duckdb

from discreet.engines.base.execution import silently

_STATEMENTS_OF_ONE = 500
"""A join of a small question leaves some 20 notes. To open a database takes about as long as one question."""


class OpenDatabase(NamedTuple):
    """A database, by its first connection."""

    connection: duckdb.DuckDBPyConnection
    watched: duckdb.DuckDBPyConnection | None = None
    """A cursor that can tell its progress, if there is one."""


class RenewedDatabase:
    """One database at a time, so that its limits are those of all statements together. Threads share it."""

    def __init__(self, connect: Callable[[], OpenDatabase], definitions: Sequence[str] = ()) -> None:
        """It is opened when it is first used, by `connect` and then by all definitions there are by then."""
        self._connect = connect
        self._definitions = definitions
        self._lock = threading.Lock()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="database")
        """Always the same thread: memory that one database gives back to it is there for the next."""
        self._current: OpenDatabase | None = None
        self._next: OpenDatabase | None = None
        self._statements = 0
        self._running = 0
        self._closed = False

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Of the database that is in use now."""
        with self._lock:
            return self._in_use().connection

    @contextmanager
    def cursor(self, *, watched: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """For statements that have ended when the context is left; one that is watched at a time."""
        with self._lock:
            opened = self._in_use()
            cursor = (opened.watched if watched else None) or opened.connection.cursor()
            self._statements += 1
            self._running += 1
            if self._statements == _STATEMENTS_OF_ONE:
                silently(lambda: self._opener.submit(self._open_next))
        try:
            yield cursor
        finally:
            with self._lock:
                self._running -= 1
            self._replace_if_idle()

    def close(self) -> None:
        """duckdb.Error if a statement runs."""
        with self._lock:
            for opened in filter(None, (self._current, self._next)):
                opened.connection.close()
            self._closed = True
        self._opener.shutdown()

    def _in_use(self) -> OpenDatabase:
        if self._current is None:
            self._current = self._open()
        return self._current

    def _open(self) -> OpenDatabase:
        opened = self._connect()
        for definition in self._definitions:
            opened.connection.execute(definition)
        return opened

    def _open_next(self) -> None:
        """If it cannot be opened, the one in use stays for as many statements again."""
        opened = silently(self._open)
        with self._lock:
            if opened is None:
                self._statements = 0
            elif self._closed:
                opened.connection.close()
            else:
                self._next = opened
        self._replace_if_idle()

    def _replace_if_idle(self) -> None:
        with self._lock:
            if self._running or self._next is None or self._closed:
                return
            before, self._current, self._next = self._current, self._next, None
            self._statements = 0
        if before is not None:
            before.connection.close()
