"""A number in [a, b]: one bit about it, or a place near it.

Privacy
    Duchi's mechanism reports one of two ends; the larger the number, the likelier the upper one (Duchi,
    Jordan, Wainwright, arXiv 1604.02390v1). The piecewise mechanism reports a place on a line; each place in
    a window around the number is e^ε times as likely as each outside (Wang et al., arXiv 1907.00782v1). The
    hybrid chooses between the two by a coin that does not depend on the number, and says which it took.
    Each is ε-locally private, hence so is the hybrid.

Accuracy
    The number is one of `steps` + 1 evenly spaced ones, i. The chance of the upper end is a multiple of i
    plus a constant, and the window begins at a multiple of i: so each report has an unbiased estimate of i,
    exactly, thresholds included. For ε ≤ 0.61 Duchi's is best for every number; above, the hybrid's variance
    does not depend on the number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.local.mechanisms.mechanism import (
    LocalMechanism,
    Reports,
    Tally,
    as_bytes,
    as_integers,
    bytes_for,
)
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import keep_threshold, odds_of, weight_of
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

MOST_STEPS = 2**16
DUCHI_UP_TO = Fraction(61, 100)
_LINE = 2**20  # places that the window's begin moves over, about
_LONGEST_LINE = 2**23


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberResponse(LocalMechanism):
    """Reports 0 (lower end), 1 (upper end), or 2 + a place on the line of window + steps·stride places."""

    name = "number"
    steps: int
    low: int
    """Draws out of 2⁴⁸ that report the upper end for the smallest number."""
    rise: int
    """How many more for each step."""
    mix: int
    """Draws that take the piecewise mechanism."""
    stride: int
    window: int
    keep: int
    """Draws that stay in the window."""

    def __post_init__(self) -> None:
        whole(self.steps, "steps", 1, MOST_STEPS)
        whole(self.mix, "mix", 0, RANGE - 1)
        whole(self.stride, "stride", 1, _LONGEST_LINE)
        whole(self.window, "window", 1, _LONGEST_LINE)
        whole(self.keep, "keep", 1, RANGE - 1)
        whole(self.low, "low", 1, RANGE - 1)
        whole(self.rise, "rise", 1, RANGE - 1)
        if self._line > _LONGEST_LINE or self._top >= RANGE:
            raise InvalidInput(
                "These thresholds are beyond their range.", remedy="Let `discreet local new` choose them."
            )

    @classmethod
    def for_loss(cls, epsilon: Fraction, steps: int) -> "NumberResponse":
        whole(steps, "steps", 1, MOST_STEPS)
        high = keep_threshold(epsilon, 1, 1)
        half = weight_of(epsilon / 2)
        stride = max(1, _LINE // steps)
        window = max(1, round(stride * steps / half))
        return cls(
            steps=steps,
            low=RANGE - high,
            rise=(2 * high - RANGE) // steps,
            mix=0 if epsilon <= DUCHI_UP_TO else floor(RANGE * (1 - 1 / half)),
            stride=stride,
            window=window,
            keep=keep_threshold(epsilon, window, stride * steps),
        )

    @property
    def answers(self) -> int:  # type: ignore[override]
        return self.steps + 1

    @property
    def cells(self) -> int:  # type: ignore[override]
        """Reports of the lower end, of the upper end, of places, and the sum of these places."""
        return 4

    @property
    def size(self) -> int:  # type: ignore[override]
        return bytes_for(2 + self._line) if self.mix else 1

    @property
    def _line(self) -> int:
        return self.window + self.steps * self.stride

    @property
    def _top(self) -> int:
        return self.low + self.steps * self.rise

    @property
    def odds(self) -> Fraction:
        ends = [Fraction(self._top, self.low), Fraction(RANGE - self.low, RANGE - self._top)]
        place = odds_of(self.keep, self.window, self._line - self.window)
        return max(*ends, *((place, 1 / place) if self.mix else ()))

    @property
    def parameters(self) -> Mapping[str, int]:
        return {
            name: getattr(self, name) for name in ("steps", "low", "rise", "mix", "stride", "window", "keep")
        }

    def randomise(self, answer: int, draws: Draws) -> bytes:
        if draws.integer() >= self.mix:
            report = int(draws.integer() < self.low + answer * self.rise)
        elif draws.integer() < self.keep:
            report = 2 + answer * self.stride + draws.below(self.window)
        else:
            place = draws.below(self._line - self.window)
            report = 2 + place + (self.window if place >= answer * self.stride else 0)
        return report.to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        count = len(answers)
        upper = entropy.words(count) >> np.uint64(16) < (self.low + answers * self.rise).astype(np.uint64)
        begins = answers * self.stride
        inside = begins + uniform_integers(self.window, count, entropy)
        outside = uniform_integers(self._line - self.window, count, entropy)
        outside += self.window * (outside >= begins)
        places = np.where(bernoulli(Fraction(self.keep, RANGE), count, entropy), inside, outside)
        piecewise = bernoulli(Fraction(self.mix, RANGE), count, entropy)
        return as_bytes(np.where(piecewise, 2 + places, upper), self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        sent, mix = int.from_bytes(report, "little"), Fraction(self.mix, RANGE)
        upper = Fraction(self.low + answer * self.rise, RANGE)
        if sent < 2:
            return (1 - mix) * (upper if sent else 1 - upper)
        if 0 <= sent - 2 - answer * self.stride < self.window:
            return mix * self._place_inside
        return mix * self._place_outside

    @property
    def _place_inside(self) -> Fraction:
        return Fraction(self.keep, RANGE * self.window)

    @property
    def _place_outside(self) -> Fraction:
        return Fraction(RANGE - self.keep, RANGE * (self._line - self.window))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = as_integers(reports) < (2 + self._line if self.mix else 2)
        return right

    def tally(self, reports: Reports) -> Tally:
        sent = as_integers(reports)
        places = sent[sent >= 2] - 2
        return np.array([(sent == 0).sum(), (sent == 1).sum(), len(places), places.sum()], dtype=np.int64)

    def reports_in(self, tally: Tally) -> int:
        return int(tally[:3].sum())

    def total(self, tally: Tally) -> Fraction:
        """The sum of the estimates of i, one a report: unbiased."""
        lower, upper, places, place_sum = (int(cell) for cell in tally)
        scale, shift = self._place_estimate
        ends = Fraction(upper * RANGE - (lower + upper) * self.low, self.rise)
        return ends + (place_sum - places * shift) / scale

    @property
    def _place_estimate(self) -> tuple[Fraction, Fraction]:
        """A place is scale·i + shift on average."""
        lift = self._place_inside - self._place_outside
        shift = self._place_outside * _sum_below(self._line) + lift * _sum_below(self.window)
        return lift * self.window * self.stride, shift

    def variance(self, answer: Fraction) -> Fraction:
        """The variance of the estimate of i from one report, for i anywhere on the scale."""
        upper = (self.low + answer * self.rise) / RANGE
        ends: Fraction = upper * (1 - upper) * Fraction(RANGE, self.rise) ** 2
        if not self.mix:
            return ends
        scale, shift = self._place_estimate
        begin = answer * self.stride
        window = self.window * begin**2 + 2 * begin * _sum_below(self.window) + _squares_below(self.window)
        lift = self._place_inside - self._place_outside
        square = self._place_outside * _squares_below(self._line) + lift * window
        places = (square - (scale * answer + shift) ** 2) / scale**2
        mix = Fraction(self.mix, RANGE)
        variance: Fraction = (1 - mix) * ends + mix * places
        return variance

    def mean_variance(self, mean: Fraction) -> Fraction:
        """An upper bound on the average variance over people whose numbers have this mean.

        The variance is a quadratic in the number. If it is concave, its average is at most its value at the
        mean. If it is convex, its average is at most the line between its two ends, at the mean.
        """
        inner = min(max(mean, Fraction(0)), Fraction(self.steps))
        first, last = self.variance(Fraction(0)), self.variance(Fraction(self.steps))
        return max(self.variance(inner), first + (last - first) * inner / self.steps)


def _sum_below(count: int) -> Fraction:
    return Fraction(count * (count - 1), 2)


def _squares_below(count: int) -> Fraction:
    return Fraction((count - 1) * count * (2 * count - 1), 6)
