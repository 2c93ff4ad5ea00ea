"""A question over noisy answers as a release. Its answer is computed from what is stored for its leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.aggregates.vectors import known
from discreet.answers.released import Released
from discreet.bounds.calibrate import Plan
from discreet.bounds.leaves import NoisyPlan
from discreet.model.deadline import Deadline
from discreet.release.draw import noisy_numbers
from discreet.release.drawn import Drawn
from discreet.release.leaves_release import LeavesRelease
from discreet.release.noisy.answer import DrawnLeaf, noisy_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyRelease(LeavesRelease):
    """A planned question over noisy answers, and the policy that it was planned for."""

    plan: NoisyPlan

    def answer_from(self, key: str, stored: bytes, deadline: Deadline) -> Released:
        """The answer, from what is stored under this key: today's, or an older one."""
        plans, parts = self.drawn_for(key, stored)
        return noisy_answer_from(
            NoisyPlan(leaves=plans, asked=self.plan.asked, request=self.plan.request), parts, deadline
        )


def noisy_answer_from(
    plan: NoisyPlan, parts: Sequence[bytes], deadline: Deadline, *, questions: int = 1
) -> Released:
    """The answer, from what was drawn for each leaf of the plan. So many questions share its limits."""
    found = [
        _drawn_leaf(leaf, part, deadline, questions) for leaf, part in zip(plan.leaves, parts, strict=True)
    ]
    return noisy_answer(plan.asked, found, deadline)


def _drawn_leaf(leaf: Plan, part: bytes, deadline: Deadline, questions: int) -> DrawnLeaf:
    drawn = known(Drawn, Drawn.decode(part))
    keys, noisy, groups = noisy_numbers(leaf, drawn, deadline)
    return DrawnLeaf(plan=leaf, keys=keys, noisy=replace(noisy, questions=questions), groups=groups)
