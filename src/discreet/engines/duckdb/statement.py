"""One SELECT in DuckDB: what it returns, and whether it is accepted, against the schema alone."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import duckdb

from discreet.engines.duckdb.renewed import OpenDatabase, RenewedDatabase
from discreet.engines.duckdb.types import quoted, returnable

_STATEMENTS_KNOWN = 16


def result_columns(cursor: duckdb.DuckDBPyConnection, sql: str, *, running: bool = False) -> dict[str, str]:
    """Names and types of what one SELECT returns; anything else than one SELECT is refused.

    With `running` it is run: then the planner has accepted it, too.
    """
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError("not one SELECT")
    if running:
        described = cursor.execute(statements[0]).description
    else:
        described = cursor.execute(f"DESCRIBE {sql}").fetchall()
    columns = {str(name): str(native) for name, native, *_ in described}
    if len(columns) != len(described) or not all(map(returnable, columns.values())):
        raise ValueError("columns that cannot be returned")
    return columns


class EmptyTables:
    """A DuckDB of its own with the tables of a policy, without a row and without a file behind them.

    Planning a statement over files reads their statistics: one cell could decide what is refused before the
    charge. Here the same statement meets the same names and types, and nothing else. The database is made
    when the first statement is prepared: whoever only explains does not need it.
    """

    def __init__(self, connect: Callable[[], OpenDatabase], schema: str) -> None:
        self._schema = schema
        self._definitions = [
            "SET enable_external_access = false",
            "SET lock_configuration = true",
            f"CREATE SCHEMA {schema}",
        ]
        self._database = RenewedDatabase(connect, self._definitions)
        self._keeping = threading.Lock()
        self._known: dict[str, dict[str, str]] = {}

    def add(self, table: str, columns: Mapping[str, str]) -> None:
        listed = ", ".join(f"{quoted(name)} {native}" for name, native in columns.items())
        self._definitions.append(f"CREATE TABLE {self._schema}.{quoted(table)} ({listed})")

    def accepts(self, sql: str) -> None:
        """Raise an error if the statement is not accepted.

        It is run, which takes as long as to plan it, as there is no row, and tells its types. Those are kept
        for a while: what is prepared is run on the data next.
        """
        with self.cursor() as cursor:
            columns = result_columns(cursor, sql, running=True)
        with self._keeping:
            self._known.pop(sql, None)
            self._known[sql] = columns
            if len(self._known) > _STATEMENTS_KNOWN:
                del self._known[next(iter(self._known))]

    def known_columns(self, sql: str) -> dict[str, str] | None:
        """What `result_columns` told of a statement that was accepted, if it is still kept."""
        with self._keeping:
            return self._known.get(sql)

    def cursor(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return self._database.cursor()

    def close(self) -> None:
        self._database.close()
