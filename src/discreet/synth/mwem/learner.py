"""How weights on all records of a domain learn from measurements, one at a time. It costs no privacy.

An update reads each weight once and writes it once. What the weights will add up to is known from the table
that was measured, so they are divided by it in the same pass. It also adds up what the next update needs.
"""

from abc import ABC, abstractmethod

import numpy as np

from discreet.arrays import Floats
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.fit import fit, step
from discreet.synth.core.measurement import Measurement, combined
from discreet.synth.core.records import Term
from discreet.synth.core.weight_array import Halves

PASSES = 2
"""How often each round goes through all measurements so far."""
MOST_FITTED = 2**21
"""The most records that are fitted once more from the start. With more, a few passes are added instead."""
_LAST_PASSES = 10
_USUAL_UPDATES = 1000
_CLOSER = 16  # measurements are met closer than their noise suggests, as equal weights are a poor prior


class WeightLearner(ABC):
    """Weights that add up to 1, for so many people; and what was measured, once for each candidate."""

    def __init__(self, domain: Domain, people: float) -> None:
        self.domain, self.people = domain, max(1.0, people)
        self.cells = Cells(domain)
        self.measured: dict[int, Measurement] = {}

    def learn(self, candidate: int, news: Measurement) -> float:
        """Learn a measurement. Returns how far its counts have moved, in all."""
        known = self.measured.pop(candidate, None)
        self.measured[candidate] = news if known is None else combined(known, news)
        before = self.shares(news.marginal)
        after = self._update(news, before)
        return float(np.abs(after - before).sum()) * self.people

    @abstractmethod
    def finish(self) -> Cells:
        """The weights that are published."""

    @abstractmethod
    def _update(self, news: Measurement, shares: Floats) -> Floats:
        """Update the weights. Returns the shares of what was measured, from those before."""

    def shares(self, marginal: Marginal) -> Floats:
        return self.cells.shares(marginal)

    def _multiply(self, marginal: Marginal, shares: Floats, exponents: Floats, following: Marginal) -> Floats:
        """Multiply the weights by e^exponents. Returns the shares of the following table."""
        factors = np.exp(np.minimum(exponents - exponents[shares > 0].max(), 0))
        return self.cells.move(marginal, factors / float(shares @ factors), following)


class Fitting(WeightLearner):
    """The weights of largest entropy that agree with all measurements so far, as far as the noise lets them.

    For each measurement in turn, the best exponents, all others as they are (`fit`, at a λ that would let
    one cell hold everybody).
    """

    def __init__(self, domain: Domain, people: float) -> None:
        super().__init__(domain, people)
        self._terms: dict[int, Term] = {}
        self.cells.expect(_USUAL_UPDATES)

    def _update(self, news: Measurement, shares: Floats) -> Floats:  # noqa: ARG002 - it is the newest of all
        return self._pass(PASSES, shares)

    def _pass(self, times: int, shares: Floats) -> Floats:
        """Go through all measurements, the newest first. Returns its shares, from those before."""
        rounds = list(reversed(self.measured.items())) * times
        for (candidate, measurement), (_, then) in zip(rounds, rounds[1:] + rounds[:1], strict=True):
            term = self._terms.setdefault(candidate, Term(measurement.marginal))
            shares = self._refit(term, measurement, shares, then.marginal)
        return shares

    def _refit(self, term: Term, measurement: Measurement, shares: Floats, following: Marginal) -> Floats:
        """Fit one measurement. Returns the shares of the following table, from those of this one."""
        loose = min(measurement.variance, self.people) / _CLOSER
        likely = np.clip(measurement.counts, -self.people, 2 * self.people)  # what is beyond is noise
        factors = step(term, shares, likely, self.people, loose)
        return self.cells.move(term.marginal, factors, following)

    def finish(self) -> Cells:
        """Fitted once more from the start, until the measurements are met as well as their noise allows."""
        if self.domain.cells > MOST_FITTED:
            newest = next(reversed(self.measured.values()))
            self._pass(_LAST_PASSES, self.shares(newest.marginal))
            self.cells.weights /= self.cells.weights.sum()
            return self.cells
        self.cells.weights.fill(1 / self.domain.cells)
        fit(self.cells, list(self.measured.values()), self.people)
        return self.cells


class Averaging(WeightLearner):
    """The update of the paper, for the newest measurement alone; in the end, the mean over all rounds.

    A whole table is one question for each cell, at once: their sets of records are disjoint.
    """

    def __init__(self, domain: Domain, people: float) -> None:
        super().__init__(domain, people)
        self._sum: Floats = np.zeros(domain.cells)

    def _update(self, news: Measurement, shares: Floats) -> Floats:
        self._sum += self.cells.weights
        exponents = (np.clip(news.counts / self.people, 0, 1) - shares) / 2
        if isinstance(news.marginal, Halves):
            exponents[0] = 0  # of records that the question does not count
        return self._multiply(news.marginal, shares, exponents, news.marginal)

    def finish(self) -> Cells:
        self.cells.weights[:] = self._sum / self._sum.sum()
        return self.cells
