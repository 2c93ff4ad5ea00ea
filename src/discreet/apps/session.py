"""From a policy file to a curator: the policy is read, its sources opened and locked, its ledger found."""

import getpass
from pathlib import Path

from discreet.apps.config import read_policy
from discreet.curator import Curator
from discreet.engines.duckdb import DuckDBEngine
from discreet.ledger.sqlite import SqliteLedger
from discreet.model.declaration import complete_with_schema


def open_curator(policy: str | Path, *, analyst: str | None = None) -> Curator:
    """The curator of a policy, for an analyst: the user of this system if not named."""
    path = Path(policy)
    declared = read_policy(path)
    engine = DuckDBEngine(declared.sources, path.parent)
    dataset = complete_with_schema(declared, {name: engine.schema(name) for name in declared.sources})
    return Curator(dataset, engine, SqliteLedger(ledger_path(path)), analyst=analyst or getpass.getuser())


def ledger_path(policy: Path) -> Path:
    """Beside the policy: clinic.toml has clinic.ledger."""
    return policy.with_suffix(".ledger")
