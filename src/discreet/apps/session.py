"""From a policy file to a curator: the policy is read, its sources opened and locked, its ledger found."""

import getpass
from pathlib import Path

from discreet.apps.config import read_policy
from discreet.apps.ledgers import open_ledger, place_of
from discreet.curator import Curator
from discreet.engines.duckdb import DuckDBEngine
from discreet.model.declaration import complete_with_schema


def open_curator(policy: str | Path, *, analyst: str | None = None) -> Curator:
    """The curator of a policy, for an analyst: the user of this system if not named."""
    path = Path(policy)
    declared = read_policy(path)
    engine = DuckDBEngine(declared.sources, path.parent)
    dataset = complete_with_schema(declared, {name: engine.schema(name) for name in declared.sources})
    ledger = open_ledger(place_of(path, declared.ledger))
    try:
        return Curator(dataset, engine, ledger, analyst=analyst or getpass.getuser())
    except BaseException:
        ledger.close()
        raise
