"""What the owner declares: who a person is, what the bounds are, and how much privacy may ever be spent.

A policy never looks at the data; everything in it is public.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import InvalidInput
from discreet.model.exact import (
    exact_fraction,
    positive_count,
    positive_delta,
    positive_epsilon,
    whole,
    within,
)
from discreet.model.neighbours import Neighbours

KeyValue: TypeAlias = str | int | bool | date
"""A value that a column can be grouped by; floats cannot."""

_LARGEST_DELTA = Fraction(1, 100)
_LARGEST_BOUND = Fraction(2**60)
_INTEGERS = range(-(2**63), 2**63)

_SMALLEST_LEAST_PRICE = Fraction(1, 10**9)
USUAL_LEAST_PRICE = Fraction(1, 10_000)
USUAL_LEFT_OUT_SHARE = Fraction(1, 10)
_LARGEST_LEFT_OUT_SHARE = Fraction(1, 2)
MOST_MIN_PEOPLE = 1_000_000
MOST_MATCHES = 1_000
"""The most rows of public tables that one row can match, through all joins of a question."""


class ValueType(Enum):
    """What a column holds, the same on every engine."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def numeric(self) -> bool:
        return self in (ValueType.INTEGER, ValueType.NUMBER)


def budget_delta(value: object) -> Fraction:
    """Read a budget's δ: 0 for pure ε, else far below 1 and not so small that it cannot be meant."""
    exact = within(value, "delta", Fraction(0), _LARGEST_DELTA)
    return positive_delta(exact) if exact else exact


def least_price(value: object) -> Fraction:
    """Read the least price of a question, as a share of the budget."""
    return within(value, "least_price", _SMALLEST_LEAST_PRICE, Fraction(1))


def left_out_share(value: object) -> Fraction:
    """Read the share of a price that goes to the estimate of what limits leave out."""
    return within(value, "left_out_share", Fraction(0), _LARGEST_LEFT_OUT_SHARE)


def type_of_key(key: object) -> ValueType | None:
    """The column type that a key belongs to; None for what cannot be a key, such as a float."""
    match key:
        case bool():
            return ValueType.BOOLEAN
        case int():
            return ValueType.INTEGER if key in _INTEGERS else None
        case str():
            return ValueType.TEXT
        case datetime():
            return ValueType.TIMESTAMP if key.tzinfo is None else None
        case date():
            return ValueType.DATE
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Values are clamped to low … high before they count."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        low = within(self.low, "the lower bound", -_LARGEST_BOUND, _LARGEST_BOUND)
        high = within(self.high, "the upper bound", -_LARGEST_BOUND, _LARGEST_BOUND)
        if low >= high:
            raise InvalidInput(
                "The lower bound must be below the upper bound.", remedy="Write bounds = [low, high]."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclass(frozen=True, slots=True, kw_only=True)
class DateBounds:
    """Dates and timestamps are clamped to these days: from the first to the end of the last."""

    low: date
    high: date

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise InvalidInput(
                "The first day must be before the last.", remedy="Write bounds = [2024-01-01, 2025-12-31]."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that questions may use, and what is publicly known of it."""

    name: str
    type: ValueType
    bounds: Bounds | None = None
    """Without bounds it can be counted and grouped by, but not summed."""
    keys: tuple[KeyValue, ...] | None = None
    """All values that it can have, if they are public."""
    unit: Fraction | None = None
    """The grid that values are rounded to; chosen from the bounds if not declared."""
    format: str | None = field(default=None, repr=False)
    """How its texts write dates, if they do not as ISO does."""
    per_person: bool = field(default=False, repr=False)
    """Whether a person has one value of it, such as a year of birth: the smallest, if their rows differ."""
    days: DateBounds | None = field(default=None, repr=False)
    """The bounds of a date or timestamp."""
    complete: bool = field(default=False, repr=False)
    """Whether the owner says that every row has a value, one of the keys if they are listed. No privacy rests
    on it: it decides how noisy numbers are reconciled.
    """

    def __post_init__(self) -> None:
        if self.days is not None and self.type not in (ValueType.DATE, ValueType.TIMESTAMP):
            raise InvalidInput(
                f"Column “{self.name}” is {self.type.value}, which has no days for bounds.",
                remedy='Write numbers, or declare type = "date" or type = "timestamp".',
            )
        if self.bounds is not None and not self.type.numeric:
            raise InvalidInput(
                f"Column “{self.name}” is {self.type.value}, which has no bounds.",
                remedy='Drop the bounds, or declare type = "number". Bounds of a date are two dates.',
            )
        if self.format is not None and self.type not in (ValueType.DATE, ValueType.TIMESTAMP):
            raise InvalidInput(
                f"Column “{self.name}” is {self.type.value}, which has no format.",
                remedy='Drop the format, or declare type = "date" or type = "timestamp".',
            )
        if self.keys is not None:
            self._check_keys(self.keys)
        if self.unit is not None:
            unit = exact_fraction(self.unit, f"the unit of column “{self.name}”")
            if not Fraction(1, 10**12) <= unit <= _LARGEST_BOUND:
                raise InvalidInput(
                    f"The unit of column “{self.name}” must be a positive number of ordinary size.",
                    remedy="Write unit = 0.01 for cents.",
                )
            object.__setattr__(self, "unit", unit)

    def _check_keys(self, keys: tuple[KeyValue, ...]) -> None:
        if self.type is ValueType.NUMBER:
            raise InvalidInput(
                f"Column “{self.name}” holds numbers with fractions, which cannot be keys.",
                remedy='Drop the keys, or declare type = "integer" if all its values are whole.',
            )
        if any(type_of_key(key) is not self.type for key in keys):
            raise InvalidInput(
                f"The keys of column “{self.name}” must all be of its type, {self.type.value}.",
                remedy="Write each key as the column holds it: text in quotes, numbers and dates without.",
            )
        if not keys or len(set(keys)) != len(keys):
            raise InvalidInput(
                f"The keys of column “{self.name}” must be at least one, and each once.",
                remedy='Write keys = ["north", "south"].',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonColumn:
    """A person is all rows with one value of this column; rows without one are one person."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EachRow:
    """Every row is another person."""


Person: TypeAlias = PersonColumn | EachRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Through:
    """Rows belong to the person whom the rows of another table with the same key belong to."""

    table: str
    key: str
    """The column of this table."""
    other: str
    """The column of the other one."""
    source: str = ""
    """Where the other table is."""
    person: str = ""
    """The column of the person there, and here as well."""
    type: ValueType | None = None
    """What both keys are read as, once the sources were looked at."""
    well_formed: bool = False
    """Whether the owner vouches for the file of the other table."""
    further: "Through | None" = None
    """If a third table says whose the rows of the other one are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTable:
    """A table about people."""

    name: str
    source: str
    person: Person
    unique: bool
    """Whether the owner vouches that no person has two rows. If so, rows without a person are left out."""
    max_rows: int
    """The rows of one person that count fully in one question."""
    max_groups: int
    """The groups that one person counts fully in, where people are counted."""
    columns: Mapping[str, Column]
    cached: tuple[str, ...] = ()
    """Columns with cached answers: counting questions about them share noisy counts."""
    limits_are_facts: bool = field(default=False, repr=False)
    """Whether the owner vouches that nobody has more rows, or is in more groups, than the limits say: then
    nothing is left out. Not part of what a question is known by; what follows from it is.
    """
    well_formed: bool = False
    """Whether the owner vouches that the file comes from a program that escapes and checks every cell."""
    through: Through | None = field(default=None, repr=False)
    """Which table says whose a row is, if this one does not."""

    def __post_init__(self) -> None:
        positive_count(self.max_rows, f"max_rows of table “{self.name}”")
        positive_count(self.max_groups, f"max_groups of table “{self.name}”")

    @property
    def one_row_a_person(self) -> bool:
        return self.unique or isinstance(self.person, EachRow)

    @property
    def per_person(self) -> frozenset[str]:
        """The columns of which the smallest value of each person is read, in all of their rows."""
        if self.one_row_a_person:
            return frozenset()
        return frozenset(name for name, column in self.columns.items() if column.per_person)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """A table that anybody may see, such as a list of wards."""

    name: str
    source: str
    columns: Mapping[str, Column]
    max_matches: int = MOST_MATCHES
    """How many of its rows may share one join key; if more do, a question is refused."""

    def __post_init__(self) -> None:
        positive_count(self.max_matches, f"max_matches of table “{self.name}”")


Table: TypeAlias = PrivateTable | PublicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """All tables about the same people, under one budget."""

    name: str
    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction
    """0 means that only pure ε is ever spent."""
    analyst_epsilon: Fraction
    """The most that any one analyst may spend; equal to epsilon if there is no cap."""
    question_epsilon: Fraction
    """The most that any one question may cost; equal to epsilon if there is no cap."""
    tables: Mapping[str, Table]
    least_price: Fraction = field(default=USUAL_LEAST_PRICE, repr=False)
    """The least that a question costs, as a share of the budget: the timing of an answer leaks, too.

    Not part of a question's identity, as it changes nothing about an answer.
    """
    left_out_share: Fraction = field(default=USUAL_LEFT_OUT_SHARE, repr=False)
    """The share of a price that goes to the estimate of what limits leave out; 0 for no such estimate."""
    min_people: int = field(default=0, repr=False)
    """Cells with fewer people than this, as far as the noise tells, show no number; 0 for no such rule."""
    purpose_required: bool = field(default=False, repr=False)
    """Whether each question has to say what it is for."""
    default_price: Fraction | None = field(default=None, repr=False)
    """The ε of a question that names no price; None if it has to."""

    def __post_init__(self) -> None:
        epsilon = positive_epsilon(self.epsilon, "the budget's epsilon")
        delta = budget_delta(self.delta)
        analyst = positive_epsilon(self.analyst_epsilon, "the cap per analyst")
        question = positive_epsilon(self.question_epsilon, "the cap per question")
        for name, value in (
            ("epsilon", epsilon),
            ("delta", delta),
            ("analyst_epsilon", min(analyst, epsilon)),
            ("question_epsilon", min(question, epsilon)),
            ("least_price", least_price(self.least_price)),
            ("left_out_share", left_out_share(self.left_out_share)),
            ("min_people", whole(self.min_people, "min_people", 0, MOST_MIN_PEOPLE)),
        ):
            object.__setattr__(self, name, value)
        if self.default_price is not None:
            usual = positive_epsilon(self.default_price, "default_price")
            if usual > self.question_epsilon:
                raise InvalidInput(
                    f"default_price is above {float(self.question_epsilon):g}, what a question may cost.",
                    remedy=f"Write default_price = {float(self.question_epsilon):g} or less.",
                )
            object.__setattr__(self, "default_price", usual)
        if not any(isinstance(table, PrivateTable) for table in self.tables.values()):
            raise InvalidInput(
                f"Dataset “{self.name}” has no table about people.",
                remedy='Declare one with a person: [tables.NAME] person = "COLUMN".',
            )
