"""Which people a dataset is about: each source with its person column, under every name of the source.

The ledger keeps digests of these, and gives the same people no second account.
"""

import hashlib
import json
import posixpath

from discreet.engines.base.engine import Engine
from discreet.model.policy import Dataset, PersonColumn, PrivateTable


def people_of(dataset: Dataset, engine: Engine) -> frozenset[str]:
    """Digests that identify these people. Two datasets with a digest in common are about the same people."""
    pairs = {
        _digest([name, _person_of(table)]) for table in _private(dataset) for name in engine.names(table.name)
    }
    return frozenset({*pairs, _as_written(dataset)})


def fingerprint_of(dataset: Dataset) -> str:
    """A digest that stays when tables come and go: of the dataset's name and its neighbour relation."""
    return _digest([dataset.name, dataset.neighbours.value])


def _as_written(dataset: Dataset) -> str:
    """One digest of all sources, as the policy writes them: accounts of earlier versions are found by it."""
    people = sorted((posixpath.normpath(table.source), _column_of(table)) for table in _private(dataset))
    return _digest([dataset.neighbours.value, people])


def _private(dataset: Dataset) -> list[PrivateTable]:
    return [table for table in dataset.tables.values() if isinstance(table, PrivateTable)]


def _column_of(table: PrivateTable) -> str:
    return table.person.name if isinstance(table.person, PersonColumn) else ""


def _person_of(table: PrivateTable) -> str:
    """Upper and lower case are the same column in most databases."""
    return _column_of(table).casefold()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
