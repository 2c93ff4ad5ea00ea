"""A table of rows that break careless SQL, and how to run an expression on it."""

import math
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import cycle, islice

import duckdb

from discreet.functions.registry import build_call, build_literal, emit_duckdb
from discreet.model.expression import DayRange, Expression, Field, Range
from discreet.model.policy import ValueType

ROWS = 97

INTEGERS = [
    None, 0, 1, -1, 2, 3, 7, 10, -10, 99, 100, 101, -100, -101, 2**31, -(2**31), 2**32, 2**53, 2**53 + 1,
    2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 3037000500, -3037000500, 10**18, 5, 12, 1000,
]  # fmt: skip
NUMBERS = [
    None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 10.1, 1e308,
    -1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308, 9.223372036854775e18, 9.3e18,
    -9.223372036854775808e18, 709.0, 710.0, -745.0, 1e-300, 1e20, 3.0, 7.25, 1e154,
    1e-100, -1e-160, 1e-75,
]  # fmt: skip
TEXTS = [
    None, "", " ", "a", "A", "  a b  ", "abc", "é", "e\u0301", "ß", "İ", "👨‍👩‍👧",
    "it's", '"', "%", "_", "\\",
    "a%b_c", "\t\n", "0x10", "1_000", "12", "-7", "+5", "1.5", "1e400", "nan", "inf", "infinity", "epoch",
    "2024-02-29", "2023-02-29", "0000-01-01", "2024-01-31 23:59:59.5", "2024-01-31 24:00:00",
    "9999-12-31T23:59:59", "2024-1-1", "true", "FALSE", "yes", "x" * 5000, "\u202e", "\U0010ffff", "a\0b",
    "2024-01-31 10:00:00+02", "9" * 25, "'; DROP TABLE nasty; --",
]  # fmt: skip
DATES = [
    None, "0001-01-01", "9999-12-31", "infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)",
    "2024-02-29", "1970-01-01", "0001-01-01 (BC)", "10000-01-01", "1899-12-31", "2024-12-30",
]  # fmt: skip
TIMESTAMPS = [
    None, "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "infinity", "-infinity",
    "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00", "2024-02-29 12:34:56.789",
    "1969-12-31 23:00:00",
    "10000-01-01 00:00:00",
]  # fmt: skip
BOOLEANS = [None, True, False]

FIELDS = {
    "i": Field(name="i", type=ValueType.INTEGER),
    "j": Field(name="j", type=ValueType.INTEGER, range=Range(low=Fraction(-100), high=Fraction(201, 2))),
    "n": Field(name="n", type=ValueType.NUMBER),
    "m": Field(name="m", type=ValueType.NUMBER, range=Range(low=Fraction(1, 10), high=Fraction(101, 10))),
    "s": Field(name="s", type=ValueType.TEXT),
    "u": Field(name="u", type=ValueType.TEXT),
    "b": Field(name="b", type=ValueType.BOOLEAN),
    "d": Field(name="d", type=ValueType.DATE),
    "t": Field(name="t", type=ValueType.TIMESTAMP),
    "e": Field(name="e", type=ValueType.DATE, days=DayRange(low=date(1999, 12, 30), high=date(2024, 2, 29))),
    "v": Field(
        name="v", type=ValueType.TIMESTAMP, days=DayRange(low=date(2024, 2, 1), high=date(2024, 2, 28))
    ),
}

SETTINGS = ("integer_division=true", "ieee_floating_point_ops=false", "default_collation='nocase'")


def columns() -> dict[str, list[object]]:
    values: dict[str, list[object]] = {
        "i": INTEGERS, "j": INTEGERS[::-1], "n": NUMBERS, "m": NUMBERS[::-1], "s": TEXTS, "u": TEXTS[::-1],
        "b": BOOLEANS, "d": DATES, "t": TIMESTAMPS, "e": DATES[::-1], "v": TIMESTAMPS[::-1],
    }  # fmt: skip
    return {name: list(islice(cycle(each), ROWS)) for name, each in values.items()}


@cache
def connection(hostile: bool = False) -> duckdb.DuckDBPyConnection:
    """One process, one table; the hostile one has every setting changed that changes what operators mean."""
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.execute(
        "CREATE TABLE nasty (row INTEGER, i BIGINT, j BIGINT, n DOUBLE, m DOUBLE, s VARCHAR, u VARCHAR,"
        " b BOOLEAN, d DATE, t TIMESTAMP, e DATE, v TIMESTAMP)"
    )
    rows = list(zip(range(ROWS), *columns().values(), strict=True))
    database.executemany(f"INSERT INTO nasty VALUES ({', '.join('?' * len(rows[0]))})", rows)
    if hostile:
        for setting in SETTINGS:
            database.execute(f"SET {setting}")
    return database


def run(expression: Expression, hostile: bool = False) -> list[object]:
    """The expression on every row of the table."""
    sql = emit_duckdb(expression)
    return [
        value for (value,) in connection(hostile).execute(f"SELECT {sql} FROM nasty ORDER BY row").fetchall()
    ]


def sql_type(expression: Expression) -> str:
    row = connection().execute(f"SELECT typeof({emit_duckdb(expression)}) FROM nasty LIMIT 1").fetchone()
    assert row is not None
    return str(row[0])


def evaluate(name: str, *arguments: object, hostile: bool = False) -> object:
    """A function of constants, or of expressions."""
    built = [each if isinstance(each, Expression) else build_literal(each) for each in arguments]
    sql = emit_duckdb(build_call(name, tuple(built)))
    row = connection(hostile).execute(f"SELECT {sql}").fetchone()
    assert row is not None
    return row[0]
