"""From marginals to a synthetic table: measure tables of one attribute, then of two, then of three, and fit.

Privacy
    Each marginal is measured with Gaussian noise at its own part of ρ, and zCDP adds up (Bun, Steinke, arXiv
    1605.02065v1, Lemma 1.7): the whole costs ρ. Which marginals are measured, and how coarsely, depends on
    the domain and on earlier measurements alone. Fitting and drawing rows are free.

Accuracy
    A domain of up to `MOST_CELLS` records is fitted on all of them, to all tables of up to three attributes.
    A wider one is fitted on a sample, to all tables of two attributes, in bins that hold about as many people
    as the noise of a cell: finer ones would measure the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.model.sensitivity import Sensitivity
from discreet.synth.domain import Domain, Marginal, bins
from discreet.synth.fit import fit
from discreet.synth.measurement import Measurement, measure
from discreet.synth.records import Cells, Floats, Records, Sample, Term, proportional

MOST_CELLS = 2**21
SAMPLE = 200_000
ON_CELLS = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))
ON_SAMPLE = (Fraction(4, 10), Fraction(6, 10))
"""How ρ is divided between tables of one, two, three attributes."""

Exact: TypeAlias = Callable[[Sequence[Marginal]], Sequence[NDArray[np.int64]]]
"""The exact counts of marginals, in units that one person moves by no more than the sensitivity."""
Progress: TypeAlias = Callable[[int, int, float], object]
"""Told how many attributes the tables have that are fitted, the sweep, and the misfit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """What was learnt: records with weights, and the measurements behind them."""

    domain: Domain
    people: float
    records: Records
    measurements: tuple[Measurement, ...]

    def encode(self):
        import pickle

        return pickle.dumps(self)

    @staticmethod
    def decode(data):
        import pickle

        return pickle.loads(data)

    def rows(self, count: int, random: np.random.Generator | None = None) -> list[NDArray[np.integer]]:
        """As many rows as asked for, one array an attribute. Costs nothing, however often."""
        chance = random or np.random.default_rng()
        order = np.lexsort(self.records.columns[::-1])  # like records lie together, and share a rounding
        kept = order[proportional(self.records.weights[order], count, chance)]
        chance.shuffle(kept)
        return [column[kept] for column in self.records.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """All tables of so many attributes, measured at once."""

    order: int
    tables: int
    cells: int
    """Of all of them."""
    sigma: float
    """The standard deviation of a count's noise, in rows."""


def stages_of(domain, *, loss, sensitivity, unit=1):
    rho = getattr(loss, "rho", None) or loss.epsilon**2 / 2
    split = (ON_CELLS if domain.cells <= MOST_CELLS else ON_SAMPLE)[: len(domain.sizes)]
    found = []
    for order, part in enumerate(split, start=1):
        marginals = domain.marginals(order)
        budget = rho * part / sum(split)
        found.append(
            Stage(
                order=order,
                tables=len(marginals),
                cells=sum(m.cells for m in marginals),
                sigma=sqrt(sensitivity.l2_squared * len(marginals) / (2 * budget)) / unit,
            )
        )
    return tuple(found)


def synthesise(
    domain: Domain,
    exact: Exact,
    *,
    loss,
    sensitivity: Sensitivity,
    unit: int = 1,
    progress: Progress = lambda *_: None,
) -> Synthetic:
    """Costs ρ in all. Exact counts are in 1/unit of a person."""
    rho = getattr(loss, "rho", None) or loss.epsilon**2 / 2
    split = (ON_CELLS if domain.cells <= MOST_CELLS else ON_SAMPLE)[: len(domain.sizes)]
    budgets = [rho * part / sum(split) for part in split]
    measured = partial(_measured, exact, sensitivity, unit)
    everything = measured(domain.marginals(1), budgets[0])
    people = _people(everything)
    laws = [_law(each.counts, people) for each in everything]
    records = _independent(domain, laws)
    terms: list[Term] = []
    for order, budget in enumerate(budgets[1:], start=2):
        marginals = domain.marginals(order)
        if isinstance(records, Sample):
            noise = sqrt(sensitivity.l2_squared * len(marginals) / (2 * budget)) / unit
            marginals = _coarse(marginals, laws, people / noise)
        news = measured(marginals, budget)
        terms += fit(records, news, people, earlier=terms, advance=partial(progress, order)).terms
        everything += news
    return Synthetic(domain=domain, people=people, records=records, measurements=tuple(everything))


def _measured(
    exact: Exact, sensitivity: Sensitivity, unit: int, marginals: Sequence[Marginal], rho: Fraction
) -> list[Measurement]:
    """All of them for ρ together."""
    return [
        measure(marginal, counts, rho=rho / len(marginals), sensitivity=sensitivity, unit=unit)
        for marginal, counts in zip(marginals, exact(marginals), strict=True)
    ]


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
    law /= law.sum()
    return law


def _independent(domain: Domain, laws: Sequence[Floats]) -> Records:
    """Records whose attributes have these laws, and nothing to do with each other."""
    if domain.cells > MOST_CELLS:
        return Sample(laws, SAMPLE, np.random.default_rng())
    cells = Cells(domain)
    for column, law in zip(cells.columns, laws, strict=True):
        cells.weights *= law[column] * len(law)
    cells.weights /= cells.weights.sum()
    return cells


def _coarse(marginals: Sequence[Marginal], laws: Sequence[Floats], cells: float) -> list[Marginal]:
    """In bins such that a table has about as many cells as told, if people were spread evenly."""
    most = max(2, int(cells ** (1 / len(marginals[0].attributes))))
    codes = [bins(law, most) for law in laws]
    return [
        Marginal(attributes=each.attributes, codes=tuple(codes[i] for i in each.attributes))
        for each in marginals
    ]
