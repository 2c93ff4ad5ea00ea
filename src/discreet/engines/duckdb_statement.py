"""One SELECT in DuckDB: what it returns, and whether it is accepted, against the schema alone."""

import threading
from collections.abc import Mapping

import duckdb

from discreet.engines.duckdb_types import quoted, returnable, returning


def result_columns(cursor: duckdb.DuckDBPyConnection, sql: str) -> dict[str, str]:
    """Names and types of what one SELECT returns; anything else than one SELECT is refused."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError("not one SELECT")
    described = cursor.execute(f"DESCRIBE {sql}").fetchall()
    columns = {str(row[0]): str(row[1]) for row in described}
    if len(columns) != len(described) or not all(map(returnable, columns.values())):
        raise ValueError("columns that cannot be returned")
    return columns


class EmptyTables:
    """A DuckDB of its own with the tables of a policy, without a row and without a file behind them.

    Planning a statement over files reads what they note of their rows: one cell would decide what is refused
    before the charge. Here the same statement meets the same names and types, and nothing else.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._cursors = threading.Lock()
        connection.execute("SET enable_external_access = false")
        connection.execute(f"CREATE SCHEMA {schema}")

    def add(self, table: str, columns: Mapping[str, str]) -> None:
        listed = ", ".join(f"{quoted(name)} {native}" for name, native in columns.items())
        self._connection.execute(f"CREATE TABLE {self._schema}.{quoted(table)} ({listed})")

    def lock(self) -> None:
        self._connection.execute("SET lock_configuration = true")

    def accepts(self, sql: str) -> bool:
        """True, or an error."""
        with self._cursors:
            cursor = self._connection.cursor()
        columns = result_columns(cursor, sql)
        cursor.execute(f"EXPLAIN (FORMAT yaml) {returning(sql, columns)}")  # drawn as a tree it takes longer
        return True

    def close(self) -> None:
        self._connection.close()
