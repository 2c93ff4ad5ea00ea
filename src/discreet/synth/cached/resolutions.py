"""Tables at several resolutions, and an orthonormal basis in which all of them are one thing.

The values of an attribute are numbered by digits, most significant first; *level* ℓ keeps the first ℓ
digits, so that neighbouring values share a bin, and level 0 keeps nothing. How many digits there are, and
how many values each has, depends on the attribute's size alone. Values that are made up to fill the last
digit have no people.

A basis for functions on one digit: the constant, and others orthogonal to it. Products of these over all
digits of all attributes are an orthonormal basis for functions on the cells of a table, and each basis
function has a *band*: for each attribute the level of its last digit that is not constant. A table with
levels T determines the coefficients of all bands B ≤ T, attribute by attribute, and no others; and noise
that is the same in all its cells stays the same, and independent, in all its coefficients.
"""

from functools import lru_cache
from itertools import product
from math import ceil, log, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats

Radices: TypeAlias = tuple[int, ...]
Levels: TypeAlias = tuple[int, ...]

BRANCHING = 4


@lru_cache(maxsize=1024)
def radices(size: int) -> Radices:
    """How many values each digit has: about BRANCHING, and as few in all as hold `size`."""
    digits = max(1, round(log(size) / log(BRANCHING))) if size > 1 else 1
    found, left = [], size
    for place in range(digits, 0, -1):
        found.append(max(1, ceil(left ** (1 / place) - 1e-9)))
        left = ceil(left / found[-1])
    return tuple(found)


def bins(size: int, level: int) -> int:
    """How many bins an attribute of this size has at a level."""
    return prod(radices(size)[:level])


def all_levels(sizes: tuple[int, ...]) -> list[Levels]:
    """Every table over attributes of these sizes, from the total to the finest."""
    return list(product(*(range(len(radices(size)) + 1) for size in sizes)))


def coarser(counts: NDArray[np.int64], levels: Levels) -> NDArray[np.int64]:
    """The exact table of all values, added up to levels."""
    table = np.pad(counts, _missing(counts.shape)) if counts.ndim else counts
    for axis, level in enumerate(levels):
        kept = bins(counts.shape[axis], level)
        shape = (*table.shape[:axis], kept, -1, *table.shape[axis + 1 :])
        table = table.reshape(shape).sum(axis=axis + 1)
    return table


def whole_cells(mask: NDArray[np.bool_]) -> Floats:
    """A mask on all cells; made-up values, which nobody has, are like the last real one."""
    cells = mask.astype(np.float64)
    return np.pad(cells, _missing(mask.shape), mode="edge") if mask.ndim else cells


def _missing(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(0, prod(radices(size)) - size) for size in shape]


def transform(values: Floats, digits: tuple[Radices, ...]) -> Floats:
    """Coefficients in the basis; along each axis in the order of levels.

    Axis i has prod(digits[i]) values. Coefficients of level ℓ stand from prod(digits[:ℓ − 1]) to
    prod(digits[:ℓ]), and what is constant stands first.
    """
    found = np.asarray(values, dtype=np.float64)
    for axis, own in enumerate(digits):
        moved = np.moveaxis(found, axis, 0)
        rest = moved.shape[1:]
        table = moved.reshape(*own, -1)
        for place, radix in enumerate(own):
            table = np.moveaxis(np.tensordot(_basis(radix), table, axes=(1, place)), 0, place)
        order = (*reversed(range(len(own))), len(own))  # the first digit runs fastest
        found = np.moveaxis(table.transpose(order).reshape(-1, *rest), 0, axis)
    return found


def energies(coefficients: Floats, sizes: tuple[int, ...]) -> Floats:
    """The sum of squares in each band, in the order of `all_levels`."""
    squares: Floats = coefficients**2
    for axis, size in enumerate(sizes):
        starts = [0, *(bins(size, level) for level in range(len(radices(size))))]
        squares = np.add.reduceat(squares, starts, axis=axis)
    return squares.reshape(-1)


@lru_cache(maxsize=256)
def _basis(radix: int) -> Floats:
    """Orthonormal rows, the first one constant (Helmert)."""
    rows = np.zeros((radix, radix))
    rows[0] = 1 / np.sqrt(radix)
    for i in range(1, radix):
        rows[i, :i] = 1 / np.sqrt(i * (i + 1))
        rows[i, i] = -i / np.sqrt(i * (i + 1))
    return rows
