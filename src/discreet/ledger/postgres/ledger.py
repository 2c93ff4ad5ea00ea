"""A ledger in a schema of a PostgreSQL database, for several machines that serve one dataset."""

import os
from pathlib import Path

from discreet.ledger.anchor import AnchorFile
from discreet.ledger.database_ledger import DatabaseLedger
from discreet.ledger.files import resolved
from discreet.ledger.postgres.database import PostgresDatabase
from discreet.postgres.address import read_ledger_address


class PostgresLedger(DatabaseLedger):
    """Every machine has an anchor of its own. It may lag behind the others, and never runs ahead."""

    def __init__(self, url: str, *, anchor: str | os.PathLike[str]) -> None:
        address = read_ledger_address(url)
        anchored = AnchorFile(resolved(anchor, "an anchor"))
        super().__init__(PostgresDatabase(address, Path(f"{anchored.path}.lock")), anchored)
