"""What is gained when someone trusted mixes the reports, so that nobody can tell whose is whose.

Privacy
    Feldman, McMillan, Talwar, "Hiding among the clones" (arXiv 2012.12803v4), Theorem 3.1: let n people each
    send one report of an ε₀-locally private mechanism, and let the reports be put in random order. For any δ
    with ε₀ ≤ ln(n / (16·ln(2/δ))), what comes out is (ε, δ)-differentially private, one person's answer being
    replaced by another, with

        ε = ln(1 + (e^ε₀ − 1)/(e^ε₀ + 1) · (8·√(e^ε₀·ln(4/δ)/n) + 8·e^ε₀/n)).

    The mechanism must be the same for all n, and the shuffler must drop everything that tells people apart:
    addresses, times, the order of arrival. Whoever sees the reports before it sees ε₀.
"""

from fractions import Fraction
from math import exp, expm1, log, log1p, sqrt

from discreet.errors import InvalidInput
from discreet.local.mechanisms.thresholds import EPSILONS, epsilon_in_range
from discreet.model.exact import Number, positive_count, positive_delta, positive_epsilon, round_up, short

_STEPS = Fraction(1, 10**6)  # surveys state their ε in millionths


def shuffled_loss(local: Number, *, people: int, delta: Number) -> Fraction:
    """ε of the shuffled reports, rounded up. Refused where the theorem says nothing."""
    exact, count, tolerated = epsilon_in_range(local), positive_count(people, "people"), positive_delta(delta)
    limit = largest_local(people=count, delta=tolerated)
    if exact > limit:
        raise InvalidInput(
            f"The theorem on shuffling says nothing about ε = {short(exact)} of {count:,} people at"
            f" δ = {short(tolerated)}.",
            remedy=_remedy(limit),
        )
    return min(exact, round_up(_amplified(float(exact), count, float(tolerated))))


def local_for_shuffled(target: Number, *, people: int, delta: Number) -> Fraction:
    """The largest ε of a survey, in millionths, with which the shuffled reports keep to the target."""
    wanted = positive_epsilon(target)
    count, tolerated = positive_count(people, "people"), positive_delta(delta)
    reach = largest_local(people=count, delta=tolerated)
    enough, too_much = 0, int(min(reach, EPSILONS[1]) / _STEPS) + 1
    while too_much - enough > 1:
        middle = (enough + too_much) // 2
        stated = round_up(_amplified(float(middle * _STEPS), count, float(tolerated)))
        enough, too_much = (middle, too_much) if stated <= wanted else (enough, middle)
    # Without shuffling, too, a survey at the target keeps to it.
    return max(enough * _STEPS, min(int(wanted / _STEPS) * _STEPS, EPSILONS[1]))


def largest_local(*, people: int, delta: Number) -> Fraction:
    """The largest ε₀, in millionths, that the theorem speaks of; 0 if people are too few."""
    ratio = people / (16 * log(2 / float(positive_delta(delta))))
    return Fraction(0) if ratio <= 1 else int(log(ratio) * (1 - 1e-12) / float(_STEPS)) * _STEPS


def _amplified(local: float, people: int, delta: float) -> float:
    weight = exp(local)
    clones = 8 * sqrt(weight * log(4 / delta) / people) + 8 * weight / people
    return log1p(expm1(local) / (weight + 1) * clones)


def _remedy(limit: Fraction) -> str:
    if limit < EPSILONS[0]:
        return "There are too few people: count on the local ε alone."
    return f"At most ε = {short(limit)} is covered: lower it, or count on the local ε alone."
