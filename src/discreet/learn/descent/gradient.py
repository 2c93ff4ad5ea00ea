"""The sum of clipped gradients of a generalised linear model, as exact integers.

A row's gradient is its residual times its features: z·rᵀ, of norm ‖z‖·‖r‖, so that it is clipped without
being formed. With whole-numbered features and whole-numbered residuals the sum is one product of matrices.

Privacy
    Sensitivity is exact, rounding included. A row adds z·qᵀ with z the row's integers and q whole numbers
    such that ‖q‖·‖z‖ ≤ reach · weight: q is rounded towards zero after scaling by a factor that is short of
    the right one by 2⁻⁴⁰, more than its few roundings (of 2⁻⁵³ each) can have added. One person's rows add up
    to at most reach · rows_per_person.
    That holds only if a row's q depends on this row alone. A product of matrices of floats may round a row
    differently depending on where it stands; so the weights are rounded to a grid, on which margins are sums
    of integers below 2⁵³: exact in any order. Residuals are made of these by operations that IEEE 754 rounds
    correctly and by tables, never by a function that a vector unit may compute in several ways.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.learn.core.encoding import FARTHEST, ONE, SAFE, EncodedRows, between
from discreet.learn.descent.losses import ModelLoss
from discreet.model.exact import within

BLOCK_BYTES = 2**19
RESIDUAL_BITS = 12
RESIDUAL_ONE = 2**RESIDUAL_BITS
WEIGHT_BITS = 16
RowSelection: TypeAlias = slice | NDArray[np.intp]
MOST_CLIP = 2**10
"""A row adds at most 2³², so sums of a block (2¹⁶ rows) stay below 2⁵³, those of 2²⁸ rows below 2⁶³."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClippedGradient:
    """The gradient of a loss on these rows and targets. That of each row has a norm of at most `clip`."""

    loss: ModelLoss
    rows: EncodedRows
    targets: Floats
    clip: float
    order: int
    caps: Floats
    reach: int

    @classmethod
    def of(
        cls, loss: ModelLoss, rows: EncodedRows, targets: Floats, *, clip: float, order: int
    ) -> "ClippedGradient":
        within(clip, "clip", Fraction(1, 10**12), Fraction(MOST_CLIP))
        most = max(1, int(clip * ONE * RESIDUAL_ONE))
        caps = rows.caps(most, order)
        return cls(
            loss=loss,
            rows=rows,
            targets=targets,
            clip=clip,
            order=order,
            caps=caps,
            reach=most * rows.rows_per_person,
        )

    def sum(self, weights: Floats, rows: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
        """The sum in units of 1/(ONE · RESIDUAL_ONE), with one column for each output of the model.

        Over the rows at these places, or over all; what a row adds is the same either way.
        """
        fixed, unit = rounded_weights(weights)
        values, many = self.rows.values, weights.shape[1] > 1
        total = np.zeros(weights.shape, dtype=np.int64)
        step = min(2**16, max(64, BLOCK_BYTES // (8 * values.shape[1])))
        for start in range(0, len(values if rows is None else rows), step):
            part = slice(start, start + step) if rows is None else rows[start : start + step]
            block = values[part]
            residuals = self.loss.residuals(block @ fixed * unit, self.targets[part])
            residuals *= (self.rows.weights[part] * RESIDUAL_ONE)[:, None]
            whole = self._clip_many(residuals, part) if many else self._clip_one(residuals, part)
            total += (block.T @ whole).astype(np.int64)
        return total

    def _clip_one(self, residuals: Floats, part: RowSelection) -> Floats:
        np.rint(residuals, out=residuals)
        caps = self.caps[part, None]
        np.minimum(residuals, caps, out=residuals)
        np.maximum(residuals, -caps, out=residuals)
        return residuals

    def _clip_many(self, residuals: Floats, part: RowSelection) -> Floats:
        norms = np.zeros(len(residuals))
        for column in residuals.T:
            norms += np.abs(column) if self.order == 1 else column * column
        if self.order == 2:
            np.sqrt(norms, out=norms)
        residuals *= np.minimum(1.0, self.caps[part] / np.maximum(norms, 1e-300) * SAFE)[:, None]
        return np.trunc(residuals, out=residuals)


def rounded_weights(weights: Floats) -> tuple[Floats, float]:
    """Weights as integers, so small that every margin is a sum of integers below 2⁵³; and its unit."""
    most = 2 ** (52 - (FARTHEST * ONE).bit_length() - len(weights).bit_length())
    fixed = between(np.rint(weights * 2**WEIGHT_BITS), most)
    return fixed, 2.0**-WEIGHT_BITS / ONE
