"""Sufficient statistics: the sums of products that linear regression needs, with noise.

Privacy
    A row v = (1, features, target) adds its products v_i·v_j, i ≤ j, times a whole factor. Their norms are
    known without forming them: ℓ₁ is ((Σ|v|)² + Σv²)/2 and ℓ₂ is √((Σv²)² + Σv⁴)/√2. The factor keeps factor
    · norm below reach · weight, as `encoding.Rows.caps` does, rounding included.

Accuracy
    Counting each product once instead of twice makes ℓ₂ up to √2 smaller, and the noise with it. Rows that
    are longer than most weigh less: a weighted regression.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.learn.account import Account
from discreet.learn.encoding import ONE, SAFE, Floats, Rows
from discreet.learn.moments import WEIGHT_ONE, reach_of, usual_length

BLOCK = 2**12
FOR_LENGTH = Fraction(1, 20)
"""The share that finds out how long rows are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Noisy sums of products v_i·v_j over all rows, each with noise of this standard deviation."""

    sums: Floats
    deviation: float


def products(rows: Rows, account: Account, share: Fraction) -> Products:
    """Of rows whose first coordinate is 1, and no other is beyond ±1."""
    norms = triangle_norms(rows.values, account.order)
    width = rows.values.shape[1]
    longest = width * (width + 1) / 2
    longest = longest if account.order == 1 else longest**0.5
    length = usual_length(norms / ONE**2, longest, rows, account, share * FOR_LENGTH)
    most = reach_of(length * ONE**2)
    factors = np.floor(most * rows.weights / np.maximum(norms, 1) * SAFE)
    np.minimum(factors, np.floor(rows.weights * WEIGHT_ONE), out=factors)
    exact = np.zeros((width, width), dtype=np.int64)
    for start in range(0, len(factors), BLOCK):
        block = rows.values[start : start + BLOCK]
        exact += ((block * factors[start : start + BLOCK, None]).T @ block).astype(np.int64)
    upper = np.triu_indices(width)
    rest = share * (1 - FOR_LENGTH)
    noisy = account.release(exact[upper], reach=most * rows.rows_per_person, share=rest)
    sums = np.zeros((width, width))
    sums[upper] = noisy.astype(np.float64) / (ONE**2 * WEIGHT_ONE)
    sums = sums + np.triu(sums, 1).T
    return Products(sums=sums, deviation=account.deviation(rest, length * rows.rows_per_person))


def triangle_norms(values: Floats, order: int) -> Floats:
    """The norm of all products v_i·v_j, i ≤ j, of each row; off by a few roundings at most.

    Sums of squares and of fourth powers are exact: at most 2¹² of 2⁴⁰. So a row's norm is its own.
    """
    squares: Floats = np.einsum("ij,ij->i", values, values)
    if order == 1:
        sums: Floats = np.abs(values).sum(axis=1)
        return (sums**2 + squares) / 2
    fourths: Floats = np.einsum("ij,ij,ij,ij->i", values, values, values, values)
    return np.sqrt((squares**2 + fourths) / 2)
