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
"""Of one attribute. More are declared as bins."""

Codes: TypeAlias = NDArray[np.int32]
"""For each value of an attribute, which bin it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """How many values each attribute has: a record is one value of each, numbered from 0."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InvalidInput("A synthetic table needs a column.", remedy="Name at least one.")
        for size in self.sizes:
            whole(size, "values of an attribute", 1, MOST_VALUES)

    @property
    def cells(self) -> int:
        """How many different records there can be."""
        return prod(self.sizes)

    def marginals(self, order: int) -> list["Marginal"]:
        """All tables of `order` attributes, at full resolution."""
        return [Marginal.full(self, chosen) for chosen in combinations(range(len(self.sizes)), order)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marginal:
    """A table of counts over some attributes, each perhaps in coarser bins."""

    attributes: tuple[int, ...]
    codes: tuple[Codes, ...]
    """Bins are 0, 1, 2, …, in the order of the values and without a gap."""

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
        """Which cell each record is in; `columns` has the values of every attribute of the domain."""
        place = np.zeros(len(columns[0]), dtype=np.int32)
        for attribute, code, size in zip(self.attributes, self.codes, self.shape, strict=True):
            place *= size
            place += code[columns[attribute]]
        return place


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
