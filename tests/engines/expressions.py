"""Expressions on the rows of `tests.question.nasty`, on every engine, in plain sessions that give doubles."""

import math
from datetime import date, datetime
from functools import cache

from discreet.dialects import DIALECTS
from discreet.dialects.parameters import Parameters
from discreet.engines.postgres.statement import executed
from discreet.engines.spark.session import ClassicSession
from discreet.functions.registry import emit
from discreet.model.expression import Call
from discreet.model.policy import ValueType
from tests.question import nasty

KINDS = {name: field.type for name, field in nasty.FIELDS.items()}

CANONICAL = (
    "SELECT row, i, j, n, m, CASE WHEN NOT contains(s, chr(0)) THEN s END AS s,"
    " CASE WHEN NOT contains(u, chr(0)) THEN u END AS u, b,"
    " CASE WHEN d BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN d END AS d,"
    " CASE WHEN t BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN t END AS t,"
    " CASE WHEN e BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN e END AS e,"
    " CASE WHEN v BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN v END AS v"
    " FROM nasty ORDER BY row"
)
"""What every engine can store: no NUL in a text, and the years that Python knows."""


@cache
def rows():
    return nasty.connection().execute(CANONICAL).fetchall()


class DuckDBRows:
    def __init__(self):
        self._connection = nasty.connection().cursor()
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE canonical AS {CANONICAL}")

    def run(self, expressions):
        selected = ", ".join(emit(each, DIALECTS["duckdb"]) for each in expressions)
        return self._connection.execute(f"SELECT {selected} FROM canonical ORDER BY row").fetchall()


class PostgresRows:
    def __init__(self, url):
        import psycopg

        dialect = DIALECTS["postgres"]
        self._connection = psycopg.connect(url, autocommit=True)
        columns = ", ".join(f'"{name}" {dialect.types[kind]}' for name, kind in KINDS.items())
        self._connection.execute("SET search_path = pg_catalog, pg_temp")
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute(f"CREATE TEMP TABLE canonical (row integer, {columns})")
        with self._connection.cursor() as cursor:
            marks = ", ".join(["%s"] * (len(KINDS) + 1))
            cursor.executemany(f"INSERT INTO pg_temp.canonical VALUES ({marks})", rows())

    def close(self):
        self._connection.close()

    def run(self, expressions):
        parameters = Parameters()
        dialect = DIALECTS["postgres"].binding(parameters)
        selected = ", ".join(emit(each, dialect) for each in expressions)
        sql = f"SELECT {selected} FROM pg_temp.canonical ORDER BY row"
        with executed(self._connection, sql, parameters.values) as cursor:
            return cursor.fetchall()


class SparkRows:
    def __init__(self, session, folder):
        file = str(folder / "canonical.parquet")
        nasty.connection().execute(f"COPY ({CANONICAL}) TO '{file}'")
        self._session = ClassicSession(session.newSession()).frames
        self._session.read.parquet(file).createOrReplaceTempView("canonical")

    def run(self, expressions):
        selected = ", ".join(f"{emit(each, DIALECTS['spark'])} AS c{i}" for i, each in enumerate(expressions))
        return [
            tuple(row)[:-1]
            for row in self._session.sql(f"SELECT {selected}, row FROM canonical ORDER BY row").collect()
        ]


def parts(expression):
    """The expression and everything in it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts(argument)


def functions(expression):
    return {part.function for part in parts(expression) if isinstance(part, Call)}


def moderate(value):
    """Whether PostgreSQL computes with a number as it is: see the gaps of its dialect."""
    return value is None or value == 0 or 1e-150 <= abs(value) <= 1e150


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return (math.copysign(1, one) == math.copysign(1, other) and one == other) or one == other == 0
    return type(one) is type(other) and one == other


def of_kind(value, kind):
    python = {
        ValueType.INTEGER: int,
        ValueType.NUMBER: float,
        ValueType.TEXT: str,
        ValueType.BOOLEAN: bool,
        ValueType.DATE: date,
        ValueType.TIMESTAMP: datetime,
    }
    return value is None or type(value) is python[kind]
