"""Which pairs of attributes of a wide table are measured, where all of them would drown in their noise.

The score of a pair is ‖exact − expected‖₁ over its table in bins: how far the counts are from what they would
be, if the two attributes had nothing to do with each other.

Privacy
    `expected` is made of tables of one attribute that were measured before, and is rounded to whole numbers.
    So by the triangle inequality one person moves a score by no more than the table's counts, in ℓ₁. Scores
    are released with noise, each as one number (`measurement.distances`), and what is chosen depends on
    nothing but released scores, measured tables and declarations.

Accuracy
    A score sums up a whole table, and its noise is that of one count: so all pairs can be looked at for a
    small share of the loss. The idea is PrivSyn's (Zhang et al., USENIX Security 2021), which compares with
    exact tables of one attribute instead, and these move as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synth.core.domain import Codes, Domain, Marginal, bins
from discreet.synth.core.measurement import MarginalReader
from discreet.synth.core.records import added
from discreet.synth.core.what_to_measure import SCORES, weight

FOLLOWED = 0.3
"""About what part of the noise c·σ of a table with c cells is left in the fitted table."""
FOLLOWED_ONES = 0.2
"""The same for a table of one attribute, which tables of two correct."""
TOLD = 2.0
"""A score below so many standard deviations of its noise is taken for 0."""
MOST_PAIR_CELLS = 2**24
"""The most cells of all tables that are measured, so that they can be stored for any number of people."""
LEAST_BINS = 6
"""The most bins of an attribute if as few as possible are asked for (see `coarse`)."""
_MOST_AGAIN = Fraction(9, 10)
_MOST = 2.0**60  # people, in parts of a person: scores stay in 64 bits


class BinnedAttributes:
    """The attributes in bins, as fine as asked for, by laws that were measured."""

    def __init__(self, domain: Domain, laws: Sequence[Floats]) -> None:
        self._domain, self._laws = domain, laws
        self._known: dict[tuple[int, bytes], Codes] = {}

    def tables(self, cells: float) -> list[Marginal]:
        """The tables of all pairs, with about so many cells each if people were spread evenly."""
        cells = coarse(cells, tables=comb(len(self._laws), 2))
        return self._domain.marginals(2, [self._codes(i, cells) for i in range(len(self._laws))])

    def table(self, attributes: tuple[int, ...], cells: float) -> Marginal:
        """The table of one pair."""
        return Marginal(attributes=attributes, codes=tuple(self._codes(i, cells) for i in attributes))

    def expected(self, table: Marginal, people: float) -> Floats:
        """How many are in each cell, if the attributes have nothing to do with each other."""
        sides = zip(table.attributes, table.codes, table.shape, strict=True)
        first, second = (added(self._laws[attribute], codes, size) for attribute, codes, size in sides)
        return np.asarray(np.outer(first, second).ravel() * people)

    def _codes(self, attribute: int, cells: float) -> Codes:
        """The same array for the same bins, so that they are looked up once for many tables."""
        codes = bins(self._laws[attribute], max(2, int(cells**0.5)))
        return self._known.setdefault((attribute, codes.tobytes()), codes)


def coarse(cells: float, *, tables: int) -> float:
    """The cells asked for, or the most that each of so many tables can have if all are to be stored.

    Where √c bins are asked for, `bins` gives no more than 2√c + 2: in a table, 9 · c cells at most for c of 4
    and more, and `LEAST_BINS` on each side for fewer.
    """
    return min(cells, MOST_PAIR_CELLS / (9 * max(1, tables)))


def whole_numbers(expected: Floats, unit: int) -> NDArray[np.int64]:
    """Counts in 1/unit of a person. Rounded after the comparison, a move of 1 could become one of 2."""
    return np.rint(np.minimum(expected * unit, _MOST / len(expected))).astype(np.int64)


def by_chance(expected: Floats) -> float:
    """About the score of two attributes that have nothing to do with each other, by chance alone.

    A count with mean μ is √(2μ/π) off on average where it is large, and 2μ at most.
    """
    return float(np.minimum(np.sqrt(2 * expected / np.pi), 2 * expected).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A table of two attributes, and what was released of it."""

    table: Marginal
    score: float
    """In people, less what is due to chance; 0 if noise alone could give as much."""


def scores(
    reader: MarginalReader, tables: Sequence[Marginal], binned: BinnedAttributes, people: float
) -> list[Scored]:
    """Costs the share `SCORES` of the loss."""
    expected = [binned.expected(table, people) for table in tables]
    known = [whole_numbers(each, reader.unit) for each in expected]
    found = reader.distances(tables, known, SCORES)
    least = TOLD * reader.sigma_of_distance(SCORES, len(tables))
    above = [each - by_chance(chance) for each, chance in zip(found.tolist(), expected, strict=True)]
    return [
        Scored(table=table, score=min(score, 2 * people) if score > least else 0.0)
        for table, score in zip(tables, above, strict=True)
    ]


def chosen(scored: Sequence[Scored], domain: Domain, *, noise: float, pure: bool) -> list[Marginal]:
    """The tables that are worth their price. It reads no data.

    A table that is left out is off by its score, one that is measured by its noise, about c·σ for c cells.
    `noise` is σ if one table gets the whole loss. If each gets the part that makes the noise of all least
    (`what_to_measure.divided`), that is noise·(Σ w)^(1/e), w = c^e, with e = 2/3, or 1/2 for a pure loss. So
    tables are taken in the order of score/w, as many as make the sum over both kinds least. Tables of one
    attribute are measured in any case.
    """
    found = np.array([each.score for each in scored])
    weights = np.array([_weight(each.table, pure=pure) for each in scored])
    order = np.argsort(-found / weights, kind="stable")
    missed = found.sum() - np.cumsum([0.0, *found[order]])
    ones = _weight_of_ones(domain, pure=pure)
    measured = noise * np.cumsum([ones, *weights[order]]) ** (2 if pure else 1.5)
    return [scored[i].table for i in sorted(order[: int(np.argmin(missed + measured))])]


def for_ones(
    tables: Sequence[Marginal], domain: Domain, *, spent: Fraction, left: Fraction, pure: bool
) -> Fraction:
    """What tables of one attribute get of the share that is left, by their weight against these tables."""
    ones = _weight_of_ones(domain, pure=pure)
    part = ones / (ones + sum(_weight(each, pure=pure) for each in tables))
    wanted = Fraction(round(100 * part), 100) * (spent + left) - spent
    return max(Fraction(0), min(wanted, left * _MOST_AGAIN))


def _weight(table: Marginal, *, pure: bool) -> float:
    return weight(FOLLOWED * table.cells, pure=pure)


def _weight_of_ones(domain: Domain, *, pure: bool) -> float:
    """The weight of all tables of one attribute. An error in one is an error in all of its pairs."""
    others = len(domain.sizes) - 1
    return sum(weight(FOLLOWED_ONES * others * size, pure=pure) for size in domain.sizes)
