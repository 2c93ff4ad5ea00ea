"""Multiplicative weights with private selection: a histogram that answers a workload of counting questions.

All weights on records start equal. Each round picks, privately, a question that they answer badly, measures
it with noise, and moves the weights towards what was measured (Hardt, Ligett, McSherry, arXiv 1012.4763v2).

Privacy
    Each round spends its amount on one pick and one measurement, and amounts add up to the loss asked for,
    exactly (`price`). The score of a question is |exact − fitted|, of a whole table the sum of that over its
    cells, less a number that does not depend on the data. `fitted` is rounded to a whole number first, and
    is made of weights that depend on earlier releases alone; so by the triangle inequality one person moves
    a score by no more than the exact counts: by ‖·‖∞ for a question, ‖·‖₁ for a table, up or down.
    `sensitivity` must hold for the counts in any division of the records into cells: a question
    divides them in two, and the number of people does not divide them at all.

Accuracy
    With `average`, questions as candidates, a known number of people n and T rounds, for records X:

        largest error  ≤  √(4n²·ln|X|/T + L²) + S + 1        at the confidence asked for,

    L the most noise of T measurements, S the most by which T picks fall short of the worst question. It is
    the proof of Theorem 2.2 (2n·√(ln|X|/T) + 10·T·ln|Q|/ε with probability 1 − 2T/|Q|) with the exact tails
    of our mechanisms, and 1 for the rounding. Its potential argument needs an exponent (measured − fitted)/2n
    of 1 at most, so measurements are clipped to [0, n] first, which moves none away from the truth.

    Without `average`, which is better in practice, the weights are those of largest entropy that agree with
    all measurements so far (`fit`), each as far as its noise lets it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level, positive_count, whole
from discreet.model.privacy import PureLoss, Spend
from discreet.model.sensitivity import ScoreSensitivity, Sensitivity, vector_sensitivity
from discreet.noise.additive import AdditiveNoise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.synth.core.domain import Domain
from discreet.synth.core.measurement import ExactMarginals, Measurement
from discreet.synth.core.synthesis import Synthetic
from discreet.synth.mwem.learner import Averaging, Fitting, WeightLearner
from discreet.synth.mwem.price import Pace, RoundPricing, price, variance
from discreet.synth.mwem.workload import Family, Workload

MOST_CELLS = 2**24
MOST_ROUNDS = 10_000
ON_PEOPLE = Fraction(1, 20)
"""The part of the loss that counts the people, where their number is not public."""
_MOST = 2.0**60  # people, in parts of a person: scores stay in 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was picked, what it cost with its measurement, in ε or ρ, and what was measured."""

    candidate: int
    amount: Fraction
    measurement: Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The histogram, and how it came about."""

    synthetic: Synthetic
    rounds: tuple[Round, ...]


def mwem(
    workload: Workload,
    exact: ExactMarginals,
    *,
    loss: Spend,
    sensitivity: Sensitivity,
    people: float | None = None,
    rounds: int | None = None,
    average: bool = False,
    unit: int = 1,
    progress: Callable[[int, float], object] = lambda *_: None,
    entropy: Entropy = SYSTEM,
) -> Learnt:
    """Costs the loss, exactly. Exact counts are in 1/unit of a person.

    `people` is their number where that is public; otherwise it is measured. Without `rounds` their number
    depends on how much each teaches. After each, `progress` is called with how many there were, and the
    share of the loss that is spent.
    """
    _check(workload.domain, rounds, average)
    currency = price(loss)
    curator = _ExactAnswers(workload, exact, currency, vector_sensitivity(sensitivity), unit, entropy)
    left = currency.total
    if people is None:
        left -= currency.total * ON_PEOPLE
        people = curator.people(currency.total * ON_PEOPLE)
    learner = (Averaging if average else Fitting)(workload.domain, people)
    pace = Pace(currency, left, len(workload.domain.sizes), rounds)
    taken: list[Round] = []
    while pace.left:
        amount = pace.take()
        candidate = curator.pick(amount * currency.selecting, learner)
        measurement = curator.measure(amount * (1 - currency.selecting), candidate, learner.people)
        moved = learner.learn(candidate, measurement)
        if moved <= currency.expected_size(measurement.variance) * measurement.marginal.cells:
            pace.taught_little()
        taken.append(Round(candidate=candidate, amount=amount, measurement=measurement))
        progress(len(taken), float(1 - pace.left / currency.total))
    return Learnt(
        synthetic=Synthetic(
            domain=workload.domain,
            people=learner.people,
            records=learner.finish(),
            measurements=tuple(learner.measured.values()),
        ),
        rounds=tuple(taken),
    )


def error_bound(
    workload: Workload,
    *,
    loss: PureLoss,
    sensitivity: Sensitivity,
    people: int,
    rounds: int,
    confidence: Number,
) -> float:
    """No answer of the averaged histogram is off by more, at this confidence. Known before all spending."""
    currency, level = price(loss), confidence_level(confidence)
    each = currency.total / whole(rounds, "rounds", 1, MOST_ROUNDS)
    noise = currency.noise(each * (1 - currency.selecting), _of_one(sensitivity))
    picking = currency.selection(each * currency.selecting, _of_scores(workload, sensitivity))
    noisy = noise.interval((1 + level) / 2, values=rounds).high
    short = -picking.interval(1 - (1 - level) / (2 * rounds), candidates=workload.candidates).low
    learnt = 4 * people**2 * log(workload.domain.cells) / rounds
    return sqrt(learnt + float(noisy) ** 2) + float(short) + 1


class _ExactAnswers:
    """The exact answers, behind mechanisms. Nothing else touches the data.

    The counts of a table are whole numbers that add up to less than 2^60, so that scores stay in 64 bits.
    """

    def __init__(
        self,
        workload: Workload,
        exact: ExactMarginals,
        currency: RoundPricing,
        sensitivity: Sensitivity,
        unit: int,
        entropy: Entropy,
    ) -> None:
        self._workload, self._currency, self._entropy = workload, currency, entropy
        self._sensitivity = sensitivity
        self._unit = positive_count(unit, "unit")
        tables = exact([family.marginal for family in workload.families])
        self._people = int(tables[0].sum())
        self._answers = [
            np.asarray(family.answers(counts), dtype=np.int64)
            for family, counts in zip(workload.families, tables, strict=True)
        ]

    def people(self, amount: Fraction) -> float:
        noise = self._currency.noise(amount, _of_one(self._sensitivity))
        return noise.release(self._people, entropy=self._entropy) / self._unit

    def pick(self, amount: Fraction, learner: WeightLearner) -> int:
        """A candidate that the weights answer badly."""
        scores = [
            self._scores(exact, family, learner) - self._penalty(amount, family)
            for family, exact in zip(self._workload.families, self._answers, strict=True)
        ]
        selection = self._currency.selection(amount, _of_scores(self._workload, self._sensitivity))
        return selection.release(np.concatenate(scores), entropy=self._entropy)

    def measure(self, amount: Fraction, candidate: int, people: float) -> Measurement:
        """The question that was picked, or the whole table, with noise."""
        place, question = self._workload.find(candidate)
        family, exact = self._workload.families[place], self._answers[place]
        noise = self._noise(amount, family)
        if family.whole:
            counts = np.asarray(noise.release(exact, entropy=self._entropy), dtype=np.float64) / self._unit
        else:
            counted = noise.release(int(exact[question]), entropy=self._entropy) / self._unit
            counts = np.array([people - counted, counted])
        return Measurement(
            marginal=family.asked(question), counts=counts, variance=variance(noise) / self._unit**2
        )

    def _scores(self, exact: NDArray[np.int64], family: Family, learner: WeightLearner) -> NDArray[np.int64]:
        """How far the answers of the weights are off; for a whole table, their sum."""
        people = min(learner.people * self._unit, _MOST)
        fitted = np.rint(family.answers(learner.shares(family.marginal)) * people)
        off: NDArray[np.int64] = np.abs(exact - fitted.astype(np.int64))
        return off.sum(keepdims=True) if family.whole else off

    def _penalty(self, selecting: Fraction, family: Family) -> int:
        """The score that measurement noise alone would give: only a higher one is worth measuring (AIM)."""
        measuring = selecting * (1 / self._currency.selecting - 1)
        size = self._currency.expected_size(variance(self._noise(measuring, family)))
        return round(min(size * (family.marginal.cells if family.whole else 1), _MOST))

    def _noise(self, amount: Fraction, family: Family) -> AdditiveNoise:
        return self._currency.noise(amount, self._sensitivity if family.whole else _of_one(self._sensitivity))


def _of_one(sensitivity: Sensitivity) -> Sensitivity:
    """The sensitivity of one count: the larger cell of a division in two."""
    return Sensitivity.scalar(sensitivity.linf, sensitivity.neighbours)


def _of_scores(workload: Workload, sensitivity: Sensitivity) -> ScoreSensitivity:
    tables = any(family.whole for family in workload.families)
    return ScoreSensitivity.bounded(sensitivity.l1 if tables else sensitivity.linf, sensitivity.neighbours)


def _check(domain: Domain, rounds: int | None, average: bool) -> None:
    if domain.cells > MOST_CELLS:
        raise InvalidInput(
            f"There can be {domain.cells:,} different records. At most {MOST_CELLS:,} can be listed.",
            remedy="Take fewer columns, wider bins, or fit a sample (`synthesise`).",
        )
    if rounds is not None:
        whole(rounds, "rounds", 1, MOST_ROUNDS)
    elif average:
        raise InvalidInput("An average needs a number of rounds.", remedy="Give rounds=…")
