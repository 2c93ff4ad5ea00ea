"""What ε means for a person, in odds and in money, and back. Every bound is rounded so that it holds.

Odds
    Let an attacker believe, with probability p, that a person is in the data, whatever else they know. After
    anything that ε-differential privacy released, the odds p/(1 − p) have moved by a factor of at most e^ε,
    in either direction: Bayes' rule, with the definition as the bound on the likelihood ratio. So the belief
    is at most p·e^ε/(1 − p + p·e^ε). With a δ this holds at a larger ε, and not always: see `odds`.

Reward
    Let any harm ≥ 0 follow from what was released, and a person expect a harm of C if they stay out. If they
    take part, they expect at most e^ε·C: the definition, summed over all outcomes (Dwork & Roth 2014, section
    2.3.1, “an economic view”). So a reward R ≥ (e^ε − 1)·C makes up for taking part, that is ε ≤ ln(1 + R/C).
    With a δ they expect at most e^ε·C + δ·W, where W is the worst harm that can happen: the definition,
    summed over the levels of harm up to W. Without a worst one there is no bound.
    Lecture 002 §4: people share their data if "their reward by doing so is more than the expected penalty".

Household
    For k people at once, ε becomes kε (lecture 002, Theorem 2).
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

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
)

_DIGITS = 30
_LARGEST_AMOUNT = Fraction(10**15)
_LARGEST_EXPONENT = 2000


def posterior_ceiling(epsilon: Number, prior: Number) -> Fraction:
    """The most that a suspicion can rise to, rounded up."""
    suspicion = probability(prior, "prior")
    return _rounded(suspicion / (suspicion + (1 - suspicion) * _shrunk(epsilon)), ROUND_CEILING)


def posterior_floor(epsilon: Number, prior: Number) -> Fraction:
    """The least that a suspicion can fall to, rounded down."""
    suspicion, shrunk = probability(prior, "prior"), _shrunk(epsilon)
    return _rounded(suspicion * shrunk / (suspicion * shrunk + 1 - suspicion), ROUND_FLOOR)


def attack_ceiling(epsilon: Number, delta: Number) -> Fraction:
    """The largest share of right guesses of any attack at even odds: (e^ε + δ)/(1 + e^ε), rounded up.

    The least sum of both errors of any test is 2(1 − δ)/(1 + e^ε) (Kairouz, Oh, Viswanath 2015, Theorem 2.1).
    """
    shrunk = _shrunk(epsilon)
    slack = positive_delta(delta) if delta else Fraction(0)
    return min(Fraction(1), _rounded((1 + slack * shrunk) / (1 + shrunk), ROUND_CEILING))


def epsilon_for_posterior(posterior: Number, prior: Number, *, household: int = 1) -> Fraction:
    """The largest ε, rounded down, for which a suspicion of `prior` stays at or below `posterior`."""
    high, low = probability(posterior, "posterior"), probability(prior, "prior")
    if high <= low:
        raise InvalidInput(
            "The suspicion afterwards must be above the one before: only silence keeps them equal.",
            remedy="Give a posterior that is larger than the prior.",
        )
    return _epsilon_for_factor(high * (1 - low) / (low * (1 - high)), household)


def epsilon_for_reward(reward: Number, harm: Number, *, household: int = 1) -> Fraction:
    """The largest ε, rounded down, for which a reward makes up for all that taking part can add to a harm.

    With a δ, take δ times the worst harm off the reward first.
    """
    return _epsilon_for_factor(1 + amount(reward, "reward") / amount(harm, "harm"), household)


def extra_harm(epsilon: Number, harm: Number) -> Fraction:
    """What taking part adds to an expected harm, at most: (e^ε − 1) times it, rounded up.

    With a δ it is δ times the worst harm more.
    """
    exact, expected = positive_epsilon(epsilon), amount(harm, "harm")
    if exact > _LARGEST_EXPONENT:
        raise InvalidInput("At such an ε nothing is protected, and harm has no bound.", remedy="Choose less.")
    return _rounded((exp_bounds(exact, _DIGITS)[1] - 1) * expected, ROUND_CEILING)


def probability(value: Number, name: str) -> Fraction:
    """Read a suspicion: above 0 and below 1, as nothing can change a belief that is certain."""
    exact = exact_fraction(value, name)
    if not Fraction(1, 10**12) <= exact <= 1 - Fraction(1, 10**12):
        raise InvalidInput(
            f"{name} must be a probability above 0 and below 1.",
            remedy=f"Write {name} as 0.5 for an even one.",
        )
    return exact


def amount(value: Number, name: str) -> Fraction:
    """Read a reward or a harm, in any unit of money."""
    exact = exact_fraction(value, name)
    if not 1 / _LARGEST_AMOUNT <= exact <= _LARGEST_AMOUNT:
        raise InvalidInput(f"{name} must be above 0, and of ordinary size.", remedy=f"Give {name} as money.")
    return exact


def _epsilon_for_factor(factor: Fraction, household: int) -> Fraction:
    """The largest ε for which the odds of `household` people together move by no more than this factor."""
    log = ln_bounds(factor, _DIGITS)[0] / positive_count(household, "household")
    return positive_epsilon(_rounded(log, ROUND_FLOOR))


def _shrunk(epsilon: Number) -> Fraction:
    """e^(−ε), rounded down."""
    exact = positive_epsilon(epsilon)
    return exp_bounds(-exact, _DIGITS)[0] if exact <= _LARGEST_EXPONENT else Fraction(0)


def _rounded(x: Fraction, rounding: str) -> Fraction:
    return Fraction(decimal_context(15, rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))
