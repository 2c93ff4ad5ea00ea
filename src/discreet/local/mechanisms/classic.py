"""The classics, to compare with and to learn from: no survey uses them.

Direct response     k-ary randomized response: report your option, or now and then any other
Unary encoding      report a bit for each option, each of them randomised on its own (OUE)
Local hashing       report a hash function and, by randomized response, the hash of your option (OLH)

Privacy
    Each is ε-locally private by the ratio that its `odds` state (Wang, Blocki, Li, Jha, USENIX Security 2017,
    arXiv 1705.04421v1, Sections 4 and 5).

Accuracy
    n·MSE is about (e^ε + k − 2)/(e^ε − 1)² for direct response, so it serves few options only, and
    4e^ε/(e^ε − 1)² for the other two: as good as subset selection, but in k bits, or by hashing every option
    for every report. Here hash functions are linear, so a Fourier transform does that at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.local.mechanisms.mechanism import Categorical, Numbered, Reports, Tally, as_bytes
from discreet.local.mechanisms.projective import LARGEST_TABLE, is_prime
from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import keep_threshold, odds_of, weight_of
from discreet.model.exact import whole
from discreet.noise.entropy import Entropy
from discreet.noise.sampling import bernoulli, uniform_integers

MOST_OPTIONS = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectResponse(Numbered):
    """The own option in `keep` of 2⁴⁸ cases, else any other."""

    name = "direct"
    answers: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, MOST_OPTIONS)
        whole(self.keep, "keep", 1, RANGE - 1)

    @classmethod
    def for_loss(cls, epsilon: Fraction, options: int) -> "DirectResponse":
        return cls(answers=options, keep=keep_threshold(epsilon, 1, options - 1))

    @property
    def cells(self) -> int:  # type: ignore[override]
        return self.answers

    @property
    def favoured(self) -> tuple[int, int]:
        return 1, self.answers - 1

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"keep": self.keep}

    @property
    def outside(self) -> Fraction:
        return (1 - self.inside) / (self.answers - 1)

    def randomise(self, answer: int, draws: Draws) -> bytes:
        kept = draws.integer() < self.keep
        other = draws.below(self.answers - 1)
        return (answer if kept else other + (other >= answer)).to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        kept = bernoulli(self.inside, len(answers), entropy)
        others = uniform_integers(self.answers - 1, len(answers), entropy)
        others += others >= answers
        return as_bytes(np.where(kept, answers, others), self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        return self.inside if int.from_bytes(report, "little") == answer else self.outside

    def support(self, tally: Tally) -> NDArray[np.int64]:
        return tally


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryEncoding(Categorical):
    """The own option's bit is 1 in `own` of 2⁴⁸ cases, that of each other option in `other`."""

    name = "unary"
    answers: int
    own: int
    other: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, MOST_OPTIONS)
        whole(self.own, "own", 1, RANGE - 1)
        whole(self.other, "other", 1, RANGE - 1)

    @classmethod
    def for_loss(cls, epsilon: Fraction, options: int) -> "UnaryEncoding":
        """The own bit is a fair coin: that loses less than the rarer ones in other bits gain."""
        return cls(answers=options, own=RANGE // 2, other=ceil(RANGE / (weight_of(epsilon) + 1)))

    @property
    def size(self) -> int:  # type: ignore[override]
        return (self.answers + 7) // 8

    @property
    def cells(self) -> int:  # type: ignore[override]
        """Ones for each option, and how many reports there were."""
        return self.answers + 1

    @property
    def odds(self) -> Fraction:
        """Two answers differ in two bits, and both leak."""
        odds = odds_of(self.own, 1, 1) / odds_of(self.other, 1, 1)
        return max(odds, 1 / odds)

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"own": self.own, "other": self.other}

    @property
    def inside(self) -> Fraction:
        return Fraction(self.own, RANGE)

    @property
    def outside(self) -> Fraction:
        return Fraction(self.other, RANGE)

    def randomise(self, answer: int, draws: Draws) -> bytes:
        thresholds = (self.own if option == answer else self.other for option in range(self.answers))
        bitmap = sum((draws.integer() < limit) << option for option, limit in enumerate(thresholds))
        return bitmap.to_bytes(self.size, "little")

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        rows = max(1, 2**22 // self.answers)
        parts = [self._some(answers[start : start + rows], entropy) for start in range(0, len(answers), rows)]
        return np.concatenate(parts) if parts else np.empty((0, self.size), dtype=np.uint8)

    def _some(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        bits = bernoulli(self.outside, len(answers) * self.answers, entropy).reshape(len(answers), -1)
        bits[np.arange(len(answers)), answers] = bernoulli(self.inside, len(answers), entropy)
        return np.packbits(bits, axis=1, bitorder="little")

    def probability(self, report: bytes, answer: int) -> Fraction:
        bitmap = int.from_bytes(report, "little")
        ones = (self.inside if option == answer else self.outside for option in range(self.answers))
        chances = (one if bitmap >> option & 1 else 1 - one for option, one in enumerate(ones))
        return prod(chances, start=Fraction(1))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        beyond = np.unpackbits(reports, axis=1, bitorder="little")[:, self.answers :]
        right: NDArray[np.bool_] = beyond.sum(axis=1) == 0
        return right

    def tally(self, reports: Reports) -> Tally:
        bits = np.unpackbits(reports, axis=1, count=self.answers, bitorder="little")
        return np.append(bits.sum(axis=0, dtype=np.int64), len(reports))

    def reports_in(self, tally: Tally) -> int:
        return int(tally[-1])

    def support(self, tally: Tally) -> NDArray[np.int64]:
        return tally[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHashing(Numbered):
    """Options have `digits` digits in base `prime`. A hash function is a list of as many factors a; the hash
    of x is Σ a·x modulo the prime. Two options have the same hash under exactly 1/prime of the functions."""

    name = "hashing"
    answers: int
    prime: int
    digits: int
    keep: int

    def __post_init__(self) -> None:
        whole(self.answers, "options", 2, MOST_OPTIONS)
        whole(self.prime, "prime", 2, LARGEST_TABLE)
        whole(self.digits, "digits", 1, LARGEST_TABLE.bit_length())
        whole(self.keep, "keep", 1, RANGE - 1)
        if self.cells > LARGEST_TABLE or not is_prime(self.prime) or self._functions < self.answers:
            raise InvalidInput("These options do not fit these hash functions.", remedy="Use `for_loss`.")

    @classmethod
    def for_loss(cls, epsilon: Fraction, options: int) -> "LocalHashing":
        """The number of hash values is the prime near e^ε + 1 that has the least error."""
        most = min(2 * float(weight_of(epsilon)) + 5, LARGEST_TABLE**0.5)
        primes = [prime for prime in range(2, int(most) + 1) if is_prime(prime)]
        sized = [(prime, _digits_for(options, prime)) for prime in primes]
        candidates = [
            cls(answers=options, prime=q, digits=digits, keep=keep_threshold(epsilon, 1, q - 1))
            for q, digits in sized
            if q ** (digits + 1) <= LARGEST_TABLE
        ]
        return min(candidates, key=lambda mechanism: mechanism.mean_variance)

    @property
    def _functions(self) -> int:
        return int(self.prime**self.digits)

    @property
    def cells(self) -> int:  # type: ignore[override]
        return int(self.prime ** (self.digits + 1))

    @property
    def favoured(self) -> tuple[int, int]:
        return 1, self.prime - 1

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"prime": self.prime, "digits": self.digits, "keep": self.keep}

    @property
    def outside(self) -> Fraction:
        """Whatever hash is reported, any other option has it with probability 1/prime."""
        return Fraction(1, self.prime)

    def randomise(self, answer: int, draws: Draws) -> bytes:
        kept = draws.integer() < self.keep
        function = draws.below(self._functions)
        move = 1 + draws.below(self.prime - 1)
        hashed = (self._hash(function, answer) + (0 if kept else move)) % self.prime
        return (function * self.prime + hashed).to_bytes(self.size, "little")

    def _hash(self, function: int, option: int) -> int:
        total = 0
        while option:
            function, factor = divmod(function, self.prime)
            option, digit = divmod(option, self.prime)
            total += factor * digit
        return total % self.prime

    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        kept = bernoulli(self.inside, len(answers), entropy)
        functions = uniform_integers(self._functions, len(answers), entropy)
        hashes = np.where(kept, 0, 1 + uniform_integers(self.prime - 1, len(answers), entropy))
        factors, options = functions, answers
        for _ in range(self.digits):
            hashes += factors % self.prime * (options % self.prime)
            factors, options = factors // self.prime, options // self.prime
        return as_bytes(functions * self.prime + hashes % self.prime, self.size)

    def probability(self, report: bytes, answer: int) -> Fraction:
        function, hashed = divmod(int.from_bytes(report, "little"), self.prime)
        kept = self._hash(function, answer) == hashed
        return (self.inside if kept else (1 - self.inside) / (self.prime - 1)) / self._functions

    def support(self, tally: Tally) -> NDArray[np.int64]:
        """Reports (a, h) with Σ a·x = h: the Fourier transform at (x, −1) and its multiples, on average."""
        spectrum = np.fft.fftn(tally.reshape((self.prime,) * (self.digits + 1))).real.reshape(-1)
        options = np.arange(self.answers)
        total = np.zeros(self.answers)
        for factor in range(self.prime):
            place, rest = np.full(self.answers, -factor % self.prime), options
            for digit in range(1, self.digits + 1):
                place += rest % self.prime * factor % self.prime * self.prime**digit
                rest = rest // self.prime
            total += spectrum[place]
        supporting: NDArray[np.int64] = np.rint(total / self.prime).astype(np.int64)
        return supporting


def _digits_for(options: int, base: int) -> int:
    digits = 1
    while base**digits < options:
        digits += 1
    return digits
