"""What sparse vector claims, on streams of answers that are worst for it.

An outcome is the whole transcript: one bit for each answer, the first one the highest. Answers after the end
of a run count as below.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from discreet.audit.claims import Claim, Outcomes, Side
from discreet.audit.laws import Probabilities, product_law
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise.above_threshold import AboveThreshold

ADD_REMOVE = Sensitivity.scalar(1, Neighbours.ADD_REMOVE)
REPLACE_ONE = Sensitivity.scalar(1, Neighbours.REPLACE_ONE)
SUMS = Sensitivity.scalar(3, Neighbours.ADD_REMOVE)
_FAR = 60  # scales: e⁻⁶⁰ of the law lies beyond


def sparse_claims() -> Iterator[Claim]:
    """Answers below move one way and those above the other, except where questions are monotone."""
    one = {"aboves": 1, "runs": 1}
    yield _sparse("counts, a person more", ADD_REMOVE, [-1] * 4 + [0], [0] * 5, monotone=True, **one)
    yield _sparse("counts, a person less", ADD_REMOVE, [0, 1, 1], [0, 1, 0], monotone=True, **one)
    yield _sparse("counts, replace", REPLACE_ONE, [-1] * 4 + [1], [0] * 5, monotone=False, **one)
    yield _sparse("sums that move by 3", SUMS, [-3] * 3 + [1], [0] * 3 + [-2], monotone=False, **one)
    first, second = [-1, -1, 1, -1, 1], [0] * 5
    yield _sparse("two aboves", REPLACE_ONE, first, second, monotone=False, aboves=2, runs=1)
    yield _sparse("two runs", REPLACE_ONE, first[:3], second[:3], monotone=False, aboves=1, runs=2)


def _sparse(
    name: str,
    sensitivity: Sensitivity,
    first: list[int],
    second: list[int],
    *,
    monotone: bool,
    aboves: int,
    runs: int,
) -> Claim:
    """Each run sees all the answers; each costs its share of ε = 1."""
    epsilon = Fraction(1)
    mechanism = AboveThreshold.for_loss(epsilon / runs, sensitivity, monotone=monotone, aboves=aboves)
    each = mechanism.loss(sensitivity, monotone=monotone).epsilon

    def law(side: Side) -> Probabilities:
        return product_law(*[transcript_law(mechanism, (first, second)[side])] * runs)

    def draw(side: Side, count: int) -> Outcomes:
        answers = (first, second)[side]
        return np.array([_transcripts(mechanism, answers, runs) for _ in range(count)])

    return Claim(
        name=f"Sparse vector: {name}",
        claimed=PureLoss(epsilon=epsilon),
        stated=PureLoss(epsilon=runs * each),
        law=law,
        draw=draw,
        samples=2**11,
    )


def _transcripts(mechanism: AboveThreshold, answers: list[int], runs: int) -> int:
    outcome = 0
    for _ in range(runs):
        run = mechanism.start(0)
        for answer in answers:
            outcome = 2 * outcome + (not run.over and run.above(answer))
    return outcome


def transcript_law(mechanism: AboveThreshold, answers: list[int]) -> Probabilities:
    """P(transcript) = Σ_r P(ρ = r)·∏ P(ν ≥ r − q) or P(ν < r − q), threshold 0."""
    b, reach = float(mechanism.threshold_scale), int(_FAR * float(mechanism.threshold_scale))
    r = np.arange(-reach, reach + 1)
    weights = np.tanh(1 / (2 * b)) * np.exp(-np.abs(r) / b)
    reaches = [_at_least(float(mechanism.answer_scale), r - answer) for answer in answers]
    law = []
    for bits in product((0, 1), repeat=len(answers)):
        chance, left = weights, mechanism.aboves
        for bit, above in zip(bits, reaches, strict=True):
            odds = above if left else np.zeros(len(r))
            chance = chance * (odds if bit else 1 - odds)
            left -= bit
        law.append(chance.sum())
    return np.array(law)


def _at_least(scale: float, m: Outcomes) -> Probabilities:
    """P(ν ≥ m): q^m/(1 + q) for m ≥ 1, and 1 − q^(1−m)/(1 + q) for the others."""
    q = np.exp(-1 / scale)
    tail = q ** np.where(m >= 1, m, 1 - m) / (1 + q)
    return np.asarray(np.where(m >= 1, tail, 1 - tail))
