"""Subset selection: report a set of options that holds your own more often than chance.

Privacy
    Of the sets of d options, each that holds the own one is e^ε times as likely as each that does not (Ye,
    Barg, arXiv 1702.00610v2). With d = 1 this is k-ary randomized response, and for k = 2 the coin toss.

Accuracy
    With d near k/(e^ε + 1) no mechanism has a smaller worst-case mean squared error, up to lower order
    terms (Ye, Barg, arXiv 1804.03692v2): n·MSE is about 4e^ε/(e^ε − 1)².
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor

import numpy as np
from numpy.typing import NDArray

from discreet.local.mechanisms.mechanism import Favouring, Reports, Tally
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import keep_threshold, weight_of
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

MOST_OPTIONS = 256
_ROWS = 2**13  # people at a time: their options stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelection(Favouring):
    """A bitmap of `chosen` options, the own one among them in `keep` of 2⁴⁸ cases."""

    name = "subset"
    answers: int
    chosen: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, MOST_OPTIONS)
        whole(self.chosen, "chosen", 1, self.answers - 1)
        whole(self.keep, "keep", 1, RANGE - 1)

    @classmethod
    def for_loss(cls, epsilon: Fraction, options: int) -> "SubsetSelection":
        """The size of the set that has the least error."""
        best = floor(options / (weight_of(epsilon) + 1))
        sizes = {min(max(size, 1), options - 1) for size in (best, best + 1)}
        return min((cls._sized(epsilon, options, size) for size in sizes), key=lambda m: m.mean_variance)

    @classmethod
    def _sized(cls, epsilon: Fraction, options: int, size: int) -> "SubsetSelection":
        # A set of d, drawn uniformly, holds an option with odds d : k − d. So these are the weights.
        return cls(answers=options, chosen=size, keep=keep_threshold(epsilon, size, options - size))

    @property
    def size(self) -> int:  # type: ignore[override]
        return (self.answers + 7) // 8

    @property
    def cells(self) -> int:  # type: ignore[override]
        return self.answers

    @property
    def favoured(self) -> tuple[int, int]:
        return self.chosen, self.answers - self.chosen

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"chosen": self.chosen, "keep": self.keep}

    @property
    def outside(self) -> Fraction:
        return (self.chosen - self.inside) / (self.answers - 1)

    def randomise(self, answer: int, draws: Draws) -> bytes:
        """Draws the same number of integers whatever the answer is, and whether or not it is kept."""
        kept = draws.integer() < self.keep
        others = [option for option in range(self.answers) if option != answer]
        for place in range(self.chosen):
            other = place + draws.below(self.answers - 1 - place)
            others[place], others[other] = others[other], others[place]
        if kept:
            others[self.chosen - 1] = answer
        bitmap = sum(1 << option for option in others[: self.chosen])
        return bitmap.to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        parts = [
            self._some(answers[start : start + _ROWS], entropy) for start in range(0, len(answers), _ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.size), dtype=np.uint8)

    def _some(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        people = np.arange(len(answers))
        others = np.tile(np.arange(self.answers - 1, dtype=np.int16), (len(answers), 1))
        for place in range(self.chosen):
            other = place + uniform_integers(self.answers - 1 - place, len(answers), entropy)
            drawn = others[people, other]
            others[people, other] = others[:, place]
            others[:, place] = drawn
        chosen = others[:, : self.chosen]
        chosen += chosen >= answers[:, None]  # skip the own option
        kept = bernoulli(self.inside, len(answers), entropy)
        chosen[kept, -1] = answers[kept]
        bitmap = np.zeros((len(answers), self.answers), dtype=np.bool_)
        np.put_along_axis(bitmap, chosen.astype(np.int64), True, axis=1)
        return np.packbits(bitmap, axis=1, bitorder="little")

    def probability(self, report: bytes, answer: int) -> Fraction:
        """All sets with the own option are equally likely, and so are all without."""
        held = int.from_bytes(report, "little") >> answer & 1
        if held:
            return self.inside / comb(self.answers - 1, self.chosen - 1)
        return (1 - self.inside) / comb(self.answers - 1, self.chosen)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        bits = np.unpackbits(reports, axis=1, bitorder="little")
        right: NDArray[np.bool_] = (bits.sum(axis=1, dtype=np.int64) == self.chosen) & ~bits[
            :, self.answers :
        ].any(axis=1)
        return right

    def tally(self, reports: Reports) -> Tally:
        bits = np.unpackbits(reports, axis=1, count=self.answers, bitorder="little")
        tally: Tally = bits.sum(axis=0, dtype=np.int64)
        return tally

    def reports_in(self, tally: Tally) -> int:
        return int(tally.sum()) // self.chosen

    def support(self, tally: Tally) -> NDArray[np.int64]:
        return tally
