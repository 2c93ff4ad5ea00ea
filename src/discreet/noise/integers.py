"""Exact integers in, noisy integers out: the one door through which values meet noise."""

from typing import TypeVar, overload

import numpy as np

from discreet.errors import InvalidInput
from discreet.noise.sampling import Integers

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1

Exact = TypeVar("Exact", int, Integers)


def as_integers(exact: object) -> Integers:
    """A non-empty array of int64, or of Python integers where 64 bits do not hold them."""
    try:
        array = np.asarray(exact)
    except ValueError:  # a ragged list
        raise _not_integers() from None
    if array.size == 0:
        raise InvalidInput("There is nothing to release.", remedy="Give at least one value.")
    if array.dtype == object:
        if not all(isinstance(x, int) and not isinstance(x, bool) for x in array.flat):
            raise _not_integers()
        return array
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        return array.astype(object) if int(array.max()) > _HIGHEST else array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise _not_integers()
    return array.astype(np.int64)


def add_noise(exact: Integers, noise: Integers) -> Integers:
    """exact + noise; 64-bit values saturate at their ends instead of wrapping around.

    Saturating is post-processing: it sees the noisy sum alone, so it costs no privacy.
    """
    if exact.dtype == object:
        exact_sum: Integers = exact + noise.astype(object)
        return exact_sum
    if noise.dtype == object:
        clipped: Integers = np.clip(exact.astype(object) + noise, _LOWEST, _HIGHEST)
        return clipped.astype(np.int64)
    total: Integers = exact + noise
    overflow = ((exact ^ total) & (noise ^ total)) < 0
    return np.where(overflow, np.where(exact < 0, _LOWEST, _HIGHEST), total)


@overload
def like_input(exact: int, released: Integers) -> int: ...
@overload
def like_input(exact: Integers, released: Integers) -> Integers: ...
def like_input(exact: int | Integers, released: Integers) -> int | Integers:
    """A Python int for a single number, an array for anything longer."""
    return released if isinstance(exact, np.ndarray) or released.ndim else int(released)


def _not_integers() -> InvalidInput:
    return InvalidInput(
        "Only integers on the grid can be released: noise on floats is not private.",
        remedy="Quantise first: clamp to the bounds, divide by the grid, round to an int.",
    )
