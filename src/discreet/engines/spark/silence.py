"""Keeps Spark's Python side from saying what it read.

pyspark prints every error of a statement to the terminal with the cell that caused it, and py4j logs each
answer of the JVM for whoever listens. In a thread that is quiet they say nothing; others are left alone.
"""

import importlib
import io
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from enum import Enum
from typing import TypeVar

from discreet.engines.base.execution import silently
from discreet.errors import MissingExtra

T = TypeVar("T")

_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
_LOUD_TO_LISTENERS = ("py4j", "py4j.java_gateway", "py4j.clientserver")
_here = threading.local()


class Trouble(Enum):
    """Why Spark did not do what it was asked, without a word of what it said."""

    MISSING = "missing"
    FORBIDDEN = "forbidden"
    OTHER = "other"


class _SilentHere(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002  what it says does not matter
        return not getattr(_here, "quiet", False)


_SILENT_HERE = _SilentHere()


def load_pyspark() -> None:
    """Import pyspark without its warnings about other libraries, and silence it in threads that are quiet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = silently(_import)
    if not loaded:
        raise MissingExtra("Spark is not installed.", remedy='Run: pip install "discreet[spark]"')


def _import() -> bool:
    import pyarrow.parquet  # noqa: F401
    import pyspark.sql  # noqa: F401
    from pyspark.logger import PySparkLogger

    _import_connect()
    for name in _LOUD:
        PySparkLogger.getLogger(name).addFilter(_SILENT_HERE)  # made by pyspark: it needs a class of its own
    for name in _LOUD_TO_LISTENERS:
        logging.getLogger(name).addFilter(_SILENT_HERE)
    return True


def _import_connect() -> None:
    """Only servers need it. pyspark ends a process that it takes for one of its own tests."""
    with suppress(Exception, SystemExit), redirect_stderr(io.StringIO()):
        importlib.import_module("pyspark.sql.connect.session")


@contextmanager
def quiet() -> Iterator[None]:
    before = getattr(_here, "quiet", False)
    _here.quiet = True
    try:
        yield
    finally:
        _here.quiet = before


def attempt(action: Callable[[], T]) -> T | Trouble:
    """The result, or what kind of trouble there was. The error itself is dropped here.

    It runs in a thread of its own: after Ctrl-C in the middle of the JVM's reply, the next call would read
    the rest of that reply.
    """
    results: list[T | Trouble] = []
    finished = threading.Event()

    def work() -> None:
        try:
            with quiet(), suppress(MemoryError):
                results.append(_outcome(action))
        finally:
            finished.set()

    threading.Thread(target=work, daemon=True).start()
    finished.wait()
    if not results:
        raise MemoryError  # of this process: no trouble of Spark's, and no refusal
    return results[0]


def _outcome(action: Callable[[], T]) -> T | Trouble:
    try:
        return action()
    except MemoryError:
        raise
    except Exception as error:
        return _trouble(error)


def _trouble(error: Exception) -> Trouble:
    condition = silently(lambda: error.getCondition()) or ""  # type: ignore[attr-defined]
    if condition.endswith("_NOT_FOUND") or condition == "REQUIRES_SINGLE_PART_NAMESPACE":
        return Trouble.MISSING  # the second means that there is no such catalogue
    words = f"{condition} {error}"
    if any(word in words for word in ("PERMISSION", "UNAUTHENTICATED", "AccessControl", "ermission denied")):
        return Trouble.FORBIDDEN
    return Trouble.OTHER
