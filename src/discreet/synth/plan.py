"""What a synthetic table will be made from, and its price: no data is read, and nothing is spent."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from discreet.compile.bound import Bounded
from discreet.compile.calibrate import Charge
from discreet.compile.exact import Results
from discreet.compile.rows import RowQuery
from discreet.errors import QueryRefused
from discreet.model.policy import Dataset
from discreet.model.sensitivity import Sensitivity
from discreet.synth.asked import Wanted, workload_of
from discreet.synth.attributes import Attribute, domain_of
from discreet.synth.counting import Counted, counting, sets_of, table_sensitivity, unit_of
from discreet.synth.domain import Domain
from discreet.synth.mwem import MOST_CELLS as MOST_CELLS_FOR_QUESTIONS
from discreet.synth.mwem import mwem
from discreet.synth.synthesis import MOST_CELLS, Synthetic, synthesise

Advance: TypeAlias = Callable[[str, float], object]
"""Told what is being done, and about how much of everything is done."""

_ROUNDS = 25
"""About as many as the tables of one order take to be fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPlan:
    """The columns, what is counted, and the whole price."""

    attributes: tuple[Attribute, ...]
    bounded: Bounded
    loss: Charge
    wanted: tuple[Wanted, ...] = ()
    """Questions that it has to answer well; all tables of few columns if there are none."""

    def synthesised(self, exact: Results, advance: Advance = lambda *_: None) -> bytes:
        """Measure and fit. Exact numbers live in this call alone; what is given costs `loss`."""
        counted = Counted(self.domain, self.bounded, exact)
        if self.wanted:
            return self._for_questions(counted, advance).encode()
        return synthesise(
            self.domain,
            counted,
            loss=self.loss,
            sensitivity=self.sensitivity,
            unit=self.unit,
            progress=partial(_fitting, advance),
        ).encode()

    def _for_questions(self, counted: Counted, advance: Advance) -> Synthetic:
        """Multiplicative weights that pick, privately, what they answer badly."""
        return mwem(
            workload_of(self.wanted, self.domain),
            counted,
            loss=self.loss,
            sensitivity=self.sensitivity,
            unit=self.unit,
            progress=lambda taken, spent: advance(f"Round {taken}", spent),
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
    loss: Charge,
    dataset: Dataset,
    wanted: tuple[Wanted, ...] = (),
) -> SynthesisPlan:
    cells = domain_of(attributes).cells
    if wanted and cells > MOST_CELLS_FOR_QUESTIONS:
        raise QueryRefused(
            f"There can be {cells:,} different records; with questions of your own, at most"
            f" {MOST_CELLS_FOR_QUESTIONS:,}.",
            remedy="Take fewer columns or wider bins; or leave the questions out.",
        )
    wide = cells > MOST_CELLS and not wanted
    return SynthesisPlan(
        wanted=wanted,
        attributes=attributes,
        bounded=counting(rows, attributes, dataset, sets=sets_of(len(attributes), wide=wide)),
        loss=loss,
    )
