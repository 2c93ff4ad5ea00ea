"""Whoever asks a question holds it: others on this machine who ask the same wait for its answer.

Privacy does not depend on this. A second process that does not wait is charged for a draw of its own.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerBusy, LedgerClosed

PATIENCE_SECONDS = 1_000.0
"""More than any question may take by default."""
_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.1

_HELD: set[int] = set()
"""The handles of all questions that this process holds, or waits for."""


@contextmanager
def held(folder: Path, question: str) -> Iterator[None]:
    """Wait until nobody else holds the question, and hold it. It ends with this process at the latest."""
    path = folder / hashlib.sha256(question.encode()).hexdigest()
    give_up, wait = time.monotonic() + PATIENCE_SECONDS, _SHORTEST_WAIT
    while True:
        with _opened(path) as handle:
            with _told(folder):
                is_ours = _is_free(handle) and _is_at(handle, path)  # not removed by who held it before
            if is_ours:
                try:
                    with _told(folder):
                        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
                    yield
                finally:
                    if handle in _HELD:
                        with suppress(OSError):  # one that stays behind is used by the next
                            path.unlink()
                return
            if time.monotonic() > give_up:
                raise _kept(handle)
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A handle that is closed and unlocked in the end, however that comes: Ctrl-C too."""
    handle = -1
    try:
        with _told(path.parent):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            _HELD.add(handle)
        yield handle
    finally:
        if handle in _HELD:  # a child that was forked meanwhile holds nothing
            _HELD.discard(handle)
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerClosed(
            f"The folder {folder.name} beside the ledger cannot be used: {error.strerror}.",
            remedy="Let this user write the ledger's directory. Nothing was spent by this call.",
        ) from None


def _is_free(handle: int) -> bool:
    """Whether nobody held it: then it is ours now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _kept(handle: int) -> LedgerBusy:
    holder = os.read(handle, 20).decode("ascii", "replace").strip()
    return LedgerBusy(
        f"Process {holder} has been answering this question for {PATIENCE_SECONDS:.0f} seconds.",
        remedy=f"Wait for it, or end it: kill -KILL {holder}. Then ask again.",
    )


def _is_at(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _let_go() -> None:
    """In the child of a fork, so that what its parent holds ends with the parent, not with the last child."""
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_let_go)
