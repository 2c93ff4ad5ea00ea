"""Noisy tables, of any attributes and resolutions, as one estimate: weighted least squares in closed form.

In the basis of `resolutions`, a table T of N_T cells with variance σ² measures each coefficient of its bands
on its own, and on the scale of a table S of N_S cells with variance σ²·N_T/N_S. Coefficients are
uncorrelated, within a table because its noise is the same in all cells and the basis orthonormal, and between
tables because their noise is independent. So the best linear unbiased estimate (Gauss-Markov) averages each
coefficient over the tables that have it, weighted by 1/variance. All variances are known before anything is
measured.
"""

from functools import lru_cache
from math import prod

import numpy as np

from discreet.arrays import Floats
from discreet.synth.cached.counting_question import Attributes, CountingQuestion
from discreet.synth.cached.readings import AveragedReadings, Spread
from discreet.synth.cached.resolutions import Levels, all_levels, bins, radices, transform, whole_cells

_TINY = 1e-22  # of all squares: what rounding leaves where there is nothing


class Tables:
    """All tables that were read."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self._known: dict[tuple[Attributes, Levels], AveragedReadings] = {}
        self._estimates: dict[Attributes, Floats] = {}
        self._precisions: dict[Attributes, Floats] = {}
        self.smooth = True

    def learn(self, attributes: Attributes, levels: Levels, counts: Floats, spread: Spread) -> None:
        """Counts in people, in the order of the cells."""
        own = [radices(self._sizes[a])[:level] for a, level in zip(attributes, levels, strict=True)]
        shape = [prod(digits) for digits in own]
        new = AveragedReadings(values=transform(counts.reshape(shape), tuple(own)), spread=spread)
        old = self._known.get((attributes, levels))
        self._known[attributes, levels] = old.joined(new) if old else new
        self._estimates.clear()
        self._precisions.clear()
        self.smooth = self.smooth and spread.smooth

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        return tuple(self._sizes[each] for each in attributes)

    def coefficients(self, question: CountingQuestion) -> Floats:
        """The coefficients of the question in the basis of its attributes."""
        digits = tuple(radices(size) for size in question.mask.shape)
        return transform(whole_cells(question.mask), digits)

    def precisions(self, attributes: Attributes) -> Floats:
        """1/variance of a coefficient in each band, in the order of `all_levels`; 0 if nothing is known."""
        if attributes not in self._precisions:
            bands = tuple(len(radices(size)) + 1 for size in self.shape(attributes))
            found = np.zeros(bands)
            for (theirs, levels), known in self._known.items():
                at = dict(zip(theirs, levels, strict=True))
                covered = tuple(slice(at.get(each, 0) + 1) for each in attributes)
                found[covered] += self._precision(attributes, theirs, levels, known)
            self._precisions[attributes] = found.reshape(-1)
        return self._precisions[attributes]

    def estimate(self, question: CountingQuestion, coefficients: Floats) -> float:
        """The estimated count. Only where its variance is finite."""
        attributes = question.attributes
        if attributes not in self._estimates:
            self._estimates[attributes] = self._average(attributes)
        return float((coefficients * self._estimates[attributes]).sum())

    def _average(self, attributes: Attributes) -> Floats:
        """The average of each coefficient over the tables that have it."""
        shape = [prod(radices(size)) for size in self.shape(attributes)]
        weighted, total = np.zeros(shape), np.zeros(shape)
        for (theirs, levels), known in self._known.items():
            at = dict(zip(theirs, levels, strict=True))
            covered = tuple(slice(bins(self._sizes[each], at.get(each, 0))) for each in attributes)
            shared = known.values[tuple(slice(None) if each in attributes else 0 for each in theirs)]
            precision = self._precision(attributes, theirs, levels, known)
            ratio = self._cells(theirs, levels) / prod(shape)
            weighted[covered] += precision * ratio**0.5 * shared.reshape(weighted[covered].shape)
            total[covered] += precision
        return np.divide(weighted, total, out=np.zeros(shape), where=total > 0)

    def _precision(
        self, attributes: Attributes, theirs: Attributes, levels: Levels, known: AveragedReadings
    ) -> float:
        cells = prod(prod(radices(size)) for size in self.shape(attributes))
        return cells / (self._cells(theirs, levels) * known.spread.variance)

    def _cells(self, attributes: Attributes, levels: Levels) -> int:
        return prod(bins(self._sizes[a], level) for a, level in zip(attributes, levels, strict=True))


def variance(energy: Floats, precisions: Floats) -> float | None:
    """The variance of an estimate, from its energy in each band; None if some is in a band never measured."""
    needed = energy > _TINY * energy.sum()
    if (precisions[needed] == 0).any():
        return None
    return float((energy[needed] / precisions[needed]).sum())


@lru_cache(maxsize=256)
def gains(sizes: tuple[int, ...]) -> Floats:
    """[band, table]: how much precision a band gets from a table, for each 1/variance of its counts."""
    levels = all_levels(sizes)
    places = np.array(levels).reshape(len(levels), len(sizes))
    covered = (places[:, np.newaxis, :] <= places[np.newaxis, :, :]).all(axis=2)
    cells = np.array([prod(map(bins, sizes, each)) for each in levels])
    found: Floats = covered * (cells.max() / cells)
    return found
