"""The file lock by which all processes of a machine take turns. They wait for it, but not for ever.

A process that was stopped inside its turn keeps the lock until it goes on. So the holder writes its name into
the file, and whoever has waited long enough is told that name. The system's own waiting is fair, but has no
deadline. So a thread waits, and may be left behind. If it gets the lock in the end, it gives it back.
"""

import fcntl
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from discreet.errors import LedgerBusy

_HOLDER = re.compile(r"(\d{1,10}) ([\w.-]{1,255})\n *", re.ASCII)
_LONGEST = 270


class FileLock:
    """One lock; one thread at a time may ask for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._left_behind: _LockClaim | None = None

    @contextmanager
    def held(self, ledger: str, patience: float) -> Iterator[None]:
        """Wait for the lock, at most `patience` seconds. It ends with this process, however that ends."""
        claim, self._left_behind = self._left_behind, None
        if claim is None or not claim.is_wanted_again():
            claim = _LockClaim(self.path)
        try:
            if not (claim.at_once() or claim.wait(patience)):
                self._left_behind = claim
                raise self._kept(ledger, patience)
            yield
        finally:
            claim.end()

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Take the lock if nobody else has it, without waiting. Tells whether it is held now."""
        claim = _LockClaim(self.path)
        try:
            yield claim.at_once()
        finally:
            claim.end()

    def forget(self) -> None:
        """In the child of a fork: the thread that waits is in the parent."""
        left, self._left_behind = self._left_behind, None
        if left is not None:
            left.close()

    def _kept(self, ledger: str, patience: float) -> LedgerBusy:
        text = ""
        with suppress(OSError, UnicodeDecodeError):
            text = self.path.read_text("ascii")
        found = _HOLDER.fullmatch(text)
        if found is None:
            return LedgerBusy(
                f"Another process has kept the ledger {ledger} for {patience:g} seconds.",
                remedy="Find the process that uses it, and let it go on or end it.",
            )
        process, host = found.groups()
        return LedgerBusy(
            f"Process {process} on {host} has kept the ledger {ledger} for {patience:g} seconds.",
            remedy=f"Look at that process. If it is stopped, let it go on: kill -CONT {process}, "
            f"or end it: kill -KILL {process}. Then ask again.",
        )


class _LockClaim:
    """A handle on the lock's file, and perhaps a thread that waits for its lock."""

    def __init__(self, path: Path) -> None:
        self._file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        """Closes itself when it is dropped, so that a Ctrl-C at an unlucky moment leaves no lock behind."""
        self._change = threading.Condition()
        self._waiting = False
        self._wanted = True
        self._error: OSError | None = None

    def at_once(self) -> bool:
        if self._waiting:
            return False
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        _sign(self._file.fileno())
        return True

    def wait(self, seconds: float) -> bool:
        """Whether the lock came in time."""
        with self._change:
            if not self._waiting:
                self._waiting = True
                threading.Thread(target=self._wait, name="waits for the ledger", daemon=True).start()
            if not self._change.wait_for(lambda: not self._waiting, seconds):
                return False
        if self._error is not None:
            raise self._error
        _sign(self._file.fileno())
        return True

    def is_wanted_again(self) -> bool:
        """Go on waiting for a lock that was given up; False if it came meanwhile, and was given back."""
        with self._change:
            self._wanted = self._waiting
            return self._waiting

    def end(self) -> None:
        """Give the lock back: now, or when it comes."""
        with self._change:
            self._wanted = False
            if not self._waiting:
                _release(self._file)

    def close(self) -> None:
        """Close the file in the child of a fork. The thread is the parent's, and so is its lock.

        If it has come already, the handle is closed, and its number may be that of another file by now.
        """
        if self._waiting:
            with suppress(OSError):
                self._file.close()

    def _wait(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._change:
            self._waiting = False
            self._change.notify()
            if not self._wanted:
                _release(self._file)


def _sign(handle: int) -> None:
    """Write who holds the lock, for those who wait, over the last holder's name: to truncate the file first
    would take as long as a charge. On a full disk there is no name, but never a wrong one.
    """
    name = f"{os.getpid()} {os.uname().nodename}\n".encode().ljust(_LONGEST)
    with suppress(OSError):
        try:
            os.pwrite(handle, name, 0)
        except OSError:
            os.ftruncate(handle, 0)


def _release(file: FileIO) -> None:
    """Unlock, even if a child process has a copy of the handle. Errors do not matter: all is written."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
    with suppress(OSError):
        file.close()
