"""A device's memory as a file: replaced as a whole, on the disk before the report leaves."""

import fcntl
import os
from pathlib import Path


class FileStore:
    """One file, and a lock beside it so that two processes of a device do not answer at once."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def read(self) -> str | None:
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def replace(self, old: str | None, new: str) -> bool:
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.read() != old:
                return False
            fresh = self._path.with_suffix(".new")
            with fresh.open("w", encoding="utf-8") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return True
