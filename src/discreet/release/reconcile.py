"""Totals that agree with the sums of their parts: the noisy sums of several grouping sets, by least squares.

The sets of a question count the same rows, so that exact sums add up: those of (ward, age) over all ages are
those of (ward). That is so where a person has the same weight in each set: in ℓ₁, or with one row each.

Noisy sums do not add up, and their differences tell of the noise. All have noise of one law. So what fits
them best is their projection onto tables that add up. A table is a sum of parts, one for each subset of its
keys: what the subset tells beyond smaller ones. These parts are orthogonal. Several tables have estimates of
one, with known variances, and the weighted mean of these is best (Xiao et al., ResidualPlanner, arXiv
2305.08175). All of it is post-processing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.vectors import Part, WeightedSum
from discreet.aggregates.weights import Norm, Unit
from discreet.arrays import Floats
from discreet.bounds.calibrate import Plan
from discreet.model.query import Query
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.mixed_noise import MixedNoise
from discreet.release.estimate import MixedErrors, Noisy, added_noise

_MOST_SUBSETS = 256
_MOST_STEPS = 50_000_000
"""Groups, times sets, times subsets of keys: about a second."""
_LEAST_SCALE = 4.0
"""In steps of the noise. Below, the noise is small, and its law on whole numbers is not that of a sum."""

RECONCILED = (
    "Totals and their parts are reconciled by least squares: the noisy numbers add up, but for rounding."
)


def reconciled(plan: Plan, noisy: Noisy) -> Noisy:
    """The noisy sums, with tables that add up where exact ones do, and with their smaller errors."""
    parts = [i for i in noisy.sums if _adds_up(plan, i)]
    tables = _AddingTables.of(plan.bounded.query) if parts else None
    if tables is None:
        return noisy
    sums = {i: tables.projected(noisy.sums[i]) for i in parts}
    errors = MixedErrors(laws=tables.mixed(), law_of=tables.table_of_group())
    return replace(noisy, sums={**noisy.sums, **sums}, mixed=dict.fromkeys(parts, errors))


def _adds_up(plan: Plan, part: int) -> bool:
    """Whether its exact sums add up over the groups of finer sets, and its noise is large enough."""
    noise = added_noise(plan.mechanisms[part])
    scale = float(noise.scale) if isinstance(noise, DiscreteLaplace) else noise.sigma
    return scale >= _LEAST_SCALE and _has_same_weights(plan.bounded.parts[part], plan.bounded.query)


def _has_same_weights(part: Part, query: Query) -> bool:
    if not isinstance(part, WeightedSum):
        return False
    if query.source.one_row_a_person:
        return True
    return part.unit is Unit.ROWS and (part.weight is None or part.weight.norm is Norm.L1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AddingTables:
    """The tables of a question with several grouping sets, one after the other."""

    sets: tuple[tuple[int, ...], ...]
    """The keys of each."""
    sizes: dict[int, int]
    """How many values each key has."""
    shared: dict[tuple[int, ...], tuple[int, ...]]
    """Subsets of keys that several tables have, and these tables."""

    @classmethod
    def of(cls, query: Query) -> "_AddingTables | None":
        """None where there is one table only, keys are private or picked, or it would take too long."""
        if len(query.sets) < 2 or query.private_keys or query.picks is not None:
            return None
        sizes = {i: len(key.values or ()) for i, key in enumerate(query.keys)}
        common = {tuple(sorted({*one} & {*other})) for one, other in combinations(query.sets, 2)}
        if sum(2 ** len(each) for each in common) > _MOST_SUBSETS * 16:
            return None
        subsets = dict.fromkeys(chain.from_iterable(map(_subsets, sorted(common))))
        shared = {
            subset: tuple(i for i, chosen in enumerate(query.sets) if {*subset} <= {*chosen})
            for subset in subsets
        }
        steps = sum(prod(sizes[i] for i in chosen) for chosen in query.sets) * len(query.sets) * len(shared)
        if len(shared) > _MOST_SUBSETS or steps > _MOST_STEPS or not all(sizes.values()):
            return None
        return cls(sets=query.sets, sizes=sizes, shared=shared)

    def projected(self, sums: Floats) -> Floats:
        """The nearest tables that add up."""
        drawn = [sums[slice(*ends)].reshape(self._shape(i)) for i, ends in enumerate(self._ends())]
        found = [table.copy() for table in drawn]
        for subset, places in self.shared.items():
            cells = {i: prod(self.sizes[key] for key in self.sets[i] if key not in subset) for i in places}
            parts = {i: self._beyond(drawn[i], i, subset) for i in places}
            best = sum(parts[i] / cells[i] for i in places) / sum(1 / cells[i] for i in places)
            for i in places:
                found[i] += self._spread(best - parts[i], i, subset) / cells[i]
        return np.concatenate([table.ravel() for table in found])

    def mixed(self) -> tuple[MixedNoise, ...]:
        """The noise of each group of each table, once projected. That of all groups of a table is alike."""
        mixed = []
        for start, _ in self._ends():
            unit = np.zeros(self._ends()[-1][1])
            unit[start] = 1.0
            mixed.append(MixedNoise.of(self.projected(unit)))  # a projection is symmetric
        return tuple(mixed)

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


def _subsets(keys: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))
