"""Is the guess good enough? Asked of the data by sparse vector: all guesses that are share one price.

A guess (`histogram`) has no error that is known. A *run* of `AboveThreshold` compares it with the exact
count, and says of each question only whether the two are farther apart than a threshold, nearly. A guess
that passes is the answer, for nothing more. The first that does not ends the run, and is paid for.

Privacy
    A run costs what its mechanism costs, charged before data is read: pure ε, and as ρ ε²/2 (Bun, Steinke,
    arXiv 1605.02065v1, Proposition 1.4). One person moves |exact − guess| by no more than one count, up or
    down: not monotone, under either relation. Each question has a threshold Tᵢ of its own, which is public:
    the run compares |exact − guess| − Tᵢ, which moves by as much, with 0 (Lyu, Su, Li, arXiv 1603.01699v4,
    Algorithm 7, has a threshold for each question). A run goes on while other questions are paid for, and
    other processes have runs of their own: losses add up under a filter also when mechanisms that are asked
    again and again take turns (Haney and others, arXiv 2309.05901v2, for Rényi privacy of each order, hence
    for ρ; for pure ε as (ε, 0)). When to test is decided from questions, released counts and prices alone.

    A run's noisy threshold is a secret. It is in the memory of one process alone: never stored, never
    copied, and dropped by a process that was forked. A process that ends loses its run.

Accuracy
    A test that is off by t in the wrong direction with probability m lets no guess pass that is off by more
    than Tᵢ + t, but with probability m, wherever it stands in a run. Half of the misses that the confidence
    allows are left to the test, and half to what is paid if it fails; so the answer, whichever of the two it
    is, misses no more often than was asked.

    The tests of a run share its secret: where one lets a bad guess pass, others do, and a run that lets too
    much pass lives longest. Were all its guesses off by just more than the error, up to 4m would pass before
    one fails. A run follows about 30 questions that were paid for (below), so that the misses of a stream of
    such runs are up to 1/30 more than was asked.

Budget
    A run is started once questions that this process paid for, and whose guess would have passed by the
    count that was released, have cost twice as much since the last one; four times after a run that saved
    less than it cost, eight times after two, and so on; and only if guesses were close on average. Each
    payment is counted by the process that made it alone. So all runs cost at most half of what is paid for
    single questions. What is paid after a failed test is dearer by at most 2/5, once a run, and a run costs
    more than twice the question: that is at most 1/5 of the runs. Tables at most double all this (`online`).
    Together, by what paying each question costs: 2 · (1 + 1/5 · 1/2) + 1/2 < 3 times as much.
"""

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import pi, sqrt

from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level
from discreet.model.privacy import amount_of
from discreet.model.sensitivity import Sensitivity
from discreet.noise.above_threshold import AboveThreshold, Run
from discreet.noise.tails import largest
from discreet.synth.domain import Domain
from discreet.synth.online.histogram import MOST_RECORDS, Histogram
from discreet.synth.online.online import Buy, Online, Pay
from discreet.synth.online.question import Question
from discreet.synth.online.readings import Price, Pricing, Reading

SHARE = Fraction(3, 4)
"""Of the error, that the threshold of a new run takes; the noise of its tests has the rest."""
LEAST_SHARE = Fraction(1, 2)
"""A question of which a run leaves less to the threshold is not tested."""
RENT = Fraction(2)
"""So many times a run's price is paid before it is started."""
MOST_DEARER = Fraction(7, 5)
"""What is paid after a failed test, to what would be without one."""
CLOSE = 1.1
"""How far guesses were from released counts, by what the noise of these makes likely, for a run to start."""
_RECORD, _LEAST_RECORD = 64, 32
_ALIKE = 2  # errors up to so many times as large, or as small, are compared
_FAR = 3.0  # errors count up to this, so that one guess does not decide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TryGuess:
    """A guess that is to be compared with the data; and what is paid if it is too far off."""

    guess: int
    """In 1/unit of a person."""
    threshold: int
    within: int
    """What passes is off by more than this with half of the misses that are allowed."""
    mechanism: AboveThreshold
    run: Price | None
    """Of a run that is to be started, to be charged before data is read; None if one is under way."""
    otherwise: Pay | Buy
    paid_confidence: Fraction
    """Of what is paid if the test fails."""
    loss: Price
    """At most, all together."""
    reach: float

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.otherwise.attributes


@dataclass(slots=True)
class _Own:
    """What one process did: its run, and what it paid since the last one began."""

    process: int = field(default_factory=os.getpid)
    mechanism: AboveThreshold | None = None
    run: Run | None = None
    """Between two tests."""
    taken: Run | None = None
    """While a test is under way."""
    price: Fraction = Fraction(0)
    saved: Fraction = Fraction(0)
    lost: int = 0
    """Runs, one after the other, that saved less than they cost."""
    paid: Fraction = Fraction(0)
    """In all."""
    passable: Fraction = Fraction(0)
    """For questions whose guess would have passed, since the last run began."""
    record: deque[tuple[float, float, float]] = field(default_factory=lambda: deque(maxlen=_RECORD))
    """The error asked for; by it, how far a released count was from its guess, and is by noise on average."""


class Guesses:
    """Guesses from what is known of one version of the data, and the run of this process."""

    def __init__(self, domain: Domain, pricing: Pricing) -> None:
        self._pricing = pricing
        self._histogram = Histogram(domain, pricing) if domain.cells <= MOST_RECORDS else None
        self._mine = _Own()

    def learn(self, readings: Sequence[Reading]) -> None:
        if self._histogram is not None:
            self._histogram.learn(readings)

    def guess(
        self, question: Question, online: Online, within: Fraction, confidence: Fraction
    ) -> float | None:
        """In people; None before this process paid as much as a run costs, and where there can be none.

        A process that asks little never fits a histogram.
        """
        people = None if self._histogram is None or question.empty else online.people()
        if self._histogram is None or people is None:
            return None
        error = int(within * self._pricing.unit)
        new = self._mechanism(error, confidence)
        if new is None or self._own.paid < amount_of(self._price(new)):
            return None
        return self._histogram.guess(question, people)

    def decide(
        self,
        question: Question,
        online: Online,
        step: Pay | Buy,
        *,
        guess: float | None,
        within: Fraction,
        confidence: Fraction,
        most: Fraction,
    ) -> TryGuess | None:
        """A test, if one is under way or worth its price; None if the question is to be paid at once."""
        half = _half(confidence)
        error, own = int(within * self._pricing.unit), self._own
        running = own.mechanism if own.run is not None else None
        mechanism = running or self._worth_starting(error, confidence)
        if mechanism is None or guess is None:
            return None
        off = int(mechanism.interval(_both_sides(half)).high)
        if error - off < LEAST_SHARE * error:
            return None
        otherwise = online.decide(question, within=within, confidence=half, most_for_tables=most)
        if not isinstance(otherwise, Pay | Buy):
            return None
        run = None if running else self._price(mechanism)
        loss = otherwise.loss if run is None else self._pricing.sum([run, otherwise.loss])
        if run is not None and amount_of(run) < self._pricing.least:
            return None
        dearer = amount_of(otherwise.loss) > MOST_DEARER * amount_of(step.loss)
        if dearer or amount_of(loss) > most:
            return None
        return TryGuess(
            guess=round(guess * self._pricing.unit),
            threshold=error - off,
            within=error,
            mechanism=mechanism,
            run=run,
            otherwise=otherwise,
            paid_confidence=half,
            loss=loss,
            reach=error / self._pricing.unit,
        )

    def begin(self, test: TryGuess) -> None:
        """A run of its own, once it was charged."""
        own = self._own
        own.mechanism, own.run = test.mechanism, test.mechanism.start(0)
        own.price = amount_of(self._price(test.mechanism))
        own.saved = own.passable = Fraction(0)

    def take_run(self, test: TryGuess) -> None:
        """Before data is read for a test: its run is over, unless the guess passes.

        However the test ends, by Ctrl-C or by a failure, somebody may have looked at it.
        """
        own = self._own
        if own.run is None or own.mechanism != test.mechanism:
            raise _refreshed()
        own.taken, own.run = own.run, None

    def passes(self, test: TryGuess, exact: int) -> bool:
        """Whether the guess is near the exact count, in 1/unit of a person. If so, the run goes on."""
        own = self._own
        run, own.taken = own.taken, None
        if run is None or own.mechanism != test.mechanism:
            raise _refreshed()
        passed = not run.above(abs(exact - test.guess) - test.threshold)
        if passed:
            own.saved += amount_of(test.otherwise.loss) if isinstance(test.otherwise, Pay) else 0
            own.run = run
        else:
            own.lost = 0 if own.saved >= own.price else own.lost + 1
            own.mechanism = None
        return passed

    def paid(
        self, step: Pay | Buy, readings: Sequence[Reading], guess: float | None, within: Fraction
    ) -> None:
        """What this process paid, and what was released for it."""
        own, amount = self._own, amount_of(step.loss)
        own.paid += amount
        if guess is None or not isinstance(step, Pay):
            return
        (reading,) = readings
        off, error = abs(float(reading.counts[0]) / self._pricing.unit - guess), float(within)
        deviation = sqrt(self._pricing.spread(reading.noise).variance)
        usual = deviation * sqrt(2 / pi if self._pricing.concentrated else 1 / 2)
        own.record.append((error, min(_FAR, off / error), usual / error))
        if off <= SHARE * within:
            own.passable += amount

    @property
    def _own(self) -> _Own:
        if self._mine.process != os.getpid():
            self._mine = _Own()
        return self._mine

    def _worth_starting(self, error: int, confidence: Fraction) -> AboveThreshold | None:
        own, mechanism = self._own, self._mechanism(error, confidence)
        people = error / self._pricing.unit
        alike = [told for at, *told in own.record if people <= _ALIKE * at and at <= _ALIKE * people]
        if mechanism is None or len(alike) < _LEAST_RECORD:
            return None
        if own.passable < RENT * amount_of(self._price(mechanism)) * 2**own.lost:
            return None
        found, usual = map(sum, zip(*alike, strict=True))
        return mechanism if found <= CLOSE * usual else None

    def _mechanism(self, error: int, confidence: Fraction) -> AboveThreshold | None:
        """Of a run that would be started for this error; None if it is too small."""
        noise = error - int(SHARE * error)
        return cheapest(noise, _half(confidence), self._pricing.single) if noise else None

    def _price(self, mechanism: AboveThreshold) -> Price:
        pure = mechanism.loss(self._pricing.single)
        return pure.concentrated() if self._pricing.concentrated else pure


def _refreshed() -> InvalidInput:
    return InvalidInput("The data was refreshed during a test.", remedy="Ask again.")


@lru_cache(maxsize=256)
def cheapest(reach: int, confidence: Fraction, sensitivity: Sensitivity) -> AboveThreshold | None:
    """The run that costs least whose tests are off upwards by more than `reach` with 1 − confidence each."""
    level = _both_sides(confidence)

    def made(one_over_epsilon: float) -> AboveThreshold:
        return AboveThreshold.for_loss(Fraction(1 / one_over_epsilon), sensitivity)

    def fits(one_over_epsilon: float) -> bool:
        return made(one_over_epsilon).interval(level).high <= reach

    lowest = 1e-3
    return made(largest(fits, lowest, 1e12)) if fits(lowest) else None


def _half(confidence: Number) -> Fraction:
    """With half of its misses."""
    return 1 - (1 - confidence_level(confidence)) / 2


def _both_sides(confidence: Fraction) -> Fraction:
    """Of an interval that is missed on one side as often: a test that is off the other way does no harm."""
    return 1 - min(2 * (1 - confidence), Fraction(99, 100))
