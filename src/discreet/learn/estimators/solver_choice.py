"""Which solver logistic regression takes. The choice rests on public facts alone, never on the data.

Objective perturbation is chosen wherever it has an account. At δ = 10⁻⁵ its log-loss on rows that were held
out was below that of descent wherever the noise matters, and within 0.002 of it elsewhere: on made-up rows
(10³ to 10⁶ rows, 2 to 100 features, ε from 0.1 to 10), on Adult, and on census income, on which nothing was
tuned. The area under the curve was about the same, but for few rows of many features (2,000 × 91 at ε = 1),
where descent ranks better. `bench/learn.py` and `bench/objective_perturbation.py` have the figures.
"""

from typing import Protocol

from discreet.errors import InvalidInput
from discreet.learn.core.account import FitBudget, OwnBudget
from discreet.learn.objective.perturbation import MOST_EPSILON, MOST_FEATURES, SMALLEST_DELTA, ObjectiveBudget
from discreet.model.exact import Number, exact_fraction
from discreet.model.neighbours import Neighbours

_DESCENT = 'Give solver="descent".'


class LogisticSettings(Protocol):
    """The settings of logistic regression that decide."""

    solver: str
    batch: Number | None
    steps: int | None
    clip: float | None
    rows_per_person: int


def objective_budget(
    model: LogisticSettings,
    budget: FitBudget,
    *,
    width: int,
    outputs: int,
    ids: bool,
    neighbours: Neighbours,
) -> OwnBudget | None:
    """What objective perturbation has to spend; None where descent is chosen.

    `ids` is whether the person of each row was given.
    """
    if model.solver not in ("auto", "descent", "objective"):
        raise InvalidInput("There is no such solver.", remedy='Give "auto", "descent" or "objective".')
    if isinstance(budget, OwnBudget):
        budget.spend()  # refuses what is out of range, whichever solver is chosen
    if model.solver == "descent":
        return None
    if not isinstance(budget, OwnBudget):
        if model.solver == "objective":
            raise InvalidInput(
                "Objective perturbation costs an (ε, δ), and cannot share a budget of another kind.",
                remedy=_DESCENT,
            )
        return None
    hindered = _hindrance(model, budget, width=width, outputs=outputs, ids=ids)
    if hindered is not None and model.solver == "objective":
        raise hindered
    chosen = model.solver == "objective" or (hindered is None and _has_account(budget, neighbours))
    return budget if chosen else None


def _hindrance(
    model: LogisticSettings, budget: OwnBudget, *, width: int, outputs: int, ids: bool
) -> InvalidInput | None:
    """Why objective perturbation is impossible, if it is."""
    problem, remedy = "", _DESCENT
    if model.batch is not None:
        problem = "Objective perturbation takes everyone at once: it has no batch."
        remedy = 'Leave batch out, or give solver="descent".'
    elif model.steps is not None or model.clip is not None:
        problem = "Steps and clip are of descent: objective perturbation has neither."
        remedy = 'Leave them out, or give solver="descent".'
    elif outputs != 1:
        problem = "Objective perturbation is for two classes."
    elif ids or model.rows_per_person != 1:
        problem = "Objective perturbation is for people with one row each."
        remedy = 'Leave groups and rows_per_person out if that is so; else give solver="descent".'
    elif budget.noise == "laplace" or exact_fraction(budget.delta, "delta") == 0:
        problem = "Objective perturbation has Gaussian noise, which needs a delta above 0."
        remedy = 'Give one well below one over the number of people, such as 1e-9, or solver="descent".'
    elif width > MOST_FEATURES:
        problem = f"Objective perturbation is for at most {MOST_FEATURES} features."
    return InvalidInput(problem, remedy=remedy) if problem else None


def _has_account(budget: OwnBudget, neighbours: Neighbours) -> bool:
    """Whether objective perturbation has an account for this epsilon and delta."""
    epsilon, delta = exact_fraction(budget.epsilon, "epsilon"), exact_fraction(budget.delta, "delta")
    if not 0 < epsilon <= 2 * MOST_EPSILON or not SMALLEST_DELTA <= delta < 1:
        return False
    try:
        ObjectiveBudget.of(budget.epsilon, budget.delta, neighbours)
    except InvalidInput:
        return False
    return True
