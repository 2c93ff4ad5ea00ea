"""Noisy gradient descent: the lecture's algorithm (003 §29.4.3) with clipping, momentum and averaging.

Privacy
    Each step releases one sum of clipped gradients, for its equal part of the budget. The sum is over
    everyone, or over a sample that the account draws. Steps, rate, momentum and averages are made of public
    numbers and of what was released.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.learn.core.account import FitAccount


class GradientSum(Protocol):
    """Sums of clipped gradients, as integers. One person moves them by a norm of at most `reach`."""

    @property
    def reach(self) -> int: ...

    def sum(self, weights: Floats, rows: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
        """The sum over the rows at these places, or over all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How descent goes: chosen before the first step, from public numbers."""

    steps: int
    rate: float
    momentum: float = 0.5
    averaged: float = 0.5
    """The share of the steps, the last ones, whose weights are averaged."""
    last_rate: float = 1.0
    """The rate of the last step, divided by that of the first. It falls evenly."""

    def rate_at(self, step: int) -> float:
        return self.rate * (1 - (1 - self.last_rate) * step / self.steps)


def descend(
    gradient: GradientSum,
    start: Floats,
    account: FitAccount,
    schedule: Schedule,
    *,
    share: Fraction,
    unit: float,
    penalty: Floats | float = 0.0,
    project: Callable[[Floats], Floats] = lambda weights: weights,
) -> Floats:
    """Draw noise in each step, and average the last weights.

    A noisy sum times `unit` is the mean gradient.

    The penalty ½·penalty·‖weights‖² is applied after each step, as a proximal step. That is stable for every
    penalty.
    """
    weights, velocity = start.copy(), np.zeros_like(start)
    first = int(schedule.steps * (1 - schedule.averaged))
    average = np.zeros_like(start)
    for step in range(schedule.steps):
        sums = partial(gradient.sum, weights)
        noisy = account.release_step(sums, reach=gradient.reach, share=share / schedule.steps)
        velocity = schedule.momentum * velocity + noisy.astype(np.float64) * unit
        rate = schedule.rate_at(step)
        shrunk = 1 + rate * penalty / (1 - schedule.momentum)
        weights = project((weights - rate * velocity) / shrunk)
        if step >= first:
            average += (weights - average) / (step - first + 1)
    return average
