"""Projective geometry response: report a point, more often one on the plane of your option.

Privacy
    Options and reports are the points of the projective space over F_q with t coordinates. A point is on the
    plane of an option when their inner product is 0, and each such point is e^ε times as likely as each
    other (Feldman, Nelson, Nguyen, Talwar, arXiv 2203.00194v1, Section 3).

Accuracy
    Two planes meet in the same number of points whichever they are, so the estimates of `mechanism` hold.
    With q near e^ε + 1 the error is that of subset selection, in 2 or 3 bytes for thousands of options.

A point is a vector up to a factor; we take the one whose leading digit is 1. Read as a number in base q, such
a vector is q^r + v with v < q^r. In the order of these numbers the points are 0, 1, 2, …
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.local.draws import RANGE, Draws
from discreet.local.mechanisms.mechanism import Categorical, Reports, Tally, as_bytes, as_integers, bytes_for
from discreet.local.mechanisms.thresholds import keep_threshold, odds_of
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

LARGEST_TABLE = 2**25
"""q^t: the server transforms as many complex numbers, half a gigabyte at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectiveResponse(Categorical):
    """Points with `coordinates` digits in base `prime`; `keep` of 2⁴⁸ reports are on the own plane."""

    name = "projective"
    answers: int
    prime: int
    coordinates: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, LARGEST_TABLE)
        whole(self.prime, "prime", 2, LARGEST_TABLE)
        whole(self.coordinates, "coordinates", 2, LARGEST_TABLE.bit_length())
        whole(self.keep, "keep", 1, RANGE - 1)
        if (
            self.prime**self.coordinates > LARGEST_TABLE
            or not is_prime(self.prime)
            or self.cells < self.answers
        ):
            raise InvalidInput(
                "These options do not fit this geometry.", remedy="Let `discreet local new` choose it."
            )

    @classmethod
    def for_loss(
        cls, epsilon: Fraction, options: int, *, prime: int, coordinates: int
    ) -> "ProjectiveResponse":
        plane, points = _points(prime, coordinates - 1), _points(prime, coordinates)
        keep = keep_threshold(epsilon, plane, points - plane)
        return cls(answers=options, prime=prime, coordinates=coordinates, keep=keep)

    @property
    def cells(self) -> int:  # type: ignore[override]
        return _points(self.prime, self.coordinates)

    @property
    def _plane(self) -> int:
        return _points(self.prime, self.coordinates - 1)

    @property
    def size(self) -> int:  # type: ignore[override]
        return bytes_for(self.cells)

    @property
    def odds(self) -> Fraction:
        odds = odds_of(self.keep, self._plane, self.cells - self._plane)
        return max(odds, 1 / odds)

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"prime": self.prime, "coordinates": self.coordinates, "keep": self.keep}

    @property
    def inside(self) -> Fraction:
        return Fraction(self.keep, RANGE)

    @property
    def outside(self) -> Fraction:
        """Two planes meet in the points of a space with two coordinates less."""
        both = _points(self.prime, self.coordinates - 2)
        on, off = self.inside / self._plane, (1 - self.inside) / (self.cells - self._plane)
        return both * on + (self._plane - both) * off

    def randomise(self, answer: int, draws: Draws) -> bytes:
        """All digits but the one at the option's leading place are free; that one sets the inner product.

        On the plane it is 0, and the others not all 0; each point there has q − 1 vectors. Off the plane each
        point has exactly one vector whose inner product is 1.
        """
        q, t = self.prime, self.coordinates
        free = q ** (t - 1)
        kept = draws.integer() < self.keep
        rest = 1 + draws.below(free - 1) if kept else draws.below(free)
        option = _vector(answer, q)
        lead = len(option) - 1
        point, product = [], 0
        for place in range(t):
            if place == lead:
                point.append(0)
                continue
            rest, digit = divmod(rest, q)
            point.append(digit)
            if place < lead:
                product += digit * option[place]
        point[lead] = (int(not kept) - product) % q
        return _index(point, q).to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        q, t = self.prime, self.coordinates
        free = q ** (t - 1)
        kept = bernoulli(self.inside, len(answers), entropy)
        rest = np.empty(len(answers), dtype=np.int64)
        rest[kept] = 1 + uniform_integers(free - 1, int(kept.sum()), entropy)
        rest[~kept] = uniform_integers(free, int((~kept).sum()), entropy)
        options, lead = self._vectors(answers)
        point = np.zeros((t, len(answers)), dtype=np.int64)
        product = np.zeros(len(answers), dtype=np.int64)
        for place in range(t):
            own = lead == place
            rest, digit = np.where(own, rest, rest // q), np.where(own, 0, rest % q)
            point[place] = digit
            product += digit * options[place]
        np.put_along_axis(point, lead[None], ((~kept - product) % q)[None], axis=0)
        return as_bytes(self._indices(point), self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        point, option = _vector(int.from_bytes(report, "little"), self.prime), _vector(answer, self.prime)
        product = sum(a * b for a, b in zip(point, option, strict=False)) % self.prime
        if product == 0:
            return self.inside / self._plane
        return (1 - self.inside) / (self.cells - self._plane)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = as_integers(reports) < self.cells
        return right

    def tally(self, reports: Reports) -> Tally:
        return np.bincount(as_integers(reports), minlength=self.cells)

    def reports_in(self, tally: Tally) -> int:
        return int(tally.sum())

    def support(self, tally: Tally) -> NDArray[np.int64]:
        """How many reports are on the plane of each option: one Fourier transform over F_q^t.

        With every report counted at all q − 1 multiples of its point, the transform at an option is
        Σ (q·[on its plane] − 1), an integer; its error in floating point is far below ½.
        """
        q, t = self.prime, self.coordinates
        points, lead = self._vectors(np.arange(self.cells))
        powers = q ** np.arange(t)
        table = np.zeros(q**t)
        for factor in range(1, q):
            table[powers @ (points * factor % q)] = tally
        spectrum = np.fft.fftn(table.reshape((q,) * t)).real.reshape(-1)
        options = q ** lead[: self.answers] + np.arange(self.answers) - self._starts[lead[: self.answers]]
        found: NDArray[np.int64] = np.rint((spectrum[options] + tally.sum()) / q).astype(np.int64)
        return found

    @property
    def _starts(self) -> NDArray[np.int64]:
        """Where the points begin whose leading digit is at place 0, 1, 2, …"""
        return np.array([_points(self.prime, place) for place in range(self.coordinates)])

    def _vectors(self, points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The digits of each point, the lowest place first, and the place of its leading 1."""
        starts = self._starts
        lead = np.searchsorted(starts, points, side="right") - 1
        rest = points - starts[lead] + self.prime**lead
        digits = np.empty((self.coordinates, len(points)), dtype=np.int64)
        for place in range(self.coordinates):
            rest, digits[place] = np.divmod(rest, self.prime)
        return digits, lead

    def _indices(self, vectors: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which point each vector is."""
        q, t = self.prime, self.coordinates
        inverses = np.array([0, *(pow(digit, -1, q) for digit in range(1, q))])
        lead = t - 1 - np.argmax(vectors[::-1] != 0, axis=0)
        leading = np.take_along_axis(vectors, lead[None], axis=0)[0]
        numbers = q ** np.arange(t) @ (vectors * inverses[leading] % q)
        found: NDArray[np.int64] = numbers - q**lead + self._starts[lead]
        return found


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def _points(prime: int, coordinates: int) -> int:
    """How many points a projective space has: 1 + q + … + q^(t−1)."""
    return int((prime**coordinates - 1) // (prime - 1))


def _vector(point: int, prime: int) -> list[int]:
    """Its digits, the lowest place first, up to the leading 1."""
    digits, size = [], 1
    while point >= size:
        point, size = point - size, size * prime
        digits.append(0)
    for place in range(len(digits)):
        point, digits[place] = divmod(point, prime)
    return [*digits, 1]


def _index(vector: list[int], prime: int) -> int:
    """Which point a vector is: its digits, divided by the leading one, as a number."""
    lead = max(place for place, digit in enumerate(vector) if digit)
    inverse = pow(vector[lead], -1, prime)
    index = 0
    for place in range(lead - 1, -1, -1):
        index = index * prime + vector[place] * inverse % prime
    return index + _points(prime, lead)
