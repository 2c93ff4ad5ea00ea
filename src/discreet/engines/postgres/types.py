"""Types between PostgreSQL and discreet: what a column is, how it is read, how results come back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.policy import ValueType

_INTEGERS = ("int2", "int4", "int8")
_DOUBLES = ("float4", "float8")
_VALUE_TYPES = {
    **dict.fromkeys(_INTEGERS, ValueType.INTEGER),
    **dict.fromkeys(_DOUBLES, ValueType.NUMBER),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid", "citext", "enum"), ValueType.TEXT),
    "bool": ValueType.BOOLEAN,
    "date": ValueType.DATE,
    **dict.fromkeys(("timestamp", "timestamptz"), ValueType.TIMESTAMP),
}
_YEARS = ("0001-01-01", "10000-01-01")
_LARGEST_DOUBLE = "1.7976931348623157e308"
_DIGITS_IN_64_BITS = 18
_DIGITS_IN_DOUBLE = 150
"""A cast to double cannot fail on a number with at most so many digits on either side of the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeType:
    """A type of PostgreSQL, after domains are replaced by what they are made of."""

    name: str | None
    """Its name in the catalogue, or "enum"; None for types that are not supported."""
    modifier: int
    """As in the catalogue: for numeric its precision and scale, and −1 if it has none."""

    @property
    def precision(self) -> int | None:
        return (self.modifier - 4) >> 16 & 0xFFFF if self.modifier >= 0 else None

    @property
    def scale(self) -> int | None:
        """Digits after the point; below 0 where the last ones before it are always 0."""
        return ((self.modifier - 4 & 0x7FF) ^ 0x400) - 0x400 if self.modifier >= 0 else None

    @property
    def value_type(self) -> ValueType | None:
        if self.name == "numeric":
            return ValueType.INTEGER if self.scale is not None and self.scale <= 0 else ValueType.NUMBER
        return _VALUE_TYPES.get(self.name or "")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def reading(name: str, kind: ValueType, native: NativeType, *, is_person: bool) -> str:
    """SQL that reads a column as one canonical type, and cannot fail on any cell.

    What does not fit becomes NULL, and so do NaN, ±∞ and dates beyond the years 1 to 9999. A numeric id stays
    as it is, and text is compared by its bytes: otherwise different people would become one.
    """
    column = quoted(name)
    match kind:
        case ValueType.INTEGER:
            value = _integer(column, native, is_person=is_person)
        case ValueType.NUMBER:
            value = _number(column, native)
        case ValueType.TEXT:
            plain = f"nullif({column}, 'NaN')" if native.name == "numeric" else column
            value = f'{plain}::text COLLATE "C"'
        case ValueType.BOOLEAN:
            value = f"{column}::boolean"
        case ValueType.DATE | ValueType.TIMESTAMP:
            value = _moment(column, kind, native)
    return f"{value} AS {column}"


def delivered_type(kind: ValueType, native: NativeType, *, is_person: bool) -> str:
    """The type of what `reading` delivers."""
    match kind:
        case ValueType.INTEGER:
            return "numeric" if is_person and native.name == "numeric" else "bigint"
        case ValueType.NUMBER:
            return "double precision"
        case ValueType.TEXT:
            return 'text COLLATE "C"'
        case ValueType.BOOLEAN | ValueType.DATE | ValueType.TIMESTAMP:
            return str(kind.value)


def _integer(column: str, native: NativeType, *, is_person: bool) -> str:
    if native.name in _INTEGERS:
        return f"{column}::bigint"
    if native.name in _DOUBLES:
        double = f"{column}::double precision"
        inside = f"{double} >= double precision '{-(2**63)}' AND {double} < double precision '{2**63}'"
    elif is_person:
        return f"nullif({column}::numeric, 'NaN')"
    elif native.precision is not None and _digits_before_point(native) <= _DIGITS_IN_64_BITS:
        return f"nullif({column}, 'NaN')::bigint"
    else:  # halves are rounded away from zero
        inside = f"{column} > -{2**63}.5 AND {column} < {2**63 - 1}.5"
    return f"CASE WHEN {inside} THEN {column}::bigint END"


def _number(column: str, native: NativeType) -> str:
    double = f"{column}::double precision"
    if native.name in _INTEGERS:
        return double
    if native.name in _DOUBLES:
        largest = f"double precision '{_LARGEST_DOUBLE}'"
        return f"CASE WHEN {double} BETWEEN -{largest} AND {largest} THEN {double} END"
    if native.scale is not None and max(_digits_before_point(native), native.scale) <= _DIGITS_IN_DOUBLE:
        return f"nullif({column}, 'NaN')::double precision"
    large, small = f"1e{_DIGITS_IN_DOUBLE}", f"1e-{_DIGITS_IN_DOUBLE}"
    return (
        f"CASE WHEN {column} > -{small} AND {column} < {small} THEN double precision '0'"
        f" WHEN {column} BETWEEN -{large} AND {large} THEN {double} END"
    )


def _digits_before_point(native: NativeType) -> int:
    return (native.precision or 0) - (native.scale or 0)


def _moment(column: str, kind: ValueType, native: NativeType) -> str:
    """The years are checked before a date becomes a timestamp, as dates reach further."""
    has_zone = native.name == "timestamptz"
    value = f"({column} AT TIME ZONE 'UTC')" if has_zone else column
    start, end = (f"{native.name} '{day}{' 00:00+00' if has_zone else ''}'" for day in _YEARS)
    target = "date" if kind is ValueType.DATE else "timestamp"
    return f"CASE WHEN {column} >= {start} AND {column} < {end} THEN {value}::{target} END"


class Result(Enum):
    """What a column of a result is made of, and the SQL that makes PostgreSQL send it."""

    INTEGER = "{}::bigint"
    WIDE_INTEGER = "trim_scale({})::text"
    """A fraction would be written with a point, which int() refuses: nothing is ever rounded."""
    TEXT = "{}::text"
    BOOLEAN = "{}"
    DATE = "({} - DATE '1970-01-01')::bigint"
    TIMESTAMP = "(extract(epoch FROM {}) * 1000000)::bigint"


_RESULTS = {
    **dict.fromkeys((20, 21, 23), Result.INTEGER),
    1700: Result.WIDE_INTEGER,
    **dict.fromkeys((25, 1043), Result.TEXT),
    16: Result.BOOLEAN,
    1082: Result.DATE,
    1114: Result.TIMESTAMP,
}
"""By the number of the type, which is the same on every server."""


def result_of(type_code: int, scale: int | None) -> Result | None:
    """How a column of a result is fetched; None if no result may have its type, as with floats."""
    return None if scale is not None and scale > 0 else _RESULTS.get(type_code)


def returning(sql: str, columns: Mapping[str, Result]) -> str:
    """The statement with every column as it is fetched."""
    parts = [f"{result.value.format(quoted(name))} AS {quoted(name)}" for name, result in columns.items()]
    return f"SELECT {', '.join(parts)} FROM ({sql}\n) AS answer"  # noqa: S608  the compiler's own SQL


def as_column(cells: NDArray[Any], result: Result) -> NDArray[Any]:
    """Fetched cells as the engine promises them, masked where one is None."""
    missing = np.asarray(cells == None)  # noqa: E711  cell by cell
    if not missing.any():
        return _typed(cells, result)
    cells[missing] = "0" if result is Result.WIDE_INTEGER else "" if result is Result.TEXT else 0
    return np.ma.MaskedArray(_typed(cells, result), mask=missing)


def _typed(cells: NDArray[Any], result: Result) -> NDArray[Any]:
    match result:
        case Result.TEXT:
            return cells
        case Result.WIDE_INTEGER:
            cells[:] = list(map(int, cells))
            return cells
        case Result.BOOLEAN:
            return cells.astype(np.bool_)
        case Result.INTEGER:
            return cells.astype(np.int64)
        case Result.DATE:
            return cells.astype(np.int64).astype("datetime64[D]")
        case Result.TIMESTAMP:
            return cells.astype(np.int64).astype("datetime64[us]")
