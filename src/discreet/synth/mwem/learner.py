"""How weights on all records of a domain learn from measurements, one at a time. It costs no privacy.

An update reads each weight once and writes it once: what they will add up to is known from the table that was
measured, and they are divided by it on the way.
"""

from abc import ABC, abstractmethod

import numpy as np

from discreet.synth.domain import Domain, Marginal
from discreet.synth.explicit import Halves, scale, table
from discreet.synth.fit import best_change, fit
from discreet.synth.measurement import Measurement, combined
from discreet.synth.records import Cells, Floats, Term

PASSES = 2
"""How often each round goes through all measurements so far."""
MOST_FITTED = 2**21
"""Records that are fitted once more from the start. More are passed over a few more times instead."""
_LAST_PASSES = 10
_CLOSER = 16  # measurements are met closer than noise alone would: weights that are alike are a poor guess


class Learner(ABC):
    """Weights that add up to 1, for so many people; and what was measured, once for each candidate."""

    def __init__(self, domain: Domain, people: float) -> None:
        self.domain, self.people = domain, max(1.0, people)
        self.cells = Cells(domain)
        self.measured: dict[int, Measurement] = {}

    def learn(self, candidate: int, news: Measurement) -> float:
        """How far the counts that were measured have moved, all added up."""
        known = self.measured.pop(candidate, None)
        self.measured[candidate] = news if known is None else combined(known, news)
        before = self.shares(news.marginal)
        self._update(news)
        return float(np.abs(self.shares(news.marginal) - before).sum()) * self.people

    @abstractmethod
    def finish(self) -> Cells:
        """The weights that are published."""

    @abstractmethod
    def _update(self, news: Measurement) -> None: ...

    def shares(self, marginal: Marginal) -> Floats:
        return table(self.cells.weights, self.domain, marginal)

    def _multiply(self, marginal: Marginal, shares: Floats, exponents: Floats) -> None:
        factors = np.exp(np.minimum(exponents - exponents[shares > 0].max(), 0))
        scale(self.cells.weights, self.domain, marginal, factors / float(shares @ factors))


class Fitting(Learner):
    """The weights of largest entropy that agree with all measurements so far, as far as the noise lets them.

    For each measurement in turn, the best exponents, all others as they are (`fit`, at a λ that would let
    one cell hold everybody).
    """

    def __init__(self, domain: Domain, people: float) -> None:
        super().__init__(domain, people)
        self._terms: dict[int, Term] = {}

    def _update(self, news: Measurement) -> None:  # noqa: ARG002 - it is among those measured
        self._pass(PASSES)

    def _pass(self, times: int) -> None:
        for _ in range(times):
            for candidate, measurement in reversed(self.measured.items()):
                term = self._terms.setdefault(candidate, Term(measurement.marginal))
                self._refit(term, measurement)

    def _refit(self, term: Term, measurement: Measurement) -> None:
        shares = self.shares(term.marginal)
        loose = min(measurement.variance, self.people) / _CLOSER
        likely = np.clip(measurement.counts, -self.people, 2 * self.people)  # what is beyond is noise
        change = best_change(shares * self.people, term.exponents, likely, loose)
        change[shares <= 0] = 0
        term.exponents += change
        self._multiply(term.marginal, shares, change)

    def finish(self) -> Cells:
        """Fitted once more from the start, until the measurements are met as well as their noise allows."""
        if self.domain.cells > MOST_FITTED:
            self._pass(_LAST_PASSES)
            self.cells.weights /= self.cells.weights.sum()
            return self.cells
        self.cells.weights.fill(1 / self.domain.cells)
        fit(self.cells, list(self.measured.values()), self.people)
        return self.cells


class Averaging(Learner):
    """The update of the paper, for the newest measurement alone; in the end, the mean over all rounds.

    A whole table is as many questions, whose sets of records do not meet, at once.
    """

    def __init__(self, domain: Domain, people: float) -> None:
        super().__init__(domain, people)
        self._sum: Floats = np.zeros(domain.cells)

    def _update(self, news: Measurement) -> None:
        self._sum += self.cells.weights
        shares = self.shares(news.marginal)
        exponents = (np.clip(news.counts / self.people, 0, 1) - shares) / 2
        if isinstance(news.marginal, Halves):
            exponents[0] = 0  # of records that the question does not count
        self._multiply(news.marginal, shares, exponents)

    def finish(self) -> Cells:
        self.cells.weights[:] = self._sum / self._sum.sum()
        return self.cells
