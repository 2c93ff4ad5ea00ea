"""Sessions of Spark: started here, connected to, or handed in; with settings that questions can rely on."""

import json
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from discreet.engines.base.execution import silently
from discreet.engines.spark.local_session import local_spark
from discreet.engines.spark.silence import Trouble, attempt, quiet
from discreet.engines.spark.statement import check_parsed
from discreet.errors import PolicyError

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Arithmetic that overflows fails, and is not silently wrong.
    "spark.sql.ansi.enabled": "true",
    # This rule merges the terms of sums and forgets which are checked: try_add(x, 3) + 0 would fail.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ReorderAssociativeOperator",
    # Or '${env:HOME}' in a text would be replaced by what it names.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    # Not TIMESTAMP_NTZ, as the types of tables in a catalogue are read with it too.
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    # Or FROM parquet.`/path` would read any file.
    "spark.sql.runSQLOnFiles": "false",
    # Types would follow the names of folders. And no cell may make a scan fail, or rows disappear.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
_SECONDS_TO_CONNECT = 5
_RETRIES = 4


class Session(Protocol):
    """A session with pinned settings, of either kind."""

    frames: Any
    """pyspark's own session, which makes DataFrames of SQL and of files."""
    origin: Any
    """The session that this one is a copy of, if it was handed in."""

    def check(self, sql: str, views: Sequence[str]) -> None:
        """Raise if the statement, which is a SELECT, reads anything but views or runs code."""

    def plan(self, frame: Any) -> None:
        """Plan a statement without running it; raises if it cannot be."""

    def forget_files(self, table: str) -> None:
        """List the files of a table anew when it is read next."""

    def tagged(self, tag: str) -> Any:
        """A context in which what this thread runs can be found by its tag."""

    def interrupt(self, tag: str) -> None: ...

    def share_done(self, tag: str) -> float | None: ...

    def close(self) -> None: ...


class ClassicSession:
    """In a Spark of this process."""

    def __init__(self, frames: Any, *, origin: Any = None, close: Callable[[], None] = lambda: None) -> None:
        self.frames = frames
        self.origin = origin
        self._close = close
        _pin(frames)

    def check(self, sql: str, views: Sequence[str]) -> None:
        parsed = self._state().sqlParser().parsePlan(sql).toJSON()
        check_parsed(json.loads(parsed), views)

    def plan(self, frame: Any) -> None:
        frame._jdf.queryExecution().executedPlan()

    def forget_files(self, table: str) -> None:  # noqa: ARG002
        self._state().catalog().invalidateAllCachedTables()

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        """A job group belongs to the thread, which ends after the statement."""
        self.frames.sparkContext.setJobGroup(tag, "discreet", interruptOnCancel=True)
        yield

    def interrupt(self, tag: str) -> None:
        self.frames.sparkContext.cancelJobGroup(tag)

    def share_done(self, tag: str) -> float | None:
        tracker = self.frames.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return _share([(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage])

    def close(self) -> None:
        self._close()

    def _state(self) -> Any:
        return self.frames._jsparkSession.sessionState()


class ConnectSession:
    """On a server. Statements cannot be parsed here: all that is known is that they are a SELECT."""

    def __init__(self, frames: Any, *, origin: Any = None) -> None:
        self.frames = frames
        self.origin = origin
        self._progress: dict[int, float | None] = {}
        self._tags: dict[str, int] = {}
        _pin(frames)
        frames.registerProgressHandler(self._note)

    def check(self, sql: str, views: Sequence[str]) -> None:
        pass

    def plan(self, frame: Any) -> None:
        frame._explain_string()

    def forget_files(self, table: str) -> None:
        self.frames.catalog.refreshTable(table)

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        thread = threading.get_ident()
        self._tags[tag] = thread
        self.frames.addTag(tag)
        try:
            yield
        finally:
            self.frames.removeTag(tag)
            del self._tags[tag]
            self._progress.pop(thread, None)

    def interrupt(self, tag: str) -> None:
        self.frames.interruptTag(tag)

    def share_done(self, tag: str) -> float | None:
        return self._progress.get(self._tags[tag])

    def close(self) -> None:
        with quiet():
            silently(self.frames.stop)

    def _note(self, stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:  # noqa: ARG002
        """Called in the thread that waits for the statement."""
        self._progress[threading.get_ident()] = _share(
            [(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()]
        )


def local_session() -> Session:
    """A session in a Spark that is started here, on this machine."""
    frames = local_spark.session()
    try:
        return ClassicSession(frames, close=local_spark.give_back)
    except PolicyError:
        local_spark.give_back()
        raise


def server_session(address: str) -> Session:
    """A session on a Spark Connect server."""
    host, _, port = address.removeprefix("sc://").partition("/")[0].rpartition(":")
    if silently(lambda: _reach(host.strip("[]"), int(port))) is None:
        raise PolicyError(
            f"There is no Spark server at {host}:{port}.",
            remedy="Check the address, and that Spark Connect is running there.",
        )
    opened = attempt(lambda: _connect(address))
    if isinstance(opened, Trouble):
        if opened is Trouble.FORBIDDEN:
            raise PolicyError(
                f"The Spark server at {host}:{port} does not let us in.",
                remedy="Set SPARK_CONNECT_AUTHENTICATE_TOKEN, and ask whoever runs it which rights it gives.",
            )
        raise PolicyError(
            f"What answers at {host}:{port} is no Spark Connect server, or one that is too old.",
            remedy="Give the address of Spark Connect 4.0 or later, with use_ssl=true if it needs that.",
        )
    return ConnectSession(opened)


def _reach(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=_SECONDS_TO_CONNECT):
        return True


def _connect(address: str) -> Any:
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession(connection=address)
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    if int(session.version.split(".")[0]) < 4:
        raise ValueError("too old")
    return session


def child_of(session: Any) -> Session:
    """A copy of a session that was handed in: with its tables and views, and with settings of its own."""
    remote = type(session).__module__.startswith("pyspark.sql.connect")
    copied = attempt(session.cloneSession if remote else lambda: _clone(session))
    if isinstance(copied, Trouble):
        raise PolicyError(
            "The session that was handed in cannot be used.",
            remedy="Hand in a SparkSession of Spark 4 that was not stopped.",
        )
    return (ConnectSession if remote else ClassicSession)(copied, origin=session)


def _clone(session: Any) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def _pin(frames: Any) -> None:
    """Set what questions rely on, and make sure that it is set."""
    for name, value in _SETTINGS.items():
        if attempt(partial(_set, frames, name, value)) is not True:
            raise PolicyError(
                f"Spark does not accept the setting {name} = {value}, on which answers rely.",
                remedy="Use Spark 4.0 or later, and a session in which it can be set.",
            )
    if isinstance(attempt(lambda: _forget_legacy(frames)), Trouble):
        raise PolicyError(
            "Spark does not let go of settings for older versions.",
            remedy="Remove all that begin with spark.sql.legacy from the session.",
        )


def _set(frames: Any, name: str, value: str) -> bool:
    """Where it is set already, it is left alone: Spark warns about some settings, whatever their value."""
    if frames.conf.get(name) != value:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frames.conf.set(name, value)
    return bool(frames.conf.get(name) == value)


def _forget_legacy(frames: Any) -> None:
    for name in frames.conf.getAll:
        if name.startswith("spark.sql.legacy."):
            frames.conf.unset(name)


def _share(tasks: Sequence[tuple[int, int]]) -> float | None:
    total = sum(of for _, of in tasks)
    return sum(done for done, _ in tasks) / total if total else None
