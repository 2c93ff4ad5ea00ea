"""Rows as integers on a public grid, and what one person may add with theirs.

Everything here is a function of one row and of public numbers, and numpy computes it for each element on its
own: a row's integers do not depend on which other rows there are, nor on where it stands among them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Labels
from discreet.errors import InvalidInput
from discreet.model.exact import whole

BITS = 10
"""A coordinate of 1 is 2^BITS on the grid."""
ONE: int = 2**BITS
FARTHEST = 32
"""A coordinate beyond this is clamped."""
SAFE = 1 - 2.0**-40
"""Shrinks a quotient by more than a few roundings can have enlarged it, each by a factor of 1 + 2⁻⁵³."""
MOST_ROWS = 2**28
MOST_COLUMNS = 2**12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedRows:
    """Integers, held in floats that hold them exactly; and each row's weight, at most 1.

    The weights of one person's rows add up to at most `rows_per_person`.
    """

    values: Floats
    weights: Floats
    rows_per_person: int

    def __post_init__(self) -> None:
        if len(self.values) > MOST_ROWS or self.values.shape[1] > MOST_COLUMNS:
            raise InvalidInput(
                "That is more than can be summed exactly.",
                remedy=f"Give at most {MOST_ROWS} rows of {MOST_COLUMNS} columns.",
            )

    def norms(self, order: int) -> Floats:
        """The ℓ₁ or ℓ₂ norm of each row's integers: sums are exact, so that only the root is rounded."""
        if order == 1:
            sums: Floats = np.abs(self.values).sum(axis=1)
            return sums
        squares: Floats = np.einsum("ij,ij->i", self.values, self.values)
        return np.sqrt(squares)

    def caps(self, reach: int, order: int) -> Floats:
        """For each row the largest whole factor with factor · norm ≤ reach · weight.

        A person's rows then add up to a norm of at most reach · rows_per_person, by the triangle inequality.
        """
        norms = np.maximum(self.norms(order), 1)
        return np.floor(reach * self.weights / norms * SAFE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowOwners:
    """Whom the rows belong to: the weight of each row, and the most that one person's weights add up to."""

    weights: Floats
    rows_per_person: int
    ids: NDArray[np.generic] | None = None
    """The person of each row, where that is known."""

    def rows(self, values: Floats) -> EncodedRows:
        """The integers of these rows, with their weights."""
        return EncodedRows(values=values, weights=self.weights, rows_per_person=self.rows_per_person)


NOBODY = RowOwners(weights=np.ones(0), rows_per_person=1, ids=np.zeros(0, dtype=np.int64))


def person_weights(groups: NDArray[np.generic] | None, count: int, rows_per_person: int) -> Floats:
    """min(1, B/k) for each row of a person with k rows; 1 without groups."""
    most = whole(rows_per_person, "rows_per_person", 1, 2**20)
    if groups is None:
        return np.ones(count)
    if groups.shape != (count,):
        raise InvalidInput(
            "The groups do not match the rows.", remedy="Give one person's id for each row, in one dimension."
        )
    of_person = persons(groups)
    mine = np.bincount(of_person)[of_person]
    return np.minimum(1.0, most / mine)


def persons(groups: NDArray[np.generic]) -> NDArray[np.intp]:
    """A number for each row, the same for rows of one person. Rows without an id belong to one person."""
    if groups.dtype != object:
        of_person: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1]
        return of_person
    try:
        return _told_apart(groups)
    except TypeError:
        raise InvalidInput(
            "The ids of people are of several kinds.", remedy="Give them all as numbers or all as texts."
        ) from None


def _told_apart(objects: Labels) -> NDArray[np.intp]:
    """A number for each object, the same for equal ones.

    Sorting would not do: NaN is neither less nor more than anything, so equal ids could end up apart, and one
    person would become several.
    """
    ids = [None if each is None or each != each else each for each in objects]
    if len({isinstance(each, str) for each in ids if each is not None}) > 1:
        raise TypeError("texts and others")
    numbers = {each: number for number, each in enumerate(dict.fromkeys(ids))}
    return np.array([numbers[each] for each in ids], dtype=np.intp)


def on_grid(x: Floats, shift: Floats, scale: Floats) -> Floats:
    """(x − shift) · scale as whole multiples of 1/ONE, none beyond ±FARTHEST."""
    out = x - shift
    out *= scale * ONE
    np.rint(out, out=out)
    return between(out, FARTHEST * ONE)


def between(values: Floats, most: float) -> Floats:
    """Clamped to ±most, in place. NaN is clamped too, unlike by np.clip."""
    np.fmax(values, -most, out=values)
    return np.fmin(values, most, out=values)
