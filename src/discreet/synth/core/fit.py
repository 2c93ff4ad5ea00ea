"""Weights that agree with noisy marginals, and say as little else as possible.

Given counts y with variance σ² over the cells of several marginals, and n people, the fit is the table
p = base · e^(sum of exponents) that minimises

    Σ (y − m)² / (2λσ²)  +  n times the relative entropy of p to its base,      m the table's own counts.

At the minimum every exponent is (y − m)/(λσ²): multiplicative weights (Hardt, Ligett, McSherry, arXiv
1012.4763v2) whose learning rate is the noise itself. For one marginal it is found exactly: with θ the
exponent of a cell so far, its change Δ obeys m·e^Δ + λσ²·(θ + Δ) = y, a Lambert function. Each such step
raises the dual of the problem, so that there is no rate to tune; without noise it is iterative proportional
fitting.

λ says how much the base is trusted: 1 would be right if people were drawn from it. It begins there, or where
a cell that holds everybody would just move by half, and is halved for as long as the fit comes closer to the
*exact* counts. How close it is can be told without them: by Stein's unbiased estimate of risk (Stein, Annals
of Statistics 1981), the expectation of Σ w·(m − exact)² is that of

    Σ w·((y − m)² − σ² + 2σ²·∂m/∂y),

and the sum of derivatives is found by fitting a twin to counts that were moved a little, at random (Ramani,
Blu, Unser, IEEE Transactions on Image Processing 2008). The identity is exact for Gaussian noise; for Laplace
noise it holds as far as m is linear over the width of the noise. w = 1/(m + σ) at the start, so that errors
count in proportion to what a cell holds, down to the noise. Everything here is made from measurements, and
costs no privacy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.synth.core.measurement import Measurement
from discreet.synth.core.records import Records, Term

SWEEPS = 3
"""Through all marginals, at each λ."""
MOST_HALVINGS = 20
_USUAL_HALVINGS = 8
_WORSE = 2  # it ends after so many λ in a row without an improvement
_MOVED = 0.3  # how far the twin's counts are moved, in σ
_DOUBT = 0.1  # standard errors of the estimate: a smaller improvement does not count
_NEWTON_STEPS = 4
_TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The exponents of each measured marginal, and how well it is met: 1 is what the noise makes likely."""

    terms: list[Term]
    misfit: float
    sweeps: int


@dataclass(frozen=True, slots=True)
class _State:
    """Records, the exponents that moved them from their base, and the counts that they are to meet."""

    records: Records
    terms: list[Term]
    counts: list[Floats]
    first: Floats
    """What the records have in each cell of the first marginal: the next sweep begins with it."""

    @classmethod
    def start(cls, records: Records, terms: list[Term], counts: list[Floats]) -> "_State":
        return cls(records, terms, counts, records.shares(terms[0].marginal) if terms else np.zeros(0))

    def copy(self, counts: list[Floats]) -> "_State":
        terms = [term.copy() for term in self.terms]
        return _State(self.records.copy(), terms, counts, self.first.copy())

    def held(self, people: float) -> list[Floats]:
        return [self.records.shares(term.marginal) * people for term in self.terms]


def fit(
    records: Records,
    measurements: Sequence[Measurement],
    people: float,
    *,
    earlier: Sequence[Term] = (),
    advance: Callable[[int, float], object] = lambda *_: None,
    random: np.random.Generator | None = None,
) -> Fitted:
    """Moves the weights of the records. `earlier` are the terms that their base holds already.

    After every sweep `advance` is called with how many there were, and the misfit.
    """
    variances = [each.variance for each in measurements]
    counts = [_centred(each.counts, people) for each in measurements]
    records.expect(2 * _USUAL_HALVINGS * SWEEPS * len(measurements))
    now = _State.start(records, [Term(each.marginal) for each in measurements], counts)
    risk = _Risk(now, variances, people, random or np.random.default_rng())
    twin = now.copy([y + moved for y, moved in zip(counts, risk.moves, strict=True)])
    best, least, worse, sweeps = now.copy(counts), risk.of(now, twin), 0, 0
    loose = min([1.0, *(people / variance for variance in variances)])
    for _ in range(MOST_HALVINGS):
        for _ in range(SWEEPS):
            for state in (twin, now):
                misfit = _sweep(state, variances, loose, people, earlier)
            sweeps += 1
            advance(sweeps, misfit)
        found = risk.of(now, twin)
        better = found < least - risk.doubt
        worse = 0 if better else worse + 1
        if better:
            best, least = now.copy(counts), found
        if worse == _WORSE:
            break
        loose /= 2
    records.take(best.records)
    return Fitted(terms=best.terms, misfit=_misfit(best, variances, people), sweeps=sweeps)


class _Risk:
    """Stein's estimate of how far a state is from the exact counts; only differences of it matter."""

    def __init__(
        self, start: _State, variances: Sequence[float], people: float, chance: np.random.Generator
    ) -> None:
        self._people, self._variances = people, variances
        self._weights = [
            1 / (held + variance**0.5) for held, variance in zip(start.held(people), variances, strict=True)
        ]
        self.moves = [
            chance.choice((-_MOVED, _MOVED), len(y)) * variance**0.5
            for y, variance in zip(start.counts, variances, strict=True)
        ]

        squares = zip(self._weights, variances, strict=True)
        self.doubt = _DOUBT * sum(2 * float(weight @ weight) * v**2 for weight, v in squares) ** 0.5

    def of(self, state: _State, twin: _State) -> float:
        risk = 0.0
        held = zip(state.held(self._people), twin.held(self._people), state.counts, strict=True)
        for (m, moved, y), move, weight in zip(held, self.moves, self._weights, strict=True):
            risk += float(weight @ ((y - m) ** 2 + 2 * move * (moved - m) / _MOVED**2))
        return risk


def _centred(counts: Floats, people: float) -> Floats:
    """The nearest counts that add up to all people, as those of the table do."""
    centred: Floats = counts + (people - counts.sum()) / len(counts)
    return centred


def _sweep(
    state: _State, variances: Sequence[float], loose: float, people: float, earlier: Sequence[Term]
) -> float:
    """One step for each marginal. Returns the misfit, each marginal's just before its step.

    A step ends with the shares of the next marginal; the last step, with those of the first.
    """
    if state.records.renew([*earlier, *state.terms]) and state.terms:
        state.first[:] = state.records.shares(state.terms[0].marginal)
    held = state.first
    squares = cells = 0.0
    following = [*state.terms[1:], *state.terms[:1]]
    for term, then, counts, variance in zip(state.terms, following, state.counts, variances, strict=True):
        factors = step(term, held, counts, people, loose * variance, state.records.farthest)
        off = held * people - counts
        squares += float(off @ off) / variance
        cells += len(counts)
        held = state.records.move(term.marginal, factors, then.marginal)
    state.first[:] = held
    return squares / max(1.0, cells)


def step(
    term: Term, held: Floats, measured: Floats, people: float, variance: float, farthest: float = np.inf
) -> Floats:
    """Moves one marginal to its best exponents, all others fixed. Returns the factors of the weights.

    What the weights would then add up to is known from `held`, and the factors are divided by it.
    """
    counts = held * people
    change = best_change(counts, term.exponents, measured, variance)
    change[counts <= 0] = 0
    np.clip(change, -farthest, farthest, out=change)
    term.exponents += change
    change -= change.max(where=counts > 0, initial=-np.inf)
    factors = np.exp(np.minimum(change, 0))
    factors /= max(float(held @ factors), _TINY)
    return factors


def best_change(counts: Floats, exponents: Floats, measured: Floats, variance: float) -> Floats:
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


def _misfit(state: _State, variances: Sequence[float], people: float) -> float:
    squares = cells = 0.0
    for held, counts, variance in zip(state.held(people), state.counts, variances, strict=True):
        squares += float((held - counts) @ (held - counts)) / variance
        cells += len(counts)
    return squares / max(1.0, cells)
