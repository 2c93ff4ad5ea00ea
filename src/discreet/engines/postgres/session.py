"""A few connections to one PostgreSQL: one for each statement that runs, in a transaction that can only read
and is never committed.

All settings are made inside the transaction, where nothing between us and the server can lose them. They are
read back from the server before any statement of ours runs.
"""

import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.engines.base.execution import silently
from discreet.engines.postgres.errors import lost, no_address, password_in_policy, refused, settings_lost
from discreet.errors import PolicyError
from discreet.postgres.address import DatabaseAddress
from discreet.postgres.connection import connection_options, why_unfit
from discreet.postgres.refusals import why_unreachable

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

MOST_CONNECTIONS = 8
"""Further statements wait for one of these to end."""

_LONGEST_TIMEOUT = 24 * 24 * 3600
"""In seconds, the most that PostgreSQL takes, in whole days."""

_CONNECT = {"tcp_user_timeout": 60_000, "application_name": "discreet"}
"""Unless the address says otherwise. Times are milliseconds."""

_SETTINGS = {
    "default_transaction_read_only": "on",
    "lock_timeout": "10000",
    "idle_in_transaction_session_timeout": "600000",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "client_encoding": "UTF8",
    "client_min_messages": "error",
    "bytea_output": "hex",
    # No statement over 2 million rows was faster with it; every one is compiled anew, for 0.1 s.
    "jit": "off",
    # Where it expects one row on a side of a join, it would read the whole other side for each that it finds:
    # everybody's rows as often as one person has some. All our joins compare for equality, and need no loop.
    "enable_nestloop": "off",
    "application_name": "discreet",
}
"""No setting of server, database or role changes what a statement means. Times are milliseconds."""


class Sessions:
    """The connections of one engine. Threads may share them."""

    def __init__(self, database: DatabaseAddress, *, statement_timeout: float) -> None:
        self._database = database
        self._options = _options(database)
        self._expected = {
            **_SETTINGS,
            "statement_timeout": _milliseconds(statement_timeout),
            "transaction_read_only": "on",
            "transaction_isolation": "repeatable read",
        }
        self._closed = False
        self._begin_process()

    def _begin_process(self) -> None:
        """After a fork, the child uses neither its parent's connections nor its locks, which may be held by
        threads that the fork did not copy.
        """
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._idle, self._process)

    @contextmanager
    def transaction(
        self, *, wait: float | None = None, statement_timeout: float | None = None
    ) -> Iterator["Connection"]:
        """A connection for this thread alone, inside of a transaction. PolicyError if there is none.

        TimeoutError if all of them are busy for `wait` seconds. The server ends a statement after
        `statement_timeout` seconds, if given; else after the default of these sessions.
        """
        if os.getpid() != self._process:
            self._begin_process()
        places = self._places
        if not places.acquire(timeout=wait):
            raise TimeoutError
        try:
            connection = self._begun(statement_timeout=statement_timeout)
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            places.release()

    @contextmanager
    def transactions(
        self, most: int, *, wait: float | None = None, statement_timeout: float | None = None
    ) -> Iterator[list["Connection"]]:
        """From 1 to `most` connections that see the data of one moment: as many as are free now."""
        with (
            self.transaction(wait=wait, statement_timeout=statement_timeout) as first,
            ExitStack() as stack,
        ):
            connections = [first]
            snapshot = silently(lambda: _snapshot(first)) if most > 1 else None
            while snapshot and len(connections) < most and self._places.acquire(blocking=False):
                stack.callback(self._places.release)
                other = silently(lambda: self._begun(snapshot, statement_timeout))
                if other is None:
                    break
                stack.callback(self._give_back, other)
                connections.append(other)
            yield connections

    def close(self) -> None:
        if os.getpid() != self._process:
            self._begin_process()
        with self._lock:
            self._closed = True
            _close_all(self._idle, self._process)

    def _begun(self, snapshot: str | None = None, statement_timeout: float | None = None) -> "Connection":
        """A connection in a new transaction: an idle one if it still answers, else a new one."""
        expected = self._expected
        if statement_timeout is not None:
            expected = {**expected, "statement_timeout": _milliseconds(statement_timeout)}
        while (waiting := self._waiting()) is not None:
            if self._try_to_begin(waiting, snapshot, expected):
                return waiting
        connection = self._connect()
        begun = self._try_to_begin(connection, snapshot, expected)
        if not begun:
            raise lost(self._database) if begun is None else settings_lost(self._database)
        return connection

    def _waiting(self) -> "Connection | None":
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _try_to_begin(
        self, connection: "Connection", snapshot: str | None, expected: Mapping[str, str]
    ) -> bool | None:
        """Whether the server took all settings; None if it failed. Then the connection is closed."""
        begun = silently(lambda: self._begin(connection, snapshot, expected))
        if not begun:
            silently(connection.close)
        return begun

    def _begin(self, connection: "Connection", snapshot: str | None, expected: Mapping[str, str]) -> bool:
        """Start a transaction with our settings; whether the server has them all.

        With the snapshot of another transaction it sees what that one sees.
        """
        if snapshot is not None:
            connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
        wanted = {name: value for name, value in expected.items() if not name.startswith("transaction_")}
        setting = "; ".join(f"SET LOCAL {name} TO {_value(name, value)}" for name, value in wanted.items())
        connection.execute(setting.encode())
        found = connection.execute(
            "SELECT name, setting FROM pg_catalog.pg_settings WHERE name = ANY(%s)", [list(expected)]
        ).fetchall()
        return dict(found) == expected

    def _give_back(self, connection: "Connection") -> None:
        """Undo whatever was done, and keep the connection if it is as good as new."""
        from psycopg.pq import TransactionStatus

        silently(connection.rollback)
        with self._lock:
            if connection.info.transaction_status is TransactionStatus.IDLE and not self._closed:
                self._idle.append(connection)
                return
        silently(connection.close)

    def _connect(self) -> "Connection":
        connection = self._connected()
        if isinstance(connection, PolicyError):
            raise connection
        unfit = why_unfit(connection)
        if unfit is not None:
            silently(connection.close)
            raise refused(self._database, unfit)
        return connection

    def _connected(self) -> "Connection | PolicyError":
        """A connection, or why there is none: raised elsewhere, so that nothing is chained to it."""
        import psycopg

        try:
            connection = psycopg.connect(**self._options, prepare_threshold=None)
        except psycopg.Error as error:
            return refused(self._database, why_unreachable(str(error)))
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return connection


def _options(database: DatabaseAddress) -> dict[str, Any]:
    """The options to connect with. Everybody may read a policy, so a password in it is refused."""
    options = connection_options(database, of="source", usual=_CONNECT)
    if options is None:
        raise no_address(database)
    if database.has_password:
        raise password_in_policy(database)
    return options


def _snapshot(connection: "Connection") -> str | None:
    """The name by which other transactions can see what this one sees."""
    found = connection.execute("SELECT pg_catalog.pg_export_snapshot()").fetchone()
    name = str(found[0]) if found else ""
    return name if re.fullmatch(r"[0-9A-Fa-f-]+", name) else None


def _milliseconds(seconds: float) -> str:
    """As PostgreSQL takes and shows a timeout; 0 would be none."""
    return str(max(1, round(min(seconds, _LONGEST_TIMEOUT) * 1000)))


def _close_all(idle: list["Connection"], process: int) -> None:
    """Close the connections of this process."""
    while idle:
        connection = idle.pop()
        if os.getpid() == process:
            silently(connection.close)


def _value(name: str, value: str) -> str:
    """A setting that is a list of names is written as one."""
    return value if name == "search_path" else f"'{value}'"
