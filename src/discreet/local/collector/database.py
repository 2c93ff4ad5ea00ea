"""The folder of a collector: one SQLite file of accepted batches, which are only ever added.

The file keeps the survey that it is of, the collector's random id, each batch by its random number with the
reports that counted, how many did not and why, and now and then the tallies so far, so that opening is quick.
No time and no address is written.
"""

import fcntl
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import CollectorClosed, DiscreetError, InvalidInput
from discreet.ledger.files import sync_directory
from discreet.local.collector.acceptance import Judged, Reason
from discreet.local.collector.tallies import RunningTallies
from discreet.local.mechanisms.mechanism import Reports, Tally
from discreet.local.survey import Survey, read_survey

FILE, LOCK = "reports.sqlite", "collector.lock"
_APPLICATION_ID = 0x64736C70  # "dslp"
_VERSION = 1
_PART = 2**18  # cells of a tally in one row
_ROWS = 10_000  # batches that are read at once

_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
CREATE TABLE collector (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL,
    survey TEXT NOT NULL,
    tallied INTEGER NOT NULL
) STRICT;
CREATE TABLE batches (
    number INTEGER PRIMARY KEY,
    nonce BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL,
    accepted INTEGER NOT NULL,
    dropped INTEGER NOT NULL
) STRICT;
CREATE TABLE reports (
    batch INTEGER NOT NULL,
    question INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (batch, question)
) STRICT, WITHOUT ROWID;
CREATE TABLE rejected (reason TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tallies (
    question INTEGER NOT NULL,
    part INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (question, part)
) STRICT;
CREATE TRIGGER batches_stay BEFORE DELETE ON batches BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER batches_stand BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER reports_stay BEFORE DELETE ON reports BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER reports_stand BEFORE UPDATE ON reports BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""

_REMEDIES = {
    "SQLITE_FULL": "Free some space, and start the collector again.",
    "SQLITE_READONLY": "Give this user the right to write the folder and all in it.",
    "SQLITE_CANTOPEN": "Give this user the right to write the folder and all in it.",
    "SQLITE_BUSY": "Close the program that has the file open for writing.",
}


@contextmanager
def told() -> Iterator[None]:
    """What SQLite and the file system say, in our words."""
    try:
        yield
    except sqlite3.Error as error:
        code = "_".join(getattr(error, "sqlite_errorname", "SQLITE_ERROR").split("_")[:2])
        raise CollectorClosed(
            f"The collector's file cannot be used ({code}).",
            remedy=_REMEDIES.get(
                code, "Look at the disk, or restore a backup. What was acknowledged is kept."
            ),
        ) from None
    except OSError as error:
        raise CollectorClosed(
            f"The collector's folder cannot be used: {error.strerror}.",
            remedy="Give a folder on a local disk that this user may write.",
        ) from None
    except DiscreetError:
        raise
    except (ValueError, TypeError, IndexError, zlib.error):
        raise CollectorClosed(
            "The collector's file holds something that no collector wrote.", remedy="Restore a backup of it."
        ) from None


class CollectorFile:
    """The file, opened by the one collector that adds to it."""

    def __init__(self, folder: Path, survey: Survey) -> None:
        with told():
            folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = _locked(folder / LOCK)
            try:
                self._connection = _opened(folder / FILE, survey)
                self.id: bytes = _value(self._connection, "SELECT id FROM collector")
                found = read_survey(_value(self._connection, "SELECT survey FROM collector"))
            except BaseException:
                os.close(self._lock)
                raise
        if found.digest != survey.digest:
            self.close()
            raise InvalidInput(
                "This folder has reports about another survey, or another epoch of it.",
                remedy="Give every survey file a folder of its own.",
            )

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        os.close(self._lock)

    def load(self, survey: Survey) -> RunningTallies:
        with told():
            return _running(self._connection, survey)

    def rejected(self) -> Counter[Reason]:
        with told():
            return _rejected(self._connection)

    @contextmanager
    def transaction(self) -> Iterator["CollectorFile"]:
        """Durable when it ends; undone if it fails."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def earlier(self, nonce: bytes) -> tuple[bytes, int, int] | None:
        """Of an earlier batch with this number: its digest, and how many reports counted and did not."""
        with closing(
            self._connection.execute(
                "SELECT content, accepted, dropped FROM batches WHERE nonce = ?", (nonce,)
            )
        ) as cursor:
            found: tuple[bytes, int, int] | None = cursor.fetchone()
        return found

    def add(self, judged: Judged, content: bytes) -> None:
        with closing(
            self._connection.execute(
                "INSERT INTO batches (nonce, content, accepted, dropped) VALUES (?, ?, ?, ?)",
                (judged.nonce, content, judged.count, judged.dropped.total()),
            )
        ) as cursor:
            number = cursor.lastrowid
        self._connection.executemany(
            "INSERT INTO reports VALUES (?, ?, ?)",
            [(number, place, reports.tobytes()) for place, reports in judged.accepted.items()],
        )

    def add_rejected(self, counts: Mapping[Reason, int]) -> None:
        self._connection.executemany(
            "INSERT INTO rejected VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [(reason.value, count) for reason, count in counts.items()],
        )

    def keep_tallies(self, tallies: Sequence[Tally]) -> None:
        """Of all batches that are in the file."""
        self._connection.execute("DELETE FROM tallies")
        self._connection.executemany("INSERT INTO tallies VALUES (?, ?, ?)", _parts(tallies))
        self._connection.execute(
            "UPDATE collector SET tallied = (SELECT coalesce(max(number), 0) FROM batches)"
        )


def read_folder(folder: Path) -> tuple[Survey, bytes, RunningTallies, Counter[Reason]]:
    """The survey of a folder, its collector's id, its tallies, and what was rejected.

    A collector may go on adding meanwhile: what is read is of one moment.
    """
    if not (folder / FILE).is_file():
        raise InvalidInput(
            f"{folder} is not the folder of a collector.", remedy="Give the one of `discreet local collect`."
        )
    with told(), closing(_connected(folder / FILE)) as connection:
        _check_kind(connection)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        survey = read_survey(_value(connection, "SELECT survey FROM collector"))
        identity = _value(connection, "SELECT id FROM collector")
        return survey, identity, _running(connection, survey), _rejected(connection)


def _locked(path: Path) -> int:
    """Held until this process ends, however it ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise CollectorClosed(
            "Another collector works in this folder.",
            remedy="Give each collector a folder of its own: their counts add up.",
        ) from None
    return handle


def _opened(path: Path, survey: Survey) -> sqlite3.Connection:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        sync_directory(path.parent)
    connection = _connected(path)
    try:
        for setting in ("trusted_schema=OFF", "fullfsync=ON", "synchronous=FULL"):
            connection.execute(f"PRAGMA {setting}")
        if _value(connection, "PRAGMA journal_mode=WAL") != "wal":
            raise CollectorClosed(
                "The file system of the folder has no shared memory, which SQLite's log needs.",
                remedy="Keep the folder on a local disk.",
            )
        if _value(connection, "SELECT count(*) FROM sqlite_master") == 0:
            _create(connection, survey)
        _check_kind(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, survey: Survey) -> None:
    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA}")
    connection.execute("INSERT INTO collector VALUES (1, ?, ?, 0)", (os.urandom(16), survey.text()))
    connection.execute("COMMIT")


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)


def _check_kind(connection: sqlite3.Connection) -> None:
    found = (_value(connection, "PRAGMA application_id"), _value(connection, "PRAGMA user_version"))
    if found != (_APPLICATION_ID, _VERSION):
        raise CollectorClosed(
            "The file in this folder is not one of a collector that this version can read.",
            remedy="Give another folder, or use the version of discreet that wrote it.",
        )


def _running(connection: sqlite3.Connection, survey: Survey) -> RunningTallies:
    """The tallies that were kept, and the reports of all batches since."""
    running = RunningTallies(survey, _kept_tallies(connection, survey))
    sizes = [question.mechanism.size for question in survey.questions]
    since = _value(connection, "SELECT tallied FROM collector")
    with closing(
        connection.execute("SELECT question, body FROM reports WHERE batch > ? ORDER BY batch", (since,))
    ) as cursor:
        while rows := cursor.fetchmany(_ROWS):
            running.add(_joined(rows, sizes))
    return running


def _joined(rows: Sequence[tuple[int, bytes]], sizes: Sequence[int]) -> Mapping[int, Reports]:
    bodies: dict[int, list[bytes]] = {}
    for place, body in rows:
        bodies.setdefault(place, []).append(body)
    return {
        place: np.frombuffer(b"".join(some), dtype=np.uint8).reshape(-1, sizes[place])
        for place, some in bodies.items()
    }


def _kept_tallies(connection: sqlite3.Connection, survey: Survey) -> list[Tally]:
    tallies = [np.zeros(question.mechanism.cells, dtype=np.int64) for question in survey.questions]
    with closing(connection.execute("SELECT question, part, body FROM tallies")) as cursor:
        for place, part, body in cursor:
            cells = np.frombuffer(zlib.decompress(body), dtype="<i8")
            tallies[place][part * _PART : part * _PART + len(cells)] = cells
    return tallies


def _parts(tallies: Sequence[Tally]) -> Iterator[tuple[int, int, bytes]]:
    """A tally can be larger than a row of SQLite: it is cut, and parts that are all 0 are left out."""
    for place, tally in enumerate(tallies):
        for part in range(-(-len(tally) // _PART)):
            cells = tally[part * _PART : (part + 1) * _PART]
            if cells.any():
                yield place, part, zlib.compress(cells.astype("<i8").tobytes(), 1)


def _rejected(connection: sqlite3.Connection) -> Counter[Reason]:
    with closing(connection.execute("SELECT reason, count FROM rejected")) as cursor:
        return Counter({Reason(reason): count for reason, count in cursor})


def _value(connection: sqlite3.Connection, sql: str) -> Any:
    with closing(connection.execute(sql)) as cursor:
        return cursor.fetchone()[0]
