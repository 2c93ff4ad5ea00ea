"""Every record that there can be, each with a weight: what a domain that can be listed is fitted on.

Few records are added up and multiplied by a list of which cell each is in; more, along the axes of an array
(`weight_array`); very many, or very often, by a compiled pass (`compiled_update`). All give the same but for
rounding.
"""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synth.core.compiled_update import Passes, passes_for
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.records import Placed, Term
from discreet.synth.core.weight_array import Halves, scale, table

FEW = 2**15
"""Up to so many records, a list is faster than an array with axes."""


class Cells(Placed):
    """Every record of a domain, each once."""

    farthest = float("inf")

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        grid = np.ix_(*(np.arange(size, dtype=np.int16) for size in domain.sizes))
        self.columns: Sequence[NDArray[np.integer]] = [
            np.broadcast_to(along, domain.sizes).ravel() for along in grid
        ]
        self.weights: Floats = np.full(domain.cells, 1 / domain.cells)
        self._places: dict[tuple[int, ...], tuple[Marginal, NDArray[np.int32]]] = {}
        self._passes: Passes | None = None

    def places(self, marginal: Marginal) -> NDArray[np.int32]:
        known = self._places.get(marginal.attributes)
        if known is None or known[0] is not marginal:
            known = self._places[marginal.attributes] = marginal, marginal.places(self.columns)
        return known[1]

    def shares(self, marginal: Marginal) -> Floats:
        if isinstance(marginal, Halves):
            return marginal.joined(self.shares(marginal.table))
        if self.domain.cells <= FEW:
            return super().shares(marginal)
        return table(self.weights, self.domain, marginal)

    def move(self, marginal: Marginal, factors: Floats, following: Marginal) -> Floats:
        if isinstance(marginal, Halves):
            return self.move(marginal.table, marginal.spread(factors), following)
        if isinstance(following, Halves):
            return following.joined(self.move(marginal, factors, following.table))
        if self._passes is not None:
            return self._passes.move(self.weights, marginal, factors, following)
        if self.domain.cells <= FEW:
            return super().move(marginal, factors, following)
        scale(self.weights, self.domain, marginal, factors)
        return table(self.weights, self.domain, following)

    def expect(self, updates: int) -> None:
        """Compiles the update, if so many updates make up for it."""
        self._passes = self._passes or passes_for(self.domain, updates)

    def renew(self, terms: Sequence[Term]) -> bool:  # noqa: ARG002 - one signature for all
        """All records are here already."""
        return False

    def copy(self) -> Self:
        other = copy(self)  # columns and places are the same
        other.weights = self.weights.copy()
        return other

    def take(self, other: Self) -> None:
        self.weights = other.weights
