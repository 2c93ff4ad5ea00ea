"""What stands for the data: records with weights. Everything here is made from measurements and is free.

`Cells` has every record that there can be. `Sample` has many records drawn from what was fitted so far, for
domains with more records than can be listed; it draws them anew as the fit moves on.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.synth.domain import Domain, Marginal

Floats: TypeAlias = NDArray[np.float64]


class Term:
    """A table of exponents on a marginal: records in a cell weigh e^exponent times as much."""

    __slots__ = ("exponents", "marginal")

    def __init__(self, marginal: Marginal) -> None:
        self.marginal = marginal
        self.exponents: Floats = np.zeros(marginal.cells)


class Records(Protocol):
    """Records, with weights that add up to 1."""

    columns: Sequence[NDArray[np.integer]]
    weights: Floats
    farthest: float
    """How far an exponent may move in one step."""

    def places(self, marginal: Marginal) -> NDArray[np.int32]:
        """Which cell of the marginal each record is in."""
        ...

    def renew(self, terms: Sequence[Term]) -> None:
        """Called when the weights have moved far: draw other records, with even weights, if that helps."""
        ...


def shares(records: Records, marginal: Marginal) -> Floats:
    """The weight in each cell of a marginal."""
    held: Floats = np.bincount(  # type: ignore[assignment]
        records.places(marginal), weights=records.weights, minlength=marginal.cells
    )
    return held


class Cells:
    """Every record of a domain, each once."""

    farthest = float("inf")

    def __init__(self, domain: Domain) -> None:
        grid = np.ix_(*(np.arange(size, dtype=np.int16) for size in domain.sizes))
        self.columns: Sequence[NDArray[np.integer]] = [
            np.broadcast_to(along, domain.sizes).ravel() for along in grid
        ]
        self.weights: Floats = np.full(domain.cells, 1 / domain.cells)
        self._places: dict[tuple[int, ...], tuple[Marginal, NDArray[np.int32]]] = {}

    def places(self, marginal: Marginal) -> NDArray[np.int32]:
        known = self._places.get(marginal.attributes)
        if known is None or known[0] is not marginal:
            known = self._places[marginal.attributes] = marginal, marginal.places(self.columns)
        return known[1]

    def renew(self, terms: Sequence[Term]) -> None:
        """All records are here already."""


class Sample:
    """Records drawn one attribute at a time from a base law, and moved by Metropolis-Hastings steps.

    The fitted law is base · e^(sum of exponents). A step proposes another value of one attribute from the
    base, and accepts it with probability min(1, e^(change of exponents)), which leaves that law as it is
    (Hastings, Biometrika 1970).
    """

    farthest = 1.0  # a sample knows little of cells that are rare in it

    def __init__(self, base: Sequence[Floats], count: int, random: np.random.Generator) -> None:
        self._cumulative = [np.cumsum(shares) / shares.sum() for shares in base]
        self._random = random
        self.columns: Sequence[NDArray[np.integer]] = [self._draw(i, count) for i in range(len(base))]
        self.weights: Floats = np.full(count, 1 / count)

    def places(self, marginal: Marginal) -> NDArray[np.int32]:
        return marginal.places(self.columns)

    def renew(self, terms: Sequence[Term]) -> None:
        """As many records, in proportion to the weights, each then moved along every attribute twice."""
        kept = proportional(self.weights, len(self.weights), self._random)
        columns = [column[kept] for column in self.columns]
        self.weights = np.full(len(kept), 1 / len(kept))
        for _ in range(2):
            for attribute in self._random.permutation(len(columns)):
                self._move(columns, int(attribute), terms)
        self.columns = columns

    def _move(self, columns: list[NDArray[np.integer]], attribute: int, terms: Sequence[Term]) -> None:
        proposed = list(columns)
        proposed[attribute] = self._draw(attribute, len(self.weights))
        change = np.zeros(len(self.weights))
        for term in terms:
            if attribute in term.marginal.attributes:
                change += term.exponents[term.marginal.places(proposed)]
                change -= term.exponents[term.marginal.places(columns)]
        accepted = np.log(self._random.random(len(change))) < change
        columns[attribute] = np.where(accepted, proposed[attribute], columns[attribute])

    def _draw(self, attribute: int, count: int) -> NDArray[np.integer]:
        cumulative = self._cumulative[attribute]
        drawn = np.searchsorted(cumulative, self._random.random(count), side="right")
        return np.minimum(drawn, len(cumulative) - 1).astype(np.int16)


def proportional(weights: Floats, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """`count` records in proportion to their weights, each w·count times, rounded up or down."""
    ends = np.cumsum(weights)
    marks = (np.arange(count) + random.random()) / count * ends[-1]
    chosen: NDArray[np.int64] = np.minimum(np.searchsorted(ends, marks, side="right"), len(weights) - 1)
    return chosen
