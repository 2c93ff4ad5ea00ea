"""What a dialect is: the few places where engines write, or mean, something different.

A function of the allow-list has one meaning, defined once in `functions`. SQL that all engines share is there
too; the rest is a method here. No SQL of a dialect can raise on any row, whatever the row holds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import ClassVar

from discreet.dialects.parameters import Parameters
from discreet.dialects.quoting import as_double, check_literal, quote_identifier, text_sql
from discreet.model.expression import Expression, Literal, size_of
from discreet.model.interval_arithmetic import LARGEST_INTEGER, SMALLEST_INTEGER, UNKNOWN, ValueInterval
from discreet.model.policy import ValueType

_LONGEST_COPY = 400
"""Text up to this length is repeated where a value is needed twice; longer text is bound to a name."""
FEW_CALLS = 2
"""The same for values that the database repeats: copies of copies take it four times as long a level."""

LONGEST_PARSED = 800
"""The most characters of a text that is read as a number or date."""
LARGEST_DOUBLE = 1.7976931348623157e308


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An argument that was emitted already: its SQL, where its values lie, and the tree it came from."""

    sql: str
    interval: ValueInterval
    expression: Expression

    @property
    def integer(self) -> bool:
        return self.expression.type is ValueType.INTEGER


@dataclass(slots=True)
class EmitScope:
    """What an expression is written in: the dialect, and names for values that are needed twice.

    Repeating their text would double the SQL with every level of nesting.
    """

    dialect: "Dialect"
    prefix: str
    """Occurs in no column that the expression reads, so that no name hides a column."""
    used: int = field(default=0)

    def let(self, sql: str, body: Callable[[str], str]) -> str:
        if len(sql) <= _LONGEST_COPY:
            return body(sql)
        self.used += 1
        name = f"{self.prefix}{self.used}"
        return self.dialect.let(name, sql, body(name))

    def let_all(self, sqls: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """Names for several values at once."""
        if all(len(sql) <= _LONGEST_COPY for sql in sqls):
            return body(sqls)
        self.used += 1
        return self.dialect.let_all(f"{self.prefix}{self.used}", sqls, body)

    def once(self, operands: Sequence[Operand], body: Callable[[Sequence[str]], str]) -> str:
        """Names for what the database itself would write several times: x in x BETWEEN y AND z."""
        if all(size_of(operand.expression).calls <= FEW_CALLS for operand in operands):
            return body([operand.sql for operand in operands])
        computed = [i for i, operand in enumerate(operands) if not isinstance(operand.expression, Literal)]

        def with_constants(names: Sequence[str]) -> str:
            named = dict(zip(computed, names, strict=True))
            return body([named.get(i, operand.sql) for i, operand in enumerate(operands)])

        self.used += 1
        sqls = [operands[i].sql for i in computed]
        return self.dialect.let_all(f"{self.prefix}{self.used}", sqls, with_constants)

    def finite(self, sql: str, interval: ValueInterval = UNKNOWN) -> str:
        """NaN and ±∞ are NULL; nothing to do where the interval rules them out."""
        if interval.known:
            return sql
        return self.let(sql, lambda value: f"(CASE WHEN {self.dialect.is_finite(value)} THEN {value} END)")

    def not_zero(self, divisor: Operand) -> str:
        """The divisor, NULL where it is zero."""
        if divisor.interval.excludes_zero():
            return divisor.sql
        return self.let(divisor.sql, lambda value: f"(CASE WHEN {value} <> 0 THEN {value} END)")


class Dialect(ABC):
    """One engine's SQL."""

    name: ClassVar[str]
    types: ClassVar[Mapping[ValueType, str]]
    """The SQL types of the values of an expression."""
    slices: ClassVar[int] = 1
    """How many slices of the people a statement is split into, to be computed in parallel."""
    weighs_in_windows: ClassVar[bool] = False
    """Whether weights come from window functions over a person's rows; else from a join with heavy people."""
    cuts_in_windows: ClassVar[bool] = False
    """Whether people with too many rows are found by window functions; else by a join."""
    sums_pairs: ClassVar[bool] = False
    """Whether rows that joins make are added up by person and group, to read them once for their weights."""
    streams: ClassVar[bool] = False
    """Whether a join may skip computing rows that match nothing, unless row_number() numbers them."""
    has_places: ClassVar[bool] = False
    """Whether texts are grouped faster by their `place_among` others."""
    join_hint: ClassVar[str] = ""
    gaps: ClassVar[Mapping[str, str]] = {}
    """What this engine does differently, or not at all; the documentation shows them."""

    # Names and constants

    def binding(self, parameters: Parameters) -> "Dialect":
        """This dialect, with texts and dates put into `parameters` if the engine takes them beside the SQL.

        Other dialects write them into the SQL.
        """
        return self

    def identifier(self, name: str) -> str:
        return quote_identifier(name)

    def text(self, value: str) -> str:
        return text_sql(value)

    @abstractmethod
    def double(self, value: float) -> str:
        """The shortest decimal that reads back to the same double, written so that its type is double."""

    def timestamp(self, value: str) -> str:
        return f"TIMESTAMP '{value}'"

    def moment(self, value: date) -> str:
        """A date or a timestamp, written out."""
        if isinstance(value, datetime):
            return self.timestamp(value.isoformat(sep=" ", timespec="microseconds"))
        return f"DATE '{value.isoformat()}'"

    def literal(self, literal: Literal) -> str:
        check_literal(literal)
        match literal.value:
            case None:
                return f"CAST(NULL AS {self.types[literal.type]})"
            case bool():
                return "TRUE" if literal.value else "FALSE"
            case int():
                return f"CAST({literal.value} AS BIGINT)"
            case Fraction():
                return self.double(as_double(literal.value))
            case str():
                return self.text(literal.value)
            case date():
                return self.moment(literal.value)

    def is_in(self, sql: str, members: Sequence[Literal]) -> str:
        """Whether a value is one of these constants. Texts are compared by their bytes. One may be NULL."""
        written = [self.literal(each) for each in members]
        if members[0].type is ValueType.TEXT:
            written = [self.binary(each) for each in written]
        return f"{sql} IN ({', '.join(written)})"

    def is_key(self, sql: str, keys: Sequence[Literal]) -> str:
        """Whether a value is one of the public keys. There may be very many, and none is NULL."""
        return self.is_in(sql, keys)

    def let_all(self, name: str, sqls: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """The body, with names for these values that begin with this one."""
        names = [f"{name}_{i}" for i in range(len(sqls))]
        found = body(names)
        for each, sql in zip(names, sqls, strict=True):
            found = self.let(each, sql, found)
        return found

    @abstractmethod
    def let(self, name: str, sql: str, body: str) -> str:
        """The body, in which the name stands for the value of the SQL."""

    def binary(self, sql: str) -> str:
        """A text that is compared by its bytes."""
        return f'({sql} COLLATE "C")'

    def read(self, column: str, kind: ValueType) -> str:
        """A column of a relation as this type. CAST cannot fail where relations have the type already."""
        return f"CAST({column} AS {self.types[kind]})"

    def id_as_integer(self, column: str) -> str:
        """An id to compute with: NULL if it is wider than 64 bits. Unchanged if `read` does that already."""
        return column

    # Numbers

    def is_finite(self, value: str) -> str:
        """Whether a double is finite. NaN is greater than all numbers, where it can be compared."""
        largest = self.double(LARGEST_DOUBLE)
        return f"{value} BETWEEN -{largest} AND {largest}"

    def arithmetic(self, symbol: str, x: Operand, y: Operand, result: ValueInterval, scope: EmitScope) -> str:
        """x + y, x - y or x * y of doubles; NULL where the result is not finite."""
        return scope.finite(f"({x.sql} {symbol} {y.sql})", result)

    def quotient(self, x: Operand, y: Operand, result: ValueInterval, scope: EmitScope) -> str:
        return scope.finite(f"({x.sql} / {scope.not_zero(y)})", result)

    def remainder(self, x: Operand, y: Operand, scope: EmitScope) -> str:
        """Of doubles: exact, and with the sign of x."""
        return f"({x.sql} % {scope.not_zero(y)})"

    def exponential(self, x: Operand, result: ValueInterval, scope: EmitScope) -> str:
        return scope.finite(f"exp({x.sql})", result)

    @abstractmethod
    def checked_integers(self, symbol: str, left: str, right: str, scope: EmitScope) -> str:
        """left + right, - or * of 64-bit integers; NULL where the result does not fit them."""

    def integer_remainder(self, left: str, divisor: str) -> str:
        return f"({left} % {divisor})"

    def to_integer(self, function: str, sql: str, scope: EmitScope) -> str:
        """floor, ceil or round of a double as a 64-bit integer; NULL where it does not fit."""
        whole = self.rounded(sql, scope) if function == "round" else f"{function}({sql})"
        return scope.let(
            whole, lambda value: f"(CASE WHEN {self._fits(value)} THEN CAST({value} AS BIGINT) END)"
        )

    def _fits(self, value: str) -> str:
        """Whether a double fits 64 bits. 2⁶³ − 1 is not a double, so it is compared with 2⁶³."""
        low, beyond = self.double(float(SMALLEST_INTEGER)), self.double(float(LARGEST_INTEGER))
        return f"{value} >= {low} AND {value} < {beyond}"

    def rounded(self, sql: str, scope: EmitScope) -> str:
        """To a whole double, half away from zero."""
        return f"round({sql})"

    @abstractmethod
    def rounded_to(self, x: Operand, digits: int, result: ValueInterval, scope: EmitScope) -> str:
        """To so many decimals: x·10^digits, a double, is rounded, and divided again."""

    def grid(self, value: float) -> str:
        """The step of a grid. Values are divided by it, and sums multiplied with it."""
        return self.double(value)

    def steps(self, sql: str, offset: float, grid: float, half: float, scope: EmitScope) -> str:
        """⌊(x − offset)/grid + half⌋, where x is a number with a range."""
        number = f"CAST({sql} AS {self.types[ValueType.NUMBER]})"
        less = f"({number} - {self.double(offset)})" if offset else number
        return f"floor({less} / {self.grid(grid)} + {self.double(half)})"

    # Casts

    def convert(self, sql: str, source: ValueType, target: ValueType) -> str:
        """From a type to one that holds all its values."""
        return f"CAST({sql} AS {self.types[target]})"

    @abstractmethod
    def matches(self, value: str, pattern: str) -> str:
        """Whether the whole text matches the regular expression."""

    def has_shape(self, value: str, pattern: str) -> str:
        return f"length({value}) <= {LONGEST_PARSED} AND {self.matches(value, pattern)}"

    @abstractmethod
    def parsed(self, sql: str, kind: ValueType, shape: str, scope: EmitScope) -> str:
        """A text of this shape as a number, date or timestamp; NULL if it has another shape, or is none."""

    # Texts

    def text_call(self, name: str, arguments: Sequence[str]) -> str:
        """lower, upper, trim, ltrim, rtrim, length, starts_with, ends_with, contains or strpos."""
        return f"{name}({', '.join(arguments)})"

    def like(self, sql: str, pattern: str, scope: EmitScope) -> str:
        """% is any text, _ is any one character, and nothing escapes."""
        return f"({sql} LIKE {self.text(pattern)} ESCAPE '')"

    # Dates

    @abstractmethod
    def date_part(self, part: str, sql: str) -> str:
        """year, quarter, month, week, day, isodow, doy, hour, minute or second, as a 64-bit integer."""

    @abstractmethod
    def date_trunc(self, unit: str, sql: str) -> str:
        """The first day of a date's year, quarter, month, week (Monday) or day."""

    def time_trunc(self, unit: str, sql: str) -> str:
        """The beginning of a timestamp's hour, minute or second."""
        return f"date_trunc('{unit}', {sql})"

    @abstractmethod
    def days_between(self, start: str, end: str) -> str: ...

    @abstractmethod
    def days_after(self, day: str, days: str) -> str:
        """A date plus some days. If that leaves the years 1 to 9999, or one is NULL, the result may be NULL,
        or any day outside of these years.
        """

    @abstractmethod
    def months_after(self, moment: str, months: int, kind: ValueType) -> str:
        """A date or timestamp plus some months, which stays within the years 1 to 9999."""

    @abstractmethod
    def seconds_after(self, moment: str, seconds: int) -> str:
        """A timestamp plus some seconds, which stays within the years 1 to 9999."""

    # Statements

    def in_slice(self, person: str, number: int) -> str:
        """Whether a person is in this slice. Ids that the database calls equal are in the same slice."""
        raise NotImplementedError

    def integer_quotient(self, left: str, right: str) -> str:
        """Of positive integers, rounded down."""
        return f"{left} / {right}"

    def total(self, sql: str, largest: int) -> str:
        """The exact sum of integers of at most `largest` in size, however many."""
        return f"sum({sql})"

    def smallest(self, sql: str, kind: ValueType) -> str:
        """The smallest of several values, NULL aside: FALSE before TRUE, and texts by their bytes."""
        return f"min({sql})"

    def largest(self, sql: str, kind: ValueType) -> str:
        return f"max({sql})"

    def row_ids(self) -> str:
        """A different number for every row."""
        return "row_number() OVER ()"

    def unknown_number(self) -> str:
        """A number from 0 to 1 that is known of no row before it is read; "" where joins skip rows anyway."""
        return ""

    def place_among(self, sql: str, texts: Sequence[str]) -> str:
        """The place of a text among these, a whole number from 0; NULL if it is none of them."""
        raise NotImplementedError

    def kept(self, *, once: bool) -> str:
        """The keyword for a part of a WITH: computed once and kept, or again wherever it is used."""
        return "MATERIALIZED " if once else "NOT MATERIALIZED "

    def computed_once(self, select: str) -> str:
        """A subquery whose columns are computed once for each row, however often they are used."""
        return select

    def with_weights(self) -> str:
        """Rows and, where their person is heavy, the person's weight; NULL persons are one person."""
        return f"rows LEFT JOIN heavy ON {self.same_person('rows.p', 'heavy.p')}"

    def holds_apart(self, condition: str) -> str:
        """Whether a condition that compares computed values is true, in WHERE: written so that the planner
        derives no other conditions from it.
        """
        return f"({condition}) IS TRUE"

    def after_reading(self, condition: str, person: str) -> str:
        """A slow condition, written so that it is not computed while rows are read: some readers cannot be
        interrupted.
        """
        return condition

    def same_person(self, left: str, right: str) -> str:
        """Whether two ids are equal, written so that the engine joins fast. NULL equals NULL."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    def weight_of_row(self, whole: int) -> str:
        return f"coalesce(w, {whole})"
