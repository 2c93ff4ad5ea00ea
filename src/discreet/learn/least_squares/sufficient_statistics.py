"""Sufficient statistics: the sums of products that linear regression needs, with noise.

A row is v = (1, features, target), in whole numbers of which `ONE` is 1 and none is larger. Rows are put into
places by their length S: Σ|v| for Laplace noise, Σv² for Gaussian noise. The exact sums of w·v_i·v_j in each
place may come from rows in memory or from a database; from there on all is the same.

Privacy
    A histogram of the places, with noise, tells a length T that most rows stay below. The sums of a place
    that ends at E are added up with a whole factor f ≤ F, which is F where E ≤ T. The products of a row, i ≤
    j, have

        ℓ₁ = (S² + Σv²)/2 ≤ (S² + ONE·S)/2 =: g(S)             and f ≤ F·(T/E)²
        ℓ₂ = √(((Σv²)² + Σv⁴)/2) ≤ √((S² + ONE²·S)/2) =: g(S)  and f ≤ F·T/E

    so that f·g(S) ≤ F·g(T) for every S ≤ E, as g(S)/S² and g(S)/S fall. A person's weights w add up to at
    most W times their rows that count fully, and their products to F·g(T) times that. All of it is in
    integers.

Accuracy
    Counting each product once instead of twice makes ℓ₂ up to √2 smaller, and the noise with it. Rows that
    are longer than most weigh less: a weighted regression.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.learn.core.account import FitAccount
from discreet.learn.core.encoding import ONE, EncodedRows
from discreet.learn.core.moments import LENGTHS, WEIGHT_ONE, WITHIN

BLOCK = 2**12
FOR_LENGTH = Fraction(1, 20)
"""The share of the budget that buys the usual length of a row."""
FACTOR_ONE = 2**8
"""F: the factor of rows that are not shortened."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Noisy sums of products v_i·v_j over all rows, each with noise of this standard deviation."""

    sums: Floats
    deviation: float
    laplace: bool = False
    """Whether the noise is Laplace noise, and not Gaussian."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProductSums:
    """Exact, and secret: for each place the sums of w·v_i·v_j, i ≤ j, row by row of the upper triangle."""

    by_place: Integers
    width: int
    order: int
    rows_per_person: int


def place_ends(width: int, order: int) -> tuple[int, ...]:
    """The largest length in each place, from a row that has only its constant to the longest row."""
    unit = ONE if order == 1 else ONE**2
    ends = np.geomspace(1, width, LENGTHS) * unit
    return (*(int(end) for end in ends[:-1]), width * unit)


def product_sums(rows: EncodedRows, order: int) -> ProductSums:
    """The sums of rows in memory. Their first coordinate is ONE, and no other is larger."""
    values = rows.values
    width = values.shape[1]
    lengths = np.abs(values).sum(axis=1) if order == 1 else np.einsum("ij,ij->i", values, values)
    places = np.searchsorted(place_ends(width, order), lengths).clip(0, LENGTHS - 1)
    weights = np.floor(rows.weights * WEIGHT_ONE)
    upper = np.triu_indices(width)
    by_place = np.zeros((LENGTHS, len(upper[0])), dtype=np.int64)
    for place in range(LENGTHS):
        chosen = np.flatnonzero(places == place)
        for start in range(0, len(chosen), BLOCK):
            part = chosen[start : start + BLOCK]
            block = values[part]
            formed = (block * weights[part, None]).T @ block  # below 2⁵³: exact in any order
            by_place[place] += formed[upper].astype(np.int64)
    return ProductSums(by_place=by_place, width=width, order=order, rows_per_person=rows.rows_per_person)


def release_products(exact: ProductSums, account: FitAccount, share: Fraction) -> Products:
    """Draw noise: the sums with it, for this share of the account."""
    ends = place_ends(exact.width, exact.order)
    counts = exact.by_place[:, 0] // ONE**2
    whole = WEIGHT_ONE * exact.rows_per_person
    noisy = account.release(counts.astype(object), reach=whole, share=share * FOR_LENGTH).astype(np.float64)
    length = _usual(noisy, ends)
    factors = np.array([factor(length, end, exact.order) for end in ends], dtype=object)
    sums = (exact.by_place.astype(object) * factors[:, None]).sum(axis=0)
    reach, rest = FACTOR_ONE * norm(length, exact.order), share * (1 - FOR_LENGTH)
    found = account.release(sums, reach=reach * whole, share=rest).astype(np.float64)
    unit = float(ONE**2 * FACTOR_ONE * WEIGHT_ONE)
    square = np.zeros((exact.width, exact.width))
    square[np.triu_indices(exact.width)] = found / unit
    return Products(
        sums=square + np.triu(square, 1).T,
        deviation=account.deviation(rest, float(reach * whole)) / unit,
        laplace=exact.order == 1,
    )


def factor(length: int, end: int, order: int) -> int:
    """The factor of the sums of a place with this end, if rows usually have this length."""
    if end <= length:
        return FACTOR_ONE
    return FACTOR_ONE * length * length // (end * end) if order == 1 else FACTOR_ONE * length // end


def norm(length: int, order: int) -> int:
    """g: what the products of a row of this length come to at most, rounded up."""
    if order == 1:
        return (length * length + ONE * length + 1) // 2
    return isqrt((length * length + ONE * ONE * length) // 2) + 1


def _usual(counts: Floats, ends: tuple[int, ...]) -> int:
    """The first end that about WITHIN of the rows stay below, by their noisy counts."""
    below = np.cumsum(counts)
    enough = np.flatnonzero(below >= WITHIN * below[-1])
    return ends[int(enough[0]) if len(enough) else -1]
