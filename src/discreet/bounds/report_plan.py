"""The plan of a report: one plan for each leaf, and what each question sees of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import LeavesPlan, NoisyPlan
from discreet.model.report import AskedReport, LeafUse, QuestionOnLeaves


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan(LeavesPlan):
    """What will be run for a report."""

    asked: AskedReport

    def questions(self) -> tuple[Plan | NoisyPlan, ...]:
        """Each question by itself, on the same leaves."""
        return tuple(self.plan_of(each, self.leaves) for each in self.asked.questions)

    def plan_of(self, question: QuestionOnLeaves, leaves: Sequence[Plan]) -> Plan | NoisyPlan:
        """A question by itself, on these leaves."""
        seen = tuple(_seen_by(use, leaves[use.leaf]) for use in question.uses)
        if question.after is None:
            return seen[0]
        return NoisyPlan(leaves=seen, asked=question.after, request=self.request)


def _seen_by(use: LeafUse, leaf: Plan) -> Plan:
    """The plan of a leaf with the measures and outputs of one question. What is drawn is that of all.

    The leaf says what is read, and with which limits: those may be better than the policy's.
    """
    bounded = leaf.bounded
    known = {each.measure.name: each for each in bounded.measures}
    measures = tuple(
        replace(known[shared], measure=replace(known[shared].measure, name=name))
        for name, shared in use.names.items()
    )
    query = replace(use.query, source=bounded.query.source, measures=tuple(each.measure for each in measures))
    return replace(leaf, bounded=replace(bounded, query=query, measures=measures))
