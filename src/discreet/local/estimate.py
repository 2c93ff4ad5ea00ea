"""What many reports say together: shares with intervals, a distribution, or a mean.

The error is that of the randomisation alone: the answers of those who reported are taken as they are, whether
or not they stand for anyone else. Intervals of shares are exact (`share_intervals`). Those of means are
normal ones, with the variance in closed form.
"""

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.local.mechanisms.mechanism import Tally
from discreet.local.share_intervals import share_intervals
from discreet.local.survey import NumberBetween, OneOf, SurveyQuestion
from discreet.model.exact import Number, confidence_level


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The share of each option: unbiased, each with its own interval; and the distribution that fits best."""

    question: OneOf
    reports: int
    confidence: Fraction
    shares: Floats
    """Unbiased, so that some are below 0 or above 1: for the options that interest you, one by one."""
    low: Floats
    high: Floats
    """The truth is between `low` and `high` with the stated confidence, option by option."""
    distribution: Floats
    """The nearest shares that are not negative and add up to 1: for all options together. Rare options gain
    by it, frequent ones are pulled towards the middle."""

    @property
    def errors(self) -> Floats:
        """Each share is within this of the truth with the stated confidence: the longer side of its
        interval."""
        longer: Floats = np.maximum(self.shares - self.low, self.high - self.shares)
        return longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a number: unbiased, within `error` of the truth with the stated confidence."""

    question: NumberBetween
    reports: int
    confidence: Fraction
    mean: float
    error: float


SurveyEstimate: TypeAlias = Shares | Mean


def estimate(question: SurveyQuestion, tally: Tally, *, confidence: Number = 0.95) -> SurveyEstimate:
    level = confidence_level(confidence)
    reports = question.mechanism.reports_in(tally)
    if reports < 1:
        raise InvalidInput(
            f"There are no reports about {question.name} yet.", remedy="Estimate once there are some."
        )
    if isinstance(question, OneOf):
        return _shares(question, tally, reports, level)
    return _mean(question, tally, reports, level)


def _shares(question: OneOf, tally: Tally, reports: int, level: Fraction) -> Shares:
    mechanism = question.mechanism
    support = mechanism.support(tally)
    shares = (support / reports - float(mechanism.outside)) / float(mechanism.inside - mechanism.outside)
    low, high = share_intervals(mechanism, support, reports, float(level))
    return Shares(
        question=question,
        reports=reports,
        confidence=level,
        shares=shares,
        low=low,
        high=high,
        distribution=onto_simplex(shares),
    )


def _mean(question: NumberBetween, tally: Tally, reports: int, level: Fraction) -> Mean:
    mechanism = question.mechanism
    deviations = NormalDist().inv_cdf(0.5 + float(level) / 2)
    level_mean = mechanism.total(tally) / reports
    spread = float(mechanism.mean_variance(level_mean) / reports) ** 0.5
    step = (question.upper - question.lower) / mechanism.steps
    return Mean(
        question=question,
        reports=reports,
        confidence=level,
        mean=question.value(float(level_mean)),
        error=deviations * spread * step,
    )


def onto_simplex(values: Floats) -> Floats:
    """The nearest point with no negative part and sum 1 (Duchi et al., ICML 2008, Figure 1)."""
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    projected: Floats = np.maximum(values - excess[last], 0)
    return projected
