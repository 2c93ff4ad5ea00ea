"""What a profile found: noisy numbers of people, from which everything here is computed for free."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.model.privacy import Spend
from discreet.noise.additive import AdditiveNoise
from discreet.noise.gaussian import DiscreteGaussian

_STANDS_OUT = 1e-3
"""How often noise makes a bin stand out."""
_NEAR = 3
"""People who have so many bins more than others are of the same kind; those far beyond are of another."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyBins:
    """How many people are in each bin, with noise of a known law."""

    people: Floats
    noise: AdditiveNoise

    @property
    def total(self) -> float:
        return max(0.0, float(self.people.sum()))

    @property
    def deviation(self) -> float:
        """Of the noise on one bin."""
        if isinstance(self.noise, DiscreteGaussian):
            return float(self.noise.sigma)
        return 2**0.5 * float(self.noise.scale)

    @property
    def tells(self) -> bool:
        """Whether any bin stands out from the noise."""
        return bool((self.people > self._threshold(_STANDS_OUT)).any())

    def cleaned(self) -> Floats:
        """Without what noise alone could be: nothing beyond the last bin that stands out, nobody below zero.

        Negative numbers are made up for by their neighbours, so that the total stays what it is.
        """
        kept = np.where(np.arange(len(self.people)) <= self._last(), self.people, 0.0)
        positive = np.maximum(kept, 0.0)
        if positive.sum() <= 0:
            return positive
        cleaned: Floats = positive * max(kept.sum(), 0.0) / positive.sum()
        return cleaned

    def _last(self) -> int:
        """The last bin that stands out. One that is far from all others has to stand out from the noise of
        all bins together: a hundred people who do not exist would have more rows there than everybody else.
        """
        if not self.tells:
            return 0
        far = self.people > self._threshold(_STANDS_OUT / len(self.people))
        last = int(np.argmax(self.people))
        for place in np.flatnonzero(self.people > self._threshold(_STANDS_OUT)).tolist():
            if last < place and (place - last <= _NEAR or far[place]):
                last = place
        return last

    def _threshold(self, chance: float) -> float:
        """What the noise on a bin exceeds so rarely."""
        if isinstance(self.noise, DiscreteGaussian):
            return float(self.noise.sigma) * NormalDist().inv_cdf(1 - chance)
        return float(self.noise.scale) * float(np.log(1 / (2 * chance)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnProfile:
    """People by what is odd about their values of a column: a bin for each combination."""

    bins: NoisyBins

    def share(self, odd: int) -> tuple[float, float]:
        """The share of people with such a value (below, above, missing), and how far that may be off."""
        with_it = [place for place in range(len(self.bins.people)) if place >> odd & 1]
        total = max(self.bins.total, 1.0)
        found = float(self.bins.people[with_it].sum())
        return min(max(found / total, 0.0), 1.0), 2 * self.bins.deviation * len(with_it) ** 0.5 / total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableProfile:
    """Of one table: people by their rows, by how many public values of a column, by odd values."""

    table: str
    rows: NoisyBins
    keys: Mapping[str, NoisyBins]
    values: Mapping[str, ColumnProfile]
    loss: Spend

    @property
    def people(self) -> float:
        """How many there are."""
        return self.rows.total
