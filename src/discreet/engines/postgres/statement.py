"""One statement in PostgreSQL: whether it may run, what it returns, and its rows.

It stands inside of `SELECT … FROM (statement) AS answer`, where PostgreSQL takes nothing but a SELECT. It is
sent by the protocol that takes no second statement, and that has the texts of a question beside the SQL.
Functions that PostgreSQL itself calls volatile are refused by name: those that write, set, wait, draw at
random or read files. A superuser could do much with them even in a transaction that only reads.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.engines.base.engine import ResultColumns
from discreet.engines.postgres.types import Result, as_column, result_of, returning
from discreet.model.expression import Parameter

if TYPE_CHECKING:
    from typing import Any

    from psycopg import RawCursor

    from discreet.engines.postgres.session import Connection

_ROWS_AT_ONCE = 10_000
"""In pieces of this size, a million rows take half the memory, and leave little to the garbage collector."""
_LONGEST_NAME = 63

_LETTER = r"A-Za-z_\x80-\U0010ffff"
_TOKEN = re.compile(
    rf"""
      (?P<blank>[ \t\n\r\f\v]+ | --[^\n\r]*)
    | (?P<parameter>\$[1-9][0-9]*)
    | (?P<strange>[eEuU]&?' | [uU]&" | /\* | [$;\\] | \x00)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<name>[{_LETTER}][{_LETTER}0-9$]*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Bound(NamedTuple):
    """A statement, and what $1, $2, … in it stand for."""

    sql: str
    parameters: Sequence[Parameter]


class NotAccepted(Exception):
    """A statement that the compiler would not have written."""


def volatile_functions(connection: "Connection") -> frozenset[str]:
    """PostgreSQL's own functions that do more than compute, or do not always give the same result."""
    found = connection.execute(
        "SELECT proname FROM pg_catalog.pg_proc"
        " WHERE provolatile = 'v' AND pronamespace = 'pg_catalog'::pg_catalog.regnamespace"
    )
    return frozenset(str(row[0]) for row in found)


def describe(connection: "Connection", statement: Bound, forbidden: frozenset[str]) -> dict[str, Result]:
    """Names and kinds of what one SELECT returns, without a row; an error for anything else."""
    check_calls(statement.sql, forbidden, parameters=len(statement.parameters))
    wrapped = f"SELECT * FROM ({statement.sql}\n) AS answer LIMIT 0"  # noqa: S608  the compiler's own SQL
    with executed(connection, wrapped, statement.parameters) as cursor:
        described = cursor.description or []
    columns: dict[str, Result] = {}
    for column in described:
        result = result_of(column.type_code, column.scale)
        if result is None or column.name in columns:
            raise NotAccepted("a column that cannot be returned")
        columns[column.name] = result
    if not columns:
        raise NotAccepted("no columns")
    return columns


def plan(connection: "Connection", statement: Bound, forbidden: frozenset[str]) -> bool:
    """Let PostgreSQL plan the statement; no row is read."""
    columns = describe(connection, statement, forbidden)
    with executed(connection, f"EXPLAIN {returning(statement.sql, columns)}", statement.parameters):
        return True


def fetch(connection: "Connection", statement: Bound, forbidden: frozenset[str]) -> ResultColumns:
    """The rows of one SELECT."""
    columns = describe(connection, statement, forbidden)
    with executed(connection, returning(statement.sql, columns), statement.parameters) as cursor:
        cells = {name: np.empty(cursor.rowcount, dtype=object) for name in columns}
        start = 0
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for column, values in zip(cells.values(), zip(*rows, strict=True), strict=True):
                column[start : start + len(rows)] = values
            start += len(rows)
    return {name: as_column(column, columns[name]) for name, column in cells.items()}


def executed(
    connection: "Connection", sql: str, parameters: Sequence[Parameter]
) -> "RawCursor[tuple[Any, ...]]":
    """Run by the protocol in which parameters have a message of their own; nothing in the SQL is replaced.

    A text is declared as a text: PostgreSQL does not guess its type. The plan is made for these values, as a
    statement without a name cannot be run again with others.
    """
    from psycopg import RawCursor
    from psycopg.types.string import StrDumper

    cursor: RawCursor[tuple[Any, ...]] = RawCursor(connection)
    cursor.adapters.register_dumper(str, StrDumper)
    values = [list(each) if isinstance(each, tuple) else each for each in parameters]
    return cursor.execute(sql.encode(), values, binary=True)


def check_calls(sql: str, forbidden: frozenset[str], *, parameters: int = 0) -> None:
    """Refuse calls of forbidden functions, everything by which a call could be hidden, and parameters that do
    not exist.
    """
    tokens = [match for match in _TOKEN.finditer(sql) if match.lastgroup != "blank"]
    depth = 0
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0 or token.lastgroup == "strange":
            raise NotAccepted("a way of writing that the compiler does not use")
        if token.lastgroup == "parameter" and int(token[0][1:]) > parameters:
            raise NotAccepted("a parameter that is not there")
        if token[0] == "(" and i and (name := _name(tokens[i - 1])):
            is_qualified = i > 2 and tokens[i - 2][0] == "."
            if is_qualified and _name(tokens[i - 3]) != "pg_catalog":
                raise NotAccepted("a function that is not PostgreSQL's own")
            if name in forbidden or name == "operator" or len(name.encode()) > _LONGEST_NAME:
                raise NotAccepted("a function that does more than to compute")
    if depth:
        raise NotAccepted("a bracket that is not closed")


def _name(token: re.Match[str]) -> str | None:
    """A name as PostgreSQL reads it: in quotes as it is, without them in lower case."""
    match token.lastgroup:
        case "name":
            return token[0].lower()
        case "quoted":
            return token[0][1:-1].replace('""', '"')
    return None
