"""One statement in PostgreSQL: whether it may run, what it returns, and its rows.

It stands inside of `SELECT … FROM (statement) AS answer`, where PostgreSQL takes nothing but a SELECT, and
goes by the protocol that takes no second statement. A function that PostgreSQL itself calls volatile, such as
those that write, set, wait, draw at random or read files, is refused by its name: a superuser could do much
with them even in a transaction that only reads.
"""

import re
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.engine import Rows
from discreet.engines.postgres_types import Result, as_column, result_of, returning

if TYPE_CHECKING:
    from discreet.engines.postgres_session import Connection

_ROWS_AT_ONCE = 10_000
"""Fetched so, a million rows leave little for the garbage collector, and take half the memory."""
_LONGEST_NAME = 63

_LETTER = r"A-Za-z_\x80-\U0010ffff"
_TOKEN = re.compile(
    rf"""
      (?P<blank>[ \t\n\r\f\v]+ | --[^\n\r]*)
    | (?P<strange>[eEuU]&?' | [uU]&" | /\* | [$;\\] | \x00)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<name>[{_LETTER}][{_LETTER}0-9$]*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class NotAccepted(Exception):
    """A statement that the compiler would not have written."""


def volatile_functions(connection: "Connection") -> frozenset[str]:
    """The functions of PostgreSQL's own that do more than to compute, or not always the same."""
    found = connection.execute(
        "SELECT proname FROM pg_catalog.pg_proc"
        " WHERE provolatile = 'v' AND pronamespace = 'pg_catalog'::pg_catalog.regnamespace"
    )
    return frozenset(str(row[0]) for row in found)


def describe(connection: "Connection", sql: str, forbidden: frozenset[str]) -> dict[str, Result]:
    """Names and kinds of what one SELECT returns, without a row; an error for anything else."""
    check_calls(sql, forbidden)
    wrapped = f"SELECT * FROM ({sql}\n) AS answer LIMIT 0"  # noqa: S608  the compiler's own SQL
    with connection.cursor(binary=True) as cursor:
        described = cursor.execute(wrapped.encode()).description or []
    columns: dict[str, Result] = {}
    for column in described:
        result = result_of(column.type_code, column.scale)
        if result is None or column.name in columns:
            raise NotAccepted("a column that cannot be returned")
        columns[column.name] = result
    if not columns:
        raise NotAccepted("no columns")
    return columns


def plan(connection: "Connection", sql: str, forbidden: frozenset[str]) -> bool:
    """Let PostgreSQL plan the statement; no row is read."""
    columns = describe(connection, sql, forbidden)
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"EXPLAIN {returning(sql, columns)}".encode())
    return True


def fetch(connection: "Connection", sql: str, forbidden: frozenset[str]) -> Rows:
    """The rows of one SELECT."""
    columns = describe(connection, sql, forbidden)
    with connection.cursor(binary=True) as cursor:
        cursor.execute(returning(sql, columns).encode())
        cells = {name: np.empty(cursor.rowcount, dtype=object) for name in columns}
        start = 0
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for column, values in zip(cells.values(), zip(*rows, strict=True), strict=True):
                column[start : start + len(rows)] = values
            start += len(rows)
    return {name: as_column(column, columns[name]) for name, column in cells.items()}


def check_calls(sql: str, forbidden: frozenset[str]) -> None:
    """Refuse calls of forbidden functions, and everything by which a call could be hidden."""
    tokens = [match for match in _TOKEN.finditer(sql) if match.lastgroup != "blank"]
    depth = 0
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0 or token.lastgroup == "strange":
            raise NotAccepted("a way of writing that the compiler does not use")
        if token[0] == "(" and i and (name := _name(tokens[i - 1])):
            is_qualified = i > 2 and tokens[i - 2][0] == "."
            if is_qualified and _name(tokens[i - 3]) != "pg_catalog":
                raise NotAccepted("a function that is not PostgreSQL's own")
            if name in forbidden or name == "operator" or len(name.encode()) > _LONGEST_NAME:
                raise NotAccepted("a function that does more than to compute")
    if depth:
        raise NotAccepted("a bracket that is not closed")


def _name(token: re.Match[str]) -> str | None:
    """What PostgreSQL takes a name for: in quotes as it is, without them in lower case."""
    match token.lastgroup:
        case "name":
            return token[0].lower()
        case "quoted":
            return token[0][1:-1].replace('""', '"')
    return None
