"""A generalised linear model by noisy descent, from declared bounds to coefficients.

Nothing is tuned on the data. Features are scaled by noisy means and variances. Steps, clip and rate follow
from how large the noise is relative to the gradient, which depends on the noisy number of rows and on ε.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.learn.core.account import FitAccount
from discreet.learn.core.encoding import ONE, RowOwners, on_grid
from discreet.learn.core.moments import Moments, release_moments
from discreet.learn.descent.descent import Schedule, descend
from discreet.learn.descent.gradient import MOST_CLIP, RESIDUAL_ONE, ClippedGradient
from discreet.learn.descent.losses import ModelLoss
from discreet.model.exact import whole, within

FOR_MOMENTS = Fraction(15, 100)
"""The share of the budget for means and variances."""
INTERCEPT = 2.0
"""The value of the constant feature. It is larger than 1, so that the intercept is learnt first."""
RARE, UNSURE, SURE = 0.03, 0.2, 2.0
"""RARE is added to the variance of one-hot features, and UNSURE times the noise to all variances.

A mean counts where it is larger than SURE times its noise.
"""
MOST_STEPS = 10**4
MOMENTUM, AVERAGED, LAST_RATE = 0.5, 0.5, 0.6
AT_NOISE, AT_CLIP, AT_STEPS, AT_RATE = 0.007, 0.25, 20.0, 3.5
"""Where the noise of the whole budget is 0.7 % of a typical gradient: the clip, the steps and the rate.

They were found by trying them on public data (Adult, census income). With less noise, clip and steps grow
as 1/√noise.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """Margins are x · coefficients + intercept."""

    coefficients: Floats
    intercept: Floats
    count: float
    steps: int


def fit_by_descent(
    x: Floats,
    targets: Floats,
    loss: ModelLoss,
    people: RowOwners,
    account: FitAccount,
    *,
    marks: NDArray[np.bool_],
    outputs: int = 1,
    steps: int | None = None,
    clip: float | None = None,
    penalty: float = 0.0,
    ridge: float = 0.0,
    intercept: bool = True,
) -> Linear:
    """Fit on features that are declared to lie between −1 and 1. Spends the whole account.

    `penalty` is for the mean loss and for the weights of features scaled to about unit spread. `ridge` is for
    the sum of losses and for the coefficients themselves.
    """
    penalty = float(within(penalty, "penalty", Fraction(0), Fraction(10**6)))
    if steps is not None:
        whole(steps, "steps", 1, 10**5)
    if clip is not None:
        clip = float(within(clip, "clip", Fraction(1, 10**12), Fraction(MOST_CLIP)))
    found = release_moments(x, people, account, FOR_MOMENTS)
    means, scale, length = feature_scales(found, marks, intercept=intercept, constant=INTERCEPT)
    constant = np.full((len(x), 1), INTERCEPT * ONE * intercept)
    values = np.hstack([on_grid(x, means, scale), constant])
    rows = people.rows(values)
    share = 1 - FOR_MOMENTS
    reach = length * rows.rows_per_person
    on_all = account.deviation(share, reach) / found.count
    steps = steps or account.planned or usual_steps(on_all, account.order, account.rate)
    noise = account.deviation_of_steps(share, reach, steps) / found.count
    clip = min(float(MOST_CLIP), length * _clip(noise)) if clip is None else clip
    schedule = _schedule(steps, loss, account.rate)
    gradient = ClippedGradient.of(loss, rows, targets, clip=clip, order=account.order)
    weights = descend(
        gradient,
        np.zeros((values.shape[1], outputs)),
        account,
        schedule,
        share=share,
        unit=1 / (max(1.0, found.count * float(account.rate)) * ONE * RESIDUAL_ONE),
        penalty=np.append(penalty + ridge * scale**2 / found.count, 0.0)[:, None],
    )
    coefficients = scale[:, None] * weights[:-1]
    return Linear(
        coefficients=coefficients,
        intercept=INTERCEPT * intercept * weights[-1] - means @ coefficients,
        count=found.count,
        steps=schedule.steps,
    )


def feature_scales(
    found: Moments, marks: NDArray[np.bool_], *, intercept: bool, constant: float
) -> tuple[Floats, Floats, float]:
    """What is taken off each feature, what it is then multiplied by, and the typical length of a row."""
    known = intercept & (np.abs(found.means) > SURE * found.deviation)
    means = np.where(known, found.means, 0.0)
    scale = _scale(found, means, marks)
    return means, scale, _length(found, means, scale, constant * intercept)


def _scale(found: Moments, means: Floats, marks: NDArray[np.bool_]) -> Floats:
    """One over the standard deviation, but less for one-hot features that few rows have.

    If the noise hides a variance, a part of the noise takes its place.
    """
    spread = found.variances + (found.means - means) ** 2
    scale: Floats = 1 / np.sqrt(spread + RARE * marks + UNSURE * found.deviation)
    return scale


def _length(found: Moments, means: Floats, scale: Floats, constant: float) -> float:
    """The typical length of a row after scaling."""
    spread = found.variances + (found.means - means) ** 2
    return float(np.sqrt((spread * scale**2).sum() + constant**2 + 1e-3))


def _clip(noise: float) -> float:
    """The clip, as a fraction of the gradient of a typical row with a residual of 1."""
    return float(min(0.8, AT_CLIP * max(1.0, AT_NOISE / noise) ** 0.5))


def sampled_steps(rate: Fraction) -> int:
    """The number of steps on samples, before anything is known of the noise.

    There are about 1/√rate times as many as steps on everyone, so that together they see fewer rows. This,
    too, was found by trying it on public data.
    """
    return min(MOST_STEPS, round(1.5 * AT_STEPS / sqrt(rate)))


def usual_steps(noise: float, order: int, rate: Fraction) -> int:
    """The number of steps: fewer with Laplace noise, which grows with their number, not with its root."""
    least = AT_STEPS if order == 2 else AT_STEPS / 5
    on_all = max(2, round(min(100.0, least * sqrt(max(0.25, AT_NOISE / noise)))))
    return min(MOST_STEPS, round(on_all / sqrt(rate)))


def _schedule(steps: int, loss: ModelLoss, rate: Fraction) -> Schedule:
    """On samples there are more steps, each shorter by the same factor."""
    return Schedule(
        steps=steps,
        rate=AT_RATE / (4 * loss.curvature) * sqrt(rate),
        momentum=MOMENTUM,
        averaged=AVERAGED,
        last_rate=LAST_RATE,
    )
