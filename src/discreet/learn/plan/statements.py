"""What a fit asks the database for, and what the whole numbers that come back mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.weights import Norm, Unit, Weight
from discreet.arrays import Floats, Integers, Labels
from discreet.bounds.relation_tree import joins_people
from discreet.bounds.work_limits import check_steps
from discreet.dialects.dialect import Dialect
from discreet.learn.core.encoding import ONE, RowOwners, person_weights
from discreet.learn.core.moments import LENGTHS, WEIGHT_ONE
from discreet.learn.least_squares.sufficient_statistics import ProductSums, place_ends
from discreet.learn.plan.columns import ChoiceColumn, FeatureColumn, NumberColumn
from discreet.model.query import Relation
from discreet.release.exact_vectors import Results, integers_of, small_integers_of
from discreet.sql.plain_rows import (
    PERSON,
    PLACE,
    Code,
    Coordinate,
    ProductQuery,
    emit_products,
    emit_rows,
)
from discreet.sql.statement import Statement

LabelledRows: TypeAlias = tuple[Floats, Labels, RowOwners]
"""Features, targets and whose the rows are."""
FINE = 2**20
"""Steps of a number from the middle of its bounds to their ends, where rows are fetched."""
MOST_SUMS = 1_500
"""The most sums of products in one statement: PostgreSQL returns at most 1,664 columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Rows one by one, as they are needed for descent; they stay with the curator."""

    source: Relation
    columns: tuple[FeatureColumn, ...]
    target: FeatureColumn

    def statement(self, tables: Mapping[str, str], dialect: Dialect) -> Statement:
        return emit_rows(self.source, _codes(self._all, FINE), tables, dialect)

    def rows(self, results: Results) -> LabelledRows:
        """The rows that the database returned."""
        ((_, table),) = results
        codes = [small_integers_of(table[f"c{i}"]) for i in range(len(self._all))]
        return self._decoded(codes, None if self.source.one_row_a_person else table[PERSON])

    def nobody(self) -> LabelledRows:
        """The same without any row."""
        return self._decoded([np.zeros(0, dtype=np.int64)] * len(self._all), None)

    def made_up(self) -> LabelledRows:
        """Two made-up rows of two people, with the lowest and highest codes."""
        ends = [np.array([code.low, code.high]) for code in _codes(self._all, FINE)]
        return self._decoded(ends, None if self.source.one_row_a_person else np.arange(2))

    @property
    def _all(self) -> tuple[FeatureColumn, ...]:
        return (*self.columns, self.target)

    def _decoded(self, codes: Sequence[NDArray[np.int64]], persons: Labels | None) -> LabelledRows:
        features = [_features(column, code) for column, code in zip(self.columns, codes, strict=False)]
        most = self.source.max_rows
        weights = person_weights(persons, len(codes[0]), most)
        people = RowOwners(weights=weights, rows_per_person=most, ids=persons)
        return np.hstack(features), _targets(self.target, codes[-1]), people


_STEPS_OF_A_PRODUCT, _STEPS_OVER_JOINS = 2, 256
"""On DuckDB, and on PostgreSQL, where joins may make very many rows of one person: it takes 5 µs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """Sums of products, computed by the database: all that linear regression needs."""

    source: Relation
    columns: tuple[FeatureColumn, ...]
    target: NumberColumn
    order: int

    def statement(self, tables: Mapping[str, str], dialect: Dialect) -> Statement:
        return emit_products(self._query(), tables, dialect)

    def sums(self, results: Results) -> ProductSums:
        """The sums that the database returned, completed by those with the constant."""
        query = self._query()
        width = len(query.coordinates) + 1
        formed = np.zeros((LENGTHS, width, width), dtype=object)
        for _, table in results:
            places = small_integers_of(table[PLACE])
            found = [integers_of(table[name]).astype(object) for name in query.columns]
            formed[places, 0, 0] += found[0] * ONE**2
            for i in range(1, width):
                formed[places, 0, i] += found[i] * ONE
            for (i, j), products in zip(query.pairs, found[width:], strict=True):
                formed[places, i + 1, j + 1] += products
        for i, coordinate in enumerate(query.coordinates, start=1):
            if coordinate.mark is not None:  # the square of a mark
                formed[:, i, i] = formed[:, 0, i]
        whole = WEIGHT_ONE if query.weight is None else 1
        return self._sums(formed[:, *np.triu_indices(width)] * whole, width)

    def nothing(self) -> ProductSums:
        """The same without any row."""
        width = len(self._coordinates()) + 1
        return self._sums(np.zeros((LENGTHS, width * (width + 1) // 2), dtype=object), width)

    def check_work(self) -> None:
        """Refuse if joins could make so many rows of one person that their products take too long."""
        each = _STEPS_OVER_JOINS if joins_people(self.source) else _STEPS_OF_A_PRODUCT
        check_steps(self.source, [], more=each * len(self._query().columns))

    def fits_a_statement(self) -> bool:
        return len(self._query().columns) <= MOST_SUMS

    def _sums(self, by_place: Integers, width: int) -> ProductSums:
        return ProductSums(
            by_place=by_place, width=width, order=self.order, rows_per_person=self.source.max_rows
        )

    def _coordinates(self) -> tuple[Coordinate, ...]:
        found: list[Coordinate] = []
        for code, column in enumerate((*self.columns, self.target)):
            marks = column.marks if isinstance(column, ChoiceColumn) else (None,)
            found += [Coordinate(code=code, mark=mark, one=ONE) for mark in marks]
        return tuple(found)

    def _query(self) -> ProductQuery:
        coordinates = self._coordinates()
        own = ONE if self.order == 1 else ONE**2  # what the constant adds to a length
        return ProductQuery(
            source=self.source,
            codes=(*_codes(self.columns, ONE), self.target.centred_code(ONE)),
            coordinates=coordinates,
            pairs=tuple(
                (i, j)
                for j, second in enumerate(coordinates)
                for i, first in enumerate(coordinates[: j + 1])
                if first.code != second.code or first.mark is None  # a row has at most one mark of a column
            ),
            order=self.order,
            ends=tuple(end - own for end in place_ends(len(coordinates) + 1, self.order)),
            weight=_weight(self.source),
        )


def _weight(source: Relation) -> Weight | None:
    """The weights of `encoding.person_weights`, in units of 1/`WEIGHT_ONE`."""
    if source.one_row_a_person:
        return None
    bits = WEIGHT_ONE.bit_length() - 1
    return Weight(norm=Norm.L1, unit=Unit.ROWS, square=source.max_rows**2, bits=bits)


def _codes(columns: Sequence[FeatureColumn], one: int) -> list[Code]:
    return [column.code(one) if isinstance(column, NumberColumn) else column.code() for column in columns]


def _features(column: FeatureColumn, codes: NDArray[np.int64]) -> Floats:
    """One column for each feature."""
    if isinstance(column, NumberColumn):
        return _numbers(column, codes)[:, None]
    marks: Floats = (codes[:, None] == np.array(column.marks)).astype(np.float64)
    return marks


def _numbers(column: NumberColumn, codes: NDArray[np.int64]) -> Floats:
    return codes.astype(np.float64) * (float(column.size) / FINE) + float(column.shift)


def _targets(column: FeatureColumn, codes: NDArray[np.int64]) -> Labels:
    return _numbers(column, codes) if isinstance(column, NumberColumn) else class_values(column)[codes]


def class_values(column: ChoiceColumn) -> Labels:
    """The classes, as one kind of number or text."""
    return np.asarray(column.values)
