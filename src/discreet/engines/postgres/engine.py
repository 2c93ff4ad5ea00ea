"""PostgreSQL: tables and views of one database, read-only, and silent about what was read.

There are three walls. The compiler writes every statement itself. This engine runs a statement only if it is
one SELECT without functions that do more than compute, in a read-only transaction that is rolled back. And
the role that the owner makes may read the named tables and nothing else.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.base.column_types import fitting_type, no_format
from discreet.engines.base.engine import ResultColumns
from discreet.engines.base.execution import Watch, failed, not_accepted, run_to_end, silently
from discreet.engines.postgres.catalogue import (
    RelationInCatalogue,
    is_all_readable,
    look_up,
    names_of,
    readable,
)
from discreet.engines.postgres.errors import changed, locked, lost, no_permission_behind
from discreet.engines.postgres.session import Sessions
from discreet.engines.postgres.statement import Bound, executed, fetch, plan, volatile_functions
from discreet.engines.postgres.types import delivered_type, quoted, reading
from discreet.errors import PolicyError
from discreet.model.deadline import Deadline
from discreet.model.declaration import USUAL_TIME_LIMIT, TableSource
from discreet.model.expression import Parameter
from discreet.model.policy import ValueType
from discreet.model.secret import Secret
from discreet.postgres.address import DatabaseAddress, TableAddress, read_table_address

if TYPE_CHECKING:
    from discreet.engines.postgres.session import Connection

_SECONDS_BETWEEN_CANCELS = 0.5
_SECONDS_TO_CANCEL = 5.0
"""How long after the time limit the server ends a statement by itself, if nobody is left to cancel it."""
_LOCK_NOT_AVAILABLE = "55P03"
_NO_PRIVILEGE = "42501"
_NUMBERS = count()


class PostgresEngine:
    """Some tables of one PostgreSQL database. Threads may share it; Ctrl-C stops a query at the server."""

    dialect = "postgres"

    def __init__(
        self,
        sources: Mapping[str, TableSource],
        base_dir: Path | None = None,  # noqa: ARG002  files are relative to it; databases are not
        *,
        time_limit: float = USUAL_TIME_LIMIT,
    ) -> None:
        """Connect and look the tables up. A question is stopped after `time_limit` seconds."""
        self.time_limit = time_limit
        self._addresses = {name: read_table_address(source.location) for name, source in sources.items()}
        self._schemas: dict[str, dict[str, ValueType]] = {}
        self._unsupported: dict[str, tuple[str, ...]] = {}
        self._relations: dict[str, str] = {}
        self._empty: dict[str, str] = {}
        """For the relation of each table, an empty one with the same columns."""
        self._opened: dict[str, RelationInCatalogue] = {}
        self._sessions = Sessions(
            _only_database(self._addresses), statement_timeout=_until_server_ends(time_limit)
        )
        try:
            with self._sessions.transaction() as connection:
                found = self._look_up(connection)
                forbidden = silently(lambda: volatile_functions(connection))
                names = silently(lambda: self._names_of(connection, found))
            if forbidden is None or names is None:
                raise lost(self._database)
            self._forbidden, self._names = forbidden, names
            for name, source in sources.items():
                self._open(name, source, found[name])
        except BaseException:
            self._sessions.close()
            raise

    @property
    def relations(self) -> Mapping[str, str]:
        return dict(self._relations)

    def schema(self, table: str) -> dict[str, ValueType]:
        return dict(self._schemas[table])

    def unsupported(self, table: str) -> tuple[str, ...]:
        """Columns of the source that are left out: their type is not supported, or the role may not read
        them.
        """
        return self._unsupported[table]

    def names(self, table: str) -> frozenset[str]:
        """A view also has the names of the tables behind it, and a table those of its partitions."""
        return self._names[table]

    def stamps(self) -> tuple[str, ...]:
        """None: rows come and go in a database."""
        return ()

    def prepare(self, sql: str, *, parameters: Sequence[Parameter] = ()) -> None:
        with self._sessions.transaction() as connection:
            self._check_unchanged(connection)
            state = self._refused_rights(connection) or _state_of_plan(
                connection, Bound(self._over_empty_tables(sql), parameters), self._forbidden
            )
            is_lost = connection.closed
        if is_lost:
            raise lost(self._database)
        if state == _LOCK_NOT_AVAILABLE:
            raise locked(self._database)
        if state == _NO_PRIVILEGE:
            raise no_permission_behind(self._database)
        if state is not None:
            raise not_accepted()

    def run(
        self,
        sql: str,
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> Secret[ResultColumns]:
        return self.run_each([sql], watch, parameters=parameters, deadline=deadline)[0]

    def run_each(
        self,
        sqls: Sequence[str],
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> list[Secret[ResultColumns]]:
        """Each on a connection of its own, as far as there are any left."""
        deadline = deadline or Deadline.after(self.time_limit)
        deadline.check()
        with ExitStack() as stack:
            connections = silently(
                lambda: stack.enter_context(
                    self._sessions.transactions(
                        len(sqls),
                        wait=deadline.left,
                        statement_timeout=_until_server_ends(deadline.left),
                    )
                )
            )
            if connections is None:
                deadline.check()  # none of them became free in time
                raise failed()
            statements = [Bound(sql, parameters) for sql in sqls]
            return _run(connections, statements, self._forbidden, watch, deadline)

    def close(self) -> None:
        self._sessions.close()

    @property
    def _database(self) -> DatabaseAddress:
        return next(iter(self._addresses.values())).database

    def _look_up(self, connection: "Connection") -> dict[str, RelationInCatalogue | None]:
        """What the catalogue says of all tables now."""
        found = silently(
            lambda: {name: look_up(connection, address) for name, address in self._addresses.items()}
        )
        if found is None:
            raise lost(self._database) if connection.closed else locked(self._database)
        return found

    def _names_of(
        self, connection: "Connection", found: Mapping[str, RelationInCatalogue | None]
    ) -> dict[str, frozenset[str]]:
        return {
            name: names_of(connection, self._addresses[name], relation.oid)
            for name, relation in found.items()
            if relation is not None  # a missing table is refused when it is opened
        }

    def _open(self, name: str, source: TableSource, found: RelationInCatalogue | None) -> None:
        address = self._addresses[name]
        relation = readable(address, found)
        if source.formats:
            raise no_format(name, next(iter(source.formats)))
        kinds: dict[str, ValueType] = {}
        reads: list[str] = []
        missing: list[str] = []
        for column in relation.columns:
            native = column.native.value_type
            if column.is_readable and native is not None:
                kind = fitting_type(name, column.name, native, source.types)
                is_person = column.name == source.person
                reads.append(reading(column.name, kind, column.native, is_person=is_person))
                delivered = delivered_type(kind, column.native, is_person=is_person)
                missing.append(f"NULL::{delivered} AS {quoted(column.name)}")
                kinds[column.name] = kind
        if not reads:
            raise PolicyError(
                f"The source {address.name} has no column that can be used.",
                remedy="Give a table with columns of numbers, text, truth values or dates.",
            )
        place = f"{quoted(address.schema)}.{quoted(address.table)}"
        self._relations[name] = f"(SELECT {', '.join(reads)} FROM {place}) AS {quoted(name)}"  # noqa: S608
        empty = f"(SELECT {', '.join(missing)} WHERE false) AS {quoted(name)}"
        self._empty[self._relations[name]] = empty
        self._schemas[name] = kinds
        self._unsupported[name] = tuple(each.name for each in relation.columns if each.name not in kinds)
        self._opened[name] = relation

    def _over_empty_tables(self, sql: str) -> str:
        """The statement over empty tables.

        To plan over a table, PostgreSQL reads its statistics, and the ends of its indexes. Time and plan
        would depend on them, before anything is charged.
        """
        for relation, empty in self._empty.items():
            sql = sql.replace(relation, empty)
        return sql

    def _refused_rights(self, connection: "Connection") -> str | None:
        """The code of PostgreSQL's error if a table, or what is behind it, cannot be read; else None.

        To plan over a view, or over a table with row security, runs their functions that are STABLE, and
        these may read rows. So rights are looked up in the catalogue. A statement that is named, and not
        planned, waits for all locks.
        """
        name = f"discreet_{next(_NUMBERS)}"  # an interrupted one may still be there
        all_of_them = f"PREPARE {name} AS SELECT FROM {', '.join(self._relations.values())}"
        oids = [relation.oid for relation in self._opened.values()]
        readable_now: list[bool] = []

        def look() -> None:
            executed(connection, all_of_them, ()).close()
            executed(connection, f"DEALLOCATE {name}", ()).close()
            readable_now.append(is_all_readable(connection, oids))

        return _state(look) or (None if readable_now == [True] else _NO_PRIVILEGE)

    def _check_unchanged(self, connection: "Connection") -> None:
        for name, relation in self._look_up(connection).items():
            if relation != self._opened[name]:
                raise changed(self._addresses[name].name)


def schema_of(location: str) -> dict[str, ValueType]:
    """The usable columns of a table, for the owner's first draft of a policy. No row is read."""
    source = TableSource(location=location, public=True, person=None, types={}, implied_types={})
    engine = PostgresEngine({"data": source})
    engine.close()
    return engine.schema("data")


def _only_database(addresses: Mapping[str, TableAddress]) -> DatabaseAddress:
    databases = {address.database for address in addresses.values()}
    if len(databases) != 1:
        raise PolicyError(
            "The tables of this policy are in more than one database."
            if databases
            else "This policy has no table.",
            remedy="Give every table the same address before the #.",
        )
    return next(iter(databases))


def _until_server_ends(left: float) -> float:
    """The server's own limit. We cancel a statement earlier, when time is up, if we are still there."""
    return left + _SECONDS_TO_CANCEL


def _state_of_plan(connection: "Connection", statement: Bound, forbidden: frozenset[str]) -> str | None:
    """None if PostgreSQL can plan the statement, else the code of its error."""
    return _state(lambda: plan(connection, statement, forbidden))


def _state(action: Callable[[], object]) -> str | None:
    """None if the action succeeds, else the code of PostgreSQL's error. Its words are dropped."""
    try:
        action()
    except MemoryError:  # of this process, not an error of the database
        raise
    except Exception as error:
        return getattr(error, "sqlstate", None) or "?"
    return None


def _run(
    connections: "Sequence[Connection]",
    statements: Sequence[Bound],
    forbidden: frozenset[str],
    watch: Watch | None,
    deadline: Deadline,
) -> list[Secret[ResultColumns]]:
    """The rows. If one statement fails, the others are cancelled.

    So does Ctrl-C: again and again until all have ended, as a cancel that comes too early is lost.
    """
    ended = threading.Event()

    def work() -> list[Secret[ResultColumns]]:
        shares = [(connection, statements[i :: len(connections)]) for i, connection in enumerate(connections)]
        try:
            with ThreadPoolExecutor(len(connections)) as pool:
                running = [pool.submit(fetched, *share) for share in shares]
                _, others = wait(running, return_when=FIRST_EXCEPTION)
                while others:  # one has failed
                    cancel()
                    _, others = wait(running, timeout=_SECONDS_BETWEEN_CANCELS)
                return [rows for each in running for rows in each.result()]
        finally:
            ended.set()

    def fetched(connection: "Connection", some: Sequence[Bound]) -> list[Secret[ResultColumns]]:
        return [Secret(fetch(connection, each, forbidden)) for each in some]

    def cancel() -> None:
        for connection in connections:
            silently(connection.cancel_safe)

    def interrupt() -> None:
        while not ended.is_set():
            cancel()
            ended.wait(_SECONDS_BETWEEN_CANCELS)

    return run_to_end(work, interrupt=interrupt, deadline=deadline, watch=watch)
