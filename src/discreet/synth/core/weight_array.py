"""Weights on every record of a domain, as an array with an axis for each attribute.

A table of counts is a sum over axes and an update a product along them, so that neither needs to know which
record is where: the weights are read once for the one, and read and written once, in place, for the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synth.core.domain import Codes, Domain, Marginal

WeightsOrCounts: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
_BLOCK = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Halves(Marginal):
    """The records that a question does not count, and those that it does: a table of two cells."""

    table: Marginal
    mask: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    def places(self, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        return self.mask.astype(np.int32)[self.table.places(columns)]

    def joined(self, counts: Floats) -> Floats:
        """What both halves hold, from what each cell of the table holds."""
        return np.array([counts[~self.mask].sum(), counts[self.mask].sum()])

    def spread(self, factors: Floats) -> Floats:
        """For each cell of the table, the factor of its half."""
        return factors[self.mask.astype(np.int8)]


def table(weights: Floats, domain: Domain, marginal: Marginal) -> Floats:
    """What the records in each cell of a marginal weigh together."""
    if isinstance(marginal, Halves):
        return marginal.joined(table(weights, domain, marginal.table))
    outer, inner = _split(domain)
    kept = [attribute for attribute in outer if attribute in marginal.attributes]
    rough = _sum(weights, domain, outer, kept, block=True)
    full = _sum(rough, domain, [*kept, *inner], sorted(marginal.attributes), block=False)
    ascending = sorted(marginal.attributes)
    axes = [ascending.index(attribute) for attribute in marginal.attributes]
    joined = full.reshape([domain.sizes[i] for i in ascending]).transpose(axes)
    for axis, codes in enumerate(_codes(domain, marginal)):
        if len(codes) != int(codes[-1]) + 1:
            joined = np.add.reduceat(joined, np.flatnonzero(np.diff(codes, prepend=-1)), axis=axis)
    if joined.shape != marginal.shape:  # bins whose values were all dropped
        joined = np.pad(joined, [(0, a - b) for a, b in zip(marginal.shape, joined.shape, strict=True)])
    return np.asarray(joined.ravel())


def scale(weights: Floats, domain: Domain, marginal: Marginal, factors: Floats) -> None:
    """Multiplies every record by the factor of its cell, in place."""
    if isinstance(marginal, Halves):
        scale(weights, domain, marginal.table, marginal.spread(factors))
        return
    outer, inner = _split(domain)
    full = factors.reshape(marginal.shape)[np.ix_(*_codes(domain, marginal))]
    full = full.transpose(np.argsort(marginal.attributes, kind="stable"))
    along = [size if i in marginal.attributes else 1 for i, size in enumerate(domain.sizes)]
    spread = np.broadcast_to(full.reshape(along), [*along[: len(outer)], *(domain.sizes[i] for i in inner)])
    shape, kept = _runs(domain, outer, marginal.attributes)
    block = [size if keep else 1 for size, keep in zip(shape, kept, strict=True)]
    whole = weights.reshape([*shape, -1])
    whole *= spread.reshape([*block, -1])


def _codes(domain: Domain, marginal: Marginal) -> list[Codes]:
    """The codes of the values that the domain has."""
    chosen = zip(marginal.attributes, marginal.codes, strict=True)
    return [codes[: domain.sizes[attribute]] for attribute, codes in chosen]


def _split(domain: Domain) -> tuple[range, range]:
    """The attributes that number blocks of adjacent records, and those within a block.

    Work on whole blocks is as fast as memory; work on few records at a time is not.
    """
    first = len(domain.sizes)
    while first and prod(domain.sizes[first:]) < _BLOCK:
        first -= 1
    return range(first), range(first, len(domain.sizes))


def _sum(numbers: Floats, domain: Domain, axes: Sequence[int], kept: Sequence[int], *, block: bool) -> Floats:
    """Sums over the axes that are not kept. Each entry is a block of numbers, or one."""
    shape, keeps = _runs(domain, axes, kept)
    letters = [chr(ord("a") + axis) for axis in range(len(shape))]
    left = "".join(letter for letter, keep in zip(letters, keeps, strict=True) if keep)
    rest = "z" if block else ""
    summed: Floats = np.einsum(
        f"{''.join(letters)}{rest}->{left}{rest}", numbers.reshape([*shape, -1] if block else shape)
    )
    return summed


def _runs(domain: Domain, axes: Sequence[int], kept: Sequence[int]) -> tuple[list[int], list[bool]]:
    """The sizes of the axes. Adjacent axes become one where both are kept, or neither."""
    shape: list[int] = []
    keeps: list[bool] = []
    for axis in axes:
        keep = axis in kept
        if keeps and keeps[-1] == keep:
            shape[-1] *= domain.sizes[axis]
        else:
            shape.append(domain.sizes[axis])
            keeps.append(keep)
    return shape, keeps
