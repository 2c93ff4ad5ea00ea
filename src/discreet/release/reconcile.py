"""Totals that agree with the sums of their parts: the noisy sums of several tables, by least squares.

The grouping sets of a question count the same rows, so that exact sums add up: those of (ward, age) over all
ages are those of (ward). That is so where a person has the same weight in each set: in ℓ₁, or with one row
each. It is also so of several questions of a report, if they sum the same of the same rows, and all rows are
in a group of each (`notes.key_rows`).

Noisy sums do not add up, and their differences tell of the noise. What fits them best is the nearest of all
tables that add up, where a table counts by 1/σ² of its noise. A table is a sum of parts, one for each subset
of its keys: what the subset tells beyond smaller ones. These parts are orthogonal. Several tables have
estimates of one, with known variances, and the weighted mean of these is best (Xiao et al., ResidualPlanner,
arXiv 2305.08175). All of it is post-processing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, pairwise
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Norm, Unit
from discreet.arrays import Floats
from discreet.bounds.bound import Bounded
from discreet.bounds.calibrate import Plan
from discreet.bounds.facts import told_of_keys, told_of_part
from discreet.model.query import Query
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.release.estimate import MixedErrors, Noisy, added_noise
from discreet.release.notes.key_rows import has_complete_keys

_MOST_SUBSETS = 256
_MOST_STEPS = 50_000_000
"""Groups, times sets, times subsets of keys, of all that is reconciled together: about a second."""
_LEAST_SCALE = 4.0
"""In steps of the noise. Below, the noise is small, and its law on whole numbers is not that of a sum."""

RECONCILED = (
    "Totals and their parts are reconciled by least squares: the noisy numbers add up, but for rounding."
)
REPORT_RECONCILED = (
    "Totals and their parts, also in other questions of the report, are reconciled by least squares: the"
    " noisy numbers add up, but for rounding."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Noisy sums of one plan that add up where exact ones do, and their smaller errors, by part."""

    sums: dict[int, Floats] = field(default_factory=dict)
    errors: dict[int, MixedErrors] = field(default_factory=dict)

    def put_into(self, noisy: Noisy) -> Noisy:
        return replace(noisy, sums={**noisy.sums, **self.sums}, mixed=self.errors)


def reconcile(plans: Sequence[Plan], sums: Sequence[Mapping[int, Floats]]) -> list[Reconciled]:
    """The noisy sums of each plan, by part, reconciled within a plan and with those of the others.

    What would take too long together stays as it was drawn, or is reconciled within its own plan only.
    """
    found = [Reconciled() for _ in plans]
    known = _KnownTables(plans)
    for members in _families(plans, sums):
        together = known.of(members)
        some = [(members, together)] if together else [([each], known.of([each])) for each in members]
        for chosen, tables in some:
            if tables is not None:
                _reconcile_members(tables, chosen, sums, found)
    return found


_Member: TypeAlias = tuple[int, int]
"""A plan, and one of its parts."""


def _families(plans: Sequence[Plan], sums: Sequence[Mapping[int, Floats]]) -> Iterable[list[_Member]]:
    """The parts that sum the same of the same rows, with noise of the same kind."""
    found: dict[tuple[object, ...], list[_Member]] = {}
    for place, (plan, parts) in enumerate(zip(plans, sums, strict=True)):
        together = len(plans) > 1 and has_complete_keys(plan.bounded.query)
        for part in parts if _has_tables(plan.bounded.query) else ():
            if _adds_up(plan, part):
                own = told_of_part(plan.bounded, part) if together else (place, part)
                found.setdefault((own, type(plan.mechanisms[part])), []).append((place, part))
    return found.values()


def _has_tables(query: Query) -> bool:
    return not query.private_keys and query.picks is None and all(key.values for key in query.keys)


class _KnownTables:
    """The tables of parts that add up, worked out once for all parts with the same tables."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans
        self._room = _MOST_STEPS
        self._known: dict[tuple[object, ...], _AddingTables | None] = {}

    def of(self, members: Sequence[_Member]) -> "_AddingTables | None":
        """None where there is one table only, or it would take too long."""
        scales = [self._scale(*each) for each in members]
        places = tuple(place for place, _ in members)
        key = places, tuple(round(scale / scales[0], 9) for scale in scales)
        if key not in self._known:
            found = _AddingTables.of([self._plans[place].bounded for place in places], scales)
            if found is not None and found.steps > self._room:
                found = None
            self._known[key] = found
            self._room -= found.steps if found else 0
        return self._known[key]

    def _scale(self, place: int, part: int) -> float:
        """How large the noise of a part is, in the units of the question."""
        plan = self._plans[place]
        return _size(plan, part) * float(plan.bounded.parts[part].scale)


def _reconcile_members(
    tables: "_AddingTables",
    members: Sequence[_Member],
    sums: Sequence[Mapping[int, Floats]],
    found: Sequence[Reconciled],
) -> None:
    drawn = [sums[place][part] for place, part in members]
    ends = np.cumsum([len(each) for each in drawn])[:-1]
    best = np.split(tables.projected(np.concatenate(drawn)), ends)
    for (place, part), own, table in zip(members, best, np.split(tables.table_of_group(), ends), strict=True):
        mine = slice(int(table[0]), int(table[-1]) + 1)
        found[place].sums[part] = own
        found[place].errors[part] = MixedErrors(laws=tables.mixed()[mine], law_of=table - table[0])


def _adds_up(plan: Plan, part: int) -> bool:
    """Whether its exact sums add up over the groups of finer sets, and its noise is large enough."""
    enough = _size(plan, part) >= _LEAST_SCALE
    return enough and _has_same_weights(plan.bounded.parts[part], plan.bounded.query)


def _size(plan: Plan, part: int) -> float:
    noise = added_noise(plan.mechanisms[part])
    return float(noise.scale) if isinstance(noise, DiscreteLaplace) else noise.sigma


def _has_same_weights(part: Part, query: Query) -> bool:
    if not isinstance(part, WeightedSum):
        return False
    if query.source.one_row_a_person:
        return True
    return part.unit is Unit.ROWS and (part.weight is None or part.weight.norm is Norm.L1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AddingTables:
    """Tables that count the same rows by different keys, one after the other."""

    sets: tuple[tuple[int, ...], ...]
    """The keys of each."""
    sizes: dict[int, int]
    """How many values each key has."""
    shared: dict[tuple[int, ...], tuple[int, ...]]
    """Subsets of keys that several tables have, and these tables."""
    scales: tuple[float, ...]
    """How large the noise of each table is, beside that of the first."""
    _laws: list[MixedNoise] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, several: Sequence[Bounded], scales: Sequence[float]) -> "_AddingTables | None":
        """The tables of questions that sum the same. None if there is one only, or it would take too long."""
        known: dict[str, int] = {}
        sizes: dict[int, int] = {}
        sets: list[tuple[int, ...]] = []
        for each in several:
            places = [known.setdefault(told, len(known)) for told in told_of_keys(each)]
            sizes |= {
                place: len(key.values or ()) for place, key in zip(places, each.query.keys, strict=True)
            }
            sets += [tuple(places[i] for i in chosen) for chosen in each.query.sets]
        shared = _shared_subsets(sets, sizes) if len(sets) > 1 else None
        if shared is None:
            return None
        relative = [
            scale / scales[0] for each, scale in zip(several, scales, strict=True) for _ in each.query.sets
        ]
        return cls(sets=tuple(sets), sizes=sizes, shared=shared, scales=tuple(relative))

    def projected(self, sums: Floats) -> Floats:
        """The nearest tables that add up."""
        drawn = [sums[slice(*ends)].reshape(self._shape(i)) for i, ends in enumerate(self._ends())]
        found = [table.copy() for table in drawn]
        for subset, places in self.shared.items():
            cells = {i: prod(self.sizes[key] for key in self.sets[i] if key not in subset) for i in places}
            parts = {i: self._beyond(drawn[i], i, subset) for i in places}
            weights = {i: 1 / (cells[i] * self.scales[i] ** 2) for i in places}
            best = sum(parts[i] * weights[i] for i in places) / sum(weights.values())
            for i in places:
                found[i] += self._spread(best - parts[i], i, subset) / cells[i]
        return np.concatenate([table.ravel() for table in found])

    def mixed(self) -> tuple[MixedNoise, ...]:
        """The noise of each group of each table, once projected. That of all groups of a table is alike.

        With weights 1/σ² the projection P has Pᵢⱼ/σᵢ² = Pⱼᵢ/σⱼ². So the noise of group i, relative to what it
        had, has the weights Pᵢⱼ·σⱼ/σᵢ = Pⱼᵢ·σᵢ/σⱼ.
        """
        scales = np.array(self.scales)[self.table_of_group()]
        for start, _ in () if self._laws else self._ends():
            unit = np.zeros(len(scales))
            unit[start] = 1.0
            self._laws.append(MixedNoise.of(self.projected(unit) * scales[start] / scales))
        return tuple(self._laws)

    @property
    def steps(self) -> int:
        """About what it takes to work out the noise of all tables."""
        return _steps(self.sets, self.sizes, len(self.shared))

    def table_of_group(self) -> NDArray[np.intp]:
        """Which table each group is in."""
        return np.repeat(np.arange(len(self.sets)), [end - start for start, end in self._ends()])

    def _ends(self) -> list[tuple[int, int]]:
        return [*pairwise(np.cumsum([0, *(prod(self._shape(i)) for i in range(len(self.sets)))]).tolist())]

    def _shape(self, table: int) -> tuple[int, ...]:
        return tuple(self.sizes[key] for key in self.sets[table])

    def _beyond(self, table: Floats, place: int, subset: tuple[int, ...]) -> Floats:
        """What a table says of a subset of its keys, beyond smaller subsets: in the order of the subset."""
        chosen = self.sets[place]
        summed: Floats = table.sum(axis=tuple(axis for axis, key in enumerate(chosen) if key not in subset))
        kept = [key for key in chosen if key in subset]
        summed = np.transpose(summed, [kept.index(key) for key in subset])
        for axis in range(len(subset)):
            summed = summed - summed.mean(axis=axis, keepdims=True)
        return summed

    def _spread(self, part: Floats, place: int, subset: tuple[int, ...]) -> Floats:
        """The same for all groups of the table that have these keys."""
        chosen = self.sets[place]
        kept = [key for key in chosen if key in subset]
        ordered: Floats = np.transpose(part, [subset.index(key) for key in kept])
        return ordered.reshape([self.sizes[key] if key in subset else 1 for key in chosen])


def _shared_subsets(
    sets: Sequence[tuple[int, ...]], sizes: Mapping[int, int]
) -> dict[tuple[int, ...], tuple[int, ...]] | None:
    """Subsets of keys that several tables have, and these tables. None if they are too many."""
    common = {tuple(sorted({*one} & {*other})) for one, other in combinations(sets, 2)}
    if sum(2 ** len(each) for each in common) > _MOST_SUBSETS * 16:
        return None
    subsets = dict.fromkeys(chain.from_iterable(map(_subsets, sorted(common))))
    if len(subsets) > _MOST_SUBSETS or _steps(sets, sizes, len(subsets)) > _MOST_STEPS:
        return None
    return {subset: tuple(i for i, chosen in enumerate(sets) if {*subset} <= {*chosen}) for subset in subsets}


def _steps(sets: Sequence[tuple[int, ...]], sizes: Mapping[int, int], subsets: int) -> int:
    return sum(prod(sizes[i] for i in chosen) for chosen in sets) * len(sets) * subsets


def _subsets(keys: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))
