"""The columns of a SELECT as features, from declarations alone.

A number between bounds, or a truth value, is one feature. A column with public values, such as declared keys,
has a feature for each of them: 1 where a row has that value, else 0. With an intercept, the first value has
none: it is the baseline, and the coefficients of the others are differences from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import QueryRefused
from discreet.functions.registry import build_call, range_of
from discreet.learn.plan.fitted_model import TableColumn
from discreet.model.expression import Expression, Literal
from discreet.model.identity import Facts, RelationFacts, values_facts
from discreet.model.policy import KeyValue, ValueType
from discreet.question.plain_rows import RowColumn
from discreet.sql.plain_rows import Code

MOST_FEATURES = 2_000
MOST_VALUES = 400
"""The most values of a one-hot column."""
MOST_CLASSES = 100
_SMALLEST, _LARGEST = Fraction(1, 10**200), Fraction(10**200)
"""Sizes of ranges whose steps are still ordinary doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """A number between bounds. A truth value is 0 or 1."""

    name: str
    value: Expression
    low: Fraction
    high: Fraction

    @property
    def of_table(self) -> TableColumn:
        """What tables to predict from have in its place."""
        return TableColumn(name=self.name)

    @property
    def features(self) -> tuple[str, ...]:
        return self.of_table.features

    @property
    def bounds(self) -> list[tuple[float, float]]:
        return [(float(self.low), float(self.high))]

    @property
    def shift(self) -> Fraction:
        """What is subtracted: 0 if that is between the bounds, else their middle."""
        return Fraction(0) if self.low <= 0 <= self.high else (self.low + self.high) / 2

    @property
    def size(self) -> Fraction:
        return max(abs(self.low - self.shift), abs(self.high - self.shift))

    @property
    def computed(self) -> list[Expression]:
        """What `code` computes from a row."""
        return [self.value]

    def code(self, one: int) -> Code:
        """(x − shift)/size in whole steps of 1/one."""
        return self._code(self.shift, self.size, one)

    def centred_code(self, one: int) -> Code:
        """From −one at the lower bound to one at the upper, as targets are scaled."""
        return self._code((self.low + self.high) / 2, (self.high - self.low) / 2, one)

    def _code(self, middle: Fraction, size: Fraction, one: int) -> Code:
        return Code(value=self.value, offset=middle, grid=size / one, low=-one, high=one)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceColumn:
    """One of several declared values: one-hot features."""

    name: str
    value: Expression
    values: tuple[KeyValue, ...]
    first: int
    """The first value that has a feature."""

    @property
    def marks(self) -> range:
        """The values that have a feature, by their positions."""
        return range(self.first, len(self.values))

    @property
    def of_table(self) -> TableColumn:
        """What tables to predict from have in its place."""
        return TableColumn(name=self.name, values=self.values, first=self.first)

    @property
    def features(self) -> tuple[str, ...]:
        return self.of_table.features

    @property
    def bounds(self) -> list[tuple[float, float]]:
        return [(0.0, 1.0)] * len(self.marks)

    @property
    def computed(self) -> list[Expression]:
        """What `code` computes from a row: the value, to compare it with each of those declared."""
        return [self.value] * len(self.values)

    def code(self) -> Code:
        """Which of the values it is; NULL if it is none of them."""
        last = len(self.values) - 1
        place = _chosen(self.value, self.values)
        return Code(value=place, offset=Fraction(0), grid=Fraction(1), low=0, high=last)


FeatureColumn: TypeAlias = NumberColumn | ChoiceColumn


def column_facts(column: FeatureColumn, facts: RelationFacts) -> Facts:
    """The facts that identify a column: what is computed, and which values it can have."""
    if isinstance(column, NumberColumn):
        return {"number": facts.expression(column.value), "range": [str(column.low), str(column.high)]}
    return {
        "choice": facts.expression(column.value),
        "values": values_facts(column.values),
        "first": column.first,
    }


def feature_columns(columns: Sequence[RowColumn], *, intercept: bool) -> tuple[FeatureColumn, ...]:
    """The features that the columns of a SELECT become, with or without an intercept."""
    found = tuple(_feature(column, int(intercept)) for column in columns)
    width = sum(len(column.features) for column in found)
    if width > MOST_FEATURES:
        raise QueryRefused(
            f"These columns have {width:,} features, as each public value of a column is one;"
            f" at most {MOST_FEATURES:,} can be learnt from.",
            remedy="Leave columns with many values out, or put values together: CASE WHEN … THEN … END.",
        )
    return found


def number_column(column: RowColumn) -> NumberColumn:
    """The column as a number between bounds; refused if it is none."""
    value = _as_number(column.expression)
    if not value.type.numeric:
        raise QueryRefused(
            f"“{column.name}” is not a number, which is what a regression predicts.",
            remedy="Fit a classifier, or compute a number: CASE WHEN … THEN 1 ELSE 0 END.",
        )
    span = range_of(value)
    if span is None:
        raise QueryRefused(
            f"“{column.name}” has no bounds, so one person could change a model without limit.",
            remedy=f"The owner can declare them: [tables.….columns.{column.name}] bounds = [low, high];"
            " or clamp it: least(greatest(…, 0), 100).",
        )
    if span.low >= span.high:
        raise _of_one_value(column.name)
    number = NumberColumn(name=column.name, value=value, low=span.low, high=span.high)
    if not _SMALLEST < number.size < _LARGEST:
        raise QueryRefused(
            f"The bounds of “{column.name}” are too small or too large to compute with.",
            remedy="Choose other units: multiply or divide it.",
        )
    return number


def choice_column(column: RowColumn) -> ChoiceColumn:
    """The column as the classes of a classifier; refused unless its values are few and public."""
    values = _listed(column)
    if values is None:
        raise QueryRefused(
            f"Which values “{column.name}” has is not public, so that they cannot be the classes.",
            remedy=f"The owner can declare them: [tables.….columns.{column.name}] keys = […];"
            " or ask a question about it that is true or false: age > 64.",
        )
    if not 2 <= len(values) <= MOST_CLASSES:
        raise QueryRefused(
            f"“{column.name}” has {len(values):,} values; a classifier has 2 to {MOST_CLASSES} classes.",
            remedy="Put values together: CASE WHEN … THEN … END; or fit a regression.",
        )
    return ChoiceColumn(name=column.name, value=column.expression, values=values, first=0)


def _feature(column: RowColumn, first: int) -> FeatureColumn:
    if _as_number(column.expression).type.numeric and range_of(_as_number(column.expression)) is not None:
        return number_column(column)
    values = _listed(column)
    if values and len(values) > MOST_VALUES:
        raise QueryRefused(
            f"“{column.name}” has {len(values):,} values; at most {MOST_VALUES} can be features.",
            remedy="Leave it out, or put values together: CASE WHEN … THEN … END.",
        )
    if values and len(values) > first:
        return ChoiceColumn(name=column.name, value=column.expression, values=values, first=first)
    if values:
        raise _of_one_value(column.name)
    if column.expression.type.numeric:
        return number_column(column)  # which refuses it
    raise QueryRefused(
        f"“{column.name}” is neither a number between bounds nor are its values public.",
        remedy=f"The owner can declare its values: [tables.….columns.{column.name}] keys = […]; or compute a"
        " number from it: length(x), year(x), CASE WHEN … THEN 1 ELSE 0 END.",
    )


def _of_one_value(name: str) -> QueryRefused:
    return QueryRefused(
        f"“{name}” can have one value only, from which nothing is learnt.", remedy="Leave it out."
    )


def _listed(column: RowColumn) -> tuple[KeyValue, ...] | None:
    if column.values is None:
        return None
    return tuple(value for value in column.values if value is not None)


def _as_number(expression: Expression) -> Expression:
    """A truth value as 0 or 1; all others as they are."""
    if expression.type is not ValueType.BOOLEAN:
        return expression
    return _chosen(expression, (False, True))


def _chosen(expression: Expression, values: Sequence[KeyValue]) -> Expression:
    """The position of the value among these, NULL if it is none of them."""
    cases: list[Expression] = []
    for place, value in enumerate(values):
        literal = Literal(value=value, type=expression.type)
        cases += [
            build_call("=", (expression, literal)),
            Literal(value=place, type=ValueType.INTEGER),
        ]
    return build_call("case", tuple(cases))
