"""What is gained when someone trusted mixes the reports, so that nobody can tell whose is whose.

Privacy
    Let n people each send one report of the same ε₀-locally private mechanism, and let the reports be put in
    random order. With e = exp(ε₀), b = exp(ε) and 1 ≤ b < e, what comes out is (ε, δ)-differentially private,
    one person's answer being replaced by another, with

        δ = (1/n) · E[max(0, g·U − h·V)],   g = e − b,  h = e·b − 1.

    Each of n people tosses a fair coin with probability 2/(e + 1), and none otherwise: U counts the heads and
    V the tails. So do the clones of Feldman, McMillan and Talwar, "Stronger privacy amplification by
    shuffling" (arXiv 2208.04591). Those of their "Hiding among the clones" (arXiv 2012.12803v4) toss with
    probability 1/e, which is less, and its closed form (Theorem 3.1) follows from that. The proof is our own
    and takes nothing from either; step (1) is as in Balle, Bell, Gascón and Nissim (arXiv 1903.02837).

    Proof. One person answers 0 or 1. r⁰ and r¹ are the laws of that report, ω = max(r⁰, r¹)/e, and
    f = (r⁰ − b·r¹)/ω. Whatever others answer, the law of their report is at least ω everywhere. So it is
    drawn from ω/W with probability W = ∫ω, and from some rest otherwise.
    (1) Let it be known of each of the others whether it is the rest; what the rest sends then says nothing
        about the one person. There remain the one report and K ~ Bin(n − 1, W) draws of ω/W, in random order:
        of density Πⱼ ω(yⱼ)/W · W/(k + 1) · Σᵢ r(yᵢ)/ω(yᵢ) where K = k. So what 0 has more than b times 1 is
        W/(k + 1) · E[max(0, Σ f(yᵢ))], over k + 1 draws of ω/W. As W/(k + 1) · P(K = k) is
        P(Bin(n, W) = k + 1)/n, δ is (1/n) · E[max(0, Σ Xᵢ)] over n independent X, each of them f(y) with
        probability W, and 0 otherwise.
    (2) r⁰/ω and r¹/ω are between 1 and e, and the larger one is e. So −h ≤ X ≤ g. Also, E[X] = 1 − b, and
        τ = E[max(0, X)] = P − b·Q, where S is the set with r⁰ > b·r¹ and P = r⁰(S), Q = r¹(S). As P ≤ e·Q and
        1 − Q ≤ e·(1 − P), τ = (h·(P − e·Q) + g·(e·P − Q))/(e² − 1) ≤ g/(e + 1).
    (3) For a convex φ with φ(0) = 0 (a constant cancels below), φ(X) is at most
        φ(g)·max(0, X)/g + φ(−h)·max(0, −X)/h. The mean of this is
        τ·(φ(g)/g + φ(−h)/h) + (b − 1)·φ(−h)/h, whose bracket is not negative: it is largest at τ = g/(e + 1),
        where it is (φ(g) + φ(−h))/(e + 1). That is the mean of φ(L) where L is g or −h with probability
        1/(e + 1) each, and 0 otherwise.
    (4) max(0, x + others) is convex in x, so that each X in turn can be replaced by an L, and
        Σ L = g·U − h·V. What 1 has more than b times 0 is the same, with r⁰ and r¹ exchanged. ∎

    The mechanism must be the same for all n, and the shuffler must drop everything that tells people apart:
    addresses, times, the order of arrival. Whoever sees the reports before it sees ε₀.

How δ is computed
    By step (1) for a coin, whose law is (e, 1)/(e + 1) or (1, e)/(e + 1), the same δ is the mean of d(C) over
    C ~ Bin(n − 1, 2/(e + 1)), the others who toss. Let B ~ Bin(c, ½) be their heads. d(c) compares B and one
    more with probability e/(e + 1) with B and one more with probability 1/(e + 1), by b. The ratio of the two
    laws grows with the number of heads, and is b at t = (c + 1)·h/(g + h). With k the least number above t,

        d(c) = g/(e + 1) · P(B = k − 1) − (b − 1) · P(B ≥ k).

    One toss more is noise that anybody could add, so d falls with c. So C is counted in buckets that have all
    their mass at their least c. It may also be taken for less than it is, as by a smaller probability.

    All is rounded towards more loss. In d, 10⁻¹¹ of each term is allowed for, and binomials are bounds
    (`binomial_tails`). t/(c + 1) is found to 10⁻¹⁴, and lowered by as much: so k is right for b, or for some
    b″ < b. Both terms are computed with this k for a b′ that is smaller still, where t/(c + 1) is less by
    10⁻¹³. That is enough: d falls with b, and what one k gives falls with b, too.

Accuracy
    The δ that is computed is at most 1 % above that of the theorem. Where δ is more than half of what it is
    at ε = 0, it is up to 8 % above: bounds of tails are wide near the middle.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log, nextafter, sqrt

import numpy as np

from discreet.arrays import Floats
from discreet.local.mechanisms.thresholds import EPSILONS, epsilon_in_range
from discreet.model.exact import Number, positive_count, positive_delta, positive_epsilon, round_up
from discreet.noise.binomial_tails import MARGIN, point_bound, tail_fraction

_STEPS = Fraction(1, 10**6)  # surveys state their ε in millionths
_BUCKETS = 512
_LEAST = 1e-9  # the least ε that is stated, as a share of ε₀
_CLOSE = 1e-10  # how close to the least ε, as a share of it


def shuffled_loss(local: Number, *, people: int, delta: Number) -> Fraction:
    """ε of the shuffled reports, rounded up; never more than that of a report."""
    exact, count, tolerated = epsilon_in_range(local), positive_count(people, "people"), positive_delta(delta)
    weight, most = nextafter(float(exact), inf), nextafter(float(tolerated), 0)
    tosses = _Tosses.of(weight, count, most)
    low, high = weight * _LEAST, weight
    if tosses.delta(low) <= most:
        return min(exact, round_up(low))
    while high > low * (1 + _CLOSE):
        middle = sqrt(low * high)
        low, high = (low, middle) if tosses.delta(middle) <= most else (middle, high)
    return min(exact, round_up(high))


def local_for_shuffled(target: Number, *, people: int, delta: Number) -> Fraction:
    """The largest ε of a survey, in millionths, with which the shuffled reports keep to the target."""
    wanted, count, tolerated = (
        positive_epsilon(target),
        positive_count(people, "people"),
        positive_delta(delta),
    )
    aim, most = float(wanted) * (1 - 10 * _CLOSE), nextafter(float(tolerated), 0)
    # Without shuffling, too, a survey at the target keeps to it.
    enough, too_much = int(min(wanted, EPSILONS[1]) / _STEPS), int(EPSILONS[1] / _STEPS) + 1
    while too_much - enough > 1:
        middle = (enough + too_much) // 2
        keeps = _Tosses.of(nextafter(float(middle * _STEPS), inf), count, most).delta(aim) <= most
        enough, too_much = (middle, too_much) if keeps else (enough, middle)
    return enough * _STEPS


@dataclass(frozen=True, slots=True)
class _Tosses:
    """How many of the others toss a coin, in buckets: never more than truly do."""

    local: float
    counts: Floats
    """The least of each bucket, growing."""
    masses: Floats

    @classmethod
    def of(cls, local: float, people: int, delta: float) -> "_Tosses":
        others, chance = people - 1, 2 / (exp(local) + 1) * (1 - 1e-14)
        mean = others * chance
        # By Chernoff's bound, fewer than `low` toss with probability δ/10⁴ at most: they add little.
        low = max(0.0, mean - sqrt(2 * mean * log(1e4 / delta)))
        high = min(float(others), mean + 6 * sqrt(mean) + 20)
        counts = np.unique(np.append(0.0, np.floor(np.linspace(low, high, _BUCKETS))))
        fewer = np.append(_fewer(others, counts[1:], chance), 1.0)
        fewer = np.minimum.accumulate(fewer[::-1])[::-1]
        return cls(local, counts, np.diff(fewer, prepend=0.0))

    def delta(self, epsilon: float) -> float:
        """At least the δ of this ε."""
        if epsilon >= self.local:
            return 0.0
        if epsilon < self.local * _LEAST:
            return 1.0
        apart = np.minimum.accumulate(_apart(self.counts, self.local, epsilon))
        return float(self.masses @ apart) * (1 + 1e-10) + 1e-300


def _apart(counts: Floats, local: float, epsilon: float) -> Floats:
    """At least d(c) of each c."""
    weight, grown = exp(local), exp(epsilon)
    place = expm1(local + epsilon) / (expm1(local) * (1 + grown)) * (1 - 1e-14)  # h/(g + h)
    least = np.minimum(np.floor((counts + 1) * place) + 1, counts + 1)  # k
    shift = 1e-13 * expm1(local) / (weight + 1) * (1 + grown) ** 2  # b − b′
    heads = (grown * expm1(local - epsilon) + shift) / (weight + 1)
    tails = expm1(epsilon) - shift
    rest = counts - least + 1
    point = point_bound(counts, least - 1, least - 1 - counts / 2, 0.5)
    beyond = least - (counts + 1) / 2
    ratio = rest / 2 * tail_fraction(least, rest, 0.5, beyond, over=False)  # P(B ≥ k)/P(B = k − 1)
    found: Floats = point * np.maximum(heads * (1 + 1e-11) - tails * ratio * (1 - 1e-11), 0)
    return found


def _fewer(trials: int, counts: Floats, chance: float) -> Floats:
    """At least P(X < c) of each c ≥ 1, where X ~ Bin(trials, chance)."""
    numerator, denominator = chance.as_integer_ratio()
    excess = np.array([(int(c) * denominator - trials * numerator) / denominator for c in counts])
    above = excess >= chance  # then P(X ≥ c) is the tail, and otherwise P(trials − X ≥ trials − c + 1)
    beyond = np.abs(excess - chance)
    rest = trials - counts + 1
    least, remaining = np.where(above, counts, rest), np.where(above, rest, counts)
    chances = np.where(above, chance, 1 - chance)
    factor = point_bound(np.full_like(counts, trials), counts, excess, chance) * counts * (1 - chance)
    over = factor * tail_fraction(least, remaining, chances, beyond, over=True)
    under = factor * tail_fraction(least, remaining, chances, beyond, over=False) * (1 - MARGIN)
    found: Floats = np.where(above, 1 - under * (1 - 1e-10), over * (1 + 1e-10))
    return np.minimum(found, 1.0)
