"""What a release on a secret Poisson sample costs: less than on everyone.

Each person, with all their rows, is in the sample with probability `rate`. A coin decides for each person; it
is tossed anew for each release and never shown. All statements are about adding or removing a person.
Replacing one counts as a group of two.

Let q be the law of the release without the person and p the law when their coin takes them in, both given
the coins of all others. With the person in the data the law is m = (1 − γ)q + γp, γ being the rate. A bound
between m and q for all coins of the others holds on average over them: ratios of probabilities for pure ε,
and Rényi divergences by joint quasi-convexity (van Erven & Harremoës, arXiv 1206.2459v2, Theorem 13).

Pure
    m/q ≤ 1 + γ(e^ε − 1) where p ≤ e^ε·q, and q/m is no more (Li, Qardaji, Su 2012; Balle, Barthe,
    Gaboardi, arXiv 1807.01647v2, Theorem 8): (1 − γ + γr)(1 − γ + γ/r) ≥ 1 for all r > 0.

Rényi, discrete Gaussian noise on integer vectors
    p is q moved by an integer vector s. For whole orders α ≥ 2 the binomial theorem gives
        E_q[(m/q)^α] = Σ_l C(α, l)·(1 − γ)^(α−l)·γ^l·E_q[(p/q)^l],   E_q[(p/q)^l] = e^(l(l−1)ρ),
    ρ = ‖s‖²/2σ². The last equation holds for vectors of discrete Gaussians as for continuous ones: each
    coordinate adds e^(l(l−1)s²/2σ²) times a sum of the law around l·s, a whole number, hence 1 (Canonne,
    Kamath, Steinke, arXiv 2004.00010v4, Proposition 5). It grows with ‖s‖.
    The other direction is no more, for real α ≥ 1 and any law with q(x) = p(v(x)), v its own inverse: here
    v(x) = s − x, which maps the integers onto themselves. Mironov, Talwar, Zhang (arXiv 1908.10530v1),
    Theorem 5, state it for densities, which are not needed here. With r = p/q, r(v(x)) = 1/r(x), so that
    2·E_q[f(r)] = E_q[f(r) + r·f(1/r)]. Put a = 1 − γ + γr, b = 1 − γ + γ/r and h(u) = u^α − u^(1−α). The
    difference of the two moments is half of E_q[h(a) + r·h(b)], and each term is at least 0: let r ≥ 1 (for
    r < 1 swap a and b). As r(1 − b) = a − 1, it is (a − 1)(g(a) − g(b)), g(u) = h(u)/(u − 1). g(u) = g(1/u),
    and g grows beyond 1, where h is convex; and 1/b ≤ a, since ab ≥ 1.

Divergences of one order add up, even if each release depends on earlier answers, as long as the order is
chosen before the first (Feldman & Zrnic 2021, arXiv 2008.11193). So the order is chosen first, here from
public numbers, and the budget is one amount of divergence. If the number of steps is fixed in advance,
`sampled_steps` needs less noise.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import (
    Number,
    decimal_context,
    exact_fraction,
    exp_bounds,
    ln_bounds,
    positive_count,
    positive_delta,
    positive_epsilon,
    positive_rho,
    round_down,
    whole,
)

MOST_ORDER = 2**15
SMALLEST_RATE = Fraction(1, 10**9)
_DIGITS = 60
_WORK = decimal_context(_DIGITS)
_SLACK = Decimal("1e-20")  # the sums below lose less than 1e-25 of themselves
_LARGEST_EXPONENT = 1000


def sampling_rate(value: object, name: str = "rate") -> Fraction:
    """A probability below 1 of being in a sample, read exactly."""
    exact = exact_fraction(value, name)
    if not SMALLEST_RATE <= exact < 1:
        raise InvalidInput(
            f"{name} is the share of the people in each step, above 0 and below 1, not a number of rows.",
            remedy=f"Give {name}=0.1 for a tenth of them on average; without it, everyone is in each step.",
        )
    return exact


@lru_cache(maxsize=4096, typed=True)
def sampled_pure(epsilon: Number, rate: Number) -> Fraction:
    """The ε (rounded up), on a sample, of a release that costs `epsilon` on everyone."""
    loss, gamma = positive_epsilon(epsilon), sampling_rate(rate)
    if loss > _LARGEST_EXPONENT:
        return loss
    return _up(ln_bounds(1 + gamma * (exp_bounds(loss, _DIGITS)[1] - 1), _DIGITS)[1])


@lru_cache(maxsize=4096, typed=True)
def largest_pure(epsilon: Number, rate: Number) -> Fraction:
    """The largest ε (rounded down), on everyone, of a release that costs at most `epsilon` on a sample."""
    loss, gamma = positive_epsilon(epsilon), sampling_rate(rate)
    if loss > _LARGEST_EXPONENT / 2:
        return loss
    found = _down(ln_bounds(1 + (exp_bounds(loss, _DIGITS)[0] - 1) / gamma, _DIGITS)[0])
    return _certified(found, loss, lambda each: sampled_pure(each, gamma) <= loss)


@lru_cache(maxsize=4096, typed=True)
def sampled_renyi(rho: Fraction, rate: Fraction, order: int) -> Fraction:
    """The Rényi divergence (rounded up), on a sample, of one release that costs ρ on everyone."""
    rho, gamma = positive_rho(rho), sampling_rate(rate)
    order = whole(order, "order", 2, MOST_ORDER)
    with localcontext(_WORK):
        excess = _excess(_decimal(rho), _decimal(gamma), _decimal(1 - gamma), order)
        log = excess if excess < Decimal("1e-25") else _WORK.ln(1 + excess)
        found = _up(Fraction(log / (order - 1) * (1 + _SLACK)))
    return min(found, order * rho)


def _excess(rho: Decimal, rate: Decimal, missing: Decimal, order: int) -> Decimal:
    """Σ_l C(α, l)·(1 − γ)^(α−l)·γ^l·(e^(l(l−1)ρ) − 1), each term from the one before. No digits cancel."""
    odds, growth = rate / missing, _WORK.exp(2 * rho)
    weight, power, factor, total = missing**order, Decimal(1), Decimal(1), Decimal(0)
    for done in range(order):
        weight *= odds * (order - done) / (done + 1)
        power *= factor
        factor *= growth
        total += weight * (power - 1)
    return total


@lru_cache(maxsize=4096, typed=True)
def largest_sampled_rho(renyi: Fraction, rate: Fraction, order: int) -> Fraction:
    """The largest ρ (rounded down) of a release whose divergence on a sample is at most `renyi`.

    The search is in floating point; `sampled_renyi` then certifies the result.
    """
    renyi, gamma = positive_rho(renyi, "renyi"), sampling_rate(rate)
    order = whole(order, "order", 2, MOST_ORDER)
    found = round_down(_search_rho(float(renyi), float(gamma), order))
    least = renyi / order
    return _certified(max(found, least), least, lambda each: sampled_renyi(each, gamma, order) <= renyi)


def renyi_budget(epsilon: Number, delta: Number, order: int) -> Fraction:
    """The largest divergence (rounded down) of this order that implies (ε, δ); below 0 if there is none.

    Canonne, Kamath, Steinke (arXiv 2004.00010v4), Proposition 12.
    """
    at, cost = positive_epsilon(epsilon), _conversion(positive_delta(delta), order)
    return _down(at - cost) if at > cost else Fraction(-1)


def renyi_epsilon(renyi: Fraction, delta: Number, order: int) -> Fraction:
    """The ε (rounded up) at δ that a divergence of this order implies; at most ε for `renyi_budget` of ε."""
    return max(Fraction(0), _up(renyi + _conversion(positive_delta(delta), order)))


@lru_cache(maxsize=1024, typed=True)
def _conversion(delta: Fraction, order: int) -> Fraction:
    """ln(1 − 1/α) − (ln δ + ln α)/(α − 1), rounded up."""
    order = whole(order, "order", 2, MOST_ORDER)
    kept = ln_bounds(1 - Fraction(1, order), _DIGITS)[1]
    logs = ln_bounds(delta, _DIGITS)[0] + ln_bounds(Fraction(order), _DIGITS)[0]
    return kept - logs / (order - 1)


def sampled_epsilon(rho: Number, rate: Number, steps: int, delta: Number) -> Fraction:
    """The ε (rounded up) at δ of `steps` releases on samples, each of which costs ρ on everyone."""
    each, gamma = positive_rho(rho), sampling_rate(rate)
    times, at = positive_count(steps, "steps"), positive_delta(delta)

    def roughly(order: int) -> float:
        divergence = times * _log_moment(float(each), float(gamma), order) / (order - 1)
        return divergence + float(_conversion(at, order))

    order = _least(roughly, 2, MOST_ORDER)
    return renyi_epsilon(times * sampled_renyi(each, gamma, order), at, order)


@lru_cache(maxsize=1024, typed=True)
def best_order(epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int, everyone: Fraction) -> int:
    """The order at which `steps` steps on samples need the least noise.

    `everyone` is the ρ of further releases, on everyone, from the same budget.
    """
    at, lost, gamma = positive_epsilon(epsilon), positive_delta(delta), float(sampling_rate(rate))

    def noise(order: int) -> float:
        left = renyi_budget(at, lost, order) - order * everyone
        return 1 / _search_rho(float(left) / steps, gamma, order) if left > 0 else math.inf

    usual = math.log(1 / lost) / float(at)  # without samples the best order is about twice that
    found = _least(noise, int(usual / 2), int(4 * usual) + 4)
    if noise(found) == math.inf:
        raise InvalidInput(
            "Sampled steps at so small an epsilon and delta have no account here.",
            remedy="Give a larger epsilon or delta, or take everyone in each step.",
        )
    return found


def renyi_step_rho(
    epsilon: Number, delta: Number, rate: Number, steps: int, everyone: Fraction = Fraction(0)
) -> Fraction:
    """The largest ρ of one step, if `steps` steps are (ε, δ)-DP together, by divergences of one order.

    The budget also pays for releases on everyone that cost the ρ `everyone`.
    """
    at, lost, gamma = positive_epsilon(epsilon), positive_delta(delta), sampling_rate(rate)
    times = positive_count(steps, "steps")
    order = best_order(at, lost, gamma, times, everyone)
    left = renyi_budget(at, lost, order) - order * everyone
    return largest_sampled_rho(left / times, gamma, order)


def _least(score: Callable[[int], float], low: int, high: int) -> int:
    """About the order with the least score, by a coarse and a fine grid. Any order gives a valid bound."""
    low, high = min(max(2, low), MOST_ORDER), min(max(2, high), MOST_ORDER)
    points = 4 + int(6 * math.log(high / low))
    coarse = sorted({int(each + 0.5) for each in np.geomspace(low, high, points)})
    place = coarse.index(min(coarse, key=score))
    near = np.linspace(coarse[max(0, place - 1)], coarse[min(len(coarse) - 1, place + 1)], 12)
    return min({coarse[place], *(int(each) for each in near)}, key=score)


def _search_rho(renyi: float, rate: float, order: int) -> float:
    """The ρ at which the divergence on a sample is as given, in floating point."""
    wanted, low = (order - 1) * renyi, math.log(renyi / order)
    high = low - 2 * math.log(rate) + 1  # at γ²-fold amplification and a little more
    for _ in range(40):
        middle = (low + high) / 2
        if _log_moment(math.exp(middle), rate, order) <= wanted:
            low = middle
        else:
            high = middle
    return math.exp(low)


def _log_moment(rho: float, rate: float, order: int) -> float:
    """ln E_q[(m/q)^α], in floating point."""
    taken, weights = _log_weights(rate, order)
    x = taken * (taken - 1) * rho
    with np.errstate(over="ignore"):
        logs = weights + np.where(x > 30, x, np.log(np.expm1(np.minimum(x, 31))))
    most = float(logs.max())
    total = most + math.log(float(np.exp(logs - most).sum()))
    return float(np.logaddexp(0.0, total))


@lru_cache(maxsize=256, typed=True)
def _log_weights(rate: float, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """l = 2, …, α and ln(C(α, l)·(1 − γ)^(α−l)·γ^l)."""
    rate = min(rate, 1 - 2.0**-53)  # a rate very near to 1 is 1.0 as a float
    taken = np.arange(1, order + 1, dtype=np.float64)
    chosen = np.cumsum(np.log((order - taken + 1) / taken))
    logs = chosen + taken * math.log(rate) + (order - taken) * math.log1p(-rate)
    return taken[1:], logs[1:]


def _certified(found: Fraction, least: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """`found` if it fits, else a little less, else `least`, which always fits."""
    for shrink in (0, 12, 9, 6, 3):
        each = found * (1 - Fraction(1, 10**shrink)) if shrink else found
        if each >= least and fits(each):
            return each
    return least


def _decimal(x: Fraction) -> Decimal:
    return _WORK.divide(Decimal(x.numerator), Decimal(x.denominator))


def _up(x: Fraction) -> Fraction:
    return Fraction(decimal_context(15, ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator)))


def _down(x: Fraction) -> Fraction:
    return Fraction(decimal_context(15, ROUND_FLOOR).divide(Decimal(x.numerator), Decimal(x.denominator)))
