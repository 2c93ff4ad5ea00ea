"""What a synthetic table will be made from, and its price: no data is read, and nothing is spent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from discreet.bounds.bound import Bounded
from discreet.bounds.facts import bounded_facts
from discreet.dialects.dialect import Dialect
from discreet.errors import QueryRefused
from discreet.model.deadline import Deadline
from discreet.model.identity import identity_of, loss_facts
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend
from discreet.model.sensitivity import Sensitivity
from discreet.question.answer_size import check_storable
from discreet.question.plain_rows import RowQuery
from discreet.release.exact_vectors import Results
from discreet.release.older_keys import older_keys
from discreet.sql.emit import emit_sql
from discreet.sql.statement import Statement
from discreet.synth.core.domain import Domain
from discreet.synth.core.measurement import ExactMarginals, Measurement
from discreet.synth.core.synthesis import Synthetic, fitted, measure_tables, synthesise
from discreet.synth.core.synthetic import decode_measurements, encode_measurements
from discreet.synth.core.what_to_measure import MOST_CELLS
from discreet.synth.mwem.mwem import MOST_CELLS as MOST_CELLS_FOR_QUESTIONS
from discreet.synth.mwem.mwem import mwem
from discreet.synth.plan.attributes import Attribute, domain_of
from discreet.synth.plan.count_tables import Counted, counting, sets_of, table_sensitivity, unit_of
from discreet.synth.plan.stored_size import of_synthesis, of_workload
from discreet.synth.plan.workload_text import Wanted, wanted_facts, workload_of
from discreet.synth.report.quality import Quality, counts_of, quality

Advance: TypeAlias = Callable[[str, float], object]
"""Called with what is being done, and about what share of everything is done."""

_MOST_LISTED_COLUMNS = 32
"""The most columns if records are listed: each is an axis, and no more than 21 have several values."""
_ROUNDS = 25
"""About how many sweeps it takes to fit the tables of one order, to show progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPlan:
    """The columns, what is counted, and the whole price."""

    attributes: tuple[Attribute, ...]
    bounded: Bounded
    loss: Spend
    dataset: Dataset = field(repr=False)
    """The dataset whose people the bounds are for."""
    wanted: tuple[Wanted, ...] = ()
    """Questions that it has to answer well; all tables of few columns if there are none."""

    def identity(self) -> str:
        """What identifies the release. Names of columns are left out: counts know columns by position."""
        return identity_of(
            "synthetic",
            {
                **bounded_facts(self.bounded),
                "price": loss_facts(self.loss),
                "wanted": [wanted_facts(each) for each in self.wanted],
            },
        )

    @property
    def repeatable(self) -> bool:
        return True

    def older_keys(self) -> Sequence[str]:
        return older_keys(self)

    def statements(self, relations: Mapping[str, str], dialect: Dialect) -> tuple[Statement, ...]:
        return emit_sql(self, relations, dialect)

    def draw_noise(self, exact: Results, deadline: Deadline) -> bytes:  # noqa: ARG002
        """Draw noise. Costs `loss`. Returns all that is released, to be stored before it is seen.

        It shows no progress: who could watch and stop it would get another draw for one price.
        """
        counted = Counted(self.domain, self.bounded, exact)
        if self.wanted:
            return self._fit_questions(counted).encode()
        return encode_measurements(
            measure_tables(self.domain, counted, loss=self.loss, sensitivity=self.sensitivity, unit=self.unit)
        )

    def synthetic_from(self, stored: bytes, advance: Advance = lambda *_: None) -> Synthetic:
        """The synthetic table, from what was released. Free."""
        if self.wanted:
            return Synthetic.decode(stored)
        return fitted(self.domain, decode_measurements(stored), progress=partial(_fitting, advance))

    def quality(self, learnt: Synthetic, against: Sequence[Measurement] | None = None) -> Quality:
        """Compared with its own measurements, or with others. A rehearsal estimates how far the truth is."""
        reference = None if against is None else {m.marginal: (m.counts, m.variance) for m in against}
        return quality(
            learnt,
            [attribute.name for attribute in self.attributes],
            labels=[attribute.texts() for attribute in self.attributes],
            reference=reference,
            rehearsal=self._rehearse(counts_of(learnt, self.unit)),
        )

    def check_size(self) -> None:
        """Refuse what could not be stored."""
        if self.wanted:
            check_storable(
                of_workload(workload_of(self.wanted, self.domain)),
                "Take fewer columns, wider bins, or fewer questions.",
            )
        else:
            check_storable(of_synthesis(self.domain), "Take fewer columns, or wider bins.")

    def _rehearse(self, exact: ExactMarginals) -> Synthetic:
        """A table that is made from a synthetic table as that was made from the data. Reads no data."""
        if self.wanted:
            return self._fit_questions(exact)
        return synthesise(self.domain, exact, loss=self.loss, sensitivity=self.sensitivity, unit=self.unit)

    def _fit_questions(self, exact: ExactMarginals) -> Synthetic:
        """Multiplicative weights that pick, privately, what they answer badly."""
        return mwem(
            workload_of(self.wanted, self.domain),
            exact,
            loss=self.loss,
            sensitivity=self.sensitivity,
            unit=self.unit,
        ).synthetic

    @property
    def domain(self) -> Domain:
        return domain_of(self.attributes)

    @property
    def sensitivity(self) -> Sensitivity:
        return table_sensitivity(self.bounded)

    @property
    def unit(self) -> int:
        return unit_of(self.bounded)


def _fitting(advance: Advance, order: int, sweep: int, misfit: float) -> None:
    done = (order - 2 + min(sweep, _ROUNDS) / _ROUNDS) / 2
    advance(f"Tables of {order} columns, round {sweep}: {misfit:.2f} times the noise", done)


def plan_synthesis(
    rows: RowQuery,
    attributes: tuple[Attribute, ...],
    loss: Spend,
    dataset: Dataset,
    wanted: tuple[Wanted, ...] = (),
) -> SynthesisPlan:
    domain = domain_of(attributes)
    cells = domain.cells
    if wanted and cells > MOST_CELLS_FOR_QUESTIONS:
        raise QueryRefused(
            f"There can be {cells:,} different records; with questions of your own, at most"
            f" {MOST_CELLS_FOR_QUESTIONS:,}.",
            remedy="Take fewer columns or wider bins; or leave the questions out.",
        )
    wide = domain.without(domain.optional).cells > MOST_CELLS and not wanted
    if not wide and len(attributes) > _MOST_LISTED_COLUMNS:
        raise QueryRefused(
            f"Of these {len(attributes)} columns, most have one value only.",
            remedy="Leave those out: their rows all say the same.",
        )
    plan = SynthesisPlan(
        wanted=wanted,
        attributes=attributes,
        bounded=counting(rows, attributes, dataset, sets=sets_of(len(attributes), wide=wide)),
        loss=loss,
        dataset=dataset,
    )
    plan.check_size()
    return plan
