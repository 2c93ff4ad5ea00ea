"""Reports: many questions that are planned, charged, drawn and stored as one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.answers.report.report import Report
from discreet.answers.report.report_explanation import ReportExplanation
from discreet.bounds.calibrate import budget_of
from discreet.curator.charging import ChargedData
from discreet.curator.dearer_answers import DearerAnswers
from discreet.curator.planning import Planning
from discreet.curator.repeats import repeat_notes, told_free
from discreet.curator.terms import QuestionTerms, request_for_report
from discreet.model.receipt import Receipt
from discreet.model.report import Questions, ReportQuestion, text_of_report
from discreet.model.request import Request
from discreet.question.report.statements import questions_of
from discreet.release.report.explain_report import explain_report
from discreet.release.report.report_release import ReportRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratorReports:
    """Those of one analyst."""

    data: ChargedData
    planning: Planning
    changed: datetime | None
    """When this version of the data was first opened, if its files have changed since."""
    tells: bool
    """Whether `explain` may tell what was asked before."""

    def ask(self, texts: Questions, terms: QuestionTerms, alone: Callable[[str], Answer]) -> Report:
        """All answers, for one charge. A single question is asked `alone`, as always."""
        questions = questions_of(texts)
        if len(questions) == 1:
            return Report(questions=tuple(questions), answers=(alone(questions[0].sql),))
        release = self._release(questions, terms)
        dearer = self._dearer(questions, release)
        receipt, stored, repeated = self.data.charge_and_draw(text_of_report(questions), release, dearer.find)
        return self._report(questions, dearer, receipt, stored, repeated=repeated)

    def recall(
        self, texts: Questions, terms: QuestionTerms, alone: Callable[[str], Answer | None]
    ) -> Report | None:
        """What was drawn for all of them before, at this price or a higher one. Never charges."""
        questions = questions_of(texts)
        if len(questions) == 1:
            answer = alone(questions[0].sql)
            return None if answer is None else Report(questions=tuple(questions), answers=(answer,))
        dearer = self._dearer(questions, self._release(questions, terms))
        found = dearer.stored()
        return None if found is None else self._report(questions, dearer, *found, repeated=True)

    def _report(
        self,
        questions: Sequence[ReportQuestion],
        dearer: DearerAnswers[ReportRelease],
        receipt: Receipt,
        stored: bytes,
        *,
        repeated: bool,
    ) -> Report:
        release = dearer.release_of(receipt.key)
        notes = repeat_notes(receipt, self.changed) if repeated else ()
        left, budget = self.data.left(), budget_of(self.data.dataset)
        answers = tuple(
            Answer(
                released=replace(released, notes=(*notes, *released.notes)),
                charged=receipt.charged,
                left=left,
                receipt=receipt,
                repeated=repeated,
                dearer=repeated and dearer.is_dearer(receipt.key),
                budget=budget,
                questions=len(questions),
            )
            for released in release.answers_from(receipt.key, stored, self.data.deadline)
        )
        return Report(questions=tuple(questions), answers=answers)

    def explain(
        self, texts: Questions, terms: QuestionTerms, alone: Callable[[str], Explanation]
    ) -> ReportExplanation:
        """The price of all, and the errors of each."""
        questions = questions_of(texts)
        if len(questions) == 1:
            return ReportExplanation(questions=tuple(questions), explanations=(alone(questions[0].sql),))
        release = self._release(questions, terms)
        self.data.emit(release)  # refuses what it cannot do
        dearer = self._dearer(questions, release)
        paid = dearer.stored() if self.tells else None
        if paid is not None:
            release = dearer.release_of(paid.receipt.key)
        budget, left = budget_of(self.data.dataset), self.data.left()
        found = explain_report(
            release.plan, self.data.dataset, self.data.deadline(), budget=budget, left=left
        )
        told = [
            self.planning.profiles.explained(each, *(release.plan.leaves[use.leaf] for use in question.uses))
            for each, question in zip(found, release.plan.asked.questions, strict=True)
        ]
        if paid is not None:
            told = [told_free(each, paid.receipt, self.data.dataset) for each in told]
        return ReportExplanation(questions=tuple(questions), explanations=tuple(told))

    def _release(self, questions: Sequence[ReportQuestion], terms: QuestionTerms) -> ReportRelease:
        request = request_for_report(dict(terms), self.data.dataset, self.data.left)
        return self._release_at(questions, request, self.planning)

    def _release_at(
        self, questions: Sequence[ReportQuestion], request: Request, planning: Planning
    ) -> ReportRelease:
        return ReportRelease(plan=planning.plan_report(questions, request), dataset=self.data.dataset)

    def _dearer(
        self, questions: Sequence[ReportQuestion], release: ReportRelease
    ) -> DearerAnswers[ReportRelease]:
        before = self.planning.before(release.plan.leaves)
        return DearerAnswers(
            data=self.data,
            release=release,
            again=lambda request: self._release_at(questions, request, self.planning),
            before=None if before is None else lambda request: self._release_at(questions, request, before),
        )
