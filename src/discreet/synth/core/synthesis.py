"""From marginals to a synthetic table: measure tables of one attribute, then of more, and fit.

Privacy
    Each marginal is measured at its own share of the loss, and losses add up, also when what is measured
    next depends on what was measured before (pure ε: Dwork, McSherry, Nissim, Smith 2006; zCDP: Bun, Steinke,
    arXiv 1605.02065v1, Lemma 2.3): the whole costs the loss. Which marginals are measured, and how coarsely,
    depends on the domain, on earlier measurements, and on scores with noise, which have a share of the loss
    as well (`what_to_measure`, `pair_selection`). Fitting and drawing rows are free.

Accuracy
    A domain of up to `MOST_CELLS` records is fitted on all of them, to all tables of up to three attributes.
    A wider one is fitted on a sample, which begins as a forest (`spanning_forest`), to those tables of two
    attributes that say most (`pair_selection`), in bins that hold about as many people as the noise of a
    cell: finer ones would measure the noise. Tables whose cells would drown in their noise are not measured,
    and what they would have cost goes to the others.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb
from typing import TypeAlias

import numpy as np

from discreet.arrays import Floats
from discreet.model.privacy import PureLoss, Spend, share_of
from discreet.model.sensitivity import Sensitivity
from discreet.synth.core.cells import Cells
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.fit import fit
from discreet.synth.core.measurement import ExactMarginals, MarginalReader, Measurement, combined, noise
from discreet.synth.core.pair_selection import BinnedAttributes, chosen, coarse, for_ones, scores
from discreet.synth.core.records import Records, Sample, Term
from discreet.synth.core.spanning_forest import planted
from discreet.synth.core.synthetic import Synthetic
from discreet.synth.core.what_to_measure import (
    HIGHEST,
    MOST_CELLS,
    SCORES,
    USUAL_FIRST,
    WORTH,
    divided,
    empty,
    first_share,
    orders,
    sample_size,
    usual_pairs,
)

Progress: TypeAlias = Callable[[int, int, float], object]
"""Called with the number of attributes of the tables that are fitted, the sweep, and the misfit."""

__all__ = [
    "Progress",
    "Stage",
    "Synthetic",
    "fitted",
    "left_out",
    "measure_tables",
    "stages_of",
    "synthesise",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Tables of so many attributes, if there are enough people for them to be measured."""

    order: int
    tables: int
    """How many are measured: all, or about how many pairs of a wide table."""
    cells: int
    """The cells of all of them, before any is put into bins."""
    sigma: float
    """The standard deviation of a count's noise, in people; of the noisiest table, or a usual pair."""


def stages_of(domain: Domain, *, loss: Spend, sensitivity: Sensitivity, unit: int = 1) -> list[Stage]:
    """What would be measured. It reads no data."""
    present, first = domain.without(domain.optional), first_share(domain)
    wide, pure = present.cells > MOST_CELLS, isinstance(loss, PureLoss)
    highest = min(len(domain.sizes), 2 if wide else HIGHEST)
    possible = [present.marginals(order) for order in range(1, highest + 1)]
    tables = [len(marginals) for marginals in possible]
    if wide:
        tables[1] = usual_pairs(len(domain.sizes))
        first = USUAL_FIRST
    left = 1 - first - (SCORES if wide else 0)
    stages = []
    for order, (count, marginals) in enumerate(zip(tables, possible, strict=True), start=1):
        least = first * min(divided(domain.sizes, pure=pure))
        share = least if order == 1 else left / sum(tables[1:])
        stages.append(
            Stage(
                order=order,
                tables=count,
                cells=round(sum(marginal.cells for marginal in marginals) * count / len(marginals)),
                sigma=noise(share_of(loss, share), sensitivity, unit) ** 0.5,
            )
        )
    return stages


def synthesise(
    domain: Domain,
    exact: ExactMarginals,
    *,
    loss: Spend,
    sensitivity: Sensitivity,
    unit: int = 1,
    progress: Progress = lambda *_: None,
) -> Synthetic:
    """Costs the loss. Exact counts are in 1/unit of a person."""
    found = measure_tables(domain, exact, loss=loss, sensitivity=sensitivity, unit=unit)
    return fitted(domain, found, progress=progress)


def measure_tables(
    domain: Domain, exact: ExactMarginals, *, loss: Spend, sensitivity: Sensitivity, unit: int = 1
) -> list[Measurement]:
    """All that is ever released. Costs the loss."""
    reader = MarginalReader(exact, loss, sensitivity, unit)
    first, shares = first_share(domain), divided(domain.sizes, pure=isinstance(loss, PureLoss))
    ones = reader.measure(domain.marginals(1), first, shares)
    if first == 1:
        return ones
    kept = domain.without(empty(domain, ones))
    people, laws = _laws(ones, kept)
    further = _all_tables if kept.cells <= MOST_CELLS else _chosen_pairs
    found, left = further(reader, kept, laws, people, 1 - first)
    if left:
        again = reader.measure(domain.marginals(1), left, shares)
        ones = [combined(*both) for both in zip(ones, again, strict=True)]
    return ones + found


def _all_tables(
    reader: MarginalReader, kept: Domain, laws: Sequence[Floats], people: float, share: Fraction
) -> tuple[list[Measurement], Fraction]:
    """Tables of two and three attributes, and what is left of the share: all, if noise would drown them."""
    further = orders(kept, laws, people, partial(reader.sigma, share))
    marginals = [each for order in further for each in kept.marginals(order)]
    return (reader.measure(marginals, share), Fraction(0)) if marginals else ([], share)


def _chosen_pairs(
    reader: MarginalReader, kept: Domain, laws: Sequence[Floats], people: float, share: Fraction
) -> tuple[list[Measurement], Fraction]:
    """The tables of two attributes that say most, and what is left of the share for tables of one."""
    if people < WORTH * reader.sigma_of_distance(SCORES, comb(len(laws), 2)):
        return [], share
    pure, binned, left = isinstance(reader.loss, PureLoss), BinnedAttributes(kept, laws), share - SCORES
    tables = binned.tables(people / reader.sigma(left, usual_pairs(len(laws))))
    scored = scores(reader, tables, binned, people)
    best = chosen(scored, kept, noise=reader.sigma(1 - SCORES), pure=pure)
    if not best:
        return [], left
    again = for_ones(best, kept, spent=1 - share, left=left, pure=pure)
    shares = divided([each.cells for each in best], pure=pure)
    fine = [coarse(people / reader.sigma((left - again) * own), tables=len(best)) for own in shares]
    best = [binned.table(each.attributes, cells) for each, cells in zip(best, fine, strict=True)]
    return reader.measure(best, left - again, shares), again


def fitted(
    domain: Domain, measurements: Sequence[Measurement], *, progress: Progress = lambda *_: None
) -> Synthetic:
    """A table that agrees with what was measured. Free, and the same for the same measurements."""
    digest = hashlib.sha256(b"".join(each.counts.tobytes() for each in measurements)).digest()
    random = np.random.default_rng(int.from_bytes(digest))  # what it draws hides nothing
    ones = measurements[: len(domain.sizes)]
    kept = _kept(domain, measurements)
    people, laws = _laws(ones, kept)
    pairs = [each for each in measurements if len(each.marginal.attributes) == 2]
    records, terms = _begun(kept, laws, people, pairs, random)
    for order in range(2, HIGHEST + 1):
        news = [each for each in measurements if len(each.marginal.attributes) == order]
        if news:
            advance = partial(progress, order)
            terms += fit(records, news, people, earlier=terms, advance=advance, random=random).terms
    return Synthetic(domain=domain, people=people, records=records, measurements=tuple(measurements))


def left_out(domain: Domain, measurements: Sequence[Measurement], sigma: float) -> list[Marginal]:
    """The pairs of a wide table that were not measured, in bins for counts with this noise. Free."""
    ones = measurements[: len(domain.sizes)]
    kept = _kept(domain, measurements)
    if kept.cells <= MOST_CELLS:
        return []
    people, laws = _laws(ones, kept)
    seen = {each.marginal.attributes for each in measurements}
    return [
        each for each in BinnedAttributes(kept, laws).tables(people / sigma) if each.attributes not in seen
    ]


def _kept(domain: Domain, measurements: Sequence[Measurement]) -> Domain:
    """The domain that tables of several attributes were measured on. Without such tables, `empty` decides.

    Tables of one attribute may have been measured again since the values to keep were chosen.
    """
    dropped = empty(domain, measurements[: len(domain.sizes)])
    for each in measurements[len(domain.sizes) :]:
        for attribute, codes in zip(each.marginal.attributes, each.marginal.codes, strict=True):
            dropped[attribute] = len(codes) < domain.sizes[attribute]
    return domain.without(dropped)


def _laws(ones: Sequence[Measurement], kept: Domain) -> tuple[float, list[Floats]]:
    """How many people there are, and the law of each attribute among them."""
    people = _people(ones)
    return people, [_law(each.counts[:size], people) for each, size in zip(ones, kept.sizes, strict=True)]


def _people(ones: Sequence[Measurement]) -> float:
    """The number of people: the average over the tables of one attribute that has the least variance."""
    totals = [float(each.counts.sum()) for each in ones]
    weights = [1 / (len(each.counts) * each.variance) for each in ones]
    return max(1.0, float(np.average(totals, weights=weights)))


def _law(counts: Floats, people: float) -> Floats:
    """The nearest shares that are not negative and add up to 1; none is exactly 0."""
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - people) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    law: Floats = np.maximum(counts - excess[last], 0) + people * 1e-9
    law /= law.sum()
    return law


def _begun(
    domain: Domain,
    laws: Sequence[Floats],
    people: float,
    pairs: Sequence[Measurement],
    random: np.random.Generator,
) -> tuple[Records, list[Term]]:
    """Records whose attributes have these laws: those of a sample as a forest, others independent."""
    if domain.cells > MOST_CELLS:
        sample = Sample(laws, sample_size(len(pairs)), random)
        return sample, planted(sample, pairs, laws, people, random)
    cells = Cells(domain)
    for column, law in zip(cells.columns, laws, strict=True):
        cells.weights *= law[column] * len(law)
    cells.weights /= cells.weights.sum()
    return cells, []
