"""Which way logistic regression is learnt: from public facts alone, and never from the data.

Objective perturbation is chosen wherever it has an account. At δ = 10⁻⁵ its log-loss on rows that were held
out was below that of descent wherever the noise matters, and within 0.002 of it elsewhere: on made-up rows
(10³ to 10⁶ rows, 2 to 100 features, ε from 0.1 to 10), on Adult, and on census income, on which nothing was
tuned. The area under the curve was about the same, but for few rows of many features (2,000 × 91 at ε = 1),
where descent ranks better. `bench/learn.py` and `bench/objective_perturbation.py` have the figures.
"""

from typing import Any

from discreet.errors import InvalidInput
from discreet.learn.core.account import loss_of
from discreet.learn.objective.perturbation import MOST_EPSILON, MOST_FEATURES, SMALLEST_DELTA, ObjectiveBudget
from discreet.model.exact import exact_fraction
from discreet.model.neighbours import Neighbours

_DESCENT = 'Give solver="descent".'


def logistic_solver(
    model: Any, *, width: int, outputs: int, ids: bool, shared: bool, neighbours: Neighbours
) -> str:
    """Either "objective" or "descent".

    `ids`: somebody said whose each row is. `shared`: others spend from the same budget.
    """
    if model.solver not in ("auto", "descent", "objective"):
        raise InvalidInput("There is no such solver.", remedy='Give "auto", "descent" or "objective".')
    if not shared and model.epsilon is not None:
        loss_of(model.epsilon, model.delta, model.noise)  # what is out of range is refused whoever is chosen
    elif not shared:
        return "descent"
    if model.solver == "descent":
        return "descent"
    hindered = _hindrance(model, width=width, outputs=outputs, ids=ids, shared=shared)
    if model.solver == "objective":
        if hindered is not None:
            raise hindered
        return "objective"
    return "objective" if hindered is None and _has_account(model, neighbours) else "descent"


def _hindrance(model: Any, *, width: int, outputs: int, ids: bool, shared: bool) -> InvalidInput | None:
    """Why objective perturbation cannot be, if so."""
    problem, remedy = "", _DESCENT
    if shared:
        problem = "Objective perturbation costs an (ε, δ), and cannot share a budget of another kind."
    elif model.batch is not None:
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
    elif model.noise == "laplace" or exact_fraction(model.delta, "delta") == 0:
        problem = "Objective perturbation has Gaussian noise, which needs a delta above 0."
        remedy = 'Give one well below one over the number of people, such as 1e-9, or solver="descent".'
    elif width > MOST_FEATURES:
        problem = f"Objective perturbation is for at most {MOST_FEATURES} features."
    return InvalidInput(problem, remedy=remedy) if problem else None


def _has_account(model: Any, neighbours: Neighbours) -> bool:
    """Whether its epsilon and delta are in a range for which objective perturbation has an account."""
    epsilon, delta = exact_fraction(model.epsilon, "epsilon"), exact_fraction(model.delta, "delta")
    if not 0 < epsilon <= 2 * MOST_EPSILON or not SMALLEST_DELTA <= delta < 1:
        return False
    try:
        ObjectiveBudget.of(model.epsilon, model.delta, neighbours)
    except InvalidInput:
        return False
    return True
