"""From the text of a question to what would be run. No data is read, and nothing is spent."""

from dataclasses import dataclass

from sqlglot import exp

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan, calibrate, check_cap
from discreet.bounds.leaves import NoisyPlan, calibrate_leaves
from discreet.curator.charging import ChargedData
from discreet.curator.profiles import Profiles
from discreet.curator.public_tables import PublicReading, PublicTables
from discreet.model.noisy_table import AfterNoise
from discreet.model.policy import Dataset
from discreet.model.query import Query
from discreet.model.request import Request
from discreet.question.noisy.read_question import read_question
from discreet.question.parse import parse_question, parse_sql
from discreet.question.plain_rows import RowQuery, resolve_rows
from discreet.release.drawn import check_size
from discreet.release.noisy.answer import check_noisy_answer
from discreet.release.noisy.noisy_release import NoisyRelease
from discreet.release.outputs import check_outputs
from discreet.release.question_release import QuestionRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """Plans the questions of one analyst, with the limits that are best for each."""

    dataset: Dataset
    data: ChargedData
    public: PublicTables
    profiles: Profiles

    def plan(self, sql: str, request: Request) -> Plan | NoisyPlan:
        """A plan whose price may be charged, and whose answer can be stored and shown."""
        parsed = parse_question(sql)
        asked = self._read(parsed, self.dataset)
        if isinstance(asked, AfterNoise):
            return self._checked(self._of_leaves(parsed, asked, request))
        plan = self._of_query(asked, request, self.dataset)
        best = self._best(plan)
        if best is not self.dataset:
            plan = self._of_query(self._leaves(parsed, best)[0], request, best)
        check_cap(plan.loss, self.dataset)
        check_size(plan)
        check_outputs(plan, self.data.deadline())
        return plan

    def release(self, plan: Plan | NoisyPlan) -> QuestionRelease | NoisyRelease:
        """What is charged for a plan, drawn and stored."""
        if isinstance(plan, NoisyPlan):
            return NoisyRelease(plan=plan, dataset=self.dataset)
        return QuestionRelease(plan=plan, dataset=self.dataset)

    def _read(self, parsed: exp.Select | exp.Union, dataset: Dataset) -> Query | AfterNoise:
        public = self.public.reading()
        return read_question(parsed, dataset, public.keys, public.fan_out)

    def _leaves(self, parsed: exp.Select | exp.Union, dataset: Dataset) -> tuple[Query, ...]:
        """The private questions of a text, under a policy with other limits."""
        asked = self._read(parsed, dataset)
        return asked.leaves if isinstance(asked, AfterNoise) else (asked,)

    def _of_query(self, query: Query, request: Request, dataset: Dataset) -> Plan:
        return calibrate(bound(query, dataset), request, dataset, at_any_price=True)

    def _best(self, plan: Plan) -> Dataset:
        return self.profiles.best_limits(plan) if self.profiles.found else self.dataset

    def _of_leaves(self, parsed: exp.Select | exp.Union, asked: AfterNoise, request: Request) -> NoisyPlan:
        leaves = [bound(leaf, self.dataset) for leaf in asked.leaves]
        plans = calibrate_leaves(leaves, request, self.dataset)
        datasets = [self._best(plan) for plan in plans]
        if any(best is not self.dataset for best in datasets):
            leaves = [bound(self._leaves(parsed, best)[place], best) for place, best in enumerate(datasets)]
            plans = calibrate_leaves(leaves, request, self.dataset)
        return NoisyPlan(leaves=plans, asked=asked, request=request)

    def _checked(self, plan: NoisyPlan) -> NoisyPlan:
        check_cap(plan.loss, self.dataset)
        check_size(*plan.leaves)
        check_noisy_answer(plan, self.data.deadline())
        return plan


def rows_of(sql: str, dataset: Dataset, public: PublicReading) -> RowQuery:
    """The SELECT of plain rows that a synthetic table or a model is learnt from."""
    return resolve_rows(parse_sql(sql), dataset, public.keys, public.fan_out)
