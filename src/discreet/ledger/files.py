"""The files of a ledger: links to them are resolved, and their names are made durable."""

import os
from pathlib import Path

from discreet.errors import InvalidInput, LedgerClosed

ADDED_NOTHING = "this step added nothing to the ledger, and what was charged before stays charged."
"""True of every failure before a commit. A question takes several steps: its charge may be an earlier one."""
LOOK = f"Look at the disk and at the rights on the file: {ADDED_NOTHING}"


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


def sync_directory(path: Path) -> None:
    """A file's name is durable only when its directory is."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
