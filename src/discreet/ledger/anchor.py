"""The anchor: where the chain stood, in a small file outside the database.

A database that was restored from a backup is whole and verifies, but lacks what was charged since. The anchor
does not come from that backup, so it names an entry that the database lacks. Keep it where the database's
backups do not reach.

It is written after the database. After a crash it may lag behind, which does no harm; it never runs ahead.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerClosed
from discreet.ledger.files import sync_directory

_SEE_TO_IT = "Restore the anchor, or call rebase, which writes off what may have been spent unseen."


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The last entry that is known to have been made."""

    number: int
    digest: str
    datasets: tuple[str, ...]
    """All accounts: one that was opened after a backup is missing from it, and must not start anew."""


@dataclass(frozen=True, slots=True)
class AnchorFile:
    """Reads and replaces the file in whole, so that no reader and no crash ever sees half of it."""

    path: Path

    def read(self) -> Anchor | None:
        """The anchor, or None if there is no such file."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            raise self._unreadable() from None
        try:
            found = json.loads(text)
            number, digest, datasets = found["number"], found["digest"], found["datasets"]
        except (ValueError, KeyError, TypeError):
            raise self._unreadable() from None
        texts = isinstance(datasets, list) and all(isinstance(name, str) for name in datasets)
        if type(number) is not int or number < 0 or not isinstance(digest, str) or not texts:
            raise self._unreadable()
        return Anchor(number=number, digest=digest, datasets=tuple(datasets))

    def prepare(self, anchor: Anchor) -> None:
        """Write the new anchor beside the old: what can fail for want of space fails before the commit."""
        fields = {"number": anchor.number, "digest": anchor.digest, "datasets": anchor.datasets}
        handle = os.open(self.prepared, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(handle, "w", encoding="utf-8", closefd=False) as file:
                file.write(json.dumps(fields) + "\n")
            os.fsync(handle)
        finally:
            os.close(handle)

    def publish(self) -> None:
        """Put the prepared anchor in the place of the old one, durably."""
        self.prepared.replace(self.path)
        sync_directory(self.path.parent)

    @property
    def prepared(self) -> Path:
        """Where the next anchor is written before it takes its place."""
        return self.path.with_name(self.path.name + ".new")

    def _unreadable(self) -> LedgerClosed:
        return LedgerClosed(f"The anchor {self.path.name} cannot be read.", remedy=_SEE_TO_IT)
