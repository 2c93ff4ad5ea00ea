"""From concentrated privacy (ρ, δ) to (ε, δ) and back, tightly and rounded towards more loss.

Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010v4),
Proposition 12: a mechanism that is ρ-zCDP is (ε, δ)-DP whenever, for some α > 1,

    δ ≥ exp((α − 1)(αρ − ε)) / α · (1 − 1/α)^(α−1)

*Any* α gives a true statement, so α is searched for in floating point and the formula is then
evaluated at that α in decimals, with the result rounded outwards.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from discreet.model.exact import SMALLEST_DELTA, decimal_context

_WORK = decimal_context(50)
_FloatOrDecimal = TypeVar("_FloatOrDecimal", float, Decimal)
_SLACK = Decimal("1e-35")  # far above what 50 digits lose, far below what anyone reads


def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The least ε (rounded up) for which every ρ-zCDP mechanism is (ε, δ)-DP."""
    if rho == 0:
        return Fraction(0)
    with localcontext(_WORK):
        log_delta = _ln(delta)
        guess = 1 + math.sqrt(max(float(-log_delta), 1e-3) / float(rho))
        roughly = float(rho), float(log_delta), math.log
        alpha = _minimise(lambda alpha: _epsilon_by(alpha, *roughly), guess)
        best = _epsilon_by(alpha, _decimal(rho), log_delta, _WORK.ln)
        return _outwards(max(best, Decimal(0)), ROUND_CEILING)


def _epsilon_by(
    alpha: _FloatOrDecimal,
    rho: _FloatOrDecimal,
    log_delta: _FloatOrDecimal,
    ln: Callable[[_FloatOrDecimal], _FloatOrDecimal],
) -> _FloatOrDecimal:
    return alpha * rho + ln((alpha - 1) / alpha) - (log_delta + ln(alpha)) / (alpha - 1)


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The least δ (rounded up) for which every ρ-zCDP mechanism is (ε, δ)-DP."""
    if rho == 0:
        return Fraction(0)
    with localcontext(_WORK):
        guess = 1 + max(float((epsilon - rho) / (2 * rho)), 1e-3)
        roughly = float(rho), float(epsilon), math.log
        alpha = _minimise(lambda alpha: _log_delta_by(alpha, *roughly), guess)
        best = _log_delta_by(alpha, _decimal(rho), _decimal(epsilon), _WORK.ln)
        return max(SMALLEST_DELTA, min(Fraction(1), _outwards(_WORK.exp(best), ROUND_CEILING)))


def _log_delta_by(
    alpha: _FloatOrDecimal,
    rho: _FloatOrDecimal,
    epsilon: _FloatOrDecimal,
    ln: Callable[[_FloatOrDecimal], _FloatOrDecimal],
) -> _FloatOrDecimal:
    return (alpha - 1) * (alpha * rho - epsilon + ln((alpha - 1) / alpha)) - ln(alpha)


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ (rounded down) for which every ρ-zCDP mechanism is (ε, δ)-DP.

    Ledgers hold budgets that were computed by it. So it gives the same digits for ever, and α is searched
    for in decimals.
    """
    with localcontext(_WORK):
        return _largest_rho(epsilon, _ln(delta))


def _largest_rho(epsilon: Fraction, log_delta: Decimal) -> Fraction:
    def at(alpha: Decimal) -> Decimal:
        log_keep = _WORK.ln((alpha - 1) / alpha)
        return (_decimal(epsilon) + (log_delta + _WORK.ln(alpha)) / (alpha - 1) - log_keep) / alpha

    guess = 1 + 2 * max(float(-log_delta), 1e-3) / float(epsilon)
    best = at(_minimise(lambda alpha: -float(at(Decimal(alpha))), guess))
    return _outwards(max(best, Decimal(0)), ROUND_FLOOR)


def _minimise(objective: Callable[[float], float], guess: float) -> Decimal:
    """An α > 1 near the minimum: golden section over ln(α − 1), six decades to either side."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(guess - 1) - 14, math.log(guess - 1) + 14
    while high - low > 1e-9:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if objective(1 + math.exp(left)) <= objective(1 + math.exp(right)):
            high = right
        else:
            low = left
    return Decimal(1 + math.exp((low + high) / 2))


def _ln(x: Fraction) -> Decimal:
    return _WORK.ln(_decimal(x))


def _decimal(x: Fraction) -> Decimal:
    return _WORK.divide(Decimal(x.numerator), Decimal(x.denominator))


def _outwards(x: Decimal, rounding: str) -> Fraction:
    slack = _SLACK if rounding == ROUND_CEILING else -_SLACK
    moved = max(Decimal(0), x * (1 + slack))
    return Fraction(decimal_context(15, rounding).plus(moved))
