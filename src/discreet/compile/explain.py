"""What a question would cost and how accurate it would be: from the policy and the text alone."""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.compile.calibrate import Charge, Plan
from discreet.compile.release import groups_of, notes_of
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss
from discreet.model.query import Aggregate
from discreet.noise.laplace import DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStatement:
    """How far a measure may be off, in words that say of what."""

    measure: str
    each: float
    """One cell, at the stated confidence."""
    all: float
    """All cells at once."""
    of_total: bool
    """For an average: the error of the sum, to be divided by the number of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that can be said before anything is spent."""

    loss: Charge
    epsilon: float
    """The loss as ε: pure, or at the dataset's δ."""
    share: float
    """Of the whole budget."""
    questions_left: int
    """How many such questions still fit."""
    groups: int
    noise: str
    errors: tuple[ErrorStatement, ...]
    confidence: float
    posterior: float
    """The most that an even suspicion about one person can rise to."""
    notes: tuple[str, ...]


def explain(plan: Plan, dataset: Dataset, *, budget: Charge, left: Charge) -> Explanation:
    """Describe a plan."""
    groups = max(1, len(groups_of(plan)))
    loss = plan.loss
    epsilon = _epsilon(loss, dataset)
    return Explanation(
        loss=loss,
        epsilon=epsilon,
        share=float(_amount(loss) / _amount(budget)),
        questions_left=int(_amount(left) / _amount(loss)),
        groups=groups,
        noise="discrete Laplace" if isinstance(plan.mechanisms[0], DiscreteLaplace) else "discrete Gaussian",
        errors=tuple(
            ErrorStatement(
                measure=_title(plan, i),
                each=float(plan.error(measure).high),
                all=float(plan.error(measure, cells=groups).high),
                of_total=measure.measure.aggregate in (Aggregate.AVERAGE, Aggregate.VARIANCE),
            )
            for i, measure in enumerate(plan.bounded.measures)
        ),
        confidence=float(plan.request.confidence),
        posterior=math.exp(epsilon) / (1 + math.exp(epsilon)),
        notes=notes_of(plan),
    )


def _title(plan: Plan, index: int) -> str:
    """The name that the question gives to a measure, or its function."""
    measure = plan.bounded.measures[index].measure
    for output in plan.bounded.query.outputs:
        if getattr(output.expression, "name", None) == measure.name:
            return output.name
    return measure.aggregate.value


def _amount(charge: Charge) -> Fraction:
    return charge.epsilon if isinstance(charge, PureLoss) else charge.rho


def _epsilon(loss: Charge, dataset: Dataset) -> float:
    if isinstance(loss, ConcentratedLoss):
        return float(loss.epsilon_at(dataset.delta))
    return float(loss.epsilon)
