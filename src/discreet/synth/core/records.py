"""What stands for the data: records with weights. Everything here is made from measurements and is free.

`Cells` (`cells`) has every record that there can be. `Sample` has many records drawn from what was
fitted so far, for domains with more records than can be listed; it draws them anew as the fit moves on.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synth.core.domain import Codes, Marginal

EVEN = 0.8
"""A sample is drawn anew if its effective size is no more than this part of its size."""


class Term:
    """A table of exponents on a marginal: records in a cell weigh e^exponent times as much."""

    __slots__ = ("exponents", "marginal")

    def __init__(self, marginal: Marginal) -> None:
        self.marginal = marginal
        self.exponents: Floats = np.zeros(marginal.cells)

    def copy(self) -> "Term":
        other = Term(self.marginal)
        other.exponents[:] = self.exponents
        return other


class Records(Protocol):
    """Records, with weights that add up to 1."""

    weights: Floats
    farthest: float
    """How far an exponent may move in one step."""

    @property
    def columns(self) -> Sequence[NDArray[np.integer]]: ...

    def places(self, marginal: Marginal) -> NDArray[np.integer]:
        """Which cell of the marginal each record is in."""
        ...

    def shares(self, marginal: Marginal) -> Floats:
        """The weight in each cell of a marginal."""
        ...

    def move(self, marginal: Marginal, factors: Floats, following: Marginal) -> Floats:
        """Multiplies every record by the factor of its cell. Returns the shares of the following marginal."""
        ...

    def expect(self, updates: int) -> None:
        """Called before about so many moves of the weights, to prepare for them if that pays."""
        ...

    def renew(self, terms: Sequence[Term]) -> bool:
        """Called before each sweep: draw other records, with equal weights, if weights have become uneven.

        Returns whether it did.
        """
        ...

    def copy(self) -> Self:
        """The same records, with weights of their own."""
        ...

    def take(self, other: Self) -> None:
        """Take over the state of the other."""
        ...


def shares(records: Records, marginal: Marginal) -> Floats:
    """The weight in each cell of a marginal."""
    return added(records.weights, records.places(marginal), marginal.cells)


def added(weights: Floats, places: NDArray[np.integer], cells: int) -> Floats:
    """The weights in each cell, added up."""
    held: Floats = np.bincount(places, weights=weights, minlength=cells)  # type: ignore[assignment]
    return held


class Placed(ABC):
    """Records whose weights are added up, and multiplied, by the cell of a table that each is in."""

    weights: Floats

    @abstractmethod
    def places(self, marginal: Marginal) -> NDArray[np.integer]: ...

    def shares(self, marginal: Marginal) -> Floats:
        return added(self.weights, self.places(marginal), marginal.cells)

    def move(self, marginal: Marginal, factors: Floats, following: Marginal) -> Floats:
        self.weights *= factors[self.places(marginal)]
        return self.shares(following)

    def expect(self, updates: int) -> None:  # noqa: B027 - nothing is to be done
        """There is nothing to prepare."""


class DrawnRecords(Placed):
    """Records that were drawn once, and are never drawn anew."""

    farthest = 1.0

    def __init__(self, columns: Sequence[NDArray[np.integer]], weights: Floats) -> None:
        self.columns, self.weights = columns, weights

    def places(self, marginal: Marginal) -> NDArray[np.int32]:
        return marginal.places(self.columns)

    def renew(self, terms: Sequence[Term]) -> bool:  # noqa: ARG002 - one signature for all
        """Never."""
        return False

    def copy(self) -> Self:
        other = copy(self)
        other.weights = self.weights.copy()
        return other

    def take(self, other: Self) -> None:
        self.weights = other.weights


class Sample(Placed):
    """Records drawn one attribute at a time from a base law, and moved by Metropolis-Hastings steps.

    The fitted law is base · e^(sum of exponents). A step proposes another value of one attribute from the
    base, and accepts it with probability min(1, e^(change of exponents)), which leaves that law as it is
    (Hastings, Biometrika 1970).
    """

    farthest = 1.0  # a sample knows little of cells that are rare in it

    def __init__(self, base: Sequence[Floats], count: int, random: np.random.Generator) -> None:
        self._cumulative = [np.cumsum(shares) / shares.sum() for shares in base]
        self._random = random
        self._walk = _Walk([self._draw(i, count) for i in range(len(base))])
        self.weights: Floats = np.full(count, 1 / count)

    @property
    def columns(self) -> Sequence[NDArray[np.integer]]:
        return self._walk.columns

    def places(self, marginal: Marginal) -> NDArray[np.intp]:
        return self._walk.places(marginal)

    def take(self, other: Self) -> None:
        self._walk, self.weights = other._walk, other.weights

    def follow(self, term: Term, child: int) -> None:
        """Draws one attribute of a pair anew, given the other, from the base law times e^exponent."""
        marginal = term.marginal
        place = marginal.attributes.index(child)
        parent, codes = marginal.attributes[1 - place], marginal.codes[place]
        last = np.append(np.flatnonzero(np.diff(codes)), len(codes) - 1)
        ends = np.insert(self._cumulative[child][last], 0, 0.0)  # of the bins, in the base law
        odds = np.exp(term.exponents).reshape(marginal.shape)
        chances = np.cumsum((odds if place else odds.T) * np.diff(ends), axis=1)
        chances /= chances[:, -1:]
        rows = marginal.codes[1 - place][self.columns[parent]]
        drawn = self._random.random((2, len(rows)))
        every = (chances + np.arange(len(chances))[:, None]).ravel()  # the rows, one after the other
        bins = np.searchsorted(every, rows + drawn[0], side="right") - rows * chances.shape[1]
        bins = np.minimum(bins, chances.shape[1] - 1)
        within = ends[bins] + drawn[1] * np.diff(ends)[bins]
        values = np.minimum(np.searchsorted(self._cumulative[child], within, side="right"), last[bins])
        self._walk.set(child, np.arange(len(rows)), values)

    def renew(self, terms: Sequence[Term]) -> bool:
        """Draws as many records in proportion to the weights, and moves each along every attribute twice.

        Nothing changes while the effective size (Σw)²/Σw² is large (Kong, Liu, Wong, JASA 1994).
        """
        if self.weights.sum() ** 2 > EVEN * len(self.weights) * (self.weights @ self.weights):
            return False
        kept = proportional(self.weights, len(self.weights), self._random)
        self._walk = _Walk([column[kept] for column in self.columns])
        self.weights = np.full(len(kept), 1 / len(kept))
        for _ in range(2):
            for attribute in self._random.permutation(len(self.columns)):
                self._step(int(attribute), terms)
        return True

    def copy(self) -> Self:
        other = copy(self)  # `renew` makes new columns first
        other.weights = self.weights.copy()
        return other

    def _step(self, attribute: int, terms: Sequence[Term]) -> None:
        values = self._draw(attribute, len(self.weights))
        movers = np.flatnonzero(values != self.columns[attribute])
        values = values[movers]
        change = self._walk.gain(terms, attribute, values, movers)
        accepted = np.log(self._random.random(len(change))) < change
        self._walk.set(attribute, movers[accepted], values[accepted])

    def _draw(self, attribute: int, count: int) -> NDArray[np.integer]:
        cumulative = self._cumulative[attribute]
        drawn = np.searchsorted(cumulative, self._random.random(count), side="right")
        return np.minimum(drawn, len(cumulative) - 1).astype(np.int16)


class _Walk:
    """Columns on their way, and which bin each value is in, so that it is looked up once for many terms."""

    def __init__(self, columns: list[NDArray[np.integer]]) -> None:
        self.columns = columns
        self._bins: list[dict[int, tuple[Codes, NDArray[np.intp]]]] = [{} for _ in columns]
        self._latest: tuple[Marginal, NDArray[np.intp]] | None = None

    def set(self, attribute: int, where: NDArray[np.intp], values: NDArray[np.integer]) -> None:
        self.columns[attribute][where] = values
        self._bins[attribute].clear()
        self._latest = None

    def places(self, marginal: Marginal) -> NDArray[np.intp]:
        if self._latest is None or self._latest[0] is not marginal:
            place = np.zeros(1, dtype=np.intp)
            described = zip(marginal.attributes, marginal.codes, marginal.shape, strict=True)
            for attribute, code, size in described:
                place = place * size + self._binned(attribute, code)
            self._latest = marginal, place
        return self._latest[1]

    def gain(
        self, terms: Sequence[Term], attribute: int, values: NDArray[np.integer], movers: NDArray[np.intp]
    ) -> Floats:
        """The change of exponents if the records named took these values of the attribute."""
        change = np.zeros(len(movers))
        for term in terms:
            if attribute in term.marginal.attributes:
                before = after = np.zeros(1, dtype=np.intp)
                described = zip(
                    term.marginal.attributes, term.marginal.codes, term.marginal.shape, strict=True
                )
                for each, code, size in described:
                    here = self._binned(each, code).take(movers)
                    there = code.take(values) if each == attribute else here
                    before, after = before * size + here, after * size + there
                change += term.exponents.take(after)
                change -= term.exponents.take(before)
        return change

    def _binned(self, attribute: int, code: Codes) -> NDArray[np.intp]:
        known = self._bins[attribute].get(id(code))
        if known is None:
            known = self._bins[attribute][id(code)] = code, code[self.columns[attribute]].astype(np.intp)
        return known[1]


def proportional(weights: Floats, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """`count` records in proportion to their weights, each w·count times, rounded up or down."""
    ends = np.cumsum(weights)
    marks = (np.arange(count) + random.random()) / count * ends[-1]
    chosen: NDArray[np.int64] = np.minimum(np.searchsorted(ends, marks, side="right"), len(weights) - 1)
    return chosen
