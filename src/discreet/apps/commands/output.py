"""Output that cannot be written (a full disk, a closed stream): one sentence says so, never a traceback."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

EXIT_UNWRITTEN = 1
_METHODS = ("write", "writelines", "flush")


@contextmanager
def written_or_told() -> Iterator[None]:
    """Wraps all that a command does, and flushes the output when it ends."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    if sys.stdout is None:  # closed by the caller: refused before anything is charged
        _tell("There is no output to write to.", "Run it without closing its output (“>&-”).")
    failures: list[OSError] = []
    try:
        with _noting(failures):
            try:
                yield
            finally:
                with suppress(OSError, ValueError):  # noted; or closed by whoever called this
                    sys.stdout.flush()
    except (OSError, SystemExit):
        if not failures:
            raise
    if failures:
        _give_up(failures[0])


@contextmanager
def _noting(failures: list[OSError]) -> Iterator[None]:
    """Collects failures to write to the output, to tell them from all other errors of the system."""
    output = sys.stdout

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            try:
                return method(*args)
            except BrokenPipeError:  # the reader has stopped, as `head` does
                raise
            except OSError as error:
                failures.append(error)
                raise

        return call

    for name in _METHODS:
        setattr(output, name, noted(getattr(output, name)))
    try:
        yield
    finally:
        for name in _METHODS:
            delattr(output, name)


def _give_up(error: OSError) -> NoReturn:
    with suppress(OSError, ValueError):  # or Python would try again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _tell(
        f"The output could not be written: {error.strerror or 'it failed'}.",
        "Make room for it, and run the same again: an answer that was paid for is kept, and is free.",
    )


def _tell(problem: str, remedy: str) -> NoReturn:
    with suppress(OSError):
        click.secho(problem, err=True, fg="red")
        click.echo(remedy, err=True)
    sys.exit(EXIT_UNWRITTEN)
