"""What devices claim: reports, drawn from the same code that devices run, and their laws from the papers.

A claim's two neighbours are two answers of one person. Its outcomes are reports read as integers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from itertools import product
from math import exp

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims import Claim, Outcomes, Side
from discreet.audit.decisions import DecisionCheck
from discreet.audit.laws import Probabilities, favoured_law, response_law
from discreet.local.batch import HEADER
from discreet.local.client import Client, enrol
from discreet.local.mechanisms.hadamard import HadamardResponse
from discreet.local.mechanisms.mechanism import LocalMechanism
from discreet.local.mechanisms.number import NumberResponse
from discreet.local.mechanisms.projective import ProjectiveResponse
from discreet.local.mechanisms.randomness import Draws
from discreet.local.mechanisms.subset import SubsetSelection
from discreet.local.survey import OneOf, Survey
from discreet.model.exact import exp_bounds, ln_bounds
from discreet.model.privacy import PureLoss

_SAMPLES = 2**16  # a report takes microseconds
_PLACE_BINS = 64
_ONE, _HALF = Fraction(1), Fraction(1, 2)


def local_claims() -> Iterator[Claim]:
    yield _claim("Subset selection: yes or no", SubsetSelection.for_loss(_ONE, 2), _ONE, _subset_law)
    yield _claim("Subset selection: one of 6", SubsetSelection.for_loss(_HALF, 6), _HALF, _subset_law)
    geometry = ProjectiveResponse.for_loss(_ONE, 13, prime=3, coordinates=3)
    yield _claim("Projective geometry: one of 13", geometry, _ONE, _projective_law)
    yield _claim("Hadamard response: one of 5", HadamardResponse.for_loss(_ONE, 5), _ONE, _hadamard_law)
    for name, epsilon in (("one bit", _HALF), ("hybrid", Fraction(2))):
        number = NumberResponse.for_loss(epsilon, 100)
        yield _claim(f"Number: {name}", number, epsilon, _number_law, _number_outcome)
    yield _remembered_claim()


def local_decisions() -> Iterator[DecisionCheck]:
    """A report is kept up to the draw that e^ε gives, or up to the draw before it; never beyond.

    A set of d of 6 options holds the answer with odds d : 6 − d, half of the masks agree with it, and 4 of 13
    points are on its plane. Each of these reports is e^ε times as likely as each of the others.
    """
    for epsilon in (Fraction(1, 10**6), Fraction(1, 100), _ONE, Fraction(16)):
        chosen = SubsetSelection.for_loss(epsilon, 6)
        yield _decision("Subset selection", chosen, epsilon, chosen.chosen, 6)
        yield _decision("Hadamard response", HadamardResponse.for_loss(epsilon, 5), epsilon, 1, 2)
        geometry = ProjectiveResponse.for_loss(epsilon, 13, prime=3, coordinates=3)
        yield _decision("Projective geometry", geometry, epsilon, 4, 13)


def _decision(
    title: str, mechanism: LocalMechanism, epsilon: Fraction, favoured: int, of: int
) -> DecisionCheck:
    low, high = (w * favoured / (w * favoured + of - favoured) * 2**64 for w in exp_bounds(epsilon, 40))
    kept = mechanism.randomise(1, _Fixed(0))
    return DecisionCheck(
        name=f"{title}: keep, ε = {float(epsilon):g}",
        decide=lambda word: mechanism.randomise(1, _Fixed(word >> 16)) == kept,
        expected=(low - 2**16, high),  # draws have 48 bits
        allowed=0,
    )


class _Fixed(Draws):
    """Always the same integer, and the first of every choice."""

    def __init__(self, value: int) -> None:
        self._value = value

    def integer(self) -> int:
        return self._value

    def below(self, bound: int) -> int:  # noqa: ARG002
        return 0


def _claim(
    name: str,
    mechanism: LocalMechanism,
    epsilon: Fraction,
    law: Callable[..., Probabilities],
    outcome: Callable[..., int] | None = None,
) -> Claim:
    answers = 0, mechanism.answers - 1 if isinstance(mechanism, NumberResponse) else 1

    def draw(side: Side, count: int) -> Outcomes:
        draws = Draws()
        reports = (mechanism.randomise(answers[side], draws) for _ in range(count))
        sent = (int.from_bytes(report, "little") for report in reports)
        return np.array([outcome(mechanism, report) if outcome else report for report in sent])

    return Claim(
        name=name,
        claimed=PureLoss(epsilon=epsilon),
        stated=PureLoss(epsilon=ln_bounds(mechanism.odds, 40)[1]),
        law=lambda side: law(mechanism, exp(epsilon), answers[side]),
        draw=draw,
        samples=_SAMPLES,
    )


def _subset_law(mechanism: SubsetSelection, weight: float, answer: int) -> Probabilities:
    """Sets of d options, by bitmap; favoured are those that hold the answer."""
    bitmaps = np.arange(2**mechanism.answers)
    possible = np.bitwise_count(bitmaps) == mechanism.chosen
    return favoured_law(weight, (bitmaps >> answer & 1).astype(np.bool_), possible)


def _hadamard_law(mechanism: HadamardResponse, weight: float, answer: int) -> Probabilities:
    """Masks; favoured are those that share an even number of bits with the answer's."""
    masks = np.arange(2 ** mechanism.answers.bit_length())
    even = np.bitwise_count(masks & (answer + 1)) % 2 == 0
    return favoured_law(weight, even, np.ones(len(masks), dtype=np.bool_))


def _projective_law(mechanism: ProjectiveResponse, weight: float, answer: int) -> Probabilities:
    """Points, in the order of their vectors; favoured are those orthogonal to the answer's."""
    vectors = product(range(mechanism.prime), repeat=mechanism.coordinates)
    points = np.array([vector for vector in vectors if next((x for x in vector if x), 0) == 1])
    orthogonal = points @ points[answer] % mechanism.prime == 0
    return favoured_law(weight, orthogonal, np.ones(len(points), dtype=np.bool_))


def _number_law(mechanism: NumberResponse, weight: float, answer: int) -> Probabilities:
    """The two ends, then bins of places. A coin decides: send an end, or a place, mostly in the window."""
    upper = 0.5 + (2 * answer / mechanism.steps - 1) * (weight - 1) / (weight + 1) / 2
    ends = np.array([1 - upper, upper])
    if not mechanism.mix:
        return ends
    places = np.arange(mechanism.window + mechanism.steps * mechanism.stride)
    begin = answer * mechanism.stride
    inside = (begin <= places) & (places < begin + mechanism.window)
    law = favoured_law(weight, inside, np.ones(len(places), dtype=np.bool_))
    binned = np.bincount(places * _PLACE_BINS // len(places), weights=law)
    return np.concatenate([ends * weight**-0.5, binned * (1 - weight**-0.5)])


def _number_outcome(mechanism: NumberResponse, report: int) -> int:
    line = mechanism.window + mechanism.steps * mechanism.stride
    return report if report < 2 else 2 + (report - 2) * _PLACE_BINS // line


@dataclass(slots=True)
class _Kept:
    """A device's memory that lasts as long as the audit needs it."""

    text: str | None = None

    def read(self) -> str | None:
        return self.text

    def replace(self, old: str | None, new: str) -> bool:
        same = self.text == old
        self.text = new if same else self.text
        return same


def _remembered_claim() -> Claim:
    """Three reports of a device about one question, each a coin toss, reveal no more than one."""
    epsilon = Fraction("1.098613")  # ln 3, rounded up
    toss = SubsetSelection(answers=2, chosen=1, keep=3 * 2**46)
    question = OneOf(
        name="smokes", text="Do you smoke?", options=("yes", "no"), epsilon=epsilon, mechanism=toss
    )
    survey = Survey(name="audit", epoch=1, expires=date.today() + timedelta(days=2), questions=(question,))

    def law(side: Side) -> Probabilities:
        """Three times the same, yes or no."""
        alike = np.zeros(8)
        alike[[0, 7]] = response_law(0.75, 2, side)
        return alike

    return Claim(
        name="Device: asked three times",
        claimed=PureLoss(epsilon=epsilon),
        stated=PureLoss(epsilon=ln_bounds(toss.odds, 40)[1]),
        law=law,
        draw=partial(_asked_three_times, survey),
        samples=2**12,
    )


def _asked_three_times(survey: Survey, side: Side, count: int) -> Outcomes:
    outcomes: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
    for person in range(count):
        store = _Kept()
        enrol(store, limit=2)
        for _ in range(3):
            batch = Client(store).report(survey, {"smokes": ("yes", "no")[side]})
            outcomes[person] = 2 * outcomes[person] + batch[HEADER + 1] // 2
    return outcomes
