"""Private multiplicative weights: the online algorithm of the lectures, which `online.py` compares with.

A public table of weights answers every question; sparse vector tests, in secret, whether its answer is about
right. Where it is not, the question is paid for, and the weights of its records are raised or lowered.

Privacy
    Each run of sparse vector, one for each answer that was paid for, and each such answer is charged on its
    own (`AboveThreshold`, `DiscreteLaplace`); pure ε adds up, also when questions are chosen after seeing
    answers. The test is on |true − public| in whole units, which one person moves by at most the
    sensitivity, up or down: not monotone. Questions that pass are free.

Accuracy
    The n-th question of a run is answered from weights that are off by more than `error` with probability at
    most 1 − confidence. The tests of a run share its secret, and a run whose secret lets too much pass lives
    longest. So of many questions, all off by just more than `error`, more can pass than of one: at a
    confidence of 95 %, 13 in 100.

    An update where the weights were off by γ of all people or more lowers their relative entropy to the data
    by γ²/4 at rate γ/2, and it begins at ln(records) at most. So there are at most 4·ln(records)/γ² of these
    (Hardt, Rothblum, FOCS 2010; in this form Dwork, Roth 2014, section 4.2). Larger rates need fewer updates
    in practice, and have no such bound.

A run's noisy threshold is secret and lives in memory alone: a process that ends pays for a new run. What
the curator does instead (`discreet.synth.cached`) has no secret, and costs less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log

import numpy as np

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.model.exact import Number, confidence_level, positive_count, whole, within
from discreet.model.privacy import PureLoss
from discreet.model.sensitivity import Sensitivity
from discreet.noise.above_threshold import AboveThreshold, Run
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.tails import largest
from discreet.synth.cached.counting_question import CountingQuestion
from discreet.synth.core.domain import Domain

MOST_RECORDS = 2**22


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSettings:
    """How far answers may be off, and what that takes."""

    error: int
    """In units of the counts."""
    threshold: int
    test: AboveThreshold
    direct: DiscreteLaplace
    rate: float
    """How far exponents move in an update."""

    @classmethod
    def for_error(
        cls, error: int, confidence: Number, sensitivity: Sensitivity, *, rate: Number, share: Number = 0.5
    ) -> "WeightSettings":
        """Answers within ±error. The threshold takes a share of it, and the noise of a test the rest."""
        level = confidence_level(confidence)
        error = whole(error, "error", 4, 2**60)
        threshold = int(error * within(share, "share", Fraction(1, 10), Fraction(9, 10)))
        both_sides = 1 - min(2 * (1 - level), Fraction(99, 100))  # a test that is off upwards does no harm

        def fits(one_over_epsilon: float) -> bool:
            test = AboveThreshold.for_loss(Fraction(1 / one_over_epsilon), sensitivity)
            return test.interval(both_sides).high <= error - threshold

        epsilon = Fraction(1 / largest(fits, 1e-5, 1e9))
        return cls(
            error=error,
            threshold=threshold,
            test=AboveThreshold.for_loss(epsilon, sensitivity),
            direct=DiscreteLaplace.for_error(error, level),
            rate=float(within(rate, "rate", Fraction(1, 10**6), Fraction(10))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightAnswer:
    """A count, and whether it was paid for."""

    value: float
    paid: bool


class PrivateMultiplicativeWeights:
    """Weights on all records of a domain, and the run that is under way."""

    def __init__(
        self,
        domain: Domain,
        settings: WeightSettings,
        sensitivity: Sensitivity,
        charge: Callable[[PureLoss], object],
        *,
        people: float,
        unit: int = 1,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """`people` is how many there are, public or measured. `charge` is called before data is used."""
        if domain.cells > MOST_RECORDS:
            raise InvalidInput(
                f"{domain.cells:,} records are too many to have a weight each.",
                remedy=f"Take fewer or coarser attributes: at most {MOST_RECORDS:,} records.",
            )
        self._domain, self._settings, self._sensitivity = domain, settings, sensitivity
        self._charge, self._entropy = charge, entropy
        self._people, self._unit = people, positive_count(unit, "unit")
        self._run: Run | None = None
        self.weights: Floats = np.full(domain.sizes, 1 / domain.cells)
        self.updates = 0

    def ask(self, question: CountingQuestion, exact: int) -> WeightAnswer:
        """The count, in people; `exact` is in 1/unit of a person."""
        settings = self._settings
        public = self._public(question)
        if self._run is None:
            self._charge(settings.test.loss(self._sensitivity))
            self._run = settings.test.start(settings.threshold, entropy=self._entropy)
        if not self._run.above(abs(exact - round(public * self._unit))):
            return WeightAnswer(value=public, paid=False)
        self._run = None
        self._charge(settings.direct.loss(self._sensitivity))
        value = settings.direct.release(exact, entropy=self._entropy) / self._unit
        self._update(question, rises=value > public)
        return WeightAnswer(value=value, paid=True)

    def bound(self) -> float:
        """How many updates the theorem allows, at its rate, where each corrects at least the threshold."""
        gamma = self._settings.threshold / (self._unit * self._people)
        return 4 * log(self._domain.cells) / gamma**2

    def _public(self, question: CountingQuestion) -> float:
        others = tuple(i for i in range(len(self._domain.sizes)) if i not in question.attributes)
        shares = np.asarray(self.weights.sum(axis=others))
        return float(shares[question.mask].sum()) * self._people

    def _update(self, question: CountingQuestion, *, rises: bool) -> None:
        shape = [size if i in question.attributes else 1 for i, size in enumerate(self._domain.sizes)]
        factor = exp(self._settings.rate if rises else -self._settings.rate)
        self.weights *= np.where(question.mask.reshape(shape), factor, 1.0)
        self.weights /= self.weights.sum()
        self.updates += 1
