"""The files of a ledger: found whatever link leads to them, locked by one process, durable by name."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import InvalidInput, LedgerClosed

LOOK = "Look at the disk and at the rights on the file; nothing was spent by this call."


def resolved(path: str | os.PathLike[str], what: str) -> Path:
    """The file itself, whatever link leads to it: one file has one lock and one anchor."""
    try:
        place = Path(path).resolve()
        if place.parent.is_dir() and not place.is_dir():
            return place
    except (TypeError, ValueError):
        pass  # not a path at all
    except OSError as error:
        raise LedgerClosed(f"The path of {what} cannot be read: {error.strerror}.", remedy=LOOK) from None
    raise InvalidInput(
        f"This cannot be {what}: it is a directory, or is in none.",
        remedy="Give the path of a file in a directory that exists.",
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock on a file. It ends with this process, however that ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """A file's name is durable only when its directory is."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
