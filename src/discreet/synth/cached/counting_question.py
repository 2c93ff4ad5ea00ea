"""A counting question: how many people are in these cells?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import whole
from discreet.synth.core.domain import MOST_COUNTED_CELLS, Domain

Attributes: TypeAlias = tuple[int, ...]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountingQuestion:
    """Attributes in ascending order, each of which matters, and a mask over the cells of their table."""

    attributes: Attributes
    mask: Mask

    @classmethod
    def about(cls, domain: Domain, attributes: Sequence[int], mask: Mask) -> "CountingQuestion":
        """Any set of cells. The mask has one axis an attribute, in the order in which they are named."""
        named, cells = tuple(attributes), np.asarray(mask)
        _check(domain, named, cells)
        order = sorted(range(len(named)), key=lambda i: named[i])
        kept: list[int] = []
        chosen = np.transpose(cells, order)
        for attribute in (named[i] for i in order):
            first = chosen.take([0], axis=len(kept))
            if (chosen == first).all():
                chosen = first.squeeze(axis=len(kept))  # every value is counted alike
            else:
                kept.append(attribute)
        return cls(attributes=tuple(kept), mask=np.array(chosen, order="C"))

    @classmethod
    def where(cls, domain: Domain, allowed: Mapping[int, Sequence[int]]) -> "CountingQuestion":
        """All cells whose every named attribute has one of the values that are allowed for it."""
        _check_attributes(domain, tuple(allowed))
        mask: Mask = np.ones((), dtype=np.bool_)
        for attribute, values in allowed.items():
            size = domain.sizes[attribute]
            axis = np.zeros(size, dtype=np.bool_)
            axis[[whole(value, "a value", 0, size - 1) for value in values]] = True
            mask = np.logical_and.outer(mask, axis)
        return cls.about(domain, tuple(allowed), mask)

    @property
    def key(self) -> tuple[Attributes, bytes]:
        """The same for the same question, and only for it."""
        return self.attributes, np.packbits(self.mask).tobytes()

    @property
    def empty(self) -> bool:
        """Whether it counts no cell, and so nobody."""
        return not self.attributes and not self.mask

    def count(self, table: NDArray[np.int64]) -> int:
        """The exact count, from the exact table of its attributes."""
        return int(table.reshape(self.mask.shape)[self.mask].sum())


def _check(domain: Domain, attributes: Attributes, mask: NDArray[np.generic]) -> None:
    _check_attributes(domain, attributes)
    shape = tuple(domain.sizes[each] for each in attributes)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise InvalidInput(
            "A mask says true or false of every cell of its table.",
            remedy=f"Give a boolean array of shape {shape}.",
        )


def _check_attributes(domain: Domain, attributes: Attributes) -> None:
    if len(set(attributes)) < len(attributes) or not set(attributes) <= set(range(len(domain.sizes))):
        raise InvalidInput(
            "A question names attributes of its domain, each once.",
            remedy="Give their positions, from 0.",
        )
    cells = prod(domain.sizes[each] for each in attributes)
    if cells > MOST_COUNTED_CELLS:
        raise InvalidInput(
            f"A question over {cells:,} cells is too wide.",
            remedy=f"Ask about fewer attributes, or coarser ones: at most {MOST_COUNTED_CELLS:,} cells.",
        )
