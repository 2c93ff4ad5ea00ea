"""How good a synthetic table is, told from its own measurements: it reads no data, and costs nothing.

A table of counts is compared by total variation: the share of people who would have to be elsewhere to make
two tables the same. What was measured has noise, which alone makes a distance of

    ½·cells·σ·√(2/π) / people        on average, for normal noise of standard deviation σ,

the noise floor. A synthetic table at about its floor is as good as anybody could tell from the measurement.
It was fitted to the measurements, so it can be below; far above, it could not follow them.

How far the truth is can be rehearsed: a second synthetic table, made from the first in the way in which that
was made from the data, with as much noise, is about as far from the first as the first is from the data. It
reads no data either (the parametric bootstrap; Efron, Tibshirani 1993). The second cannot miss what the
first does not have at all, such as relations that were not measured, so the estimate may be low.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import pi, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import InvalidInput
from discreet.synth.core.domain import Marginal
from discreet.synth.core.measurement import ExactMarginals, Measurement
from discreet.synth.core.records import Records, added, shares
from discreet.synth.core.synthesis import Synthetic
from discreet.synth.core.weight_array import Halves
from discreet.synth.report.limits import limits
from discreet.synth.report.relations import ColumnRelation, best_table, relation

Reference: TypeAlias = Mapping[Marginal, tuple[NDArray[np.float64], float]]
"""Counts of marginals, in people, and the variance of each count: what is compared with instead."""

FOLLOWED = 1.5
"""A distance of up to so many noise floors is as good as can be told."""
_CHANCE = 4.0  # standard deviations of the noise floor that are left to chance


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuality:
    """One table of counts: how far the synthetic one is from the one that was measured."""

    columns: tuple[str, ...]
    cells: int
    question: bool
    """Whether this is a single counting question about the columns."""
    distance: float
    floor: float
    spread: float
    """The standard deviation of what noise alone makes."""
    expected: float | None
    """How far the synthetic table is from the truth, as rehearsed."""

    @property
    def ratio(self) -> float:
        return self.distance / self.floor

    @property
    def beyond(self) -> float:
        """The distance that noise does not explain."""
        return max(0.0, self.distance - self.floor)

    @property
    def followed(self) -> bool:
        return self.ratio <= FOLLOWED or self.beyond <= _CHANCE * self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnQuality:
    """The share of people at each value, or bin of values, of one column.

    `error` is the standard deviation of the noise of a measured one.
    """

    name: str
    values: tuple[str, ...]
    synthetic: tuple[float, ...]
    measured: tuple[float, ...]
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What a synthetic table preserves, and what not."""

    people: int
    independent: bool
    """Whether it was compared with counts that it was not fitted to."""
    tables: tuple[TableQuality, ...]
    columns: tuple[ColumnQuality, ...]
    relations: tuple[ColumnRelation, ...]
    not_preserved: tuple[str, ...]

    @property
    def worst(self) -> list[TableQuality]:
        """Tables that are not followed first, then by how far they are off beyond their noise."""
        return sorted(self.tables, key=lambda each: (each.followed, -each.beyond, -each.distance))

    def of_order(self, order: int) -> list[TableQuality]:
        return [each for each in self.tables if len(each.columns) == order]

    def to_html(self, title: str = "") -> str:
        """A page of its own. The title says what the table is of."""
        from discreet.synth.report.html import html_page

        return html_page(self, title)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = asdict(self)
        for table, quality in zip(told["tables"], self.tables, strict=True):
            table |= {"ratio": quality.ratio, "beyond": quality.beyond, "followed": quality.followed}
        orders = sorted({len(each.columns) for each in self.tables})
        told["summary"] = [_summary(order, self.of_order(order)) for order in orders]
        return told


def _summary(order: int, tables: Sequence[TableQuality]) -> dict[str, Any]:
    expected = [each.expected for each in tables if each.expected is not None]
    return {
        "columns": order,
        "tables": len(tables),
        "followed": sum(each.followed for each in tables),
        "mean_distance": sum(each.distance for each in tables) / len(tables),
        "mean_floor": sum(each.floor for each in tables) / len(tables),
        "mean_expected": sum(expected) / len(expected) if expected else None,
    }


def quality(
    synthetic: Synthetic,
    names: Sequence[str] | None = None,
    *,
    labels: Sequence[Sequence[str]] | None = None,
    reference: Reference | None = None,
    rehearsal: Synthetic | None = None,
) -> Quality:
    """Compares with its own measurements, or with a reference.

    `labels` has the values of each column. `rehearsal` was made from `counts_of(synthetic)`.
    """
    sizes = synthetic.domain.sizes
    names = [f"column {i + 1}" for i in range(len(sizes))] if names is None else names
    labels = [[str(value) for value in range(size)] for size in sizes] if labels is None else labels
    if len(names) != len(sizes) or [len(each) for each in labels] != list(sizes):
        raise InvalidInput(
            "Names and labels are not those of this table.",
            remedy="Give one name for each column, and one label for each of its values.",
        )
    pool: Sequence[Measurement] = synthetic.measurements
    if reference is not None:
        pool = [
            Measurement(
                marginal=marginal, counts=np.asarray(counts, dtype=np.float64).ravel(), variance=noise
            )
            for marginal, (counts, noise) in reference.items()
        ]
    columns = [_column(synthetic, pool, i, names[i], labels[i]) for i in range(len(sizes))]
    pairs = combinations(range(len(sizes)), 2)
    relations = [relation(synthetic, pool, pair, (names[pair[0]], names[pair[1]])) for pair in pairs]
    return Quality(
        people=round(synthetic.people),
        independent=reference is not None,
        tables=tuple(_table(synthetic, rehearsal, each, names) for each in pool),
        columns=tuple(each for each in columns if each is not None),
        relations=tuple(relations),
        not_preserved=tuple(limits(synthetic, names)),
    )


def counts_of(synthetic: Synthetic, unit: int = 1) -> ExactMarginals:
    """The counts of a synthetic table in the place of the data's, for a rehearsal.

    The rehearsal has noise of its own, and so may drop values that the table kept.
    """

    def exact(marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        people = synthetic.people * unit
        held = (_shares_of_any(synthetic.records, each) for each in marginals)
        return [np.rint(each * people).astype(np.int64) for each in held]

    return exact


def _table(
    synthetic: Synthetic, rehearsal: Synthetic | None, measurement: Measurement, names: Sequence[str]
) -> TableQuality:
    marginal, people = measurement.marginal, synthetic.people
    fitted = shares(synthetic.records, marginal)
    noise = sqrt(measurement.variance) / people
    return TableQuality(
        columns=tuple(names[i] for i in marginal.attributes),
        cells=marginal.cells,
        question=isinstance(marginal, Halves),
        distance=_distance(fitted, measurement.counts / people),
        floor=marginal.cells * sqrt(2 / pi) * noise / 2,
        spread=sqrt(marginal.cells * (1 - 2 / pi)) * noise / 2,
        expected=None
        if rehearsal is None
        else _distance(fitted, _shares_of_any(rehearsal.records, marginal)),
    )


def _shares_of_any(records: Records, marginal: Marginal) -> Floats:
    """The weight in each cell, by records that may have values which the marginal's table dropped."""
    if isinstance(marginal, Halves):
        return marginal.joined(_shares_of_any(records, marginal.table))
    chosen = zip(marginal.attributes, marginal.codes, strict=True)
    known = np.logical_and.reduce([records.columns[i] < len(code) for i, code in chosen])
    if known.all():
        return shares(records, marginal)
    places = marginal.places([column[known] for column in records.columns])
    return added(records.weights[known], places, marginal.cells)


def _distance(first: Floats, second: Floats) -> float:
    return float(np.abs(first - second).sum()) / 2


def _column(
    synthetic: Synthetic, pool: Sequence[Measurement], attribute: int, name: str, labels: Sequence[str]
) -> ColumnQuality | None:
    best = best_table(pool, (attribute,))
    if best is None:
        return None
    (codes,) = best.marginal.codes
    held = [[labels[int(i)] for i in np.flatnonzero(codes == bin_)] for bin_ in range(len(best.counts))]
    return ColumnQuality(
        name=name,
        values=tuple(joined(each) for each in held),
        synthetic=tuple(shares(synthetic.records, best.marginal).tolist()),
        measured=tuple((best.counts / synthetic.people).tolist()),
        error=sqrt(best.variance) / synthetic.people,
    )


def joined(labels: Sequence[str]) -> str:
    """Neighbouring values as one: the first and the last."""
    return labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
