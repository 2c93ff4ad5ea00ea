"""Noisy counts, means and variances of the features, by which a fit scales them.

Features on different scales make descent slow and noise uneven. Their declared bounds say little about
that. So a small part of the budget buys noisy means and variances.

Privacy
    A histogram of lengths in which a person's rows count with weights that add up to `rows_per_person`; and
    sums of vectors with whole-numbered factors such that factor · norm ≤ reach · weight
    (`encoding.EncodedRows.caps`).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats
from discreet.learn.core.account import FitAccount
from discreet.learn.core.encoding import ONE, EncodedRows, RowOwners, on_grid

WEIGHT_ONE = 2**8
LENGTHS = 24
WITHIN = 0.95
"""The share of rows that are no longer than the length at which they are cut."""


def reach_of(length: float) -> int:
    """The norm of a row of this length, times WEIGHT_ONE and a little more."""
    return int(length * WEIGHT_ONE * (1 + 2.0**-30)) + 1


def release_usual_length(
    lengths: Floats, longest: float, rows: EncodedRows, account: FitAccount, share: Fraction
) -> float:
    """Draw noise, and return one of a few public lengths: that which about WITHIN of the rows stay below."""
    ends = np.geomspace(min(1.0, longest / 2), longest, LENGTHS)
    place = np.searchsorted(ends, lengths).clip(0, LENGTHS - 1)
    whole = np.floor(rows.weights * WEIGHT_ONE)
    exact = np.bincount(place, weights=whole, minlength=LENGTHS).astype(np.int64)
    reach = WEIGHT_ONE * rows.rows_per_person
    noisy = account.release(exact, reach=reach, share=share).astype(np.float64)
    below = np.cumsum(noisy)
    enough = np.flatnonzero(below >= WITHIN * below[-1])
    return float(ends[enough[0] if len(enough) else -1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """The noisy number of rows (by weight), and noisy means and variances of the features."""

    count: float
    means: Floats
    variances: Floats
    deviation: float
    """The standard deviation of the noise in a mean, and in a mean square."""


def release_moments(x: Floats, people: RowOwners, account: FitAccount, share: Fraction) -> Moments:
    """Draw noise, and return the moments of features x, which are declared to lie between −1 and 1.

    A fifth of the share pays for the usual length of the rows (1, x, x²), the rest for their sum.
    """
    width = x.shape[1]
    values = np.empty((len(x), 2 * width + 1))
    values[:, 0] = ONE
    values[:, 1 : width + 1] = on_grid(x, np.zeros(1), np.ones(1))
    np.rint(values[:, 1 : width + 1] ** 2 / ONE, out=values[:, width + 1 :])
    rows = people.rows(values)
    longest = float(2 * width + 1) ** (1 / account.order)
    length = release_usual_length(rows.norms(account.order) / ONE, longest, rows, account, share / 5)
    most = reach_of(length * ONE)
    factors = np.minimum(rows.caps(most, account.order), np.floor(rows.weights * WEIGHT_ONE))
    exact = (values.T @ factors).astype(np.int64)
    rest = share * 4 / 5
    noisy = account.release(exact, reach=most * rows.rows_per_person, share=rest).astype(np.float64)
    noisy /= ONE * WEIGHT_ONE
    deviation = account.deviation(rest, length * rows.rows_per_person)
    count = max(float(noisy[0]), deviation, 1.0)
    means = np.clip(noisy[1 : width + 1] / count, -1, 1)
    squares = np.clip(noisy[width + 1 :] / count, 0, 1)
    return Moments(
        count=count,
        means=means,
        variances=np.clip(squares - means**2, 0, 1),
        deviation=min(1.0, deviation / count),
    )
