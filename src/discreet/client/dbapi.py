"""A service as a database of PEP 249, for `pandas.read_sql`, notebooks and all that speaks to a cursor.

    from discreet.client import dbapi

    connection = dbapi.connect("https://curator.example", token, epsilon=0.1)
    frame = pandas.read_sql("SELECT ward, count(*) AS n FROM visits GROUP BY ward", connection)

Every question costs what the connection says; the same question is charged once. Nothing can be written, so
`commit` and `rollback` do nothing: what was charged stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from discreet.answers.answer import Answer
from discreet.answers.columns import Cell, kind_of, plain_cells
from discreet.arrays import ColumnValues
from discreet.client.literals import with_values
from discreet.client.remote_curator import RemoteCurator, connect_to_service
from discreet.client.requests import USUAL_TIMEOUT
from discreet.errors import DiscreetError, EngineFailed, InvalidInput, PolicyError, QueryRefused
from discreet.model.exact import Number

apilevel = "2.0"
threadsafety = 2
"""Threads may share connections, but not cursors."""
paramstyle = "qmark"

Row = tuple[Cell, ...]


class Warning(Exception):  # noqa: A001  the names are those of PEP 249
    """Never raised: what is worth a note is in `cursor.answer.released.notes`."""


class Error(Exception):
    """What PEP 249 calls all errors. `problem` and `remedy` say what happened, and what to do about it."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy


class InterfaceError(Error):
    """A connection or a cursor that is closed, or used before there is an answer."""


class DatabaseError(Error):
    """All that the service says; `__cause__` is the error that a local curator would raise."""


class DataError(DatabaseError):
    """Never raised."""


class OperationalError(DatabaseError):
    """The budget is used up, the token is wrong, the owner has to approve, or the service is not there."""


class IntegrityError(DatabaseError):
    """Never raised."""


class InternalError(DatabaseError):
    """The service failed after the charge."""


class ProgrammingError(DatabaseError):
    """The question is refused as it stands, or a value in it is not allowed."""


class NotSupportedError(DatabaseError):
    """Something of PEP 249 that has no meaning here."""


@dataclass(frozen=True, slots=True)
class TypeGroup:
    """Equal to the type codes of `description` that it stands for."""

    codes: frozenset[str]

    def __eq__(self, other: object) -> bool:
        return other in self.codes if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.codes)


STRING = TypeGroup(frozenset({"text"}))
NUMBER = TypeGroup(frozenset({"integer", "number", "truth"}))
DATETIME = TypeGroup(frozenset({"date", "timestamp"}))
BINARY = TypeGroup(frozenset())
ROWID = TypeGroup(frozenset())

Date, Time, Timestamp, Binary = date, time, datetime, bytes
DateFromTicks, TimestampFromTicks = date.fromtimestamp, datetime.fromtimestamp


def connect(
    url: str,
    token: str,
    dataset: str | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    within: Number | None = None,
    confidence: Number = 0.95,
    with_errors: bool = False,
    insecure: bool = False,
    timeout: float = USUAL_TIMEOUT,
    certificates: str | Path | None = None,
) -> "ServiceConnection":
    """A connection whose questions have one price, or one accuracy; that of your account if none is given.

    With `with_errors`, each measure n is followed by n_low and n_high, the ends of its interval. All else is
    as in `discreet.connect`.
    """
    try:
        curator = connect_to_service(
            url, token, dataset=dataset, insecure=insecure, timeout=timeout, certificates=certificates
        )
    except DiscreetError as error:
        _raise(error)
    terms = {"epsilon": epsilon, "rho": rho, "within": within, "confidence": confidence}
    return ServiceConnection(curator, terms, with_errors=with_errors)


class ServiceConnection:
    """The connection of PEP 249."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    OperationalError, ProgrammingError, InternalError = OperationalError, ProgrammingError, InternalError
    DataError, IntegrityError, NotSupportedError = DataError, IntegrityError, NotSupportedError

    def __init__(self, curator: RemoteCurator, terms: Mapping[str, Any], *, with_errors: bool) -> None:
        self.curator = curator
        self.terms = terms
        """The price, or the accuracy, of every question."""
        self.with_errors = with_errors
        self._closed = False

    def cursor(self) -> "AnswerCursor":
        self.check_open()
        return AnswerCursor(self)

    def check_open(self) -> None:
        if self._closed:
            raise InterfaceError("The connection is closed.", remedy="Connect again.")

    def commit(self) -> None:
        """Does nothing: what was charged is durable already."""
        self.check_open()

    def rollback(self) -> None:
        """Does nothing: what was charged stays."""
        self.check_open()

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> "ServiceConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AnswerCursor:
    """The cursor of PEP 249. `answer` is the whole answer to the last question: errors, price and notes."""

    def __init__(self, connection: ServiceConnection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.answer: Answer | None = None
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = -1
        self._rows: Iterator[Row] | None = None
        self._closed = False

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> "AnswerCursor":
        """Ask, and pay. Each ? in the question stands for one of the parameters, as a literal."""
        self._check_open()
        self.answer, self.description, self._rows, self.rowcount = None, None, None, -1
        try:
            sql = with_values(operation, _listed(parameters))
            self.answer = self.connection.curator.ask(sql, **self.connection.terms)
        except DiscreetError as error:
            _raise(error)
        self._show(self._columns(self.answer))
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[object]]) -> NoReturn:  # noqa: ARG002
        raise NotSupportedError(
            "Several questions at once have no one answer.", remedy="Call execute() for each: each is paid."
        )

    def fetchone(self) -> Row | None:
        return next(self._answered(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        return list(islice(self._answered(), self.arraysize if size is None else size))

    def fetchall(self) -> list[Row]:
        return list(self._answered())

    def close(self) -> None:
        self._closed = True

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing."""

    def __iter__(self) -> Iterator[Row]:
        return self._answered()

    def __enter__(self) -> "AnswerCursor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _columns(self, answer: Answer) -> Mapping[str, ColumnValues]:
        released = answer.released
        if self.connection.with_errors:
            return released.flat()
        return {name: released.values[name] for name in released.columns}

    def _show(self, columns: Mapping[str, ColumnValues]) -> None:
        kinds = {name: kind_of(column) for name, column in columns.items()}
        self.description = [(name, kind, None, None, None, None, None) for name, kind in kinds.items()]
        rows: list[Row] = list(zip(*map(plain_cells, columns.values()), strict=True))
        self.rowcount, self._rows = len(rows), iter(rows)

    def _answered(self) -> Iterator[Row]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("There is no answer yet.", remedy="Call execute() first.")
        return self._rows

    def _check_open(self) -> None:
        self.connection.check_open()
        if self._closed:
            raise InterfaceError("The cursor is closed.", remedy="Take another from the connection.")


def _listed(parameters: object) -> Sequence[object]:
    if parameters is None:
        return ()
    if isinstance(parameters, str | bytes | Mapping) or not isinstance(parameters, Sequence):
        raise InvalidInput("Parameters are a list.", remedy="Write ? in the question, and give [value, …].")
    return parameters


def _raise(error: DiscreetError) -> NoReturn:
    kind: type[DatabaseError] = OperationalError
    if isinstance(error, QueryRefused | InvalidInput):
        kind = ProgrammingError
    elif isinstance(error, EngineFailed | PolicyError):
        kind = InternalError
    raise kind(error.problem, remedy=error.remedy) from error
