"""DuckDB. Most functions mean on all engines what they mean in DuckDB."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from discreet.dialects.dialect import Dialect, EmitScope, Operand
from discreet.dialects.quoting import check_literal
from discreet.model.expression import Literal
from discreet.model.interval_arithmetic import ValueInterval
from discreet.model.policy import ValueType

_LONG_LIST = 100
_SEPARATOR = "\x1f"
"""Separates keys. Hardly any key contains it."""
_SPLIT = (ValueType.TEXT, ValueType.INTEGER, ValueType.DATE)


class _DuckDB(Dialect):
    name = "duckdb"
    cuts_in_windows = True
    sums_pairs = True
    has_places = True
    streams = True  # rows of a MATERIALIZED part, too
    types: ClassVar = {
        ValueType.INTEGER: "BIGINT",
        ValueType.NUMBER: "DOUBLE",
        ValueType.TEXT: "VARCHAR",
        ValueType.BOOLEAN: "BOOLEAN",
        ValueType.DATE: "DATE",
        ValueType.TIMESTAMP: "TIMESTAMP",
    }

    def double(self, value: float) -> str:
        """The exponent makes it a DOUBLE."""
        text = repr(value)
        return f"({text if 'e' in text else text + 'e0'})"

    def is_key(self, sql: str, keys: Sequence[Literal]) -> str:
        """Many keys are one text that DuckDB splits: a list of constants takes 25 µs and 6 kB a key."""
        texts = [str(key.value) for key in keys]
        split = len(keys) > _LONG_LIST and keys[0].type in _SPLIT
        if not split or any(_SEPARATOR in text for text in texts):
            return self.is_in(sql, keys)
        for key in keys:
            check_literal(key)
        joined = _SEPARATOR.join(texts).replace("'", "''")
        values = f"CAST(string_split('{joined}', '{_SEPARATOR}') AS {self.types[keys[0].type]}[])"
        return f"{sql} IN (SELECT unnest({values}))"

    def let(self, name: str, sql: str, body: str) -> str:
        """DuckDB has no LET inside of an expression, and its NULLIF is a macro that repeats its argument. The
        only way to name a value is a lambda over a list of one element, at about 50 ns a row.
        """
        return f"list_transform([{sql}], lambda {name}: {body})[1]"

    def let_all(self, name: str, sqls: Sequence[str], body: Callable[[Sequence[str]], str]) -> str:
        """One lambda over a struct. DuckDB copies a lambda within another again and again: eight in each of
        eight took 2 GB to plan.
        """
        fields = ", ".join(f"'v{i}': {sql}" for i, sql in enumerate(sqls))
        return self.let(name, f"{{{fields}}}", body([f"{name}.v{i}" for i in range(len(sqls))]))

    def read(self, column: str, kind: ValueType) -> str:
        return f"TRY_CAST({column} AS {self.types[kind]})"

    def is_finite(self, value: str) -> str:
        return f"isfinite({value})"

    def checked_integers(self, symbol: str, left: str, right: str, scope: EmitScope) -> str:
        """In 128 bits, where two 64-bit factors always fit, and back."""
        return f"TRY_CAST(CAST({left} AS HUGEINT) {symbol} CAST({right} AS HUGEINT) AS BIGINT)"

    def integer_remainder(self, left: str, divisor: str) -> str:
        """In 128 bits, because -2⁶³ % -1 raises in 64."""
        return f"TRY_CAST(CAST({left} AS HUGEINT) % CAST({divisor} AS HUGEINT) AS BIGINT)"

    def to_integer(self, function: str, sql: str, scope: EmitScope) -> str:
        return f"TRY_CAST({function}({sql}) AS BIGINT)"

    def rounded_to(self, x: Operand, digits: int, result: ValueInterval, scope: EmitScope) -> str:
        return scope.finite(f"round({x.sql}, {digits})", result)

    def convert(self, sql: str, source: ValueType, target: ValueType) -> str:
        return f"TRY_CAST({sql} AS {self.types[target]})"

    def parsed(self, sql: str, kind: ValueType, shape: str, scope: EmitScope) -> str:
        def plain(value: str) -> str:
            shaped = f"(CASE WHEN {self.has_shape(value, shape)} THEN {value} END)"
            return f"TRY_CAST({shaped} AS {self.types[kind]})"

        converted = scope.let(sql, plain)
        return scope.finite(converted) if kind is ValueType.NUMBER else converted

    def matches(self, value: str, pattern: str) -> str:
        return f"regexp_full_match({value}, {self.text(pattern)})"

    def text_call(self, name: str, arguments: Sequence[str]) -> str:
        """Without ' ', DuckDB takes other spaces of Unicode off, too."""
        if name in ("trim", "ltrim", "rtrim"):
            return f"{name}({arguments[0]}, ' ')"
        return super().text_call(name, arguments)

    def like(self, sql: str, pattern: str, scope: EmitScope) -> str:
        """DuckDB's own does not backtrack. Without ESCAPE, nothing escapes."""
        return f"({sql} LIKE {self.text(pattern)})"

    def date_part(self, part: str, sql: str) -> str:
        """Cast, because the part of a constant NULL is a DOUBLE."""
        return f"CAST(date_part('{part}', {sql}) AS BIGINT)"

    def date_trunc(self, unit: str, sql: str) -> str:
        return f"CAST(date_trunc('{unit}', CAST({sql} AS DATE)) AS DATE)"

    def days_between(self, start: str, end: str) -> str:
        return f"date_diff('day', CAST({start} AS DATE), CAST({end} AS DATE))"

    def days_after(self, day: str, days: str) -> str:
        return f"({day} + TRY_CAST({days} AS INTEGER))"

    def months_after(self, moment: str, months: int, kind: ValueType) -> str:
        return f"CAST({moment} + to_months({months}) AS {self.types[kind]})"

    def seconds_after(self, moment: str, seconds: int) -> str:
        return f"({moment} + to_seconds({seconds}))"

    def holds_apart(self, condition: str) -> str:
        """DuckDB compares all values with each other that are said to be equal to one: of 150 equalities in
        WHERE it makes 11,000, and writes out in each what its columns stand for.
        """
        return f"coalesce(({condition}), FALSE)"

    def after_reading(self, condition: str, person: str) -> str:
        """A condition on two columns is not pushed down into the reader of a file. That reader would not stop
        between groups of rows until a row passes.
        """
        return f"CASE WHEN coalesce({person} = {person}, TRUE) THEN {condition} END"

    def place_among(self, sql: str, texts: Sequence[str]) -> str:
        """Files keep each different text once. Such a text is cast once, however many rows have it."""
        return f"enum_code(TRY_CAST({sql} AS ENUM({', '.join(map(self.text, texts))})))"

    def unknown_number(self) -> str:
        return "random()"

    def integer_quotient(self, left: str, right: str) -> str:
        return f"{left} // {right}"


DUCKDB = _DuckDB()
