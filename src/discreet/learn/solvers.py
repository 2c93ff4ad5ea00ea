"""Which way logistic regression is learnt: from public facts alone, and never from the data.

Objective perturbation is chosen wherever it has an account. Measured at δ = 10⁻⁵ on made-up rows (10³ to 10⁶
rows, 2 to 100 features, ε from 0.1 to 10; `bench/objective_perturbation.py` has some of it): its log-loss on
rows that were held out was below that of descent, by 0.002 to 0.1 where the noise matters and by much more
where descent drowns in it, and within 0.0003 of it elsewhere. On Adult it was 0.034 below at ε = 0.1, and
0.001 above at ε = 1. The area under the curve was the same to 0.001, but for few rows at small ε, where
now one and now the other was ahead.
"""

from typing import Any

from discreet.errors import InvalidInput
from discreet.learn.account import loss_of
from discreet.learn.objective import MOST_EPSILON, MOST_FEATURES, SMALLEST_DELTA, Budget
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
        Budget.of(model.epsilon, model.delta, neighbours)
    except InvalidInput:
        return False
    return True
