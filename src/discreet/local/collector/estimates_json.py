"""Estimates as JSON, for the page and for whoever reads them by program."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.local.estimate import Mean, Shares, SurveyEstimate, estimate
from discreet.local.mechanisms.mechanism import Tally
from discreet.local.survey import NumberBetween, OneOf, Survey, SurveyQuestion
from discreet.model.exact import Number

DEFAULT_MINIMUM = 100
MOST_SHOWN, LARGEST_SHOWN = 50, 20
"""If a question has more than `MOST_SHOWN` options, only the `LARGEST_SHOWN` largest are shown."""


def estimates_as_json(
    survey: Survey,
    tallies: Sequence[Tally],
    *,
    minimum: int,
    confidence: Number = 0.95,
    every_option: bool = False,
) -> list[Mapping[str, Any]]:
    """Question by question. One with fewer reports than the minimum has no estimate."""
    return [
        _question_as_json(question, tally, minimum, confidence, every_option=every_option)
        for question, tally in zip(survey.questions, tallies, strict=True)
    ]


def _question_as_json(
    question: SurveyQuestion, tally: Tally, minimum: int, confidence: Number, *, every_option: bool
) -> Mapping[str, Any]:
    reports = question.mechanism.reports_in(tally)
    common = {"name": question.name, "reports": reports, "needed": minimum}
    if isinstance(question, NumberBetween):
        common |= {"lower": question.lower, "upper": question.upper}
    if reports < max(minimum, 1):
        return common
    found = estimate(question, tally, confidence=confidence)
    return {
        **common,
        "confidence": float(found.confidence),
        **_found_as_json(found, every_option=every_option),
    }


def _found_as_json(found: SurveyEstimate, *, every_option: bool) -> Mapping[str, Any]:
    if isinstance(found, Mean):
        return {"mean": found.mean, "error": found.error}
    errors = found.errors
    shown = list(range(len(found.shares))) if every_option else largest_options(found)
    shares = [
        {
            "option": option_name(found.question, option),
            "share": float(found.shares[option]),
            "error": float(errors[option]),
            "low": float(found.low[option]),
            "high": float(found.high[option]),
            "distribution": float(found.distribution[option]),
        }
        for option in shown
    ]
    others = len(found.shares) - len(shown)
    return {"shares": shares, "others": others} if others else {"shares": shares}


def largest_options(found: Shares) -> list[int]:
    """All options in their order where there are few, the largest first where there are many."""
    if len(found.shares) <= MOST_SHOWN:
        return list(range(len(found.shares)))
    largest = np.argpartition(found.shares, -LARGEST_SHOWN)[-LARGEST_SHOWN:]
    return sorted((int(option) for option in largest), key=lambda option: -found.shares[option])


def option_name(question: OneOf, option: int) -> str:
    return str(option) if isinstance(question.options, int) else question.options[option]
