"""A service as a database of PEP 249."""

import threading
from datetime import date

import numpy as np
import pandas
import pytest

from discreet import BudgetExceeded, NotSignedIn, QueryRefused
from discreet.client import dbapi
from tests.answers.examples import by_ward

BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def token(running):
    return running.add("ana")


@pytest.fixture
def connection(running, token):
    with dbapi.connect(running.url, token, epsilon=0.1) as connection:
        yield connection


def test_the_names_of_pep_249(connection):
    assert (dbapi.apilevel, dbapi.paramstyle) == ("2.0", "qmark")
    assert dbapi.threadsafety == 2
    for name in ("InterfaceError", "DatabaseError"):
        assert issubclass(getattr(dbapi, name), dbapi.Error)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        kind = getattr(dbapi, f"{name}Error")
        assert issubclass(kind, dbapi.DatabaseError)
        assert getattr(connection, f"{name}Error") is kind
    assert issubclass(dbapi.Error, Exception)
    assert not issubclass(dbapi.Warning, dbapi.Error)


def test_a_cursor_asks_and_gives_rows(connection):
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    assert cursor.execute(BY_WARD) is cursor
    assert [column[:2] for column in cursor.description] == [("ward", "text"), ("n", "integer")]
    assert all(len(column) == 7 for column in cursor.description)
    assert [column[1] == dbapi.NUMBER for column in cursor.description] == [False, True]
    assert cursor.description[0][1] == dbapi.STRING
    assert cursor.description[0][1] != dbapi.DATETIME
    rows = [(row["ward"], row["n"]) for row in cursor.answer.rows()]
    assert (cursor.rowcount, len(rows)) == (3, 3)
    assert cursor.fetchone() == rows[0]
    assert cursor.fetchmany() == rows[1:2]
    assert cursor.fetchmany(0) == []
    assert cursor.fetchmany(2) == rows[2:3]
    assert cursor.fetchmany(2) == []
    assert cursor.fetchone() is None
    assert cursor.execute(BY_WARD).fetchall() == rows
    assert list(cursor.execute(BY_WARD)) == rows
    assert cursor.answer.repeated


class FixedCurator:
    def ask(self, *_, **__):
        return by_ward()


def test_what_is_missing_is_none():
    cursor = dbapi.ServiceConnection(FixedCurator(), {}, with_errors=False).cursor().execute("SELECT 1")
    assert cursor.fetchall()[1:] == [(None, 96, 61.0), ("<script>alert(1)</script>", -4, None)]


def test_with_errors(running, token):
    cursor = dbapi.connect(running.url, token, epsilon=0.1, with_errors=True).cursor().execute(BY_WARD)
    names = [column[0] for column in cursor.description]
    assert names[:4] == ["ward", "n", "n_low", "n_high"]
    for _, n, low, high, *_ in cursor:
        assert low <= n <= high


def test_parameters_are_literals(connection):
    sql = "SELECT day, count(*) AS n FROM visits WHERE lower(ward) <> ? AND cost > ? AND day >= ? GROUP BY 1"
    rows = connection.cursor().execute(sql, ["x' OR '1' = '1", 5.5, date(2026, 1, 2)]).fetchall()
    assert [day for day, _ in rows] == [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]
    with pytest.raises(dbapi.ProgrammingError, match="3 \\?"):
        connection.cursor().execute(sql, ["north"])
    for odd in ("abc", {"a": 1}, 5):
        with pytest.raises(dbapi.ProgrammingError, match="list"):
            connection.cursor().execute(sql, odd)


def test_errors_have_their_cause(running, token, connection):
    cases = [
        (QueryRefused, dbapi.ProgrammingError, "SELECT patient FROM visits", 0.1),
        (BudgetExceeded, dbapi.OperationalError, "SELECT count(*) FROM visits", 19.99),
    ]
    for cause, kind, sql, epsilon in cases:
        cursor = dbapi.connect(running.url, token, epsilon=epsilon).cursor()
        connection.cursor().execute(BY_WARD)
        with pytest.raises(kind) as error:
            cursor.execute(sql)
        assert isinstance(error.value.__cause__, cause)
        assert error.value.remedy == error.value.__cause__.remedy
        with pytest.raises(dbapi.InterfaceError, match="no answer yet"):
            cursor.fetchall()
    with pytest.raises(dbapi.OperationalError, match="token") as refused:
        dbapi.connect(running.url, "discreet_wrong", epsilon=1)
    assert isinstance(refused.value.__cause__, NotSignedIn)
    with pytest.raises(dbapi.ProgrammingError, match="school"):
        dbapi.connect(running.url, token, "school")


def test_what_is_closed_is_closed(running, token):
    connection = dbapi.connect(running.url, token, epsilon=0.1)
    cursor = connection.cursor()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        cursor.execute(BY_WARD)
    open_cursor = connection.cursor()
    connection.commit()
    connection.rollback()
    connection.close()
    for action in (connection.cursor, connection.commit, connection.rollback, open_cursor.fetchall):
        with pytest.raises(dbapi.InterfaceError, match="closed"):
            action()


def test_several_questions_at_once_are_not_supported(connection):
    with pytest.raises(dbapi.NotSupportedError):
        connection.cursor().executemany(BY_WARD, [[], []])


def test_threads_share_a_connection(connection):
    found = []
    ask = lambda: found.append(connection.cursor().execute(BY_WARD).fetchall())  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(rows == found[0] for rows in found)


def test_pandas_reads_it(connection):
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pandas.read_sql(BY_WARD, connection, index_col="ward")
    answer = connection.cursor().execute(BY_WARD).answer
    assert frame["n"].tolist() == answer["n"].tolist()
    assert frame["n"].dtype == np.int64
    sql = "SELECT day, avg(cost) AS mean FROM visits WHERE ward = ? GROUP BY day"
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pandas.read_sql(sql, connection, params=["north"], parse_dates=["day"])
    assert frame["day"].dt.year.tolist() == [2026] * 3
    with (
        pytest.warns(UserWarning, match="SQLAlchemy"),
        pytest.raises((dbapi.ProgrammingError, pandas.errors.DatabaseError), match="count them"),
    ):
        pandas.read_sql("SELECT patient FROM visits", connection)
