"""Losses of generalised linear models: how far the prediction is off, as a function of the margin.

The gradient of a row's loss is its features times this residual. Residuals are made by operations that IEEE
754 rounds correctly and by tables made in public, so that they are the same for a row wherever it stands
(see `gradient`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.arrays import Floats


class ModelLoss(Protocol):
    """The loss of a model with one or several outputs."""

    @property
    def curvature(self) -> float:
        """About the largest second derivative by a margin. The rate follows from it."""
        ...

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        """The derivative of each row's loss by each of its margins; may overwrite the margins."""
        ...


class TabulatedFunction:
    """A function of one number, tabulated: constant between the points of a grid, and beyond its ends."""

    def __init__(
        self, function: Callable[[Floats], Floats], low: float, high: float, points: int = 2**15
    ) -> None:
        self._low, self._last = low, points - 1
        self._per_unit = self._last / (high - low)
        self._values = function(np.linspace(low, high, points))

    def __call__(self, x: Floats) -> Floats:
        place = x - self._low
        place *= self._per_unit
        np.rint(place, out=place)
        np.clip(place, 0, self._last, out=place)
        return self._values.take(place.astype(np.intp))


@dataclass(frozen=True, slots=True)
class Squared:
    """½(margin − y)²."""

    curvature: float = 2.0

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        margins -= targets[:, None]
        return margins


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


@dataclass(frozen=True, slots=True)
class Logistic:
    """ln(1 + e^margin) − y·margin, y either 0 or 1."""

    curvature: float = 0.25
    _table: TabulatedFunction = field(
        default_factory=lambda: TabulatedFunction(_sigmoid, -16.0, 16.0), repr=False
    )

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        residuals = self._table(margins)
        residuals -= targets[:, None]
        return residuals


@dataclass(frozen=True, slots=True)
class Softmax:
    """ln Σ e^margins − the margin of class y, y from 0 to the number of classes − 1."""

    curvature: float = 0.5
    _table: TabulatedFunction = field(
        default_factory=lambda: TabulatedFunction(np.exp, -24.0, 0.0), repr=False
    )

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        margins -= margins.max(axis=1, keepdims=True)
        powers = self._table(margins)
        total = np.zeros(len(powers))
        for column in powers.T:  # one after the other, in the same order for every row
            total += column
        powers /= total[:, None]
        powers[np.arange(len(powers)), targets.astype(np.intp)] -= 1
        return powers


@dataclass(frozen=True, slots=True)
class Poisson:
    """e^margin − y·margin, in units of the largest y that is declared: both are divided by it."""

    largest: float
    curvature: float = 1.0
    _table: TabulatedFunction = field(
        default_factory=lambda: TabulatedFunction(np.exp, -24.0, 0.5), repr=False
    )

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        residuals = self._table(margins)
        residuals -= (targets / self.largest)[:, None]
        return residuals


@dataclass(frozen=True, slots=True)
class SmoothedHinge:
    """Zero above 1, slope −1 below 0, a parabola between (Rennie 2005): of margin if y is 1, of −margin if 0.

    With several outputs, each separates one class from all others.
    """

    curvature: float = 1.0

    def residuals(self, margins: Floats, targets: Floats) -> Floats:
        outputs = margins.shape[1]
        mine = targets[:, None] == (np.arange(outputs) if outputs > 1 else 1)
        signs = np.where(mine, 1.0, -1.0)
        margins *= signs
        margins -= 1
        np.clip(margins, -1, 0, out=margins)
        margins *= signs
        return margins
