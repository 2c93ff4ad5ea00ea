"""How far the odds of a suspicion can move where a budget has a δ: so far, but for a stated share of cases.

Let P be the law of what is released if a person is in the data, and Q if not. What is released moves the odds
that they are in it by a factor of e^L, L = ln(P/Q), whatever the odds were: Bayes' rule. With ε-differential
privacy L ≤ ε always. Otherwise L can be anything, and what can be said is how rarely it is above a limit c.
(ε, δ) does *not* say that this is as rare as δ.

(ε, δ)
    δ ≥ E_P[(1 − e^(ε−L))₊], for the event {L > ε} in the definition; so P(L > c) ≤ δ/(1 − e^(ε−c)) for c > ε
    (Canonne, Kamath, Steinke, arXiv 2004.00010v4, section 2). At a chance of t: c = ε − ln(1 − δ/t).

ρ-zCDP
    P(L > ρ + s) ≤ e^(−s²/(4ρ)): Markov's inequality for e^((α−1)L), whose mean is at most e^((α−1)αρ), at
    the best α (Bun & Steinke 2016, arXiv 1605.02065v1, in the proof of Proposition 1.3). At a chance of t:
    c = ρ + 2·√(ρ·ln(1/t)). It holds for all that is computed from what was released, too. The tail of
    Gaussian noise itself, ρ + √(2ρ)·Φ⁻¹(1 − t), does not: whoever learns only that a noisy count passed a
    threshold has a loss above it more often. So it is not used here; tests show both.

With a δ of thresholds beside ρ
    P = (1 − δ)·P′ + δ·P″, and Q alike, where P′ and Q′ are ρ-zCDP (the same, section 8). Where η·(1 − δ)·P′ ≥
    δ·P″, P ≤ (1 + η)·(1 − δ)·P′ and so P/Q ≤ (1 + η)·P′/Q′. Elsewhere (1 − δ)·P′ has less than δ/η. So
    c = ρ + 2·√(ρ·ln(1/t′)) + ln(1 + η) at a chance of t′ + δ/η, under (1 − δ)·P′, and δ more under P.

For whom
    The chance is over the noise, if the suspicion is right. If it is wrong, odds that rise so far are rarer
    by e^(−c): Q(L > c) ≤ e^(−c)·P(L > c). That odds fall by more than e^c is as rare, with P and Q exchanged.
"""

from fractions import Fraction
from math import isqrt

from discreet.model.exact import ln_bounds
from discreet.model.privacy import ApproximateLoss, Loss, PureLoss

_DIGITS = 30
_ROOT_UNITS = 10**30
_SPLITS = 64
_MOST_OVER_DELTA = 100


def rare_chance(delta: Fraction) -> Fraction:
    """The share of cases that statements about odds leave out: 100 δ, or √δ if that is less. 0 without a δ.

    A chance near δ would say much less of all other cases, and a far larger one much less of these.
    """
    return min(_MOST_OVER_DELTA * delta, Fraction(isqrt(int(delta * 10**60)), 10**30))


def odds_limit(loss: Loss, chance: Fraction) -> Fraction | None:
    """The c by whose factor e^c odds move at most, but for this chance; rounded up. None: there is none.

    A pure loss needs no chance. Any other has a limit where the chance is above its δ.
    """
    if isinstance(loss, PureLoss):
        return loss.epsilon
    if loss.delta >= chance:
        return None
    if isinstance(loss, ApproximateLoss):
        return loss.epsilon - ln_bounds(1 - loss.delta / chance, _DIGITS)[0]
    if not loss.delta:
        return _concentrated(loss.rho, chance)
    spare = chance - loss.delta
    return min(
        _concentrated(loss.rho, spare - kept) + ln_bounds(1 + loss.delta / kept, _DIGITS)[1]
        for kept in (spare * part / _SPLITS for part in range(1, _SPLITS))
    )


def _concentrated(rho: Fraction, chance: Fraction) -> Fraction:
    """ρ + 2·√(ρ·ln(1/t))."""
    square = 4 * rho * ln_bounds(1 / chance, _DIGITS)[1]
    return rho + Fraction(isqrt(int(square * _ROOT_UNITS**2)) + 1, _ROOT_UNITS)
