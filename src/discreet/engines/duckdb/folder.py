"""The folder for what DuckDB writes: copies of frames, and rows that do not fit into memory.

It goes when the engine is closed, or when the process ends. A process that is killed leaves it behind, with
rows in it. So whoever makes a folder first removes those that nobody holds any more.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "discreet-"
_LONGEST_NAME = 256
_HELD = "held"
"""A file in the folder that the process has locked, with the name of this machine. The system unlocks it,
however the process ends. Locks of another machine may not be visible here."""


def make_folder() -> tuple[Path, int]:
    """A folder that only this user can read, and the handle that holds it."""
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    unfinished = folder / f".{_HELD}"
    handle = os.open(unfinished, os.O_CREAT | os.O_RDWR, 0o600)
    os.write(handle, _machine())
    with suppress(OSError):  # where there are no locks, nobody else removes it
        fcntl.flock(handle, fcntl.LOCK_EX)
        unfinished.rename(folder / _HELD)  # once it has this name, it is locked
    return folder, handle


def remove_folder(folder: Path, handle: int, process: int) -> None:
    """Only in the process that made it: a forked child may end before its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of somebody else, held, or gone by now
            if folder.lstat().st_uid == os.getuid():
                _remove_if_free(folder)


def _remove_if_free(folder: Path) -> None:
    handle = os.open(folder / _HELD, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(handle, _LONGEST_NAME) == _machine():
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _machine() -> bytes:
    return os.uname().nodename.encode()[:_LONGEST_NAME]
