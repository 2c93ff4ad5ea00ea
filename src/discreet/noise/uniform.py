"""A uniform real number that is known by its first bits, and as many more as a decision needs.

Every sampler decides something about U ∈ (0, 1): is −ln U above γ, what is ⌊−b·ln U⌋. A float *filter*
decides almost always: it computes −ln U from 64 bits with a certified bound on its error, and when the
bound leaves no doubt, the decision is the exact one. For the rest, the bits are extended and the
logarithm is enclosed in decimals, as far as it takes. So the samplers are exact: nothing is truncated
and no probability is rounded.
"""

from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from discreet.model.exact import ln_bounds
from discreet.noise.entropy import Entropy, Words

LOG_ERROR = 2.0**-50
"""Relative error that np.log may have: 4 units in the last place. The self-test checks it here."""


def exponentials(words: Words) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """−ln U for U ∈ [w, w+1)/2⁶⁴, with a bound on the absolute error.

    Converting w costs a relative 2⁻⁵³, hence an absolute 2⁻⁵² in the logarithm; np.log a relative
    2⁻⁵⁰; the bits of U that are not known yet 1/w. The bound 2⁻⁴⁸·(−ln U + 1) + 1/w leaves a
    relative 2⁻⁴⁹ to the caller, for one product with a rounded factor and one sum.
    """
    with np.errstate(divide="ignore"):
        known = words.astype(np.float64)
        error = 1.0 / known
        known *= 2.0**-64
        value = np.log(known, out=known)
    np.negative(value, out=value)
    relative = value + 1.0
    relative *= 2.0**-48
    error += relative
    return value, error


class LazyUniform:
    """U ∈ [prefix, prefix + 1) / 2^bits, extended by 64 bits whenever that is not enough."""

    def __init__(self, word: int, entropy: Entropy) -> None:
        self._prefix = int(word)
        self.bits = 64
        self._entropy = entropy

    def below(self, p: Fraction) -> bool:
        """Whether U < p: true with probability exactly p."""
        while True:
            scaled = p * 2**self.bits
            if self._prefix + 1 <= scaled:
                return True
            if self._prefix >= scaled:
                return False
            self.extend()

    def exponential_above(self, gamma: Fraction) -> bool:
        """Whether −ln U > γ: true with probability exactly e^−γ."""
        while True:
            low, high = self._exponential(_size(gamma))
            if low > gamma:
                return True
            if high is not None and high <= gamma:
                return False
            self.extend()

    def floor_exponential(self, scale: Fraction) -> int:
        """⌊−scale·ln U⌋: at least k with probability exactly e^(−k/scale)."""
        while True:
            low, high = self._exponential(_size(scale))
            if high is not None and floor(scale * low) == floor(scale * high):
                return floor(scale * low)
            self.extend()

    def logit_above(self, gamma: Fraction) -> bool:
        """Whether ln((1 − U)/U) > γ: true with probability exactly 1/(1 + e^γ)."""
        while True:
            full, digits = 2**self.bits, self._digits(_size(gamma))
            if self._prefix + 1 < full:
                odds = Fraction(full - self._prefix - 1, self._prefix + 1)
                if ln_bounds(odds, digits)[0] > gamma:
                    return True
            if self._prefix:
                odds = Fraction(full - self._prefix, self._prefix)
                if ln_bounds(odds, digits)[1] <= gamma:
                    return False
            self.extend()

    def exponential(self) -> tuple[Fraction, Fraction | None]:
        """Bounds on −ln U from the bits known so far; None for no upper bound yet."""
        return self._exponential(0)

    def _exponential(self, extra_bits: int) -> tuple[Fraction, Fraction | None]:
        full, digits = 2**self.bits, self._digits(extra_bits)
        low = -ln_bounds(Fraction(self._prefix + 1, full), digits)[1]
        high = -ln_bounds(Fraction(self._prefix, full), digits)[0] if self._prefix else None
        return low, high

    def _digits(self, extra_bits: int) -> int:
        """Enough decimal digits that the unknown bits dominate the width of the bounds."""
        return 20 + 31 * (self.bits + extra_bits) // 100

    def extend(self) -> None:
        """Learn 64 more bits."""
        self._prefix = self._prefix << 64 | int(self._entropy.words(1)[0])
        self.bits += 64


def _size(x: Fraction) -> int:
    return max(0, floor(x).bit_length())
