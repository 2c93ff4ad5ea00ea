"""Spark SQL, under ANSI rules, where an overflow or a bad cast raises instead of giving NULL."""

from collections.abc import Sequence
from typing import ClassVar

from discreet.dialects.dialect import Dialect, EmitScope, Operand
from discreet.dialects.quoting import check_text
from discreet.dialects.spark_patterns import like_conditions
from discreet.model.interval_arithmetic import ValueInterval
from discreet.model.policy import ValueType

_CHECKED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_NAMES = {"starts_with": "startswith", "ends_with": "endswith"}
_PARTS = {"week": "weekofyear", "doy": "dayofyear"}
_SHIFTABLE = 1e290
_LIMB = 20
"""Sums are added up in pieces of so many bits: 2⁴³ rows fit 64 bits. A DECIMAL would be far slower."""


class _Spark(Dialect):
    name = "spark"
    types: ClassVar = {
        ValueType.INTEGER: "BIGINT",
        ValueType.NUMBER: "DOUBLE",
        ValueType.TEXT: "STRING",
        ValueType.BOOLEAN: "BOOLEAN",
        ValueType.DATE: "DATE",
        ValueType.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    join_hint = "/*+ SHUFFLE_HASH(heavy) */ "  # or it would sort all rows
    gaps: ClassVar = {
        "LIKE": "no _ between two of % if there is a third",
        "lower, upper": "letters with several forms, such as ß, İ and ς, follow ICU",
        "ln, log10, exp": "the last digit may differ, as each engine's library rounds",
    }

    def identifier(self, name: str) -> str:
        """In backticks; double quotes are for texts."""
        check_text(name)
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        r"""Quotes and backslashes are escaped, and so is $: Spark replaces ${…} before it parses."""
        check_text(value)
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
        return f"'{escaped}'"

    def double(self, value: float) -> str:
        return f"({value!r}D)"

    def timestamp(self, value: str) -> str:
        return f"TIMESTAMP_NTZ '{value}'"

    def let(self, name: str, sql: str, body: str) -> str:
        return f"transform(array({sql}), {name} -> {body})[0]"

    def binary(self, sql: str) -> str:
        """Unchanged: the engine reads every text in the binary collation."""
        return sql

    def id_as_integer(self, column: str) -> str:
        return f"try_cast({column} AS BIGINT)"

    def checked_integers(self, symbol: str, left: str, right: str, scope: EmitScope) -> str:
        return f"{_CHECKED[symbol]}({left}, {right})"

    def to_integer(self, function: str, sql: str, scope: EmitScope) -> str:
        """floor and ceil give 64 bits, and silently the nearest integer if it does not fit: check first."""
        if function == "round":
            return super().to_integer(function, sql, scope)
        return scope.let(sql, lambda value: f"(CASE WHEN {self._fits(value)} THEN {function}({value}) END)")

    def rounded_to(self, x: Operand, digits: int, result: ValueInterval, scope: EmitScope) -> str:
        """Spark's own rounds decimals, not doubles. Numbers that are too large to shift have no decimals."""
        power = self.double(10.0**digits)

        def shifted(value: str) -> str:
            return (
                f"(CASE WHEN abs({value}) < {self.double(_SHIFTABLE)}"
                f" THEN round({value} * {power}) / {power} ELSE {value} END)"
            )

        return scope.finite(scope.let(x.sql, shifted), result)

    def parsed(self, sql: str, kind: ValueType, shape: str, scope: EmitScope) -> str:
        def plain(value: str) -> str:
            shaped = f"(CASE WHEN {self.has_shape(value, shape)} THEN {value} END)"
            return f"try_cast({shaped} AS {self.types[kind]})"

        converted = scope.let(sql, plain)
        return scope.finite(converted) if kind is ValueType.NUMBER else converted

    def matches(self, value: str, pattern: str) -> str:
        whole = self.text(r"\A(?:" + pattern + r")\z")
        return f"{value} RLIKE {whole}"

    def text_call(self, name: str, arguments: Sequence[str]) -> str:
        if name == "length":
            return f"CAST(length({arguments[0]}) AS BIGINT)"
        if name == "strpos":
            return f"CAST(instr({', '.join(arguments)}) AS BIGINT)"
        return super().text_call(_NAMES.get(name, name), arguments)

    def like(self, sql: str, pattern: str, scope: EmitScope) -> str:
        """Without Spark's own LIKE, which is a regular expression that backtracks."""
        return scope.let(sql, lambda text: f"({' AND '.join(like_conditions(text, pattern, self.text))})")

    def date_part(self, part: str, sql: str) -> str:
        """Spark's weekday() begins with 0."""
        value = f"weekday({sql}) + 1" if part == "isodow" else f"{_PARTS.get(part, part)}({sql})"
        return f"CAST({value} AS BIGINT)"

    def date_trunc(self, unit: str, sql: str) -> str:
        day = f"CAST({sql} AS DATE)"
        return day if unit == "day" else f"trunc({day}, '{unit}')"

    def days_between(self, start: str, end: str) -> str:
        return f"CAST(datediff(CAST({end} AS DATE), CAST({start} AS DATE)) AS BIGINT)"

    def days_after(self, day: str, days: str) -> str:
        return f"date_add({day}, CAST({days} AS INT))"

    def time_trunc(self, unit: str, sql: str) -> str:
        """Spark's own gives a timestamp of the session's time zone, which is UTC."""
        return f"CAST(date_trunc('{unit}', {sql}) AS TIMESTAMP_NTZ)"

    def months_after(self, moment: str, months: int, kind: ValueType) -> str:
        if kind is ValueType.DATE:
            return f"add_months({moment}, {months})"
        return f"({moment} + make_ym_interval(0, {months}))"

    def seconds_after(self, moment: str, seconds: int) -> str:
        days, rest = divmod(seconds, 86_400)
        return f"({moment} + make_dt_interval({days}, 0, 0, {rest}))"

    def integer_quotient(self, left: str, right: str) -> str:
        return f"{left} DIV {right}"

    def total(self, sql: str, largest: int) -> str:
        """In limbs: each is summed in 64 bits, and they are put together in 128."""
        limbs = max(1, -(-largest.bit_length() // _LIMB))
        pieces = []
        for i in range(limbs):
            piece = f"shiftright({sql}, {_LIMB * i})" if i else sql
            if i < limbs - 1:
                piece = f"({piece}) & {2**_LIMB - 1}"
            pieces.append(f"CAST(sum({piece}) AS DECIMAL(38, 0)) * {2 ** (_LIMB * i)}")
        return f"CAST({' + '.join(pieces)} AS DECIMAL(38, 0))"

    def row_ids(self) -> str:
        """Without bringing all rows to one place."""
        return "monotonically_increasing_id()"

    def kept(self, *, once: bool) -> str:
        """Spark decides by itself. It computes once what is not deterministic."""
        return ""

    def same_person(self, left: str, right: str) -> str:
        return f"{left} <=> {right}"


SPARK = _Spark()
