"""Sparse vector: which of many questions is the first to reach a threshold, at one price for all.

A run compares each answer, with fresh noise ν, to a threshold with noise ρ that is drawn once and kept
secret. Answers below cost nothing more, however many; after its last *above* a run is over.

Privacy
    With discrete Laplace noise of scale b₁ on the threshold and b₂ on every answer, and answers that one
    person moves by at most Δ, a run of up to c aboves is (Δ/b₁ + 2cΔ/b₂)-differentially private, also when
    questions are chosen after seeing what came before (Lyu, Su, Li, arXiv 1603.01699v4, Algorithm 7
    without numeric answers). The proof on the integers: for neighbours D, D′ let ρ′ = ρ + Δ, an integer too.
    Where qᵢ(D) + ν < T + ρ, also qᵢ(D′) + ν < T + ρ′, so *below* is at least as likely; where
    qᵢ(D) + ν ≥ T + ρ, also qᵢ(D′) + (ν + 2Δ) ≥ T + ρ′. The shift of ρ costs e^(Δ/b₁) once, that of ν
    e^(2Δ/b₂) at each above. A tie is an above; with ties as belows the proof is the same.

    *Monotone* questions all move the same way between any two neighbours, such as counts when a person is
    added. Where all move up, ρ′ = ρ + Δ and ν + Δ are enough; where all move down, ρ stays and ν + Δ is
    enough: Δ/b₁ + cΔ/b₂. When a person is replaced, one count may rise and another fall: not monotone.

    Known wrong versions, all published (the same paper, Algorithms 3 to 6): releasing qᵢ + ν with the
    comparison's own ν; b₂ that does not grow with c; no noise on the answers; no end after c aboves. Also:
    to go on after the last above with the same ρ; to show ρ; to copy a run. This one gives no number: an
    answer that is above is paid for separately, with fresh noise.

Accuracy
    `interval` is ±t such that, with this confidence and k questions at once, every *below* has an answer of
    at most threshold + t and every *above* one of at least threshold − t. It is the smaller t of two: from k
    times the exact tail of ν − ρ, or the reach of ρ plus that of all ν. With a = e^(−1/b₁) and
    b = e^(−1/b₂), the generating functions of the two laws split into partial fractions, hence

        P(|ν − ρ| ≥ m) = (a(1 − b)²·2aᵐ/(1 + a) − b(1 − a)²·2bᵐ/(1 + b)) / ((a − b)(1 − ab)),  m ≥ 1
"""

import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from discreet.errors import InvalidInput
from discreet.model.exact import (
    LARGEST_SENSITIVITY,
    Number,
    confidence_level,
    positive_count,
    positive_epsilon,
    positive_scale,
    round_up,
    whole,
)
from discreet.model.interval import Interval
from discreet.model.neighbours import Neighbours
from discreet.model.privacy import PureLoss
from discreet.model.sensitivity import Sensitivity, vector_sensitivity
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.tails import laplace_magnitude, miss_probability

_SHARES = tuple(i / 16 for i in range(1, 16))  # of the misses that are left to ρ


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold:
    """Says of each answer whether it reaches a threshold, until it has said so `aboves` times."""

    threshold_scale: Fraction
    answer_scale: Fraction
    aboves: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold_scale", positive_scale(self.threshold_scale, "threshold_scale"))
        object.__setattr__(self, "answer_scale", positive_scale(self.answer_scale, "answer_scale"))
        object.__setattr__(self, "aboves", positive_count(self.aboves, "aboves"))

    @classmethod
    def for_loss(
        cls, epsilon: Number, sensitivity: Sensitivity, *, monotone: bool = False, aboves: int = 1
    ) -> "AboveThreshold":
        """A run that costs ε. The threshold gets one part of it, and the answers (2c)^(2/3) parts.

        That makes the variance of a comparison least (the same paper); c^(2/3) if monotone.
        """
        total, change = positive_epsilon(epsilon), vector_sensitivity(sensitivity).linf
        shifts = _shifts(sensitivity, monotone) * positive_count(aboves, "aboves")
        on_threshold = total / (1 + round_up(shifts ** (2 / 3)))
        return cls(
            threshold_scale=change / on_threshold,
            answer_scale=shifts * change / (total - on_threshold),
            aboves=aboves,
        )

    def loss(self, sensitivity: Sensitivity, *, monotone: bool = False) -> PureLoss:
        """The loss of one run, exactly. Each run is charged when it starts."""
        change = vector_sensitivity(sensitivity).linf
        shifts = _shifts(sensitivity, monotone) * self.aboves
        return PureLoss(epsilon=change / self.threshold_scale + shifts * change / self.answer_scale)

    def interval(self, confidence: Number, *, questions: int = 1) -> Interval:
        """How far on the wrong side of the threshold an answer may be, all questions at once."""
        level = confidence_level(confidence)
        k = positive_count(questions, "questions")
        reach = min(self._union(float(1 - level) / k), *(self._apart(level, k, share) for share in _SHARES))
        return Interval(low=Fraction(-reach), high=Fraction(reach), confidence=level)

    def start(self, threshold: int, *, entropy: Entropy = SYSTEM) -> "Run":
        """A new run, with a threshold noise of its own."""
        exact = whole(threshold, "threshold", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        return Run(self, exact, entropy)

    def _union(self, miss: float) -> int:
        """The least t with P(|ν − ρ| > t) ≤ miss."""
        low, high = -1, self._apart(1 - Fraction(miss), 1, 0.5)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._tail(middle + 1) <= miss else (middle, high)
        return high

    def _tail(self, m: int) -> float:
        """P(|ν − ρ| ≥ m) for m ≥ 1, rounded up; scales that nearly agree are taken a little apart."""
        small, large = sorted((float(self.threshold_scale), float(self.answer_scale)))
        large = max(large, small * (1 + 1e-4))
        a, b = math.exp(-1 / large), math.exp(-1 / small)
        not_a, not_b = -math.expm1(-1 / large), -math.expm1(-1 / small)
        far, near = 2 * math.exp(-m / large) / (1 + a), 2 * math.exp(-m / small) / (1 + b)
        apart = -a * math.expm1(1 / large - 1 / small)
        both = -math.expm1(-1 / large - 1 / small)
        return (1 + 1e-9) * (a * not_b**2 * far - b * not_a**2 * near) / (apart * both)

    def _apart(self, level: Fraction, questions: int, share: float) -> int:
        """|ρ| and all |ν| each within their own reach."""
        miss = float(1 - level)
        answers = miss_probability(1 - Fraction(miss * (1 - share)), questions)
        return (
            laplace_magnitude(float(self.threshold_scale), miss * share)
            + laplace_magnitude(float(self.answer_scale), answers)
            - 2
        )


class Run:
    """One run. It cannot be copied or stored: a second one with the same secret would not be paid for."""

    __slots__ = ("_entropy", "_left", "_lock", "_noise", "_noisy_threshold")

    def __init__(self, mechanism: AboveThreshold, threshold: int, entropy: Entropy) -> None:
        secret = DiscreteLaplace(scale=mechanism.threshold_scale)
        self._noisy_threshold = secret.release(threshold, entropy=entropy)
        self._noise = DiscreteLaplace(scale=mechanism.answer_scale)
        self._left = mechanism.aboves
        self._entropy = entropy
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """True after the last above."""
        return self._left == 0

    def above(self, exact: int) -> bool:
        """Whether this answer with noise reaches the noisy threshold."""
        value = whole(exact, "answer", -LARGEST_SENSITIVITY, LARGEST_SENSITIVITY)
        with self._lock:
            if self.over:
                raise InvalidInput(
                    "This run is over: it has said above as often as was paid for.",
                    remedy="Start another run, which is charged anew.",
                )
            self._left -= 1  # before the draw, so that one stopped by Ctrl-C is used up
            reached = self._noise.release(value, entropy=self._entropy) >= self._noisy_threshold
            self._left += not reached
        return reached

    def __repr__(self) -> str:
        return "<Run: over>" if self.over else "<Run>"

    def __copy__(self) -> NoReturn:
        raise InvalidInput("A run cannot be copied.", remedy="Start another one, which is charged anew.")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self.__copy__()


def _shifts(sensitivity: Sensitivity, monotone: bool) -> int:
    """How many times Δ the noise of an above has to hide."""
    if monotone and sensitivity.neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidInput(
            "Questions are monotone only between neighbours that add or remove a person.",
            remedy="Give monotone=False.",
        )
    return 1 if monotone else 2
