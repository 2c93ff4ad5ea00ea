"""PostgreSQL. Its arithmetic on doubles raises on overflow, and on underflow to zero.

So a double that is multiplied or divided is 0 or from 10⁻¹⁵⁰ to 10¹⁵⁰ in size: what is smaller is taken for
0, what is larger for NULL. Then no product and no quotient of two can leave the range of doubles.

Texts, dates and timestamps of a question or a policy are bound: the SQL has their numbers, $1, $2, …, and
nothing of what they hold. NULL, truth values and numbers are written out: as words of ours and as the digits
of a Python int or float, which can be nothing else. Texts and dates in the SQL are constants of this package.
"""

import hashlib
from collections.abc import Sequence
from datetime import date
from typing import ClassVar

from discreet.dialects.dialect import Dialect, EmitScope, Operand
from discreet.dialects.parameters import Parameters
from discreet.dialects.quoting import check_literal, check_text, number_of, text_sql
from discreet.errors import QueryRefused
from discreet.model.expression import Call, Literal, Parameter
from discreet.model.interval_arithmetic import LARGEST_INTEGER, SMALLEST_INTEGER, ValueInterval
from discreet.model.policy import ValueType

_SMALL, _LARGE = 1e-150, 1e150
_LARGEST_EXPONENT = 345
"""e³⁴⁵ is just below 10¹⁵⁰."""
_LONGEST_NAME = 63
_CASE_COLLATION = '"und-x-icu"'
"""Upper and lower case as Unicode has them, whatever the locale of the database."""


class _Postgres(Dialect):
    name = "postgres"
    types: ClassVar = {
        ValueType.INTEGER: "bigint",
        ValueType.NUMBER: "double precision",
        ValueType.TEXT: "text",
        ValueType.BOOLEAN: "boolean",
        ValueType.DATE: "date",
        ValueType.TIMESTAMP: "timestamp",
    }
    slices = 2  # a window is computed in one process, and so is what follows it
    cuts_in_windows = True
    weighs_in_windows = True  # joins that match NULL compare row by row, and sorting is faster than joining
    gaps: ClassVar = {
        "x + y, x - y, x * y, x / y, power, exp": (
            "numbers below 10⁻¹⁵⁰ in size count as 0, those above 10¹⁵⁰ as NULL"
        ),
        "sum, avg, median": "refused where the unit of a column is not from 10⁻¹⁵⁰ to 10¹⁵⁰",
        "x % y of numbers": "refused: cast both to integer, or scale them first",
        "lower, upper": "letters with several forms, such as ß, İ and ς, follow ICU",
        "ln, log10, exp": "the last digit may differ, as each engine's library rounds",
    }

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = parameters

    def binding(self, parameters: Parameters) -> Dialect:
        return _Postgres(parameters)

    def text(self, value: str) -> str:
        check_text(value)
        return self._bound(value, self.types[ValueType.TEXT])

    def literal(self, literal: Literal) -> str:
        if not isinstance(literal.value, str | date):
            return super().literal(literal)
        check_literal(literal)
        return self._bound(literal.value, self.types[literal.type])

    def is_in(self, sql: str, members: Sequence[Literal]) -> str:
        """A list is one parameter, however long it is: hashed, as a list of constants would be."""
        values = tuple(each.value for each in members if isinstance(each.value, str | date | None))
        if len(values) < len(members) or all(each is None for each in values):
            return super().is_in(sql, members)
        for each in members:
            check_literal(each)
        kind = members[0].type
        listed = self._bound(values, f"{self.types[kind]}[]")
        return f"{sql} = ANY({self.binary(listed) if kind is ValueType.TEXT else listed})"

    def _bound(self, value: Parameter, kind: str) -> str:
        if self._parameters is None:
            raise TypeError("constants of PostgreSQL are written by a dialect that binds them")
        return f"CAST(${self._parameters.number(value)} AS {kind})"

    def identifier(self, name: str) -> str:
        """PostgreSQL cuts names at 63 bytes, which may make two long ones equal."""
        if len(name.encode()) > _LONGEST_NAME:
            name = f"{name[:8]}…{hashlib.sha256(name.encode()).hexdigest()[:32]}"
        return super().identifier(name)

    def double(self, value: float) -> str:
        """A decimal is numeric here, and converts to the nearest double."""
        return f"CAST({value!r} AS double precision)"

    def let(self, name: str, sql: str, body: str) -> str:
        """OFFSET keeps the planner from writing the value out again where its name stands."""
        return f"(SELECT {body} FROM (SELECT {sql} AS {name} OFFSET 0) AS {name}_of)"

    def smallest(self, sql: str, kind: ValueType) -> str:
        """There is no min(boolean)."""
        return f"bool_and({sql})" if kind is ValueType.BOOLEAN else super().smallest(sql, kind)

    def largest(self, sql: str, kind: ValueType) -> str:
        return f"bool_or({sql})" if kind is ValueType.BOOLEAN else super().largest(sql, kind)

    def id_as_integer(self, column: str) -> str:
        return _narrowed(column)

    def arithmetic(self, symbol: str, x: Operand, y: Operand, result: ValueInterval, scope: EmitScope) -> str:
        if symbol != "*" and result.known and x.interval.known and y.interval.known:
            return f"({x.sql} {symbol} {y.sql})"
        return f"({_moderate(x, scope)} {symbol} {_moderate(y, scope)})"

    def quotient(self, x: Operand, y: Operand, result: ValueInterval, scope: EmitScope) -> str:
        if _whole_number(y) and y.interval.excludes_zero() and y.interval.within(_LARGE):
            divisor = y.sql
        else:
            smallest = self.double(_SMALL)
            divisor = scope.let(
                y.sql, lambda value: f"(CASE WHEN abs({value}) >= {smallest} THEN {value} END)"
            )
            divisor = scope.let(divisor, lambda value: _not_larger(value, y.interval))
        return f"({_moderate(x, scope)} / {divisor})"

    def remainder(self, x: Operand, y: Operand, scope: EmitScope) -> str:
        raise QueryRefused(
            "PostgreSQL has no remainder of numbers with fractions.",
            remedy="Cast both to integer, such as CAST(x AS INTEGER) % 10.",
        )

    def exponential(self, x: Operand, result: ValueInterval, scope: EmitScope) -> str:
        most = self.double(float(_LARGEST_EXPONENT))
        return scope.let(
            x.sql,
            lambda value: (
                f"(CASE WHEN {value} < -{most} THEN {self.double(0.0)}"
                f" WHEN {value} <= {most} THEN exp({value}) END)"
            ),
        )

    def checked_integers(self, symbol: str, left: str, right: str, scope: EmitScope) -> str:
        return scope.let(f"(CAST({left} AS numeric) {symbol} CAST({right} AS numeric))", _narrowed)

    def rounded(self, sql: str, scope: EmitScope) -> str:
        """PostgreSQL's own round() of a double rounds half to even."""
        half = self.double(0.5)
        return scope.let(
            sql,
            lambda value: (
                f"(trunc({value}) + CASE WHEN abs({value} - trunc({value})) >= {half}"
                f" THEN sign({value}) ELSE {self.double(0.0)} END)"
            ),
        )

    def rounded_to(self, x: Operand, digits: int, result: ValueInterval, scope: EmitScope) -> str:
        power = self.double(10.0**digits)
        return f"({self.rounded(f'({_moderate(x, scope)} * {power})', scope)} / {power})"

    def in_slice(self, person: str, number: int) -> str:
        """By the hash that goes with the type's own equality; of NULL it is 0."""
        return f"hash_array(ARRAY[{person}]) & {self.slices - 1} = {number}"

    def grid(self, value: float) -> str:
        """Otherwise a sum of steps of this size could overflow, and raise for some rows only."""
        if not _SMALL <= value <= _LARGE:
            raise QueryRefused(
                "The bounds of a column are too large or too narrow for PostgreSQL.",
                remedy="The owner can declare others, or a unit between 1e-150 and 1e150.",
            )
        return self.double(value)

    def steps(self, sql: str, offset: float, grid: float, half: float, scope: EmitScope) -> str:
        less = f"({sql} - {self.double(offset)})"
        small = self.double(_SMALL)
        numerator = scope.let(
            less, lambda value: f"(CASE WHEN abs({value}) < {small} THEN {self.double(0.0)} ELSE {value} END)"
        )
        return f"floor({numerator} / {self.grid(grid)} + {self.double(half)})"

    def convert(self, sql: str, source: ValueType, target: ValueType) -> str:
        if source is ValueType.BOOLEAN and target is not ValueType.TEXT:
            return f"CAST(CAST({sql} AS integer) AS {self.types[target]})"
        return super().convert(sql, source, target)

    def matches(self, value: str, pattern: str) -> str:
        return f"{value} ~ {text_sql(f'^({pattern})$')}"

    def parsed(self, sql: str, kind: ValueType, shape: str, scope: EmitScope) -> str:
        """A CASE inside of a CASE: the conditions of an AND may be computed in any order."""

        def plain(value: str) -> str:
            shaped = f"CASE WHEN {self.has_shape(value, shape)} THEN"
            if kind.numeric:
                narrowed = _narrowed if kind is ValueType.INTEGER else self._narrowed_double
                return scope.let(f"CAST({shaped} {value} END AS numeric)", narrowed)
            return f"CAST({shaped} CASE WHEN {_is_a_day(value)} THEN {value} END END AS {self.types[kind]})"

        return scope.let(sql, plain)

    def _narrowed_double(self, value: str) -> str:
        return (
            f"(CASE WHEN abs({value}) < {_SMALL!r} THEN {self.double(0.0)}"
            f" WHEN abs({value}) <= {_LARGE!r} THEN CAST({value} AS double precision) END)"
        )

    def text_call(self, name: str, arguments: Sequence[str]) -> str:
        text, *others = arguments
        match name:
            case "lower" | "upper":
                return self.binary(f"{name}({text} COLLATE {_CASE_COLLATION})")
            case "trim":
                return f"btrim({text}, ' ')"
            case "ltrim" | "rtrim":
                return f"{name}({text}, ' ')"
            case "length":
                return f"CAST(length({text}) AS bigint)"
            case "ends_with":
                return f"({self.binary(f'right({text}, length({others[0]}))')} = {self.binary(others[0])})"
            case "contains":
                return f"(strpos({self.binary(text)}, {self.binary(others[0])}) > 0)"
            case "strpos":
                return f"CAST(strpos({self.binary(text)}, {self.binary(others[0])}) AS bigint)"
        return super().text_call(name, arguments)

    def like(self, sql: str, pattern: str, scope: EmitScope) -> str:
        """'%part%' is searched for by strpos(): LIKE tries it letter by letter."""
        part = pattern[1:-1]
        if len(pattern) > len("%%") and pattern == f"%{part}%" and not {"%", "_"} & set(part):
            return self.text_call("contains", [sql, self.text(part)])
        return super().like(sql, pattern, scope)

    def date_part(self, part: str, sql: str) -> str:
        """Seconds have a fraction here."""
        value = f"extract({part} FROM {sql})"
        return f"CAST({f'floor({value})' if part == 'second' else value} AS bigint)"

    def date_trunc(self, unit: str, sql: str) -> str:
        """Cast to a timestamp first: date_trunc() of a date has a time zone."""
        return f"CAST(date_trunc('{unit}', CAST({sql} AS timestamp)) AS date)"

    def days_between(self, start: str, end: str) -> str:
        return f"CAST(CAST({end} AS date) - CAST({start} AS date) AS bigint)"

    def days_after(self, day: str, days: str) -> str:
        """PostgreSQL's calendar begins in 4713 BC, and an earlier day raises. So all days before the year 1
        become the last of them. So does NULL, which greatest() skips.
        """
        first = "DATE '0001-01-01'"
        return f"({first} + greatest({day} - {first} + CAST({days} AS integer), -1))"

    def months_after(self, moment: str, months: int, kind: ValueType) -> str:
        return f"CAST({moment} + make_interval(months => {months}) AS {self.types[kind]})"

    def seconds_after(self, moment: str, seconds: int) -> str:
        """Whole days apart from the rest: hours are counted in 32 bits."""
        days, rest = divmod(seconds, 86_400)
        return f"({moment} + make_interval(days => {days}, secs => {rest}))"

    def computed_once(self, select: str) -> str:
        """Without a fence, names of a subquery stand for its expressions, wherever they are."""
        return f"{select} OFFSET 0"

    def weight_of_row(self, whole: int) -> str:
        return "w"


def _whole_number(operand: Operand) -> bool:
    """Whether its values are whole numbers of 64 bits, as doubles."""
    match operand.expression:
        case Call(function="cast_number", arguments=(argument,)):
            return argument.type in (ValueType.INTEGER, ValueType.BOOLEAN)
        case Literal(value=value):
            return value is None or (number_of(operand.expression)).denominator == 1
    return False


def _moderate(operand: Operand, scope: EmitScope) -> str:
    """0, or from 10⁻¹⁵⁰ to 10¹⁵⁰ in size; NULL if it is larger."""
    if _whole_number(operand) and (
        operand.interval.within(_LARGE) or not isinstance(operand.expression, Literal)
    ):
        return operand.sql
    small, zero = POSTGRES.double(_SMALL), POSTGRES.double(0.0)
    flushed = scope.let(
        operand.sql, lambda value: f"(CASE WHEN abs({value}) < {small} THEN {zero} ELSE {value} END)"
    )
    return scope.let(flushed, lambda value: _not_larger(value, operand.interval))


def _not_larger(sql: str, interval: ValueInterval) -> str:
    if interval.within(_LARGE):
        return sql
    return f"(CASE WHEN abs({sql}) <= {POSTGRES.double(_LARGE)} THEN {sql} END)"


def _narrowed(value: str) -> str:
    """A whole number of any size as 64 bits, or NULL."""
    fits = f"{value} BETWEEN {SMALLEST_INTEGER} AND {LARGEST_INTEGER}"
    return f"(CASE WHEN {fits} THEN CAST({value} AS bigint) END)"


def _is_a_day(value: str) -> str:
    """Whether a text that begins with YYYY-MM-DD names a day that exists: a cast of any other raises."""
    digits = ((1, 4), (6, 2), (9, 2))
    year, month, day = (f"CAST(substring({value}, {first}, {size}) AS integer)" for first, size in digits)
    leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
    february = f"CASE WHEN {leap} THEN 29 ELSE 28 END"
    last = f"CASE WHEN {month} = 2 THEN {february} WHEN {month} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    known = f"{year} >= 1 AND {month} BETWEEN 1 AND 12"
    return f"CASE WHEN {known} THEN {day} BETWEEN 1 AND {last} ELSE FALSE END"


POSTGRES = _Postgres()
