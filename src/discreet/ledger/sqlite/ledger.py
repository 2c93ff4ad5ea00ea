"""A ledger in one SQLite file, for all processes of one machine."""

import os
from pathlib import Path

from discreet.errors import InvalidInput
from discreet.ledger.anchor import AnchorFile
from discreet.ledger.database_ledger import DatabaseLedger
from discreet.ledger.files import resolved
from discreet.ledger.sqlite.file import SqliteFile


class SqliteLedger(DatabaseLedger):
    """The anchor is beside the file, unless another path is given."""

    def __init__(self, path: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> None:
        file = SqliteFile(path)
        beside = f"{file.path}.anchor" if anchor is None else anchor
        anchored = AnchorFile(resolved(beside, "an anchor"))
        own = {Path(f"{file.path}{ending}") for ending in ("", ".lock", "-wal", "-shm")}
        if own & {anchored.path, anchored.prepared}:
            raise InvalidInput(
                "The anchor must be a file of its own.",
                remedy="Give another path, best on another disk than the ledger.",
            )
        super().__init__(file, anchored)
