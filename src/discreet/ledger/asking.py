"""Who asks a question holds it: others of this machine who ask the same wait for its answer.

Nothing of privacy rests on this. A second process that does not wait is charged for a draw of its own.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerClosed

PATIENCE_SECONDS = 1_000.0
"""More than any statement may take by default."""
_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.1

_HELD: dict[object, int] = {}
"""The handles of all questions that this process holds."""


@contextmanager
def held(folder: Path, question: str) -> Iterator[None]:
    """Wait until nobody else holds the question, and hold it. It ends with this process at the latest."""
    path = folder / hashlib.sha256(question.encode()).hexdigest()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        handle = _acquired(path)
    except OSError as error:
        raise LedgerClosed(
            f"The folder {folder.name} beside the ledger cannot be used: {error.strerror}.",
            remedy="Let this user write the ledger's directory. Nothing was spent by this call.",
        ) from None
    token = object()
    _HELD[token] = handle
    try:
        yield
    finally:
        if _HELD.pop(token, None) is not None:  # a child that was forked meanwhile holds nothing
            with suppress(OSError):  # one that stays behind is empty, and found by the next
                path.unlink()
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _acquired(path: Path) -> int:
    give_up, wait = time.monotonic() + PATIENCE_SECONDS, _SHORTEST_WAIT
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, path):  # and was not removed by who held it before
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
                return handle
        except BlockingIOError:
            if time.monotonic() > give_up:
                holder = os.read(handle, 20).decode("ascii", "replace").strip()
                os.close(handle)
                raise LedgerClosed(
                    f"Process {holder} has been answering this question for {PATIENCE_SECONDS:.0f} seconds.",
                    remedy=f"Wait for it, or end it: kill -KILL {holder}. Then ask again.",
                ) from None
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _let_go() -> None:
    """In the child of a fork: what its parent holds ends with the parent, and not with the last child."""
    while _HELD:
        os.close(_HELD.popitem()[1])


os.register_at_fork(after_in_child=_let_go)
