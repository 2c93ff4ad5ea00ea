"""Which vectors of a question are measured together, as families that one row enters once.

Apart, each vector has a part of the price. Together, they are computed from the cells of a family
(`aggregates.joint`), each with noise for all of it: a sum of n cells has n times the variance of one. Which
is better is known before any data is read. With Laplace noise, vectors that matter by aᵢ have the errors
(Σ ∛aᵢ)³ apart, at their best split (`split_price`). A family counts as one vector that matters by Σ aᵢ·vᵢ,
where vᵢ is the variance of vector i computed from the family, relative to its own at the same price. With
Gaussian noise these are square roots, and squares.

Several ways to put vectors together are tried, and the best is taken if it is clearly better than all apart.
That is a choice of a strategy for a workload (McKenna et al., HDMM, arXiv 1808.03537) among few.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf
from typing import TypeAlias

from discreet.aggregates.grid import grid_of
from discreet.aggregates.joint import MOST_CONDITIONS, Basis, JointSum, RowCell, VectorFamily, members
from discreet.aggregates.vectors import WeightedSum
from discreet.bounds.together.exclusive import patterns_of
from discreet.bounds.together.wanted import WantedSum
from discreet.errors import QueryRefused
from discreet.functions.registry import range_of
from discreet.model.expression import Expression
from discreet.model.identity import RelationFacts
from discreet.model.neighbours import Neighbours
from discreet.model.query import Relation

_CLEARLY = 0.95
"""Variances that are less than 5 % smaller are not worth another way of measuring."""
_MOST_VECTORS = 8
"""A family has so many, or twice as many as are computed from it."""
_MOST_TRIED = 12
"""So many vectors are put together one by one, if all of them at once are not better than apart."""
_EXAMPLE = VectorFamily(
    conditions=(),
    value=None,
    offset=Fraction(0),
    grid=Fraction(1),
    steps=2,
    cells=(RowCell(pattern=0, basis=Basis.COUNT), RowCell(pattern=1, basis=Basis.VALUE, start=1)),
)
"""Of which the noise of all others follows: of what has one sign, and of what has both."""

Text: TypeAlias = Callable[[Expression], str]
Block: TypeAlias = Sequence[WantedSum]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTogether:
    """A family, and how vectors are computed from it."""

    vectors: tuple[JointSum, ...]
    terms: dict[int, tuple[tuple[int, Fraction], ...]]
    """By the place of a wanted vector: places among the vectors of the family, and their weights."""


def measured_together(
    sums: Block, source: Relation, neighbours: Neighbours, *, gaussian: bool
) -> list[MeasuredTogether]:
    """The best families for these vectors; none if they are better apart.

    All of them are weighed alike. The result does not depend on the order in which they come.
    """
    if len(sums) < 2:
        return []
    facts = RelationFacts(source)
    texts: dict[Expression, str] = {}

    def text(expression: Expression) -> str:
        if expression not in texts:
            texts[expression] = json.dumps(facts.expression(expression), sort_keys=True)
        return texts[expression]

    ordered = sorted(sums, key=lambda each: _order(each, text))
    chooser = _Chooser(ordered, text, neighbours, gaussian=gaussian)
    apart = chooser.error([])
    best: list[Block] = []
    for partition in _partitions(ordered):
        found = [family for block in partition for family in chooser.families(block)]
        if chooser.error(found) < chooser.error(best) * (1 - 1e-9):
            best = found
    return [chooser.built(block) for block in best] if chooser.error(best) <= _CLEARLY * apart else []


def _order(each: WantedSum, text: Text) -> tuple[list[str], str, int, str]:
    value = "" if each.value is None else text(each.value)
    return sorted(map(text, each.conditions)), value, each.power, f"{each.start} {each.factor}"


def _partitions(sums: Block) -> Iterator[list[list[WantedSum]]]:
    """Ways to put vectors together: at most one value is summed in each block."""
    counts = [each for each in sums if each.value is None]
    by_value: dict[Expression, list[WantedSum]] = {}
    for each in sums:
        if each.value is not None:
            by_value.setdefault(each.value, []).append(each)
    summed = list(by_value.values())
    yield [counts, *summed]
    own = [[*block, *_counted_with(block, counts)] for block in summed]
    taken = {each.place for block in own for each in block}
    rest = [each for each in counts if each.place not in taken]
    if summed:
        yield [rest, *own]
        yield [[*own[0], *rest], *own[1:]]
        yield [rest, *(part for block in own for part in _by_conditions(block))]


def _counted_with(block: Iterable[WantedSum], counts: Iterable[WantedSum]) -> list[WantedSum]:
    rows = {each.conditions for each in block}
    return [each for each in counts if each.conditions in rows]


def _by_conditions(block: Iterable[WantedSum]) -> list[list[WantedSum]]:
    found: dict[frozenset[Expression], list[WantedSum]] = {}
    for each in block:
        found.setdefault(each.conditions, []).append(each)
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """What a block would be as a family."""

    family: VectorFamily
    cells: dict[int, list[RowCell]]
    """By the place of a wanted vector: those that it is added up from."""
    matters: float
    """Σ aᵢ·vᵢ."""


class _Chooser:
    """Looks at blocks of vectors, and at what each would be as a family."""

    def __init__(self, sums: Block, text: Text, neighbours: Neighbours, *, gaussian: bool) -> None:
        self._sums = sums
        self._text = text
        self._neighbours = neighbours
        self._power = 2 if gaussian else 3
        self._own = {each.place: noise_of(each.part, neighbours, gaussian=gaussian) for each in sums}
        """The variance of each vector apart, at the whole price, relative to what one row adds at most."""
        self._noise, self._noise_of_signed = (
            noise_of(each, neighbours, gaussian=gaussian) for each in members(_EXAMPLE, sums[0].part)
        )
        self._candidates: dict[frozenset[int], _Candidate | None] = {}

    def error(self, families: Sequence[Block]) -> float:
        """Of all vectors, at the best split."""
        together = {each.place for block in families for each in block}
        roots = [self._root(each.matters) for each in self._sums if each.place not in together]
        roots += [self._root_of(block) for block in families]
        return float(sum(roots) ** self._power)

    def families(self, block: Block) -> list[Block]:
        """All of a block at once, if that is better than apart; else what one by one is better together."""
        if self._gain([[each] for each in block], block) > 0:
            return [block]
        groups: list[Block] = []
        for each in block if len(block) <= _MOST_TRIED else ():
            gains = [self._gain([group, [each]], [*group, each]) for group in groups]
            place = max(range(len(gains)), key=gains.__getitem__, default=-1)
            if place >= 0 and gains[place] > 0:
                groups[place] = [*groups[place], each]
            else:
                groups.append([each])
        return [group for group in groups if len(group) > 1]

    def built(self, block: Block) -> MeasuredTogether:
        """The family of a block, without the vectors that nothing is computed from."""
        found = self._candidate(block)
        if found is None:
            raise TypeError("A block that is better together is expected here.")
        vectors = members(found.family, block[0].part)
        first = {each.cell.pattern: i for i, each in reversed(list(enumerate(vectors)))}
        terms = {
            each.place: [
                (first[cell.pattern] + place, weight * each.factor)
                for cell in found.cells[each.place]
                for place, weight in enumerate(found.family.weights(cell, each.power, each.start))
                if weight
            ]
            for each in block
        }
        used = sorted({i for each in terms.values() for i, _ in each})
        places = {i: place for place, i in enumerate(used)}
        return MeasuredTogether(
            vectors=tuple(vectors[i] for i in used),
            terms={place: tuple((places[i], weight) for i, weight in each) for place, each in terms.items()},
        )

    def _gain(self, before: Sequence[Block], after: Block) -> float:
        """How much less the roots are afterwards: 0 if it is next to nothing."""
        gain = sum(map(self._root_of, before)) - self._root_of(after)
        return gain if gain > 1e-9 else 0.0

    def _root_of(self, block: Block) -> float:
        if len(block) == 1:
            return self._root(block[0].matters)
        found = self._candidate(block)
        return inf if found is None else self._root(found.matters)

    def _root(self, matters: float) -> float:
        return float(matters ** (1 / self._power))

    def _candidate(self, block: Block) -> _Candidate | None:
        """None if it would have too many cells, or numbers that are too large."""
        places = frozenset(each.place for each in block)
        if places not in self._candidates:
            self._candidates[places] = self._new_candidate(block) if len(block) > 1 else None
        return self._candidates[places]

    def _new_candidate(self, block: Block) -> _Candidate | None:
        family = self._family(block)
        if family is None or not self._fits(family, block):
            return None
        bits = {condition: 1 << i for i, condition in enumerate(family.conditions)}
        cells: dict[int, list[RowCell]] = {}
        matters = 0.0
        for each in block:
            mask = sum(bits[condition] for condition in each.conditions)
            own = cells[each.place] = [cell for cell in family.cells if cell.pattern & mask == mask]
            if not own:  # its conditions exclude each other
                return None
            alike = Counter((cell.basis, cell.start) for cell in own)
            variance = sum(
                times * self._variance(each, family, next(c for c in own if (c.basis, c.start) == kind))
                for kind, times in alike.items()
            )
            matters += each.matters * variance / self._own[each.place]
        return _Candidate(family=family, cells=cells, matters=matters)

    def _variance(self, each: WantedSum, family: VectorFamily, cell: RowCell) -> float:
        """Of what a vector has from one cell, at the whole price, relative to what one row adds at most."""
        signed = cell.basis is Basis.VALUE and 0 < cell.start < family.steps
        weights = family.weights(cell, each.power, each.start)
        squares = sum(float(weight * each.factor / each.part.bound) ** 2 for weight in weights)
        return squares * (self._noise_of_signed if signed else self._noise)

    def _fits(self, family: VectorFamily, block: Block) -> bool:
        """Whether its vectors are few enough, and the largest of their numbers can be computed."""
        if sum(cell.basis.functions for cell in family.cells) > max(_MOST_VECTORS, 2 * len(block)):
            return False
        largest = max(family.cells, key=family.bound)
        try:
            for each in members(replace(family, cells=(largest,)), block[0].part):
                each.sensitivity(self._neighbours)
        except QueryRefused:
            return False
        return True

    def _family(self, block: Block) -> VectorFamily | None:
        found = {condition for each in block for condition in each.conditions}
        conditions = tuple(sorted(found, key=self._text))
        if len(conditions) > MOST_CONDITIONS:
            return None
        patterns = patterns_of(conditions, 2 * max(_MOST_VECTORS, 2 * len(block)))
        value = next((each.value for each in block if each.value is not None), None)
        span = None if value is None else range_of(value)
        if patterns is None or (value is not None and span is None):
            return None
        offset, grid, steps = Fraction(0), Fraction(1), 1
        if value is not None and span is not None:
            grid = grid_of(value, span)
            low, high = (floor(end / grid + Fraction(1, 2)) for end in (span.low, span.high))
            offset, steps = low * grid, max(high - low, 1)
        bits = {condition: 1 << i for i, condition in enumerate(conditions)}
        masks = [(sum(bits[each] for each in wanted.conditions), wanted) for wanted in block]
        cells = []
        for pattern in sorted(patterns):
            inside = [wanted for mask, wanted in masks if pattern & mask == mask]
            if inside:
                cells.append(_cell(pattern, inside, offset, grid))
        return VectorFamily(
            conditions=conditions, value=value, offset=offset, grid=grid, steps=steps, cells=tuple(cells)
        )


def noise_of(part: WeightedSum, neighbours: Neighbours, *, gaussian: bool) -> float:
    """The variance of a vector's noise at a fixed price, relative to what one row adds at most."""
    sensitivity = part.sensitivity(neighbours)
    squared = sensitivity.l2_squared if gaussian else sensitivity.l1**2
    return squared / (part.largest * part.weighing.whole) ** 2


def _cell(pattern: int, inside: Block, offset: Fraction, grid: Fraction) -> RowCell:
    """The fewest functions from which all that is wanted of a cell can be computed."""
    powers = {wanted.power for wanted in inside}
    if powers == {0}:
        return RowCell(pattern=pattern, basis=Basis.COUNT)
    if 2 in powers:
        return RowCell(pattern=pattern, basis=Basis.PARABOLA)
    start, *others = {(wanted.start - offset) / grid for wanted in inside}
    if others or 0 in powers or start.denominator != 1:
        return RowCell(pattern=pattern, basis=Basis.LINE)
    return RowCell(pattern=pattern, basis=Basis.VALUE, start=int(start))
