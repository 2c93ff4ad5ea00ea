"""The answer of a question over noisy answers, from what was drawn for its leaves. All of it is free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.answers.columns import KeyEnds
from discreet.answers.released import Released
from discreet.arrays import ColumnValues, Floats
from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import NoisyPlan
from discreet.bounds.min_people import without_cells
from discreet.engines.base.execution import not_accepted
from discreet.model.deadline import Deadline
from discreet.model.expression import Expression, Field
from discreet.model.noisy_table import AfterNoise, LeafAnswer, tables_within
from discreet.model.policy import ValueType
from discreet.model.query import Output, key_field
from discreet.release.estimate import Noisy
from discreet.release.noisy.intervals import NoisyIntervals
from discreet.release.noisy.shape import Shapes, TableShape
from discreet.release.noisy.sql import Ids, NoisySql, leaf_name, row_name
from discreet.release.notes.answer_notes import left_out_notes, notes_of
from discreet.release.notes.key_ends import ends_by_output
from discreet.release.outputs import NoisyGroups, check_time, plain_column, queried_tables, run_tables
from discreet.sql.statement import check_written_size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnLeaf:
    """What was drawn for a leaf."""

    plan: Plan
    keys: tuple[ColumnValues, ...]
    noisy: Noisy
    groups: int


def noisy_answer(
    asked: AfterNoise, drawn: Sequence[DrawnLeaf], deadline: Deadline, *, beforehand: bool = False
) -> Released:
    """The answer, from what was drawn for each leaf. The same draws give the same answer.

    Beforehand, when nobody paid for it, what would take long has no interval.
    """
    return _ComputedAnswer(asked, drawn, deadline, beforehand=beforehand).released()


def check_noisy_answer(plan: NoisyPlan, deadline: Deadline) -> None:
    """Refuse, before anything is charged, what the database of outputs does not accept. No row is read."""
    tables: dict[str, dict[str, ColumnValues]] = {}
    for leaf, each in enumerate(plan.leaves):
        query = each.bounded.query
        columns: dict[str, ColumnValues] = {"row_number": np.arange(0)}
        columns |= {measure.name: np.empty(0) for measure in query.measures}
        columns |= {key_field(i): np.empty(0, dtype=object) for i in range(len(query.keys))}
        tables[leaf_name(leaf)] = columns
    sql = NoisySql(Ids([0] * len(plan.leaves))).statement(plan.asked.table)
    check_written_size([sql])
    if run_tables(tables, sql, deadline) is None:
        raise not_accepted()


class _ComputedAnswer:
    def __init__(
        self, asked: AfterNoise, drawn: Sequence[DrawnLeaf], deadline: Deadline, *, beforehand: bool
    ) -> None:
        self._asked = asked
        self._deadline = deadline
        self._leaves = [
            NoisyGroups(each.plan, each.keys, each.noisy, each.groups, deadline) for each in drawn
        ]
        self._shapes = Shapes([each.plan for each in drawn])
        self._shape: TableShape = self._shapes.read(asked.table)
        self._answers = {
            table.number: table.leaf for table in tables_within(asked.table) if isinstance(table, LeafAnswer)
        }
        self._rows = self._computed()
        self._intervals = NoisyIntervals(
            asked.table,
            self._shapes,
            self._leaves,
            self._answers,
            self._rows,
            deadline,
            beforehand=beforehand,
        )

    def released(self) -> Released:
        values: dict[str, ColumnValues] = {}
        parts: dict[str, dict[str, Floats]] = {
            name: {} for name in ("raw", "low", "high", "noise_low", "noise_high")
        }
        unsure: list[str] = []
        for name, column in zip(self._asked.names, self._asked.table.columns, strict=True):
            check_time(self._deadline)
            values[name] = self._values(column)
            definition = self._shape.defined[column.name]
            if not self._shapes.is_noisy(definition) or not column.type.numeric:
                continue
            found = None if definition is None else self._intervals.of(definition)
            if found is None:
                unsure.append(name)
                continue
            values[name], parts["raw"][name] = self._measured(column, definition)
            parts["low"][name], parts["high"][name] = found.plain or found.noise
            if found.plain is not None:
                parts["noise_low"][name], parts["noise_high"][name] = found.noise
        leaves = [leaf.plan for leaf in self._leaves]
        return Released(
            columns=self._asked.names,
            values=values,
            **parts,
            confidence=float(leaves[0].request.confidence),
            notes=tuple(dict.fromkeys([*self._leaf_notes(), *self._notes(unsure)])),
            ends=self._ends(),
        )

    # Values

    def _computed(self) -> dict[str, ColumnValues]:
        tables: dict[str, dict[str, ColumnValues]] = {}
        for i, leaf in enumerate(self._leaves):
            every = np.arange(leaf.groups)
            shown = {name: leaf.shown_cells(name, found, every) for name, found in leaf.estimates.items()}
            tables[leaf_name(i)] = {"row_number": every, **shown, **leaf.key_columns()}
        ids = Ids([leaf.groups for leaf in self._leaves])
        return queried_tables(tables, NoisySql(ids).statement(self._asked.table), self._deadline)

    def _values(self, column: Field) -> ColumnValues:
        found = self._rows[column.name]
        if column.type is ValueType.DATE:
            found = found.astype("datetime64[D]")
        return plain_column(found)

    def _measured(self, column: Field, definition: Expression | None) -> tuple[ColumnValues, Floats]:
        """The numbers as they are shown, and as they were estimated: those of a leaf as it shows them."""
        computed = np.ma.filled(np.ma.asarray(self._rows[column.name], dtype=np.float64), np.nan)
        atom = self._shapes.atoms.get(definition.name) if isinstance(definition, Field) else None
        if atom is None or atom.measure is None:
            return computed, computed
        leaf = self._leaves[self._answers[atom.table]]
        rows = np.ma.asarray(self._rows[row_name(atom.table)])
        if np.ma.getmaskarray(rows).any():
            return computed, computed
        places = np.asarray(rows, dtype=np.int64)
        own = Field(name=atom.measure, type=ValueType.NUMBER)
        shown = leaf.presented(own, leaf.estimates[atom.measure][places])
        hidden = leaf.hidden_rows(own, places)
        raw = np.where(hidden, np.nan, leaf.within_limits[atom.measure][places])
        return without_cells(shown, hidden), raw

    # Notes

    def _leaf_notes(self) -> list[str]:
        notes = [note for leaf in self._leaves for note in notes_of(leaf.plan)]
        return notes + [note for leaf in self._leaves for note in left_out_notes(leaf.plan, leaf.lost)]

    def _notes(self, unsure: Sequence[str]) -> list[str]:
        notes = []
        if unsure:
            notes.append(
                f"No error is stated for {' and '.join(unsure)}: it cannot be told from the noise alone."
            )
        partial = any(leaf.plan.bounded.query.private_keys or leaf.hidden for leaf in self._leaves)
        if partial and self._intervals.over_rows:
            notes.append("What is computed over several groups is over those that are shown.")
        return notes

    def _ends(self) -> Mapping[str, KeyEnds]:
        """Of columns that are keys which were clamped."""
        found: dict[str, KeyEnds] = {}
        for name, column in zip(self._asked.names, self._asked.table.columns, strict=True):
            definition = self._shape.defined[column.name]
            atom = self._shapes.atoms.get(definition.name) if isinstance(definition, Field) else None
            if (
                not isinstance(definition, Field)
                or atom is None
                or atom.table < 0
                or atom.measure is not None
            ):
                continue
            own = replace(definition, name=definition.name.rpartition("_")[2])
            query = self._leaves[self._answers[atom.table]].plan.bounded.query
            found |= ends_by_output(replace(query, outputs=(Output(name=name, expression=own),)))
        return found
