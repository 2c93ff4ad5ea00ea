"""A report as a release: the leaves of all its questions are charged, read, drawn and stored at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.answers.encoding import decode_columns
from discreet.answers.released import Released
from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import NoisyPlan
from discreet.bounds.report_plan import ReportPlan
from discreet.model.deadline import Deadline
from discreet.release.draw import answer_from, noisy_sums
from discreet.release.drawn import Drawn
from discreet.release.leaves_release import LeavesRelease
from discreet.release.noisy.noisy_release import noisy_answer_from
from discreet.release.reconcile import Reconciled, reconcile


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRelease(LeavesRelease):
    """A planned report, and the policy that it was planned for."""

    plan: ReportPlan

    def answers_from(self, key: str, stored: bytes, deadline: Callable[[], Deadline]) -> list[Released]:
        """The answer of each question, from what is stored under this key.

        Each has a deadline of its own. What intervals may take is shared by all.
        """
        plans, parts = self.drawn_for(key, stored)
        agreed = self._reconciled(plans, parts) if self._is_reconciled(stored) else [None] * len(plans)
        found, asked = [], self.plan.asked.questions
        for question in asked:
            plan, drawn = self.plan.plan_of(question, plans), [parts[use.leaf] for use in question.uses]
            if isinstance(plan, NoisyPlan):
                found.append(noisy_answer_from(plan, drawn, deadline(), questions=len(asked)))
            else:
                own = agreed[question.uses[0].leaf]
                found.append(answer_from(plan, drawn[0], deadline(), questions=len(asked), within_report=own))
        return found

    def facts(self) -> dict[str, bool]:
        return {"reconciled": True}

    def _is_reconciled(self, stored: bytes) -> bool:
        """What was drawn before reports were reconciled is answered as it was."""
        facts, _ = decode_columns(stored)
        return len(self.plan.leaves) > 1 and bool(facts.get("reconciled"))

    def _reconciled(self, plans: Sequence[Plan], parts: Sequence[bytes]) -> list[Reconciled | None]:
        """The numbers of the leaves that questions show as they are. Queries over noisy answers see them as
        they were drawn.
        """
        shown = sorted({each.uses[0].leaf for each in self.plan.asked.questions if each.after is None})
        drawn = {leaf: Drawn.decode(parts[leaf]) for leaf in shown}
        sums = {leaf: noisy_sums(plans[leaf], each) for leaf, each in drawn.items() if each is not None}
        found = reconcile([plans[leaf] for leaf in sums], [*sums.values()])
        by_leaf = dict(zip(sums, found, strict=True))
        return [by_leaf.get(leaf) for leaf in range(len(plans))]
