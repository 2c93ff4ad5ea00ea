"""The anchor: where the chain stood, in a small file outside the database.

A database that was restored from a backup is whole and verifies, but lacks what was charged since. The anchor
does not come from that backup, so it names an entry that the database lacks. Keep it where the database's
backups do not reach.

It is written after the database. After a crash it may lag behind, which does no harm; it never runs ahead.
So it need not be forced to the disk with each charge, which would take three times as long as the charge
itself. The last entry is written over one of two slots of the file, which share a sector, and the system
writes that back in its own time. Only the accounts, which could not be found again, are replaced durably.
"""

import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import LedgerClosed
from discreet.ledger.files import sync_directory

_SEE_TO_IT = (
    "Restore the anchor. Or write off what may have been spent unseen, with “discreet ledger rebase”."
)
_SLOT, _SLOTS = 256, 2
"""In bytes, both slots together a sector of any disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The last entry that is known to have been made."""

    number: int
    digest: str
    datasets: tuple[str, ...]
    """All accounts: one that was opened after a backup is missing from it, and must not start anew."""
    server: str = ""
    """Which server the database was on, and on which of its timelines, where that is known."""


@dataclass(frozen=True, slots=True)
class AnchorFile:
    """Changes the file so that no reader and no crash ever sees half of an anchor."""

    path: Path

    def read(self) -> Anchor | None:
        """The anchor, or None if there is no such file."""
        found = self._read()
        return None if found is None else found[0]

    def prepare(self, anchor: Anchor) -> None:
        """Make sure that the anchor can be published: what can fail for want of space or rights fails here,
        before the commit.
        """
        if self._slot_for(anchor) is not None:
            os.close(os.open(self.path, os.O_WRONLY))
            return
        handle = os.open(self.prepared, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(handle, "wb", closefd=False) as file:
                file.write(_slot(anchor) * _SLOTS + _tail(anchor))
            os.fsync(handle)
        finally:
            os.close(handle)

    def publish(self, anchor: Anchor) -> None:
        """Put the prepared anchor in the place of the old one."""
        slot = self._slot_for(anchor)
        if slot is None:
            self.prepared.replace(self.path)
            sync_directory(self.path.parent)
            return
        handle = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(handle, _slot(anchor), slot * _SLOT)
        finally:
            os.close(handle)

    @property
    def prepared(self) -> Path:
        """Where the next anchor is written before it takes its place."""
        return self.path.with_name(self.path.name + ".new")

    def _slot_for(self, anchor: Anchor) -> int | None:
        """The slot that may be written over, not that of the present anchor; None to replace the file."""
        try:
            found = self._read()
        except LedgerClosed:
            return None
        if found is None or found[1] is None or _tail(found[0]) != _tail(anchor):
            return None
        if anchor.number <= found[0].number:  # a ledger was re-based: nothing may be left of the old one
            return None
        return (found[1] + 1) % _SLOTS

    def _read(self) -> tuple[Anchor, int | None] | None:
        """The anchor and its slot; no slot in a file of the older kind, which is one line of JSON."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            raise self._unreadable() from None
        try:
            if b"\n" not in content[:-1]:
                return _anchor(json.loads(content)), None
            rest = json.loads(content[_SLOT * _SLOTS :])
            slots = [_parsed(content[start : start + _SLOT]) for start in range(0, _SLOT * _SLOTS, _SLOT)]
            number, place = max((slot["number"], i) for i, slot in enumerate(slots) if slot is not None)
            return _anchor({**rest, **(slots[place] or {}), "number": number}), place
        except (ValueError, KeyError, TypeError):
            raise self._unreadable() from None

    def _unreadable(self) -> LedgerClosed:
        return LedgerClosed(f"The anchor {self.path.name} cannot be read.", remedy=_SEE_TO_IT)


def _slot(anchor: Anchor) -> bytes:
    text = json.dumps({"number": anchor.number, "digest": anchor.digest})
    return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_SLOT - 1).encode() + b"\n"


def _parsed(slot: bytes) -> dict[str, Any] | None:
    """What a slot says; None if it was written in part only."""
    text, _, check = slot.rstrip().rpartition(b" ")
    if len(slot) != _SLOT or b"%08x" % zlib.crc32(text) != check:
        return None
    fields: dict[str, Any] = json.loads(text)
    return fields


def _tail(anchor: Anchor) -> bytes:
    return json.dumps({"datasets": anchor.datasets, "server": anchor.server}).encode() + b"\n"


def _anchor(fields: dict[str, Any]) -> Anchor:
    number, digest, datasets = fields["number"], fields["digest"], fields["datasets"]
    server = fields.get("server", "")
    texts = isinstance(datasets, list) and all(isinstance(name, str) for name in [*datasets, server, digest])
    if type(number) is not int or number < 0 or not texts:
        raise ValueError
    return Anchor(number=number, digest=digest, datasets=tuple(datasets), server=server)
