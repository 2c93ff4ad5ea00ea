"""Exact integers in, noisy integers out: every mechanism adds its noise here."""

from numbers import Integral
from typing import TypeVar, overload

import numpy as np

from discreet.arrays import Integers
from discreet.errors import InvalidInput

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_SHIFT = 2**62
"""Python makes and adds a large integer some ns slower than a small one. So this is added to noise while that
is still in 64 bits, of which it needs 62 and a sign. The Python integers made of it then all have one length,
and take the same time.
"""

ExactIntegers = TypeVar("ExactIntegers", int, Integers)


def as_integers(exact: object) -> Integers:
    """A non-empty array of integers. Which kind depends on the declared type alone, never on the values.

    Signed arrays, and unsigned ones of up to 32 bits, are int64; all else (Python integers, lists of them,
    unsigned 64 bits, object arrays) are Python integers, which have no limit.
    """
    array = _as_array(exact)
    if array.size == 0:
        raise InvalidInput("There is nothing to release.", remedy="Give at least one value.")
    if array.dtype == object:
        if not all(isinstance(x, Integral) and not isinstance(x, bool | np.bool_) for x in array.flat):
            raise _not_integers()
        whole = np.empty(array.size, dtype=object)
        whole[:] = [int(x) for x in array.flat]  # a subclass might add in its own way
        return whole.reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise _not_integers()
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        return array.astype(object)
    return array.astype(np.int64, copy=False)


def _as_array(exact: object) -> Integers:
    if isinstance(exact, np.ma.MaskedArray):
        raise InvalidInput(
            "Masked values have no place in a release.", remedy="Fill them first: values.filled(0)."
        )
    if isinstance(exact, np.ndarray | np.generic):
        return np.asarray(exact)
    try:
        return np.array(exact, dtype=object)
    except ValueError:  # a ragged list
        raise _not_integers() from None


def add_noise(exact: Integers, noise: Integers) -> Integers:
    """exact + noise, in the shape of exact; 64-bit values saturate at their ends, they never wrap around.

    Saturation depends on the type and on the noisy sum alone, so it is post-processing and costs no privacy.
    The noise must be freshly drawn, one for each value, in one dimension: it is overwritten.
    """
    flat = exact.reshape(-1)  # on a single number numpy would be slower for some values than for others
    total: Integers
    if flat.dtype == object:
        if noise.dtype == object:
            return (flat + noise).reshape(exact.shape)
        noise += _SHIFT
        total = (flat - _SHIFT) + noise.astype(object)
        return total.reshape(exact.shape)
    if noise.dtype == object:
        total = np.clip(flat.astype(object) + noise, _LOWEST, _HIGHEST)
        return total.astype(np.int64).reshape(exact.shape)
    total = flat + noise
    noise ^= total
    noise &= flat ^ total
    overflow = noise < 0  # both signs differ from that of the sum
    if overflow.any():
        total[overflow] = np.where(flat[overflow] < 0, _LOWEST, _HIGHEST)
    return total.reshape(exact.shape)


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
