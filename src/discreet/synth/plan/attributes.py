"""The columns of a synthetic table: which values each can have, from declarations alone.

A column with declared keys, a truth value, or few whole numbers between bounds has a value for each. Other
numbers between bounds have bins of one width, and a value is drawn evenly from its bin. Each column has one
value more, its last: NULL, or what was not declared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidInput, QueryRefused
from discreet.functions.public_values import integer_values
from discreet.functions.registry import build_call, range_of
from discreet.model.exact import whole
from discreet.model.expression import Expression, Field, Literal, Range
from discreet.model.policy import KeyValue, ValueType
from discreet.model.query import GroupKey
from discreet.question.plain_rows import RowColumn
from discreet.synth.core.domain import MOST_VALUES, Domain

MOST_LISTED = 5_000
"""The most values of a column that are declared one by one."""
BINS = 64
MOST_WHOLE_NUMBERS = 128
"""If bins are not given, a column with more whole numbers than this, or other numbers, is put into bins."""
_DIGITS = 3  # a drawn number has so many digits more than its bin is wide

_DTYPES: dict[type, str] = {
    int: "int64",
    bool: "bool",
    date: "datetime64[D]",
    datetime: "datetime64[us]",
}

Values: TypeAlias = NDArray[Any]
Bins: TypeAlias = int | Mapping[str, int] | None
"""Bins of columns of numbers, for all or by name. Columns with no more whole numbers than that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedValues:
    """Values one by one."""

    values: tuple[KeyValue, ...]

    @property
    def count(self) -> int:
        return len(self.values)

    def drawn(self, codes: NDArray[np.integer], random: np.random.Generator) -> Values:
        """The value that each code stands for."""
        del random
        kind = type(self.values[0])
        listed = np.empty(len(self.values), dtype=object)
        listed[:] = self.values
        typed = listed if kind is str else listed.astype(_DTYPES[kind])
        found: Values = typed[codes]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedValues:
    """Numbers in bins of one width, from low on; the last one ends at high."""

    low: Fraction
    high: Fraction
    width: Fraction
    step: Fraction | None
    """The grid that all values are on, if there is one: 1 for whole numbers."""
    whole: bool

    @property
    def count(self) -> int:
        bins = (self.high - self.low) / self.width
        return math.floor(bins) + 1 if self.whole else max(1, math.ceil(bins))

    def drawn(self, codes: NDArray[np.integer], random: np.random.Generator) -> Values:
        """A value from the bin of each code, with all values of the bin equally likely."""
        low, width, high = float(self.low), float(self.width), float(self.high)
        starts = low + codes * width
        ends = np.minimum(starts + width, high + (1 if self.whole else 0))
        values = starts + random.random(len(codes)) * (ends - starts)
        if self.whole:
            numbers: Values = np.floor(values).astype(np.int64)
            return numbers
        step = (
            float(self.step) if self.step is not None else 10.0 ** (math.floor(math.log10(width)) - _DIGITS)
        )
        rounded: Values = np.minimum(np.round(np.floor((values - low) / step) * step + low, 12), high)
        return rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A column: what is counted in SQL, and what its codes 0, 1, … stand for; the last stands for NULL."""

    name: str
    column: Expression
    """The column as it was asked for."""
    values: ListedValues | BinnedValues

    @property
    def size(self) -> int:
        return self.values.count + 1

    def key(self) -> GroupKey:
        """What rows are grouped by. A value that was not declared counts as NULL."""
        if isinstance(self.values, BinnedValues):
            codes = range(self.values.count)
            place = _bin(self.column, self.values)
            return GroupKey(name=self.name, expression=place, values=(*codes, None), total=True)
        known = _declared(self.column, self.values)
        return GroupKey(name=self.name, expression=known, values=(*self.values.values, None), total=True)

    def drawn(self, codes: NDArray[np.integer], random: np.random.Generator) -> Values:
        """Values as they would stand in the table; masked where NULL."""
        missing = codes == self.values.count
        values = self.values.drawn(np.where(missing, 0, codes), random)
        return np.ma.MaskedArray(values, mask=missing) if missing.any() else values

    def texts(self) -> list[str]:
        """What the codes stand for, for people to read."""
        if isinstance(self.values, ListedValues):
            return [*map(str, self.values.values), "NULL"]
        low, width = float(self.values.low), float(self.values.width)
        return [*(f"{low + i * width:g}–{low + (i + 1) * width:g}" for i in range(self.values.count)), "NULL"]


def attributes_of(columns: Sequence[RowColumn], bins: Bins = None) -> tuple[Attribute, ...]:
    """The columns of a synthetic table."""
    by_name = bins if isinstance(bins, Mapping) else dict.fromkeys((column.name for column in columns), bins)
    unknown = set(by_name) - {column.name for column in columns}
    if unknown:
        raise InvalidInput(
            f"Bins are given for “{min(unknown)}”, which is not among the columns.",
            remedy=f"The columns are: {', '.join(column.name for column in columns)}.",
        )
    for count in by_name.values():
        whole(BINS if count is None else count, "bins", 1, MOST_VALUES - 1)
    return tuple(_attribute(column, by_name.get(column.name)) for column in columns)


def domain_of(attributes: Sequence[Attribute]) -> Domain:
    """The last value of each attribute, for NULL, is optional: it is dropped if nobody seems to have it."""
    sizes = tuple(attribute.size for attribute in attributes)
    return Domain(sizes=sizes, optional=(True,) * len(sizes))


def _attribute(column: RowColumn, bins: int | None) -> Attribute:
    expression, span = column.expression, range_of(column.expression)
    if column.values is not None:
        listed = tuple(value for value in column.values if value is not None)
        most = MOST_LISTED if span is None else bins or MOST_WHOLE_NUMBERS
        if 0 < len(listed) <= most:
            return Attribute(name=column.name, column=expression, values=ListedValues(values=listed))
        if span is None:
            raise QueryRefused(
                f"“{column.name}” has {len(listed):,} values; at most {most:,} can be learnt.",
                remedy="Leave it out, or put values together: CASE WHEN … THEN … END.",
            )
    if span is None:
        raise _without_values(column)
    return Attribute(name=column.name, column=expression, values=_binned(expression, span, bins or BINS))


def _binned(expression: Expression, span: Range, most: int) -> BinnedValues:
    if expression.type is ValueType.INTEGER:
        low, high = Fraction(math.ceil(span.low)), Fraction(math.floor(span.high))
        width = Fraction(math.ceil((high - low + 1) / most))
        return BinnedValues(low=low, high=high, width=width, step=Fraction(1), whole=True)
    unit = expression.unit if isinstance(expression, Field) else None
    width = (span.high - span.low) / most or Fraction(1)
    return BinnedValues(low=span.low, high=span.high, width=width, step=unit, whole=False)


def _declared(expression: Expression, listed: ListedValues) -> Expression:
    """The value, or NULL for one that is not listed."""
    if set(listed.values) == set(_possible(expression)):
        return expression
    literals = tuple(Literal(value=value, type=expression.type) for value in listed.values)
    return build_call("case", (build_call("in", (expression, *literals)), expression))


def _possible(expression: Expression) -> Sequence[KeyValue]:
    """All values that a truth value, or a whole number between bounds, can have whatever a row holds."""
    if expression.type is ValueType.BOOLEAN:
        return (False, True)
    return integer_values(expression, MOST_VALUES) or ()


def _bin(expression: Expression, binned: BinnedValues) -> Expression:
    """⌊(x − low)/width⌋, and the last bin for what is beyond it by rounding."""
    number = build_call("-", (expression, Literal(value=binned.low, type=ValueType.NUMBER)))
    place = build_call("/", (number, Literal(value=binned.width, type=ValueType.NUMBER)))
    last = Literal(value=binned.count - 1, type=ValueType.INTEGER)
    return build_call("least", (build_call("floor", (place,)), last))


def _without_values(column: RowColumn) -> QueryRefused:
    if column.expression.type.numeric:
        return QueryRefused(
            f"“{column.name}” has no bounds, so nobody may know which values it has.",
            remedy=f"The owner can declare them: [tables.….columns.{column.name}] bounds = [low, high].",
        )
    return QueryRefused(
        f"Which values “{column.name}” has is not public.",
        remedy=f"The owner can declare them: [tables.….columns.{column.name}] keys = […];"
        " or list them: WHERE … IN (…).",
    )
