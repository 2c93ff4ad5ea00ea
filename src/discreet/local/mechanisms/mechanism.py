"""What every way of reporting has in common.

Privacy
    A mechanism is ε-locally private when no report is more than e^ε times as likely under one answer as
    under another. All probabilities here are integers over 2⁴⁸, so the largest such ratio is a fraction,
    `odds`: a survey is refused unless it is at most e^ε.

Accuracy
    Reports about one of k options each support a set of options: the reporter's own with probability
    `inside`, any other with probability `outside`. So (share of supporting reports − outside) / (inside −
    outside) estimates the share of people without bias (the pure protocols of Wang, Blocki, Li, Jha,
    USENIX Security 2017, arXiv 1705.04421v1, Theorem 2).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.local.mechanisms.randomness import RANGE, Draws
from discreet.local.mechanisms.thresholds import odds_of
from discreet.noise.entropy import Entropy

Reports: TypeAlias = NDArray[np.uint8]
"""One row a report, one column a byte."""
Tally: TypeAlias = NDArray[np.int64]
"""What a collector keeps of many reports. Tallies of different reports add up."""


class LocalMechanism(ABC):
    """Answers are the integers below `answers`; a report is `size` bytes; a tally has `cells` integers."""

    name: ClassVar[str]
    answers: int
    size: int
    cells: int

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """How many times likelier a report can be under one answer than under another: e^ε, exactly."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, int]:
        """What a survey carries, so that a device needs no arithmetic but that of integers."""

    @abstractmethod
    def randomise(self, answer: int, draws: Draws) -> bytes:
        """The report of one person, as every client makes it."""

    @abstractmethod
    def randomise_many(self, answers: NDArray[np.int64], entropy: Entropy) -> Reports:
        """The same law for many people at once: for simulations."""

    @abstractmethod
    def probability(self, report: bytes, answer: int) -> Fraction:
        """How likely this report is under this answer, exactly."""

    @abstractmethod
    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which of them a client could have sent."""

    @abstractmethod
    def tally(self, reports: Reports) -> Tally:
        """The tally of valid reports."""

    @abstractmethod
    def reports_in(self, tally: Tally) -> int:
        """How many reports a tally is of."""


class Categorical(LocalMechanism):
    """A question with k options."""

    @property
    @abstractmethod
    def inside(self) -> Fraction:
        """The probability that a report supports the reporter's own option."""

    @property
    @abstractmethod
    def outside(self) -> Fraction:
        """The probability that a report supports any one other option."""

    @abstractmethod
    def support(self, tally: Tally) -> NDArray[np.int64]:
        """How many reports support each option."""

    def variance(self, share: float = 0.0) -> float:
        """The variance of the estimated share of an option, times the number of reports."""
        inside, outside = float(self.inside), float(self.outside)
        spread = share * inside * (1 - inside) + (1 - share) * outside * (1 - outside)
        return spread / float(self.inside - self.outside) ** 2

    @property
    def mean_variance(self) -> float:
        """The same, on average over all options: n times the mean squared error."""
        return self.variance(1 / self.answers)


class Favouring(Categorical):
    """An answer favours some reports: they share `keep` of 2⁴⁸ draws evenly, and the others the rest."""

    keep: int

    @property
    @abstractmethod
    def favoured(self) -> tuple[int, int]:
        """In which proportion reports are favoured, and not."""

    @property
    def inside(self) -> Fraction:
        return Fraction(self.keep, RANGE)

    @property
    def odds(self) -> Fraction:
        odds = odds_of(self.keep, *self.favoured)
        return max(odds, 1 / odds)


class Numbered(Favouring):
    """A report is one of `cells` numbers, and a tally how often each was sent."""

    @property
    def size(self) -> int:  # type: ignore[override]
        return bytes_for(self.cells)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = as_integers(reports) < self.cells
        return right

    def tally(self, reports: Reports) -> Tally:
        return np.bincount(as_integers(reports), minlength=self.cells)

    def reports_in(self, tally: Tally) -> int:
        return int(tally.sum())


def as_bytes(integers: NDArray[np.int64], size: int) -> Reports:
    """Each integer in `size` bytes, the lowest first."""
    wide = np.ascontiguousarray(integers, dtype="<u8")
    return wide.view(np.uint8).reshape(-1, 8)[:, :size].copy()


def as_integers(reports: Reports) -> NDArray[np.int64]:
    wide = np.zeros((len(reports), 8), dtype=np.uint8)
    wide[:, : reports.shape[1]] = reports
    return wide.view("<u8").reshape(-1).astype(np.int64)


def bytes_for(count: int) -> int:
    """Bytes that hold the integers below count."""
    return max(1, ((count - 1).bit_length() + 7) // 8)
