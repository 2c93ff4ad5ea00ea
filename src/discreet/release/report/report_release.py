"""A report as a release: the leaves of all its questions are charged, read, drawn and stored at once."""

from collections.abc import Callable
from dataclasses import dataclass

from discreet.answers.released import Released
from discreet.bounds.leaves import NoisyPlan
from discreet.bounds.report_plan import ReportPlan
from discreet.model.deadline import Deadline
from discreet.release.draw import answer_from
from discreet.release.leaves_release import LeavesRelease
from discreet.release.noisy.noisy_release import noisy_answer_from


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRelease(LeavesRelease):
    """A planned report, and the policy that it was planned for."""

    plan: ReportPlan

    def answers_from(self, key: str, stored: bytes, deadline: Callable[[], Deadline]) -> list[Released]:
        """The answer of each question, from what is stored under this key.

        Each has a deadline of its own. What intervals may take is shared by all.
        """
        plans, parts = self.drawn_for(key, stored)
        found, asked = [], self.plan.asked.questions
        for question in asked:
            plan, drawn = self.plan.plan_of(question, plans), [parts[use.leaf] for use in question.uses]
            if isinstance(plan, NoisyPlan):
                found.append(noisy_answer_from(plan, drawn, deadline(), questions=len(asked)))
            else:
                found.append(answer_from(plan, drawn[0], deadline(), questions=len(asked)))
        return found
