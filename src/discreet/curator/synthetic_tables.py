"""Synthetic tables, and checks of them: planned, explained, charged and drawn.

Imported when a synthetic table is first needed: plain questions need none of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from discreet.curator.charging import ChargedData
from discreet.curator.planning import rows_of
from discreet.curator.public_tables import PublicReading, PublicTables
from discreet.curator.terms import RowTerms, SynthesisTerms, price_of_rows
from discreet.errors import InvalidInput
from discreet.model.exact import Number
from discreet.model.query import Query
from discreet.model.receipt import Receipt
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.synth.plan.attributes import Bins, attributes_of
from discreet.synth.plan.explain import SynthesisExplanation, explain_synthesis
from discreet.synth.plan.synthesis_plan import Advance, SynthesisPlan, plan_synthesis
from discreet.synth.plan.synthetic_check import plan_check
from discreet.synth.plan.synthetic_table import SyntheticTable
from discreet.synth.plan.workload_text import wanted_of
from discreet.synth.report.quality import Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticTables:
    """The synthetic tables of one dataset, for one analyst."""

    data: ChargedData
    public: PublicTables

    def plan(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: Bins = None,
        workload: Sequence[str] = (),
    ) -> SynthesisPlan:
        dataset = self.data.dataset
        public = self.public.reading()
        rows = rows_of(sql, dataset, public)
        loss = price_of_rows(dataset, epsilon=epsilon, rho=rho)
        attributes = attributes_of(rows.columns, bins)
        wanted = (
            wanted_of(workload, attributes, rows.source, partial(self._question, public)) if workload else ()
        )
        return plan_synthesis(rows, attributes, loss, dataset, wanted)

    def explain(self, sql: str, **terms: Unpack[SynthesisTerms]) -> SynthesisExplanation:
        plan = self.plan(sql, **terms)
        self.data.emit(plan)  # refuses what this engine cannot do
        return explain_synthesis(plan, self.data.dataset)

    def synthesize(self, sql: str, advance: Advance, **terms: Unpack[SynthesisTerms]) -> SyntheticTable:
        plan = self.plan(sql, **terms)
        return self._made(plan, advance, *self.data.charge_and_draw(sql, plan))

    def recall(self, sql: str, **terms: Unpack[SynthesisTerms]) -> SyntheticTable | None:
        plan = self.plan(sql, **terms)
        found = self.data.stored(plan)
        return None if found is None else self._made(plan, lambda *_: None, *found, repeated=True)

    def _made(
        self, plan: SynthesisPlan, advance: Advance, receipt: Receipt, stored: bytes, repeated: bool
    ) -> SyntheticTable:
        return SyntheticTable(
            plan=plan,
            encoded=stored,
            charged=receipt.charged,
            left=self.data.left(),
            receipt=receipt,
            repeated=repeated,
            advance=advance,
        )

    def check(self, table: SyntheticTable, **price: Unpack[RowTerms]) -> Quality:
        made, dataset = table.plan.dataset, self.data.dataset
        if (made.neighbours, made.tables) != (dataset.neighbours, dataset.tables):
            raise InvalidInput(
                "This synthetic table was made under another policy.", remedy="Make one under this policy."
            )
        check = plan_check(table, price_of_rows(dataset, **price))
        question = f"How good is the synthetic table of receipt {table.receipt.number}?"
        _, stored, _ = self.data.charge_and_draw(question, check)
        return check.quality_from(stored)

    def _question(self, public: PublicReading, sql: str) -> Query:
        """A question of a workload."""
        return resolve(parse_sql(sql), self.data.dataset, public.keys, public.fan_out)
