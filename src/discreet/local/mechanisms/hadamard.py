"""Hadamard response: report one of 2^b masks, the ones that agree with your option more often.

Privacy
    A mask agrees with an option when the bits that they share are even in number; half of the masks do, and
    each of these is e^ε times as likely as each of the others (Acharya, Sun, Zhang, arXiv 1802.04705v2,
    the case of high privacy).

Accuracy
    n·MSE is ((e^ε + 1)/(e^ε − 1))² at most: little more than the best for small ε, far more for large ε.
    The server needs one integer a mask and no complex numbers, which serves where the finer geometry of
    `projective` would take too much memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.local.mechanisms.mechanism import Numbered, Reports, Tally, as_bytes
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import keep_threshold
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

MOST_OPTIONS = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardResponse(Numbered):
    """Option x stands for the bits of x + 1; `keep` of 2⁴⁸ reports agree with it."""

    name = "hadamard"
    answers: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, MOST_OPTIONS)
        whole(self.keep, "keep", 1, RANGE - 1)

    @classmethod
    def for_loss(cls, epsilon: Fraction, options: int) -> "HadamardResponse":
        return cls(answers=options, keep=keep_threshold(epsilon, 1, 1))

    @property
    def cells(self) -> int:  # type: ignore[override]
        return 1 << self.answers.bit_length()

    @property
    def favoured(self) -> tuple[int, int]:
        return 1, 1

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"keep": self.keep}

    @property
    def outside(self) -> Fraction:
        """Of the masks that agree with one option, half agree with any other."""
        return Fraction(1, 2)

    def randomise(self, answer: int, draws: Draws) -> bytes:
        """A random mask. If it does not agree as it should, its bit at the lowest 1 of x + 1 is flipped."""
        disagree = draws.integer() >= self.keep
        mask = draws.below(self.cells)
        point = answer + 1
        if (mask & point).bit_count() % 2 != disagree:
            mask ^= point & -point
        return mask.to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        agree = bernoulli(self.inside, len(answers), entropy)
        masks = uniform_integers(self.cells, len(answers), entropy)
        points = answers + 1
        wrong = (np.bitwise_count(masks & points) % 2 == 0) != agree
        masks[wrong] ^= points[wrong] & -points[wrong]
        return as_bytes(masks, self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        agrees = (int.from_bytes(report, "little") & (answer + 1)).bit_count() % 2 == 0
        return (self.inside if agrees else 1 - self.inside) / (self.cells // 2)

    def support(self, tally: Tally) -> NDArray[np.int64]:
        """Reports that agree less those that do not, for all options at once: a Walsh-Hadamard transform."""
        transformed = tally.astype(np.int64)
        half = 1
        while half < self.cells:
            pairs = transformed.reshape(-1, 2, half)
            low, high = pairs[:, 0], pairs[:, 1]
            low += high
            high *= -2
            high += low
            half *= 2
        supporting: NDArray[np.int64] = (transformed[1 : self.answers + 1] + transformed[0]) // 2
        return supporting
