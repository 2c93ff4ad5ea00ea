"""A check of a synthetic table: some of its tables are measured anew in the data, and compared."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.dialects.dialect import Dialect
from discreet.model.deadline import Deadline
from discreet.model.identity import identity_of, loss_facts
from discreet.model.privacy import Spend, share_of
from discreet.question.answer_size import check_storable
from discreet.release.exact_vectors import Results
from discreet.release.older_keys import older_check_keys
from discreet.sql.statement import Statement
from discreet.synth.core.domain import Marginal
from discreet.synth.core.measurement import measure, noise
from discreet.synth.core.synthesis import left_out
from discreet.synth.core.synthetic import decode_measurements, encode_measurements
from discreet.synth.core.weight_array import Halves
from discreet.synth.plan.count_tables import Counted
from discreet.synth.plan.stored_size import of_measurements
from discreet.synth.plan.synthetic_table import SyntheticTable
from discreet.synth.report.quality import Quality


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticCheck:
    """What is measured anew, and the whole price."""

    table: SyntheticTable
    marginals: Sequence[Marginal]
    loss: Spend

    @property
    def repeatable(self) -> bool:
        return True

    def identity(self) -> str:
        """The table is known by what it was made from, and by its bytes."""
        made = hashlib.sha256(self.table.encoded).hexdigest()
        facts = loss_facts(self.loss)
        return identity_of("check", {"table": self.table.plan.identity(), "made": made, "price": facts})

    def older_keys(self) -> Sequence[str]:
        return older_check_keys(self.loss, self.table.encoded)

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return self.table.plan.statements(relations, dialect)

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:  # noqa: ARG002
        plan = self.table.plan
        counted = Counted(plan.domain, plan.bounded, exact)(self.marginals)
        each = share_of(self.loss, Fraction(1, len(self.marginals)))
        return encode_measurements(
            [
                measure(marginal, counts, loss=each, sensitivity=plan.sensitivity, unit=plan.unit)
                for marginal, counts in zip(self.marginals, counted, strict=True)
            ]
        )

    def quality_from(self, stored: bytes) -> Quality:
        """How good the table is, from what was released. Free."""
        return self.table.plan.quality(self.table.learnt, decode_measurements(stored))


def plan_check(table: SyntheticTable, loss: Spend) -> SyntheticCheck:
    """What a check measures. Reads no data.

    The table is fitted now, if it was not before: if that fails or is stopped, nothing was charged.
    """
    marginals = _marginals(table, loss)
    check_storable(of_measurements(marginals), "Check a table of fewer columns, or with wider bins.")
    return SyntheticCheck(table=table, marginals=marginals, loss=loss)


def _marginals(table: SyntheticTable, loss: Spend) -> list[Marginal]:
    """The whole tables that were measured, and the pairs of a wide table that were not.

    If a workload measured only single questions: all tables of one and two attributes.
    """
    plan, found = table.plan, table.learnt.measurements
    whole = [each.marginal for each in found if not isinstance(each.marginal, Halves)]
    if plan.wanted:
        return whole or [each for order in (1, 2) for each in plan.domain.marginals(order)]
    tables = len(plan.attributes) * (len(plan.attributes) + 1) // 2
    sigma = noise(share_of(loss, Fraction(1, tables)), plan.sensitivity, plan.unit) ** 0.5
    return whole + left_out(plan.domain, found, sigma)
