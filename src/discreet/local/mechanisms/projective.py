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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.local.mechanisms.mechanism import Numbered, Reports, Tally, as_bytes
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import keep_threshold
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

LARGEST_TABLE = 2**24
"""Of q^(t−1): the server transforms twice as many complex numbers, half a gigabyte at most."""
LARGEST_PRIME = 2**14
_LARGEST_NUMBER = 2**32 - 1  # of q^t

FieldElements: TypeAlias = NDArray[np.uint32]
"""Vectors as numbers in base q. As q < 2¹⁴, no inner product overflows either."""

_ROWS = 2**14  # people at a time: their numbers stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectiveResponse(Numbered):
    """Points with `coordinates` digits in base `prime`; `keep` of 2⁴⁸ reports are on the own plane."""

    name = "projective"
    answers: int
    prime: int
    coordinates: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.prime, "prime", 2, LARGEST_PRIME)
        whole(self.coordinates, "coordinates", 2, LARGEST_TABLE.bit_length())
        whole(self.keep, "keep", 1, RANGE - 1)
        if not (is_prime(self.prime) and fits(self.prime, self.coordinates)):
            raise InvalidInput(
                "There is no such geometry, or it is too large.", remedy="Let `discreet local new` choose it."
            )
        whole(self.answers, "options", 2, self.cells)

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
    def favoured(self) -> tuple[int, int]:
        return self._plane, self.cells - self._plane

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"prime": self.prime, "coordinates": self.coordinates, "keep": self.keep}

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
        parts = [
            self._some(answers[start : start + _ROWS], entropy) for start in range(0, len(answers), _ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.size), dtype=np.uint8)

    def _some(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        """As `randomise`, with vectors as numbers in base q; the option's number is q^lead + …"""
        q = self.prime
        free = q ** (self.coordinates - 1)
        kept = bernoulli(self.inside, len(answers), entropy)
        rest = np.empty(len(answers), dtype=np.uint32)
        rest[kept] = 1 + uniform_integers(free - 1, int(kept.sum()), entropy)
        rest[~kept] = uniform_integers(free, int((~kept).sum()), entropy)
        options, unit = self._numbers(answers)
        above = rest // unit
        below = rest - above * unit
        product = np.zeros(len(answers), dtype=np.uint32)
        for digit, other in zip(self._digits(below), self._digits(options), strict=True):
            product += digit * other
        lead = (self.coordinates * q**2 - product + ~kept) % q
        return as_bytes(self._indices(below + unit * (lead + q * above)), self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        point, option = _vector(int.from_bytes(report, "little"), self.prime), _vector(answer, self.prime)
        product = sum(a * b for a, b in zip(point, option, strict=False)) % self.prime
        if product == 0:
            return self.inside / self._plane
        return (1 - self.inside) / (self.cells - self._plane)

    def support(self, tally: Tally) -> NDArray[np.int64]:
        """How many reports are on the plane of each option, by Fourier transforms over F_q^(t−1).

        A report is on a plane when Σ_c ω^(c·product) = q, over all c in F_q, and off it when that is 0. The
        last place of a vector has the digit 0 or 1, so reports are transformed by their other digits, those
        with 0 and those with 1 apart. The sum is an integer; its floating-point error is far below ½.
        """
        q, t = self.prime, self.coordinates
        top, numbers = int(self._units[-1]), self._numbers(np.arange(self.cells))[0]
        table = np.zeros((2, top))
        table[numbers // top, numbers % top] = tally
        without, with_top = np.fft.fftn(table.reshape(2, *(q,) * (t - 1)), axes=range(1, t)).reshape(2, -1)
        options = numbers[: self.answers]
        turns = np.exp(-2j * np.pi / q * (options // top))
        total, turn = np.zeros(self.answers), np.ones(self.answers, dtype=np.complex128)
        for factor in range(q):
            place = self._multiplied(options % top, np.uint32(factor))
            total += (without[place] + turn * with_top[place]).real
            turn *= turns
        supporting: NDArray[np.int64] = np.rint(total / q).astype(np.int64)
        return supporting

    @property
    def _units(self) -> FieldElements:
        """1, q, q², …: what a digit at each place counts."""
        return self.prime ** np.arange(self.coordinates, dtype=np.uint32)

    @property
    def _starts(self) -> FieldElements:
        """Where the points begin whose leading digit is at place 0, 1, 2, …"""
        return (self._units - 1) // (self.prime - 1)

    def _numbers(self, points: NDArray[np.int64]) -> tuple[FieldElements, FieldElements]:
        """Each point's vector as a number, and the unit of its leading digit."""
        lead = np.searchsorted(self._starts, points, side="right") - 1
        unit = self._units[lead]
        return points.astype(np.uint32) - self._starts[lead] + unit, unit

    def _digits(self, numbers: FieldElements) -> Iterator[FieldElements]:
        """The lowest place first."""
        for _ in range(self.coordinates):
            rest = numbers // self.prime
            yield numbers - rest * self.prime
            numbers = rest

    def _multiplied(self, numbers: FieldElements, factors: FieldElements | np.uint32) -> FieldElements:
        """Vectors times a factor each, digit by digit."""
        out = np.zeros_like(numbers)
        for unit, digit in zip(self._units, self._digits(numbers), strict=True):
            out += digit * factors % self.prime * unit
        return out

    def _indices(self, numbers: FieldElements) -> NDArray[np.int64]:
        """Which point each vector is."""
        q = self.prime
        inverses = np.array([0, *(pow(digit, -1, q) for digit in range(1, q))], dtype=np.uint32)
        lead = np.searchsorted(self._units, numbers, side="right") - 1
        unit = self._units[lead]
        leading_one = self._multiplied(numbers, inverses[numbers // unit])
        return (leading_one - unit + self._starts[lead]).astype(np.int64)


def fits(prime: int, coordinates: int) -> bool:
    """Whether the server can hold the tables of this geometry, and 32 bits its vectors."""
    table: int = prime ** (coordinates - 1)
    return table <= LARGEST_TABLE and table * prime <= _LARGEST_NUMBER


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
