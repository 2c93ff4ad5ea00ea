"""Which people a dataset is about: each source with its person column, under every name of the source.

The ledger keeps digests of these, and gives the same people no second account.
"""

import hashlib
import json
import posixpath
from collections.abc import Iterator

from discreet.engines.base.engine import Engine
from discreet.engines.base.source_names import FORMERLY
from discreet.model.policy import Dataset, PersonColumn, PrivateTable


def people_of(dataset: Dataset, engine: Engine) -> frozenset[str]:
    """Digests that identify these people. Two datasets with a digest in common are about the same people."""
    pairs = {pair for name, pair in _pairs(dataset, engine) if not name.startswith(FORMERLY)}
    return frozenset({*pairs, _as_written(dataset)})


def people_as_before(dataset: Dataset, engine: Engine) -> frozenset[str]:
    """Digests by which earlier versions knew these people, and this one does not."""
    return frozenset(pair for name, pair in _pairs(dataset, engine) if name.startswith(FORMERLY))


def fingerprint_of(dataset: Dataset) -> str:
    """A digest that stays when tables come and go: of the dataset's name and its neighbour relation."""
    return _digest([dataset.name, dataset.neighbours.value])


def _pairs(dataset: Dataset, engine: Engine) -> Iterator[tuple[str, str]]:
    """The names of all sources, each with the digest of it and the person column."""
    for table in _private(dataset):
        for name in engine.names(table.name):
            yield name, _digest([name.removeprefix(FORMERLY), _person_of(table)])


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
