"""Weights that agree with noisy marginals, and say as little else as possible.

Given counts y with variance σ² over the cells of several marginals, and n people, the fit is the table
p = base · e^(sum of exponents) that minimises

    Σ (y − m)² / (2λσ²)  +  the relative entropy of p to its base,      m the table's own marginals.

At the minimum every exponent is (y − m)/(λσ²): multiplicative weights (Hardt, Ligett, McSherry, arXiv
1012.4763v2) whose learning rate is the noise itself. For one marginal it is found exactly: with θ the
exponent of a cell so far, its change Δ obeys m·e^Δ + λσ²·(θ + Δ) = y, a Lambert function. Each such step
raises the dual of the problem, so that there is no rate to tune; without noise it is iterative proportional
fitting.

λ begins at 1, and is halved until the measurements fit as well as they should, Σ(y − m)²/σ² at most the
number of cells: to fit closer would be to fit the noise (the discrepancy principle, Morozov 1966). Everything
here is made from measurements, and costs no privacy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.synth.measurement import Measurement
from discreet.synth.records import Floats, Records, Term, shares

MOST_SWEEPS = 60
_SETTLED = 0.97  # a sweep that leaves more of the misfit than this has no more to give at this λ
_RISEN, _NEAR = 1.02, 1.5  # a misfit that is near 1 and rises will not come down again
_SMALLEST_LAMBDA = 2.0**-10
_NEWTON_STEPS = 4
_TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The exponents of each measured marginal, and how well it is met: 1 is what the noise makes likely."""

    terms: list[Term]
    misfit: float
    sweeps: int


def fit(
    records: Records,
    measurements: Sequence[Measurement],
    people: float,
    *,
    earlier: Sequence[Term] = (),
    advance: Callable[[int, float], object] = lambda *_: None,
) -> Fitted:
    """Moves the weights of the records. `earlier` are the terms that their base holds already.

    After every sweep `advance` is told how many there were, and the misfit.
    """
    terms = [Term(each.marginal) for each in measurements]
    loose, last = 1.0, float("inf")
    for sweep in range(1, MOST_SWEEPS + 1):
        for term, measurement in zip(terms, measurements, strict=True):
            _step(records, term, measurement, people, loose)
        misfit = _misfit(records, measurements, people)
        advance(sweep, misfit)
        settled = misfit > _SETTLED * last
        rises = misfit > _RISEN * last and last < _NEAR
        if settled and (misfit <= 1 or rises or loose < _SMALLEST_LAMBDA):
            break
        records.renew([*earlier, *terms])
        loose, last = loose / 2 if settled else loose, misfit
    return Fitted(terms=terms, misfit=misfit, sweeps=sweep)


def _step(records: Records, term: Term, measurement: Measurement, people: float, loose: float) -> None:
    """The best exponents of one marginal, all others as they are."""
    counts = shares(records, term.marginal) * people
    change = _best_change(counts, term.exponents, measurement.counts, loose * measurement.variance)
    change[counts <= 0] = 0
    np.clip(change, -records.farthest, records.farthest, out=change)
    term.exponents += change
    records.weights *= np.exp(change)[records.places(term.marginal)]
    records.weights /= records.weights.sum()


def _best_change(counts: Floats, exponents: Floats, measured: Floats, variance: float) -> Floats:
    """Δ with counts·e^Δ + variance·(exponents + Δ) = measured, for every cell.

    With x = counts·e^Δ/variance and a = measured/variance − exponents this is
    x + ln x = ln(counts/variance) + a, and then Δ = a − x. Newton's method, from a start near both ends.
    """
    target = measured / variance - exponents
    log = np.log(np.maximum(counts, _TINY) / variance) + target
    small = np.exp(np.minimum(log, 1))
    x = np.where(log > 1, log - np.log(np.maximum(log, 1)), small / (1 + small))
    for _ in range(_NEWTON_STEPS):
        x = np.maximum(x, _TINY)
        x *= 1 - (x + np.log(x) - log) / (1 + x)
    return target - np.maximum(x, _TINY)


def _misfit(records: Records, measurements: Sequence[Measurement], people: float) -> float:
    squares = cells = 0.0
    for each in measurements:
        off = shares(records, each.marginal) * people - each.counts
        squares += float(off @ off) / each.variance
        cells += len(off)
    return squares / cells
