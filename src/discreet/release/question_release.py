"""A question as a release: it is charged, read and drawn once. Its answer is computed from what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.answers.released import Released
from discreet.bounds.bound import Bounded, bound, without_left_out
from discreet.bounds.calibrate import Plan, calibrate
from discreet.bounds.identity import question_identity
from discreet.bounds.paid_key import PaidKey, digest_of, question_key
from discreet.dialects.dialect import Dialect
from discreet.model.deadline import Deadline
from discreet.model.identity import has_version
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.release.draw import answer_from, draw_noise
from discreet.release.exact_vectors import Results
from discreet.release.older_keys import older_keys
from discreet.sql.emit import emit_sql
from discreet.sql.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRelease:
    """A planned question, and the policy that it was planned for."""

    plan: Plan
    dataset: Dataset

    @property
    def loss(self) -> Spend:
        return self.plan.loss

    @property
    def repeatable(self) -> bool:
        return True

    def identity(self) -> str:
        return str(question_key(self.plan))

    def older_keys(self) -> Sequence[str]:
        return [
            question_identity(self.plan),
            *(question_identity(each.plan) for each in (self.apart(),) if each is not None),
            question_identity(self._without_left_out()),
            *older_keys(self._older_plan()),
        ]

    def apart(self) -> "QuestionRelease | None":
        """The same as it was before vectors were measured together; None if it is what it was."""
        bounded = self.plan.bounded.apart
        if bounded is None:
            return None
        return replace(self, plan=calibrate(bounded, self.plan.request, self.dataset, at_any_price=True))

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return emit_sql(self.plan, relations, dialect)

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:  # noqa: ARG002
        return draw_noise(self.plan, exact)

    def answer_from(self, key: str, stored: bytes, deadline: Deadline) -> Released:
        """The answer, from what is stored under this key: today's, or an older one."""
        return answer_from(self.plan_of(key), stored, deadline)

    def plan_of(self, key: str) -> Plan:
        """The plan that was paid for under this key.

        It says what was run, and also at which confidence an error was asked for: errors of the same noise
        may be stated at another one.
        """
        paid, run = PaidKey.read(key), question_identity(self.plan)
        if key == run or (paid is not None and paid.digest == digest_of(run)):
            return self.plan
        apart = self.apart()
        if apart is not None and key == question_identity(apart.plan):
            return apart.plan
        return self._without_left_out() if has_version(key) else self._older_plan()

    def _older_plan(self) -> Plan:
        """The plan as it was made before keys said their version."""
        return calibrate(self._older_bounds(), self.plan.request, self.dataset, in_order_asked=True)

    def _without_left_out(self) -> Plan:
        """The plan as it was made before what is left out was estimated."""
        return calibrate(self._older_bounds(), self.plan.request, self.dataset)

    def _older_bounds(self) -> Bounded:
        """Before it was known what a person has one of, too, and with each vector apart."""
        query = self.plan.bounded.query
        return without_left_out(bound(query, self.dataset, lambda _: None, together=False))
