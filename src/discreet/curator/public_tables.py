"""What is read of public tables before any charge. Anybody may know it.

It is read when a question first needs it, and kept while the engine is open. So is that it took too long: all
reads for one plan share the time limit. Other failures are not remembered.
"""

from dataclasses import dataclass, field

import numpy as np

from discreet.dialects import DIALECTS
from discreet.dialects.dialect import Dialect
from discreet.dialects.parameters import Parameters
from discreet.engines.base.engine import Engine, ResultColumns
from discreet.errors import EngineFailed, TookTooLong
from discreet.model.deadline import Deadline
from discreet.model.expression import Expression, Parameter
from discreet.model.policy import Dataset, KeyValue, PublicTable, ValueType
from discreet.question.expressions.scope import FanOut
from discreet.sql.emit import emit_public_keys
from discreet.sql.relation import fan_out_sql

_MOST_PUBLIC_KEYS = 100_000
_MOST_KNOWN = 1_000
_PublicStatement = tuple[str, tuple[Parameter, ...]]


@dataclass(slots=True)
class _ReadSoFar:
    """What was read so far."""

    keys: dict[tuple[str, str], tuple[KeyValue, ...] | None] = field(default_factory=dict)
    fan_outs: dict[_PublicStatement, FanOut] = field(default_factory=dict)
    too_slow: set[_PublicStatement] = field(default_factory=set)


class PublicTables:
    """The keys that public tables list, how many of their rows share one join key, and how many there are."""

    def __init__(self, dataset: Dataset, engine: Engine) -> None:
        self._dataset = dataset
        self._engine = engine
        self._known = _ReadSoFar()

    def reading(self) -> "PublicReading":
        """What one plan reads, within the time limit."""
        return PublicReading(self._dataset, self._engine, self._known)


class PublicReading:
    """Reads public tables for one plan. The time limit begins with the first statement."""

    def __init__(self, dataset: Dataset, engine: Engine, known: _ReadSoFar) -> None:
        self._dataset = dataset
        self._engine = engine
        self._known = known
        self._deadline: Deadline | None = None

    @property
    def _dialect(self) -> Dialect:
        return DIALECTS[self._engine.dialect]

    def keys(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        """The values of a column; None if there are too many, or if its type cannot be a key."""
        if (table, column) not in self._known.keys:
            self._known.keys[table, column] = self._read_keys(table, column)
        return self._known.keys[table, column]

    def fan_out(self, table: PublicTable, shared: tuple[Expression, ...]) -> FanOut:
        """The most rows that share one value of all these expressions, and how many rows there are.

        The plan depends on the first number, and a repeated question is recognised by its plan.
        """
        parameters = Parameters()
        sql = fan_out_sql(shared, self._engine.relations[table.name], self._dialect.binding(parameters))
        statement = (sql, parameters.values)
        if len(self._known.fan_outs) > _MOST_KNOWN:  # explanations are free, and must not fill the memory
            self._known.fan_outs.clear()
        if statement not in self._known.fan_outs:
            found = self._read(table.name, statement)
            self._known.fan_outs[statement] = FanOut(matches=int(found["n"][0]), rows=int(found["m"][0]))
        return self._known.fan_outs[statement]

    def _read_keys(self, table: str, column: str) -> tuple[KeyValue, ...] | None:
        kind = self._dataset.tables[table].columns[column].type
        if kind is ValueType.NUMBER:
            return None
        relation = self._engine.relations[table]
        sql = emit_public_keys(relation, column, kind, _MOST_PUBLIC_KEYS, self._dialect)
        values = np.ma.asarray(self._read(table, (sql, ()))["v"]).tolist()
        return tuple(values) if len(values) <= _MOST_PUBLIC_KEYS else None

    def _read(self, table: str, statement: _PublicStatement) -> ResultColumns:
        """Errors of the engine speak of a charge, and there was none."""
        if statement in self._known.too_slow:
            raise self._too_slow(table)
        if self._deadline is None:
            self._deadline = Deadline.after(self._engine.time_limit)
        had_most_of_it = self._deadline.left > self._engine.time_limit / 2
        sql, parameters = statement
        try:
            return self._engine.run(sql, parameters=parameters, deadline=self._deadline).reveal()
        except TookTooLong:
            if had_most_of_it:  # else it may be fast enough, and what came before it is known now
                self._known.too_slow.add(statement)
            raise self._too_slow(table) from None
        except EngineFailed:
            raise EngineFailed(
                f"The database failed while it read the public table “{table}”. Nothing was spent.",
                remedy="Ask again. If it fails again, ask the owner of the data to run “discreet check”.",
            ) from None

    def _too_slow(self, table: str) -> TookTooLong:
        return TookTooLong(
            f"To read the public table “{table}” took longer than {self._engine.time_limit:g} seconds, the"
            " time limit of this policy. Nothing was spent.",
            remedy="Join on plain columns; or ask the owner of the data for a larger time_limit.",
        )
