"""Which counting questions a synthetic table has to answer well.

A counting question is a set of records: how many people are in it? All are asked about a table of counts
over some attributes, so that thousands are answered from one table, by sums and differences. A workload is a
list of candidates, of which private selection picks one at a time. A candidate is one question, or a whole
table: one person is in one cell of it, so that all its cells are measured for the price of one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput
from discreet.model.exact import whole
from discreet.synth.core.domain import Domain, Marginal
from discreet.synth.core.weight_array import Halves, WeightsOrCounts

MOST_QUESTIONS = 2**24
_BLOCK = 2**24  # entries of masks that are unpacked at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family(ABC):
    """Questions about one table."""

    whole: ClassVar[bool] = False
    """Whether all of them are one candidate, and measured together."""

    marginal: Marginal

    @property
    @abstractmethod
    def questions(self) -> int: ...

    @property
    def candidates(self) -> int:
        return 1 if self.whole else self.questions

    @abstractmethod
    def answers(self, counts: WeightsOrCounts) -> WeightsOrCounts:
        """All answers, from the counts in the table's cells; exact if these are integers."""

    @abstractmethod
    def mask(self, question: int) -> NDArray[np.bool_]:
        """Which cells of the table a question counts."""

    def asked(self, question: int) -> Marginal:
        """What is measured when this one is picked."""
        if self.whole:
            return self.marginal
        return Halves(
            attributes=self.marginal.attributes,
            codes=self.marginal.codes,
            table=self.marginal,
            mask=self.mask(question),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellQuestions(Family):
    """One question for each cell, all of them one candidate."""

    whole: ClassVar[bool] = True

    @property
    def questions(self) -> int:
        return self.marginal.cells

    def answers(self, counts: WeightsOrCounts) -> WeightsOrCounts:
        return counts

    def mask(self, question: int) -> NDArray[np.bool_]:
        return np.asarray(np.arange(self.marginal.cells) == question)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EachCell(CellQuestions):
    """One question for each cell, each a candidate."""

    whole: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prefixes(Family):
    """One question for each cell: how many people are at or below it, on every attribute?"""

    @property
    def questions(self) -> int:
        return self.marginal.cells

    def answers(self, counts: WeightsOrCounts) -> WeightsOrCounts:
        sums = counts.reshape(self.marginal.shape)
        for axis in range(sums.ndim):
            sums = sums.cumsum(axis=axis)
        return sums.ravel()

    def mask(self, question: int) -> NDArray[np.bool_]:
        shape = self.marginal.shape
        ends = np.unravel_index(question, shape)
        return _box([(0, int(end) + 1) for end in ends], shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranges(Family):
    """How many are between two values, for all pairs of values; on several attributes, all such boxes."""

    @property
    def questions(self) -> int:
        return prod(_pairs(size) for size in self.marginal.shape)

    def answers(self, counts: WeightsOrCounts) -> WeightsOrCounts:
        sums = counts.reshape(self.marginal.shape)
        for axis, size in enumerate(self.marginal.shape):
            starts, ends = np.triu_indices(size)
            before = np.concatenate([np.zeros_like(sums.take([0], axis)), sums.cumsum(axis=axis)], axis=axis)
            sums = before.take(ends + 1, axis) - before.take(starts, axis)
        return sums.ravel()

    def mask(self, question: int) -> NDArray[np.bool_]:
        shape = self.marginal.shape
        sides = []
        for size, pair in zip(shape, np.unravel_index(question, [_pairs(s) for s in shape]), strict=True):
            starts, ends = np.triu_indices(size)
            sides.append((int(starts[pair]), int(ends[pair]) + 1))
        return _box(sides, shape)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masks(Family):
    """Any sets of cells, one bit for each question and cell."""

    bits: NDArray[np.uint8]

    @classmethod
    def of(cls, marginal: Marginal, masks: NDArray[np.bool_]) -> "Masks":
        if masks.dtype != np.bool_ or masks.ndim != 2 or masks.shape[1] != marginal.cells:
            raise InvalidInput(
                "A question is a yes or no for each cell of its table.",
                remedy=f"Give an array of booleans with {marginal.cells:,} columns, and one row a question.",
            )
        return cls(marginal=marginal, bits=np.packbits(masks, axis=1))

    @property
    def questions(self) -> int:
        return len(self.bits)

    def answers(self, counts: WeightsOrCounts) -> WeightsOrCounts:
        some = max(1, _BLOCK // len(counts))
        parts = [self._unpacked(start, start + some) for start in range(0, len(self.bits), some)]
        return np.concatenate([part.astype(counts.dtype) @ counts for part in parts])

    def mask(self, question: int) -> NDArray[np.bool_]:
        return np.asarray(self._unpacked(question, question + 1)[0], dtype=np.bool_)

    def _unpacked(self, start: int, stop: int) -> NDArray[np.uint8]:
        return np.unpackbits(self.bits[start:stop], axis=1, count=self.marginal.cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Families of questions about the records of one domain."""

    domain: Domain
    families: tuple[Family, ...]

    def __post_init__(self) -> None:
        if not self.families or not self.questions:
            raise InvalidInput("A workload needs a question.", remedy="Name at least one.")
        if self.questions > MOST_QUESTIONS:
            raise InvalidInput(
                f"This workload has {self.questions:,} questions, more than {MOST_QUESTIONS:,}.",
                remedy="Take whole tables, fewer attributes at a time, or wider bins.",
            )

    @classmethod
    def marginals(cls, domain: Domain, order: int, *, each_cell: bool = False) -> "Workload":
        """All tables of `order` attributes, each one candidate; or each of their cells."""
        kind = EachCell if each_cell else CellQuestions
        return cls(domain=domain, families=tuple(kind(marginal=m) for m in _tables(domain, order)))

    @classmethod
    def prefixes(cls, domain: Domain, order: int = 1) -> "Workload":
        return cls(domain=domain, families=tuple(Prefixes(marginal=m) for m in _tables(domain, order)))

    @classmethod
    def ranges(cls, domain: Domain, order: int = 1) -> "Workload":
        return cls(domain=domain, families=tuple(Ranges(marginal=m) for m in _tables(domain, order)))

    @classmethod
    def masks(
        cls, domain: Domain, masks: NDArray[np.bool_], attributes: Iterable[int] | None = None
    ) -> "Workload":
        """Any questions, as sets of cells of the table of these attributes, or of all."""
        chosen = range(len(domain.sizes)) if attributes is None else list(attributes)
        if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(len(domain.sizes))):
            raise InvalidInput(
                "A question names an attribute that there is not.", remedy="Number them from 0."
            )
        return cls(domain=domain, families=(Masks.of(Marginal.full(domain, chosen), masks),))

    def __add__(self, other: "Workload") -> "Workload":
        if other.domain != self.domain:
            raise InvalidInput("Two workloads about different records.", remedy="Use one domain for both.")
        return Workload(domain=self.domain, families=self.families + other.families)

    @property
    def questions(self) -> int:
        return sum(family.questions for family in self.families)

    @property
    def candidates(self) -> int:
        return sum(family.candidates for family in self.families)

    def find(self, candidate: int) -> tuple[int, int]:
        """The family of a candidate, and which of its questions it is."""
        for place, family in enumerate(self.families):
            if candidate < family.candidates:
                return place, candidate
            candidate -= family.candidates
        raise InvalidInput("There are not so many candidates.", remedy="Number them from 0.")


def _tables(domain: Domain, order: int) -> list[Marginal]:
    return domain.marginals(whole(order, "attributes of a table", 1, len(domain.sizes)))


def _pairs(size: int) -> int:
    return size * (size + 1) // 2


def _box(sides: Sequence[tuple[int, int]], shape: Sequence[int]) -> NDArray[np.bool_]:
    inside = np.zeros(shape, dtype=np.bool_)
    inside[tuple(slice(*side) for side in sides)] = True
    return inside.ravel()
