"""A guess at every count: weights on all records, fitted to what was read. It is public, and costs nothing.

Each reading, of a table at some resolution or of one question, moves the weights of its cells by the best
exponents, all other readings as they are (`fit`): multiplicative weights (Hardt, Rothblum, FOCS 2010) whose
rate is the noise itself. Where few cells were read, the weights are as even as the readings allow; so
questions about many columns are often answered well by tables of few. How well is not known: see `tested`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.synth.domain import Codes, Domain, Marginal
from discreet.synth.explicit import Halves, scale, table
from discreet.synth.fit import step
from discreet.synth.online.levels import bins, radices
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Pricing, Reading
from discreet.synth.records import Floats, Term

MOST_RECORDS = 2**22
"""A larger domain has no histogram."""
_WORK = 2**22  # weights that are moved each time something new was read
_FEWEST = 4  # readings that are fitted again then
_CLOSER = 64  # tables are met closer than noise alone would: weights that are alike are a poor guess
_CLOSER_QUESTION = 8  # so are questions, but a number by itself is more noise


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """A reading, as counts of people in the cells of a marginal, and the exponents that it led to."""

    counts: Floats
    variance: float
    term: Term


class Histogram:
    """Fitted anew whenever it is asked after something was read."""

    def __init__(self, domain: Domain, pricing: Pricing) -> None:
        self._domain, self._pricing = domain, pricing
        self._weights: Floats | None = None
        self._fitted: list[_Fitted] = []
        self._news: list[Reading] = []

    def learn(self, readings: Sequence[Reading]) -> None:
        """Take in more; the work is done when a guess is asked for."""
        self._news.extend(readings)

    def guess(self, question: Question, people: float) -> float:
        """How many of so many people there may be."""
        everyone = max(1.0, people)
        if not question.attributes:
            return everyone if question.mask.all() else 0.0
        weights = self._caught_up(everyone)
        shares = table(weights, self._domain, Marginal.full(self._domain, question.attributes))
        return everyone * float(shares[question.mask.reshape(-1)].sum())

    def _caught_up(self, people: float) -> Floats:
        if self._weights is None:
            self._weights = np.full(self._domain.cells, 1 / self._domain.cells)
        if self._news:
            self._fitted.extend(each for each in map(self._taken_in, self._news) if each is not None)
            self._news.clear()
            for each in self._chosen(max(_FEWEST, _WORK // self._domain.cells)):
                self._fit(self._weights, each, people)
            self._weights /= self._weights.sum()
        return self._weights

    def _chosen(self, most: int) -> list[_Fitted]:
        """Tables before questions, and new before old; of these, the ones with the least noise come last."""
        newest = self._fitted[::-1]
        newest.sort(key=lambda each: isinstance(each.term.marginal, Halves))
        return sorted(newest[:most], key=lambda each: -each.variance)

    def _taken_in(self, reading: Reading) -> _Fitted | None:
        """None for the number of all people, which the weights do not hold."""
        counts = reading.counts / self._pricing.unit
        if reading.levels is not None:
            marginal, counts = self._of_table(reading.attributes, reading.levels, counts)
        else:
            marginal = self._of_question(reading)
        if not marginal.attributes:
            return None
        return _Fitted(counts, self._pricing.spread(reading.noise).variance, Term(marginal))

    def _of_table(
        self, attributes: tuple[int, ...], levels: tuple[int, ...], counts: Floats
    ) -> tuple[Marginal, Floats]:
        """Its cells, without those of made-up values."""
        sizes = [self._domain.sizes[each] for each in attributes]
        kept = [place for place, level in enumerate(levels) if level]
        marginal = Marginal(
            attributes=tuple(attributes[place] for place in kept),
            codes=tuple(_codes(sizes[place], levels[place]) for place in kept),
        )
        cells = counts.reshape([bins(sizes[place], levels[place]) for place in kept])
        return marginal, cells[tuple(slice(size) for size in marginal.shape)].reshape(-1)

    def _of_question(self, reading: Reading) -> Marginal:
        whole = Marginal.full(self._domain, reading.attributes)
        mask = np.asarray(reading.mask, dtype=np.bool_).reshape(-1)
        return Halves(attributes=whole.attributes, codes=whole.codes, table=whole, mask=mask)

    def _fit(self, weights: Floats, fitted: _Fitted, people: float) -> None:
        term, counts = fitted.term, fitted.counts
        if isinstance(term.marginal, Halves):
            counts = np.array([people - counts[0], counts[0]])
        shares = table(weights, self._domain, term.marginal)
        likely = np.clip(counts, -people, 2 * people)  # what is beyond is noise
        closer = _CLOSER_QUESTION if isinstance(term.marginal, Halves) else _CLOSER
        loose = min(fitted.variance, people) / closer
        scale(weights, self._domain, term.marginal, step(term, shares, likely, people, loose))


def _codes(size: int, level: int) -> Codes:
    """Which bin of a level each value is in."""
    return (np.arange(size) // prod(radices(size)[level:])).astype(np.int32)
