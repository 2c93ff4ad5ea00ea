"""Whose privacy a dataset is: each source with its person column, by all that the source is known by.

The ledger keeps digests of these, and gives the same people no second account.
"""

import hashlib
import json
import posixpath

from discreet.engines.base.engine import Engine
from discreet.model.policy import Dataset, PersonColumn, PrivateTable


def people_of(dataset: Dataset, engine: Engine) -> frozenset[str]:
    """All that these people are known by. One in common with another dataset, and they are the same."""
    pairs = {
        _digest([name, _person_of(table)]) for table in _private(dataset) for name in engine.names(table.name)
    }
    return frozenset({*pairs, _as_written(dataset)})


def fingerprint_of(dataset: Dataset) -> str:
    """What stays when tables come and go: the dataset, and what it calls neighbours."""
    return _digest([dataset.name, dataset.neighbours.value])


def _as_written(dataset: Dataset) -> str:
    """All sources together, as the policy writes them: what accounts of earlier versions are known by."""
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
