"""What is read of public tables before any charge. Anybody may know it.

It is read when a question first needs it, and kept while the engine is open. A failure is not remembered.
"""

import numpy as np

from discreet.dialects import DIALECTS
from discreet.dialects.parameters import Parameters
from discreet.engines.base.engine import Engine
from discreet.model.expression import Expression, Parameter
from discreet.model.policy import Dataset, KeyValue, PublicTable, ValueType
from discreet.sql.emit import emit_public_keys
from discreet.sql.relation import fan_out_sql

_MOST_PUBLIC_KEYS = 100_000


class PublicTables:
    """The keys that public tables list, and how many of their rows share what they are joined on."""

    def __init__(self, dataset: Dataset, engine: Engine) -> None:
        self._dataset = dataset
        self._engine = engine
        self._dialect = DIALECTS[engine.dialect]
        self._keys: dict[tuple[str, str], tuple[KeyValue, ...] | None] = {}
        self._fan_outs: dict[tuple[str, tuple[Parameter, ...]], int] = {}

    def keys(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        """The values of a column; None if they are too many, or no keys."""
        if (table, column) not in self._keys:
            self._keys[table, column] = self._read_keys(table, column)
        return self._keys[table, column]

    def fan_out(self, table: PublicTable, shared: tuple[Expression, ...]) -> int:
        """The most rows that share one value of all these expressions.

        A plan rests on the number, and a question that is asked again is known by its plan.
        """
        parameters = Parameters()
        sql = fan_out_sql(shared, self._engine.relations[table.name], self._dialect.binding(parameters))
        key = (sql, parameters.values)
        if key not in self._fan_outs:
            rows = self._engine.run(sql, parameters=parameters.values).reveal()
            self._fan_outs[key] = int(rows["n"][0])
        return self._fan_outs[key]

    def _read_keys(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        kind = self._dataset.tables[table].columns[column].type
        if kind is ValueType.NUMBER:
            return None
        relation = self._engine.relations[table]
        sql = emit_public_keys(relation, column, kind, _MOST_PUBLIC_KEYS, self._dialect)
        values = np.ma.asarray(self._engine.run(sql).reveal()["v"]).tolist()
        return tuple(values) if len(values) <= _MOST_PUBLIC_KEYS else None
