"""From marginals to a synthetic table: measure tables of one attribute, then of two, then of three, and fit.

Privacy
    Each marginal is measured with Gaussian noise at its own part of ρ, and zCDP adds up (Bun, Steinke, arXiv
    1605.02065v1, Lemma 1.7): the whole costs ρ. Which marginals are measured, and how coarsely, depends on the
    domain and on earlier measurements alone. Fitting and drawing rows are free.

Accuracy
    A domain of up to `MOST_CELLS` records is fitted on all of them, to all tables of up to three attributes. A wider
    one is fitted on a sample, to all tables of two attributes, in bins that hold about as many people as the noise
    of a cell: finer ones would measure the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.model.sensitivity import Sensitivity
from discreet.synth.domain import Domain, Marginal, bins
from discreet.synth.fit import fit
from discreet.synth.measurement import Measurement, measure
from discreet.synth.records import Cells, Floats, Records, Sample, Term, proportional

MOST_CELLS = 2**21
SAMPLE = 200_000
FINER = 1.0
ON_CELLS = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))
ON_SAMPLE = (Fraction(3, 10), Fraction(7, 10))
"""How ρ is divided between tables of one, two, three attributes."""

Exact = Callable[[Sequence[Marginal]], Sequence[NDArray[np.int64]]]
"""The exact counts of marginals, from the engine."""
Progress = Callable[[int, int, float], object]
"""Told the stage, the sweep and the misfit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """What was learnt: records with weights, and the measurements behind them."""

    domain: Domain
    people: float
    records: Records
    measurements: tuple[Measurement, ...]

    def rows(self, count: int, random: np.random.Generator | None = None) -> list[NDArray[np.integer]]:
        """As many rows as asked for, one array an attribute. Costs nothing, however often."""
        chance = random or np.random.default_rng()
        kept = chance.permutation(proportional(self.records.weights, count, chance))
        return [column[kept] for column in self.records.columns]


def synthesise(
    domain: Domain,
    exact: Exact,
    *,
    rho: Fraction,
    sensitivity: Sensitivity,
    unit: int = 1,
    progress: Progress = lambda stage, sweep, misfit: None,
) -> Synthetic:
    """Costs ρ in all."""
    split = ON_CELLS if domain.cells <= MOST_CELLS else ON_SAMPLE
    split = split[: len(domain.sizes)]
    stage_rho = [rho * part / sum(split) for part in split]

    def measured(order: int, marginals: Sequence[Marginal]) -> list[Measurement]:
        each = stage_rho[order - 1] / len(marginals)
        counts = exact(marginals)
        return [
            measure(marginal, table, rho=each, sensitivity=sensitivity, unit=unit)
            for marginal, table in zip(marginals, counts, strict=True)
        ]

    ones = measured(1, domain.marginals(1))
    people = _people(ones)
    base = [_law(each.counts, people) for each in ones]
    records: Records
    records = Cells(domain) if domain.cells <= MOST_CELLS else Sample(base, SAMPLE, np.random.default_rng())
    if isinstance(records, Cells):
        for attribute, law in enumerate(base):
            records.weights *= law[records.columns[attribute]]
        records.weights /= records.weights.sum()
    everything, terms = [*ones], list[Term]()
    for order in range(2, len(split) + 1):
        marginals = domain.marginals(order)
        if isinstance(records, Sample):
            sigma = sqrt(sensitivity.l2_squared * len(marginals) / (2 * stage_rho[order - 1])) / unit
            marginals = _coarse(domain, marginals, base, people, sigma)
        news = measured(order, marginals)
        stage = fit(records, news, people, earlier=terms, advance=lambda s, m, o=order: progress(o, s, m))  # type: ignore[misc]
        terms += stage.terms
        everything += news
    return Synthetic(domain=domain, people=people, records=records, measurements=tuple(everything))


def _people(ones: Sequence[Measurement]) -> float:
    """Every table of one attribute counts all people; those with fewer cells do so with less noise."""
    totals = [float(each.counts.sum()) for each in ones]
    return max(1.0, float(np.average(totals, weights=[1 / len(each.counts) for each in ones])))


def _law(counts: Floats, people: float) -> Floats:
    """The nearest shares that are not negative and add up to 1; none is exactly 0."""
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - people) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    law: Floats = np.maximum(counts - excess[last], 0) + people * 1e-9
    return law / law.sum()


def _coarse(
    domain: Domain, marginals: Sequence[Marginal], base: Sequence[Floats], people: float, sigma: float
) -> list[Marginal]:
    """In bins such that a cell of a table holds about as many people as its noise, if all were alike."""
    order = len(marginals[0].attributes)
    most = max(2, int(FINER * (people / sigma) ** (1 / order)))
    codes = [bins(law, most) for law in base]
    return [
        Marginal(attributes=each.attributes, codes=tuple(codes[i] for i in each.attributes)) for each in marginals
    ]
