"""Price, error and risk of a question: each from each other. All of it follows from policy and text alone.

Risk is told as odds: somebody who is 50 % sure of something about one person can be at most x % sure after
the answer. People understand that better than ε (Nanayakkara et al., USENIX Security 2023).
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.accounting.odds import rare_chance
from discreet.answers.explanation import ErrorStatement, Explanation, PrivateGroups
from discreet.answers.wording import counted, number_text, one_case_in
from discreet.apps.server.console.rendering import amount_text, percent_text
from discreet.errors import InvalidInput
from discreet.model.policy import Dataset
from discreet.model.privacy import amount_of
from discreet.release.explain import epsilon_of
from discreet.service.question_terms import AskedTerms
from discreet.service.served_dataset import ServedDataset
from discreet.service.user_account import UserAccount

WAYS = ("epsilon", "rho", "within", "suspicion")
_SAFE = 1 - 1e-9
_IN_RHO = "Prices add up as ρ here: many questions together cost less than the sum of their ε."


def terms_of(sent: Mapping[str, Any], dataset: Dataset) -> dict[str, float]:
    """What `explain` and `ask` take, from the control that was set: `by`, and its `value`."""
    by, value = sent.get("by", "epsilon"), sent.get("value")
    if by not in WAYS:
        raise InvalidInput("A price is set by one of the three controls.", remedy=f"Use: {', '.join(WAYS)}.")
    number = _number(value)
    if by != "suspicion":
        return {by: number}
    if not 50 < number < 100:
        raise InvalidInput(
            "An even suspicion can rise to more than 50 of 100, and never to 100.",
            remedy="Give a number such as 55.",
        )
    return _terms_for_odds(math.log(number / (100 - number)) * _SAFE, dataset)


def explained(
    dataset: ServedDataset, account: UserAccount, sql: str, terms: Mapping[str, Any]
) -> dict[str, Any]:
    """All that the page shows while somebody types."""
    found = dataset.explain(account, sql, terms)
    curator = dataset.curator_of(account)
    left = curator.left()
    most = epsilon_of(left, curator.dataset) if amount_of(left) else 0.0
    shown = _shown_error(found)
    return {
        "terms": dict(terms),
        "epsilon": found.epsilon,
        "most_epsilon": min(most, float(curator.dataset.question_epsilon)),
        "suspicion": math.ceil(found.posterior * 1000) / 10,
        "error": None if shown is None else {"measure": shown.measure, "each": shown.each, "all": shown.all},
        "noise": found.noise,
        "price_text": _price_text(found, float(amount_of(found.loss)), float(amount_of(left))),
        "error_text": _error_text(found, shown),
        "risk_text": _risk_text(curator.dataset),
        "groups_text": "" if found.private_groups is None else groups_text(found.private_groups),
        "other_errors": [error_text(each) for each in found.errors if each is not shown],
        "alternatives": list(found.alternatives),
        "notes": [*found.notes, *([_IN_RHO] if curator.dataset.delta else [])],
        "decides_owner": _needs_approval(account, found) and not _asked_before(dataset, account, sql, terms),
    }


def _asked_before(dataset: ServedDataset, account: UserAccount, sql: str, terms: Mapping[str, Any]) -> bool:
    """Whether the account has the answer: then it is free. That others have it is told by asking alone.

    What is explained is not logged, so it must not tell what others asked.
    """
    found = dataset.curator_of(account).recall(sql, **AskedTerms.read(terms).given())
    return found is not None and dataset.may_fetch(account, found.receipt.number)


def error_text(error: ErrorStatement) -> str:
    """How far a measure may be off, in words."""
    each = number_text(error.each, error.each)
    if error.of == "total":
        return (
            f"{error.measure}: ± {each}, divided by the number of rows of the group. With 10,000 rows:"
            f" ± {amount_text(error.each / 10_000)}."
        )
    if error.of == "rank":
        return f"{error.measure}: off by at most {each} rows, if all are in order."
    return f"{error.measure}: ± {each}."


def groups_text(groups: PrivateGroups) -> str:
    """Which groups will be lost where the keys are private."""
    few = min(groups.chances)
    return (
        f"The groups are private, so small ones are left out. A group needs about"
        f" {counted(groups.people, 'person').replace('persons', 'people')} to be shown in half of all cases;"
        f" one with {few} people is shown in {_of_100(groups.chances[few])} cases of 100."
    )


def _terms_for_odds(limit: float, dataset: Dataset) -> dict[str, float]:
    """The price at which odds move by a factor of e^limit at most: the inverse of `accounting.odds`."""
    if not dataset.delta:
        return {"epsilon": limit}
    tail = math.log(1 / float(rare_chance(dataset.delta)))
    return {"rho": (math.sqrt(tail + limit) - math.sqrt(tail)) ** 2 * _SAFE}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput("A price is missing.", remedy="Set the price, the error or the risk.")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 < number < 1e18:
        raise InvalidInput("Price, error and risk are numbers above 0.", remedy="Write, for example, 0.1")
    return number


def _shown_error(found: Explanation) -> ErrorStatement | None:
    """The error that the control sets: the largest of those that are known before the data is read."""
    known = [error for error in found.errors if error.of == "value"]
    return max(known, key=lambda error: error.each) if len(known) == len(found.errors) and known else None


def _price_text(found: Explanation, cost: float, left: float) -> str:
    if not cost:
        return "Free: it follows from what was paid for before."
    if cost > left:
        return f"More than is left for you: {amount_text(left)} of what this takes, {amount_text(cost)}."
    fits = found.questions_left or 0
    often = "Just this one fits." if fits == 1 else f"{fits:,} such questions fit."
    return f"{percent_text(cost / left)} of what is left for you. {often}"


def _error_text(found: Explanation, shown: ErrorStatement | None) -> str:
    if shown is None:
        return "Known once it is answered." if not found.errors else error_text(found.errors[0])
    sure = f"{100 * found.confidence:g} times of 100"
    if found.groups is None or found.groups == 1:
        return f"For {shown.measure}, {sure}."
    every = number_text(shown.all, shown.all)
    return f"For each value of {shown.measure}, {sure}. All {found.groups:,} at once: ± {every}."


def _risk_text(dataset: Dataset) -> str:
    chance = rare_chance(dataset.delta)
    rare = f" But for {one_case_in(chance)}." if chance else ""
    return f"An even suspicion about one person can rise from 50 to this many of 100.{rare}"


def _needs_approval(account: UserAccount, found: Explanation) -> bool:
    return account.approval_above is not None and Fraction(found.epsilon) > account.approval_above


def _of_100(chance: float) -> str:
    return "fewer than 1" if 0 < chance < 0.01 else f"{100 * chance:.0f}"
