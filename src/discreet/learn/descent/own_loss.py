"""Bring your own loss: the lecture's general form of private gradient descent (003 §29.4.3), in plain numpy.

Privacy
    The caller's function gives each row's gradient. It is put on the grid and shortened to the clip in whole
    numbers: coordinates are rounded towards zero after scaling by a factor that is short of the right one by
    2⁻⁴⁰, so that its norm is within the clip with rounding included (for the sum of its d squares d
    roundings of 2⁻⁵² are taken off as well). The function must compute a row's gradient from that
    row alone, the same wherever the row stands: `PrivateDescent` gives it one block of rows at a time, and
    cannot see inside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.amplification import sampling_rate
from discreet.arrays import Floats, Labels, RowValues
from discreet.errors import InvalidInput
from discreet.learn.core.account import FitAccount, FitBudget, OwnBudget
from discreet.learn.core.encoding import SAFE, person_weights
from discreet.learn.descent.descent import Schedule, descend
from discreet.learn.descent.sampled_account import SampledAccount, numbered
from discreet.model.deadline import Deadline
from discreet.model.exact import Number, whole, within
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import Loss

Gradient: TypeAlias = Callable[[Floats, RowValues, Labels], Floats]
"""(weights, x, y) → one row of the gradient for each row of x."""
BLOCK = 1024
CELLS = 2**20
"""The most numbers that the gradients held at once may have."""
GRID = 2**20
"""Grid steps in a clip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descended:
    """Weights, and what they cost."""

    weights: Floats
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientDescent:
    """How descent on the sum over rows goes, whoever pays for it. `PrivateDescent` explains the fields."""

    gradient: Gradient
    clip: float
    rows: int
    steps: int
    rate: float
    momentum: float
    batch: Number | None
    rows_per_person: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        whole(self.steps, "steps", 1, 10**6)
        whole(self.rows, "rows", 1, 2**40)
        within(self.clip, "clip", Fraction(1, 10**12), Fraction(10**12))
        within(self.rate, "rate", Fraction(1, 10**12), Fraction(10**12))
        within(self.momentum, "momentum", Fraction(0), Fraction(999, 1000))
        if self.batch is not None and sampling_rate(self.batch, "batch") * self.rows < 1:
            raise InvalidInput(
                "A step would hold less than one row on average.", remedy="Give a larger batch, or none."
            )

    def run(
        self,
        start: Floats,
        x: RowValues,
        y: Labels,
        groups: Labels | None,
        *,
        budget: FitBudget,
        deadline: Deadline | None,
    ) -> Descended:
        """Spends the whole budget. `groups` says whose each row is."""
        if len(x) != len(y):
            raise InvalidInput("x and y have different numbers of rows.", remedy="Give one y for each x.")
        weights = person_weights(groups, len(x), self.rows_per_person)
        account = self.open_account(groups, len(x), budget=budget, deadline=deadline)
        sums = _OwnSums(
            gradient=self.gradient,
            x=x,
            y=y,
            weights=weights,
            clip=float(self.clip),
            order=account.order,
            reach=GRID * self.rows_per_person,
            deadline=deadline,
        )
        schedule = Schedule(steps=self.steps, rate=float(self.rate), momentum=float(self.momentum))
        unit = float(self.clip) / (GRID * self.rows * float(account.rate))
        first = np.asarray(start, dtype=np.float64)
        found = descend(sums, first, account, schedule, share=Fraction(1), unit=unit)
        return Descended(weights=found, loss=account.spent())

    def open_account(
        self, groups: Labels | None, count: int, *, budget: FitBudget, deadline: Deadline | None
    ) -> FitAccount:
        """The account that pays for a run on so many rows."""
        if self.batch is None:
            total = budget.spend() if isinstance(budget, OwnBudget) else budget
            return FitAccount(total, neighbours=self.neighbours, deadline=deadline)
        if not isinstance(budget, OwnBudget):
            raise InvalidInput(
                "A fit on samples cannot be one of several that share a budget.", remedy="Give batch=None."
            )
        return SampledAccount(
            budget,
            rate=self.batch,
            people=numbered(groups, count, self.rows_per_person),
            steps=self.steps,
            share=Fraction(1),
            neighbours=self.neighbours,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateDescent:
    """Descent on a sum over rows of a loss. You give the gradient of each row.

    `rows` is the number of rows to divide by: a public one, or a noisy one that was paid for elsewhere.
    `loss` is optional and serves the caller: it is never evaluated on the data.
    `batch` is the share of the people in each step: a coin decides for each person. Without it, all are in.
    """

    gradient: Gradient
    epsilon: Number
    clip: float
    rows: int
    steps: int = 50
    rate: float = 1.0
    momentum: float = 0.5
    delta: Number = 0
    noise: str = "auto"
    rows_per_person: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    loss: Callable[..., object] | None = None
    batch: Number | None = None

    def __post_init__(self) -> None:
        self._descent()
        self._budget().spend()

    def run(self, start: Floats, x: RowValues, y: Labels, groups: Labels | None = None) -> Descended:
        """Spends `epsilon` and `delta`. `groups` says whose each row is."""
        return self._descent().run(start, x, y, groups, budget=self._budget(), deadline=None)

    def _budget(self) -> OwnBudget:
        return OwnBudget(epsilon=self.epsilon, delta=self.delta, noise=self.noise)

    def _descent(self) -> GradientDescent:
        return GradientDescent(
            gradient=self.gradient,
            clip=self.clip,
            rows=self.rows,
            steps=self.steps,
            rate=self.rate,
            momentum=self.momentum,
            batch=self.batch,
            rows_per_person=self.rows_per_person,
            neighbours=self.neighbours,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OwnSums:
    gradient: Gradient
    x: RowValues
    y: Labels
    weights: Floats
    clip: float
    order: int
    reach: int
    deadline: Deadline | None

    def sum(self, weights: Floats, rows: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
        total = np.zeros(weights.size, dtype=np.int64)
        block = block_rows(weights.size)
        for start in range(0, len(self.x if rows is None else rows), block):
            if self.deadline is not None:
                self.deadline.check()  # a network can take long for a step
            part = slice(start, start + block) if rows is None else rows[start : start + block]
            each = np.array(self.gradient(weights, self.x[part], self.y[part]), dtype=np.float64)
            if each.shape != (len(self.x[part]), *weights.shape):
                raise InvalidInput(
                    "The gradient has another shape than the weights, one for each row.",
                    remedy="Return an array of shape (rows, *weights.shape).",
                )
            total += on_clipped_grid(each.reshape(len(each), -1), self.weights[part], self.clip, self.order)
        return total.reshape(weights.shape)


def _row_sums(cells: Floats) -> Floats:
    """The sum of each row, added in the same order for every row: half of the columns to the other half.

    Overwrites `cells`.
    """
    left = cells.shape[1]
    while left > 1:
        half = (left + 1) // 2
        cells[:, : left - half] += cells[:, half:left]
        left = half
    return cells[:, 0].copy()


def block_rows(size: int) -> int:
    """How many gradients of this size are computed at once: a power of two."""
    return int(2 ** (max(1, min(BLOCK, CELLS // size)).bit_length() - 1))


def on_clipped_grid(gradients: Floats, weights: Floats, clip: float, order: int) -> NDArray[np.int64]:
    """The sum of rows in whole numbers, each clipped to a norm of at most GRID · weight.

    Gradients that are not finite count as zero: an error would tell that there is one.
    """
    finite = np.isfinite(gradients).all(axis=1, keepdims=True)
    gradients = np.where(finite, gradients, 0.0)
    largest = np.maximum(np.abs(gradients).max(axis=1), 1e-300)
    gradients /= largest[:, None]  # so that no square overflows
    norms = _row_sums(np.abs(gradients) if order == 1 else gradients * gradients)
    if order == 2:
        np.sqrt(norms, out=norms)
    norms = np.maximum(norms, 1e-300)
    factors = (
        np.minimum(largest / clip, 1 / norms) * (weights * GRID) * (SAFE - gradients.shape[1] * 2.0**-52)
    )
    gradients *= factors[:, None]
    total: NDArray[np.int64] = np.trunc(gradients).astype(np.int64).sum(axis=0)
    return total
