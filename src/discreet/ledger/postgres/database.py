"""A schema in PostgreSQL that is changed by one turn at a time, over threads, processes and machines.

A turn is one SERIALIZABLE transaction whose first act is to lock a table. That takes no snapshot, so that the
turn sees all that was committed before it, and PostgreSQL gives the lock in the order in which it was asked
for: nobody starves. All settings are made inside the transaction, where no pooler can lose them. A look asks
for no lock, and sees one snapshot.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InvalidInput, LedgerClosed
from discreet.ledger.database import Database, DatabaseRow, Way, written_later
from discreet.ledger.postgres.errors import (
    commit_unknown,
    is_lost,
    kept_busy,
    no_rights,
    not_makeable,
    not_taken,
    refused,
    told,
)
from discreet.ledger.postgres.schema import (
    DEFINITION,
    MARK,
    UPGRADES,
    check_schema,
    found_in,
    is_later,
    is_usable,
    server_of,
)
from discreet.postgres.address import LEDGER_FORM, LedgerAddress
from discreet.postgres.connection import connection_options, why_unfit
from discreet.postgres.refusals import why_unreachable

if TYPE_CHECKING:
    import psycopg

    from discreet.ledger.postgres.connection import LimitedConnection as Connection

PATIENCE_MILLISECONDS = 40_000
"""How long the server lets us wait for a turn."""
MORE_MILLISECONDS = 5_000
"""How much longer it lets a statement take; and how much longer still we wait for its reply."""
IDLE_MILLISECONDS = 30_000
"""How long a turn may do nothing until the server ends it: less than others wait for it."""
PATIENCE_SECONDS = 60.0
"""How long to wait for others on this machine: as long as one of them may wait for the server."""

_CREATING = 0x64697363
"""The advisory lock under which tables are made."""


class PostgresTransaction:
    """The statements of one transaction."""

    def __init__(self, connection: "Connection", address: LedgerAddress) -> None:
        self._connection = connection
        self._address = address
        self._cursor = connection.cursor(binary=True)

    def rows(self, sql: str, **values: object) -> Sequence[DatabaseRow]:
        return self._cursor.execute(_with_places(sql), values).fetchall()

    def change(self, sql: str, **values: object) -> int:
        return self._cursor.execute(_with_places(sql), values).rowcount

    def check(self) -> None:
        check_schema(self._connection, self._address.schema)

    def commit(self) -> None:
        import psycopg

        try:
            done = self._connection.execute("COMMIT")
        except psycopg.Error as error:
            if is_lost(error):
                raise commit_unknown(self._address) from None
            raise
        if done.statusmessage != "COMMIT":  # PostgreSQL says so if something failed before
            raise not_taken(self._address)


class PostgresDatabase(Database):
    """One schema of one database, and a lock for the processes of this machine."""

    def __init__(self, address: LedgerAddress, lock: Path) -> None:
        self._address = address
        self._options = _options(address)
        self._connection: Connection | None = None
        self._reader: Connection | None = None
        self._server = ""
        super().__init__(lock)

    @property
    def name(self) -> str:
        return self._address.name

    @property
    def server(self) -> str:
        return self._server

    @property
    def patience(self) -> float:
        return PATIENCE_SECONDS

    def exists(self) -> bool:
        with self._inside(Way.LOOK), closing(self._connected()) as connection, self._pinned(connection):
            return found_in(connection, self._address.schema).mark is not None

    def disconnect(self, way: Way) -> None:
        if way is Way.TURN:
            connection, self._connection = self._connection, None
        else:
            connection, self._reader = self._reader, None
        if connection is not None:
            with suppress(Exception):  # it is gone, in whatever way
                connection.close()

    @contextmanager
    def _begun(self) -> Iterator[PostgresTransaction]:
        if self._connection is None:
            self._connection = self._prepared(self._connected())
        connection = self._connection
        try:
            shown = _last(self._begin(connection)).fetchone()
            if shown is None or shown["synchronous_commit"] != "on":
                raise LedgerClosed(
                    f"The ledger {self.name} would not write charges through to the disk.",
                    remedy="Connect to PostgreSQL itself, not to something that changes what it is told.",
                )
            yield PostgresTransaction(connection, self._address)
        finally:
            self._roll_back(connection, Way.TURN)

    def _begin(self, connection: "Connection") -> "psycopg.Cursor[dict[str, Any]]":
        import psycopg

        from discreet.ledger.postgres.connection import holder_of

        try:
            return connection.execute(self._beginning())
        except psycopg.errors.LockNotAvailable:
            holder = None
            with suppress(psycopg.Error):  # the name is a courtesy, which a server may not give
                connection.execute("ROLLBACK")
                holder = holder_of(connection, f"{self._address.schema}.accounts")
            raise kept_busy(self._address, holder) from None

    @contextmanager
    def _seen(self) -> Iterator[PostgresTransaction | None]:
        if self._reader is None:
            self._reader = self._prepared_to_read(self._connected())
        connection = self._reader
        if connection is None:
            yield None
            return
        try:
            connection.execute(self._looking())
            yield PostgresTransaction(connection, self._address)
        finally:
            self._roll_back(connection, Way.LOOK)

    def _looking(self) -> bytes:
        """The snapshot is taken by the first query after these."""
        return f"""
            BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
            {self._settings()}
            SET LOCAL idle_in_transaction_session_timeout TO {IDLE_MILLISECONDS};
        """.encode()

    def _beginning(self) -> bytes:
        """All in one message. The lock comes last, and before any snapshot."""
        return f"""
            BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE;
            {self._settings()}
            SET LOCAL idle_in_transaction_session_timeout TO {IDLE_MILLISECONDS};
            LOCK TABLE {self._address.schema}.accounts IN EXCLUSIVE MODE;
            SHOW synchronous_commit
        """.encode()

    def _settings(self) -> str:
        """PostgreSQL looks for names among its own first, then in our schema, and nowhere else.

        And it prints definitions in its default form, which the digest of the schema is made of.
        """
        return f"""
            SET LOCAL synchronous_commit TO on;
            SET LOCAL quote_all_identifiers TO off;
            SET LOCAL standard_conforming_strings TO on;
            SET LOCAL search_path TO {self._address.schema}, pg_temp;
            SET LOCAL lock_timeout TO {PATIENCE_MILLISECONDS};
            SET LOCAL statement_timeout TO {PATIENCE_MILLISECONDS + MORE_MILLISECONDS};
        """

    def _roll_back(self, connection: "Connection", way: Way) -> None:
        """Make the connection ready for the next transaction, or drop it."""
        import psycopg
        from psycopg.pq import TransactionStatus

        try:
            if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self.disconnect(way)
        if connection.info.transaction_status != TransactionStatus.IDLE:
            self.disconnect(way)

    def _connected(self) -> "Connection":
        import psycopg

        from discreet.ledger.postgres.connection import connect

        try:
            silence = (PATIENCE_MILLISECONDS + 2 * MORE_MILLISECONDS) / 1000
            return connect(self._options, longest_silence=silence)
        except psycopg.Error as error:
            raise refused(self._address, why_unreachable(str(error))) from None

    def _prepared(self, connection: "Connection") -> "Connection":
        """Make the tables if they are not there; refuse what is not a ledger, or was changed."""
        try:
            self._check_server(connection)
            with self._pinned(connection):
                self._create_if_missing(connection)
                if not is_usable(connection, self._address.schema):
                    raise no_rights(self._address)
                check_schema(connection, self._address.schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepared_to_read(self, connection: "Connection") -> "Connection | None":
        """None if the tables of this version are not there: a turn makes them."""
        schema = self._address.schema
        try:
            self._check_server(connection)
            with self._pinned(connection):
                if found_in(connection, schema).mark == MARK:
                    if not is_usable(connection, schema):
                        raise no_rights(self._address)
                    check_schema(connection, schema)
                    return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None

    @contextmanager
    def _pinned(self, connection: "Connection") -> Iterator[None]:
        """A transaction outside of any turn, in which names mean what they mean in one."""
        with connection.transaction():
            connection.execute(self._settings().encode())
            yield

    def _check_server(self, connection: "Connection") -> None:
        unfit = why_unfit(connection)
        if unfit is not None:
            raise refused(self._address, unfit)
        self._server = server_of(connection)

    def _create_if_missing(self, connection: "Connection") -> None:
        """One process at a time: after the lock, it sees what another has made before."""
        schema = self._address.schema
        if found_in(connection, schema).mark == MARK:
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_CREATING])
        found = found_in(connection, schema)
        if found.mark in UPGRADES:
            self._upgrade(connection, found.mark)
            return
        if found.mark == MARK:
            return
        if is_later(found.mark):
            raise written_later(self.name)
        if found.relations:
            raise LedgerClosed(
                f"The schema {schema} holds something, but not a ledger that this version can read.",
                remedy="Name a schema of the ledger's own, or use the version that made it.",
            )
        self._create(connection, new_schema=not found.schema)

    def _create(self, connection: "Connection", *, new_schema: bool) -> None:
        import psycopg

        schema = self._address.schema
        try:
            if new_schema:
                connection.execute(f"CREATE SCHEMA {schema}".encode())
            if not is_usable(connection, schema):
                raise not_makeable(self._address)
            connection.execute(DEFINITION.encode())
        except psycopg.errors.InsufficientPrivilege:
            raise not_makeable(self._address) from None

    def _upgrade(self, connection: "Connection", mark: str) -> None:
        """Bring the tables of an older version up to date, at once or not at all. No entry is touched."""
        import psycopg

        try:
            while mark in UPGRADES:
                connection.execute(UPGRADES[mark].encode())
                mark = found_in(connection, self._address.schema).mark or ""
        except psycopg.errors.InsufficientPrivilege:
            raise LedgerClosed(
                f"The tables of the ledger {self.name} are those of an older version of discreet.",
                remedy="Let the role that owns them open the ledger once: discreet budget.",
            ) from None

    def _told(self, error: Exception) -> DiscreetError | None:
        import psycopg

        return told(self._address, error) if isinstance(error, psycopg.Error) else None


def _options(address: LedgerAddress) -> dict[str, Any]:
    usual = {"tcp_user_timeout": PATIENCE_MILLISECONDS}
    options = connection_options(address.database, of="ledger", usual=usual)
    if options is None:
        raise InvalidInput("This is no address of a ledger in PostgreSQL.", remedy=LEDGER_FORM)
    return options


@cache
def _with_places(sql: str) -> bytes:
    """Values by name as psycopg writes them."""
    return re.sub(r":(\w+)", r"%(\1)s", sql).encode()


def _last(cursor: "psycopg.Cursor[dict[str, Any]]") -> "psycopg.Cursor[dict[str, Any]]":
    """The result of the last of several statements."""
    while cursor.nextset():
        pass
    return cursor
