"""Which records there can be. It comes from declarations alone, never from the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import whole

MOST_VALUES = 10_000
"""The most values of one attribute. More are declared as bins."""
MOST_COUNTED_CELLS = 2**20
"""The most cells of the table that one counting question is about."""

Codes: TypeAlias = NDArray[np.int32]
"""For each value of an attribute, which bin it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """How many values each attribute has: a record is one value of each, numbered from 0."""

    sizes: tuple[int, ...]
    optional: tuple[bool, ...] = ()
    """Whether the last value of an attribute is for those who have none of the others, and may be empty."""

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InvalidInput("A synthetic table needs a column.", remedy="Name at least one.")
        for size in self.sizes:
            whole(size, "values of an attribute", 1, MOST_VALUES)
        if not self.optional:
            object.__setattr__(self, "optional", (False,) * len(self.sizes))
        if len(self.optional) != len(self.sizes):
            raise InvalidInput(
                "It must be said of each attribute whether its last value is optional.",
                remedy="Say so for each, or for none.",
            )

    @property
    def cells(self) -> int:
        """How many different records there can be."""
        return prod(self.sizes)

    def without(self, dropped: Sequence[bool]) -> "Domain":
        """The domain without the last value of the dropped attributes that have more than one."""
        sizes = (size - (drop and size > 1) for size, drop in zip(self.sizes, dropped, strict=True))
        return Domain(sizes=tuple(sizes))

    def marginals(self, order: int, codes: Sequence["Codes"] | None = None) -> list["Marginal"]:
        """All tables of `order` attributes: at full resolution, or in bins by these codes."""
        codes = codes or [np.arange(size, dtype=np.int32) for size in self.sizes]
        chosen = combinations(range(len(self.sizes)), order)
        return [Marginal(attributes=each, codes=tuple(codes[i] for i in each)) for each in chosen]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marginal:
    """A table of counts over some attributes, each perhaps in coarser bins."""

    attributes: tuple[int, ...]
    codes: tuple[Codes, ...]
    """Bins are 0, 1, 2, …, in the order of the values and without a gap. Records with a value past the end
    of the codes, which was dropped, are in no cell."""

    @classmethod
    def full(cls, domain: Domain, attributes: Sequence[int]) -> "Marginal":
        codes = tuple(np.arange(domain.sizes[each], dtype=np.int32) for each in attributes)
        return cls(attributes=tuple(attributes), codes=codes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(code[-1]) + 1 for code in self.codes)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def places(self, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Which cell each record is in; `columns` has the values of every attribute, and none was dropped."""
        place = np.zeros(len(columns[0]), dtype=np.int32)
        for attribute, code, size in zip(self.attributes, self.codes, self.shape, strict=True):
            place *= size
            place += code[columns[attribute]]
        return place

    def counts(self, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
        """How many records each cell has, by columns that may also have values that were dropped."""
        chosen = zip(self.attributes, self.codes, strict=True)
        known = np.logical_and.reduce([columns[attribute] < len(code) for attribute, code in chosen])
        if not known.all():
            columns = [column[known] for column in columns]
        return np.bincount(self.places(columns), minlength=self.cells)


def bins(shares: NDArray[np.float64], most: int) -> Codes:
    """Neighbouring values joined until a bin holds about 1/most of the people, by shares that were measured.

    A value that holds as much alone stays alone.
    """
    codes = np.zeros(len(shares), dtype=np.int32)
    enough = shares.sum() / most
    held, bin_ = 0.0, 0
    for value, share in enumerate(shares):
        if value and (held >= enough or share >= enough):
            held, bin_ = 0.0, bin_ + 1
        codes[value] = bin_
        held += share
    return codes
