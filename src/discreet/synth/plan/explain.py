"""What a synthetic table would cost and how good it could be: from the policy alone.

The noise of a count is known beforehand. On a table of c cells it moves about ½·c·E|noise| rows. What share
of all rows that is depends on their number, which is private: so it is shown for several sizes. The fit is
usually better, as tables correct each other; it cannot be much better where a table drowns in noise.
"""

from dataclasses import dataclass
from math import log, pi, sqrt

from discreet.answers.wording import charge_text
from discreet.bounds.calibrate import budget_of
from discreet.model.policy import Dataset
from discreet.model.privacy import PureLoss, Spend, amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.release.explain import epsilon_of
from discreet.synth.core.synthesis import Stage, stages_of
from discreet.synth.core.what_to_measure import MOST_CELLS
from discreet.synth.mwem.mwem import ON_PEOPLE
from discreet.synth.mwem.price import Pace, price, variance
from discreet.synth.mwem.workload import Workload
from discreet.synth.plan.synthesis_plan import SynthesisPlan
from discreet.synth.plan.workload_text import workload_of

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_SAMPLE = (
    "a sample of them will stand for the data, and of all pairs of columns those are measured that say most"
)
_AT_95 = {False: 1.96, True: log(20) / sqrt(2)}
"""Standard deviations that 95 % of the noise is within: Gaussian, and pure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedStage:
    """All tables of so many columns."""

    order: int
    tables: int
    error: float
    """The error of one count, at 95 % confidence, in rows."""
    shares: tuple[float, ...]
    """For each of `SIZES` rows: how much of a table the noise moves, from 0 to 1 or beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisExplanation:
    """Everything that can be said before anything is spent."""

    loss: Spend
    epsilon: float
    """The loss as ε: pure, or at the dataset's δ."""
    share: float
    """The price as a share of the whole budget."""
    cells: int
    """How many different records there can be."""
    form: str
    """What will stand for the data, in words."""
    stages: tuple[ExplainedStage, ...]
    questions: int = 0
    """How many questions a workload has; then there are no stages."""
    question_error: float = 0.0
    """The error of one measured in the first round, at 95 % confidence, in rows; later ones have less."""
    sizes: tuple[int, ...] = SIZES

    @property
    def warning(self) -> str:
        """What to do if this price buys little; empty if it buys something."""
        drowned = [each for each in self.stages[:2] if each.shares[SIZES.index(100_000)] >= 1]
        if not drowned:
            return ""
        tables = "even tables of one column" if drowned[0].order == 1 else "tables of 2 columns"
        return (
            f"At this price the noise drowns {tables} unless there are far more than 100,000 rows. Pay more,"
            " take fewer columns, or fewer bins."
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "loss": charge_text(self.loss),
            "epsilon": self.epsilon,
            "share": self.share,
            "cells": self.cells,
            "form": self.form,
            "stages": [
                {
                    "columns": stage.order,
                    "tables": stage.tables,
                    "error": stage.error,
                    "moved": dict(zip(map(str, self.sizes), stage.shares, strict=True)),
                }
                for stage in self.stages
            ],
            "questions": self.questions,
            "question_error": self.question_error,
            "warning": self.warning,
        }


def explain_synthesis(plan: SynthesisPlan, dataset: Dataset) -> SynthesisExplanation:
    """Describe a plan."""
    domain, budget = plan.domain, budget_of(dataset)
    if plan.wanted:
        workload = workload_of(plan.wanted, domain)
        return SynthesisExplanation(
            loss=plan.loss,
            epsilon=epsilon_of(plan.loss, dataset),
            share=float(amount_of(plan.loss) / amount_of(budget)),
            cells=domain.cells,
            form="each will have a weight",
            stages=(),
            questions=workload.questions,
            question_error=_reach(plan.loss) * _round_deviation(plan, workload),
        )
    stages = stages_of(domain, loss=plan.loss, sensitivity=plan.sensitivity, unit=plan.unit)
    small = domain.without(domain.optional).cells <= MOST_CELLS
    return SynthesisExplanation(
        loss=plan.loss,
        epsilon=epsilon_of(plan.loss, dataset),
        share=float(amount_of(plan.loss) / amount_of(budget)),
        cells=domain.cells,
        form="each will have a weight" if small else _SAMPLE,
        stages=tuple(_explained(stage, _reach(plan.loss)) for stage in stages),
    )


def _explained(stage: Stage, reach: float) -> ExplainedStage:
    moved = stage.cells / stage.tables * stage.sigma / sqrt(2 * pi)
    return ExplainedStage(
        order=stage.order,
        tables=stage.tables,
        error=reach * stage.sigma,
        shares=tuple(moved / size for size in SIZES),
    )


def _round_deviation(plan: SynthesisPlan, workload: Workload) -> float:
    """The standard deviation of the noise in the first round: of whole tables if there are any."""
    currency = price(plan.loss)
    pace = Pace(currency, currency.total * (1 - ON_PEOPLE), len(plan.attributes), None)
    each = pace.take() * (1 - currency.selecting)
    moved = plan.sensitivity
    if not any(family.whole for family in workload.families):
        moved = Sensitivity.scalar(moved.linf, moved.neighbours)
    return sqrt(variance(currency.noise(each, moved))) / plan.unit


def _reach(loss: Spend) -> float:
    return _AT_95[isinstance(loss, PureLoss)]
