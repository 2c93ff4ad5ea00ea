"""From the text of a question to what would be run. No data is read, and nothing is spent."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.answers.explanation import Explanation
from discreet.bounds.bound import bound
from discreet.bounds.calibrate import Plan, budget_of, calibrate, check_cap
from discreet.bounds.leaves import NoisyPlan, calibrate_leaves
from discreet.bounds.relation_tree import follows_a_key
from discreet.bounds.report_plan import ReportPlan
from discreet.curator.charging import ChargedData, planned_too_long
from discreet.curator.dearer_answers import DearerAnswers, DearerQuestion
from discreet.curator.profiles import Profiles
from discreet.curator.public_tables import PublicReading, PublicTables
from discreet.errors import DiscreetError
from discreet.model.deadline import Deadline
from discreet.model.noisy_table import AfterNoise
from discreet.model.policy import Dataset
from discreet.model.query import Query
from discreet.model.report import AskedReport, ReportQuestion
from discreet.model.request import Request
from discreet.question.noisy.read_question import read_question
from discreet.question.parse import parse_question, parse_sql
from discreet.question.plain_rows import RowQuery, resolve_rows
from discreet.question.report.together import asked_together
from discreet.release.drawn import check_size
from discreet.release.explain import explain
from discreet.release.noisy.answer import check_noisy_answer
from discreet.release.noisy.explain_noisy import explain_noisy
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
    follows_keys: bool = True
    """Not so in older versions: joins along a key were as others on the person."""

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

    def plan_report(self, questions: Sequence[ReportQuestion], request: Request) -> ReportPlan:
        """A plan for all of them together, at one price. What is refused of one names it."""
        deadline = self.data.deadline()
        parsed, asked = [], []
        for number, question in enumerate(questions, 1):
            with _about(question.named(number), deadline):
                parsed.append(parse_question(question.sql))
                asked.append(self._read(parsed[-1], self.dataset))
                for query in _leaves_of(asked[-1]):
                    bound(query, self.dataset)
        plan = self._report_of(parsed, asked_together(asked), request)
        check_cap(plan.loss, self.dataset)
        check_size(*plan.leaves)
        for number, (question, own) in enumerate(zip(questions, plan.questions(), strict=True), 1):
            with _about(question.named(number), deadline):
                if isinstance(own, NoisyPlan):
                    check_noisy_answer(own, deadline)
                else:
                    check_outputs(own, deadline)
        return plan

    def _report_of(
        self, parsed: Sequence[exp.Select | exp.Union], asked: AskedReport, request: Request
    ) -> ReportPlan:
        def leaves_with(limits: Dataset) -> tuple[Query, ...]:
            return asked_together([self._read(each, limits) for each in parsed]).leaves

        leaves = self._calibrated(asked.leaves, leaves_with, request)
        return ReportPlan(leaves=leaves, asked=asked, request=request)

    def release(self, plan: Plan | NoisyPlan) -> QuestionRelease | NoisyRelease:
        """What is charged for a plan, drawn and stored."""
        if isinstance(plan, NoisyPlan):
            return NoisyRelease(plan=plan, dataset=self.dataset)
        return QuestionRelease(plan=plan, dataset=self.dataset)

    def dearer(self, sql: str, plan: Plan | NoisyPlan) -> DearerQuestion:
        """The answers to this question at higher prices."""
        before = self.before(plan.leaves if isinstance(plan, NoisyPlan) else (plan,))
        return DearerAnswers(
            data=self.data,
            release=self.release(plan),
            again=lambda price: self.release(self.plan(sql, price)),
            before=None if before is None else lambda price: before.release(before.plan(sql, price)),
        )

    def before(self, leaves: Sequence[Plan]) -> "Planning | None":
        """How older versions planned a question with these leaves; None if they did it in the same way."""
        differs = any(follows_a_key(leaf.bounded.query.source) for leaf in leaves)
        return replace(self, follows_keys=False) if differs else None

    def explained(self, plan: Plan | NoisyPlan) -> Explanation:
        """Price and error of a plan, and what its limits leave out."""
        budget, left = budget_of(self.dataset), self.data.left()
        if isinstance(plan, NoisyPlan):
            found = explain_noisy(plan, self.dataset, self.data.deadline(), budget=budget, left=left)
            return self.profiles.explained(found, *plan.leaves)
        return self.profiles.explained(explain(plan, self.dataset, budget=budget, left=left), plan)

    def _read(self, parsed: exp.Select | exp.Union, dataset: Dataset) -> Query | AfterNoise:
        public = self.public.reading()
        return read_question(parsed, dataset, public.keys, public.fan_out, follows_keys=self.follows_keys)

    def _leaves(self, parsed: exp.Select | exp.Union, dataset: Dataset) -> tuple[Query, ...]:
        """The private questions of a text, under a policy with other limits."""
        return _leaves_of(self._read(parsed, dataset))

    def _of_query(self, query: Query, request: Request, dataset: Dataset) -> Plan:
        return calibrate(bound(query, dataset), request, dataset, at_any_price=True)

    def _best(self, plan: Plan) -> Dataset:
        return self.profiles.best_limits(plan) if self.profiles.found else self.dataset

    def _of_leaves(self, parsed: exp.Select | exp.Union, asked: AfterNoise, request: Request) -> NoisyPlan:
        leaves = self._calibrated(asked.leaves, lambda limits: self._leaves(parsed, limits), request)
        return NoisyPlan(leaves=leaves, asked=asked, request=request)

    def _calibrated(
        self, leaves: Sequence[Query], leaves_with: Callable[[Dataset], Sequence[Query]], request: Request
    ) -> tuple[Plan, ...]:
        """Plans for leaves, each with the best limits for it. `leaves_with` reads them with other limits."""
        plans = calibrate_leaves([bound(leaf, self.dataset) for leaf in leaves], request, self.dataset)
        datasets = [self._best(plan) for plan in plans]
        if all(best is self.dataset for best in datasets):
            return plans
        better = [bound(leaves_with(best)[place], best) for place, best in enumerate(datasets)]
        return calibrate_leaves(better, request, self.dataset)

    def _checked(self, plan: NoisyPlan) -> NoisyPlan:
        check_cap(plan.loss, self.dataset)
        check_size(*plan.leaves)
        check_noisy_answer(plan, self.data.deadline())
        return plan


def _leaves_of(asked: Query | AfterNoise) -> tuple[Query, ...]:
    return asked.leaves if isinstance(asked, AfterNoise) else (asked,)


@contextmanager
def _about(name: str, deadline: Deadline) -> Iterator[None]:
    """Whatever is refused meanwhile names the question that it is about."""
    if deadline.is_over:
        raise planned_too_long(deadline)
    try:
        yield
        return
    except DiscreetError as error:
        problem = type(error)(f"{name}: {error.problem}", remedy=error.remedy)
    raise problem


def rows_of(sql: str, dataset: Dataset, public: PublicReading) -> RowQuery:
    """The SELECT of plain rows that a synthetic table or a model is learnt from."""
    return resolve_rows(parse_sql(sql), dataset, public.keys, public.fan_out)
