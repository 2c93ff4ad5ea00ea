"""Types between Spark and discreet: what a column is, how it is read, and how results come back exactly."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.base.engine import ResultColumns
from discreet.engines.spark.sources import quoted
from discreet.model.date_format import DateFormat
from discreet.model.policy import ValueType

_VALUE_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), ValueType.INTEGER),
    **dict.fromkeys(("float", "double"), ValueType.NUMBER),
    "string": ValueType.TEXT,
    "boolean": ValueType.BOOLEAN,
    "date": ValueType.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ValueType.TIMESTAMP),
}
_CANONICAL = {
    ValueType.INTEGER: "BIGINT",
    ValueType.NUMBER: "DOUBLE",
    ValueType.TEXT: "STRING",
    ValueType.BOOLEAN: "BOOLEAN",
    ValueType.DATE: "DATE",
    ValueType.TIMESTAMP: "TIMESTAMP_NTZ",
}
_FIRST_AND_LAST = {
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "timestamp": ("TIMESTAMP_LTZ'0001-01-01 00:00:00Z'", "TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"),
}
"""Moments outside of these, and only they, cannot be cast to another type, or be returned."""


def value_type(native: str) -> ValueType | None:
    """The type of a Spark column; None for those that discreet does not use, such as arrays and binaries."""
    if native.startswith(("string collate ", "char(", "varchar(")):
        return ValueType.TEXT
    decimal = re.fullmatch(r"decimal\(\d+,(\d+)\)", native)
    if decimal:
        return ValueType.INTEGER if decimal[1] == "0" else ValueType.NUMBER
    return _VALUE_TYPES.get(native)


def reading(
    name: str, kind: ValueType, native: str, *, is_person: bool, date_format: DateFormat | None = None
) -> str:
    """SQL that reads a column as one canonical type, and cannot fail on any cell, although Spark is strict.

    What does not fit becomes NULL, and so do NaN, ±∞ and dates beyond the years 1 to 9999. An id stays as
    wide as it is, and as it is spelt, or different people would become one.
    """
    column = quoted(name)
    match kind:
        case ValueType.INTEGER:
            value = _integer(column, native, is_person=is_person)
        case ValueType.NUMBER:
            value = _number(f"CAST({column} AS DOUBLE)" if native != "double" else column)
        case ValueType.TEXT:
            value = _text(column, native, is_person=is_person)
        case ValueType.DATE | ValueType.TIMESTAMP:
            value = (
                _moment(column, kind, native)
                if date_format is None
                else _by_format(column, kind, native, date_format)
            )
        case ValueType.BOOLEAN:
            value = column
    return column if value == column else f"{value} AS {column}"


def _integer(column: str, native: str, *, is_person: bool) -> str:
    if native == "bigint":
        return column
    if native in ("float", "double"):
        # Beyond 64 bits, Spark would take the next number that fits.
        fits = f"{column} >= -9223372036854775808D AND {column} < 9223372036854775808D"
        return f"CASE WHEN {fits} THEN CAST(rint({column}) AS BIGINT) END"
    if native.startswith("decimal"):
        whole = column if native.endswith(",0)") else f"round({column})"
        return f"CAST({whole} AS DECIMAL(38,0))" if is_person else f"try_cast({whole} AS BIGINT)"
    return f"CAST({column} AS BIGINT)"


def _number(value: str) -> str:
    """NaN is greater than every number in Spark, and equal to itself."""
    return f"CASE WHEN {value} BETWEEN -1.7976931348623157E308D AND 1.7976931348623157E308D THEN {value} END"


def _text(column: str, native: str, *, is_person: bool) -> str:
    """Invalid UTF-8 is NULL, except in ids. A collation is dropped: it may take two texts for the same."""
    if value_type(native) is not ValueType.TEXT:
        return f"CAST({column} AS STRING)"
    plain = f"{column} COLLATE UTF8_BINARY" if native.startswith("string collate ") else column
    return plain if is_person else f"try_validate_utf8({plain})"


def _moment(column: str, kind: ValueType, native: str) -> str:
    first, last = _FIRST_AND_LAST[native]
    target = _CANONICAL[kind]
    value = column if native.upper() == target else f"CAST({column} AS {target})"
    return f"CASE WHEN {column} BETWEEN {first} AND {last} THEN {value} END"


def _by_format(column: str, kind: ValueType, native: str, date_format: DateFormat) -> str:
    """A text that does not fit, or names a day that there is not, becomes NULL.

    The pattern ends where no further character follows: a $ of Java allows for a line end after it.
    """
    text = _text(column, native, is_person=False)
    pattern = f"'(?s)^{date_format.pattern}(?!.)'"
    by_groups = date_format.iso(lambda place: f"${place}")
    iso = f"regexp_replace({text}, {pattern}, '{by_groups}')"
    moment = f"try_cast({iso} AS TIMESTAMP_NTZ)"
    first, last = _FIRST_AND_LAST["timestamp_ntz"]
    inside = f"CASE WHEN {text} RLIKE {pattern} AND {moment} BETWEEN {first} AND {last} THEN {moment} END"
    return f"CAST({inside} AS DATE)" if kind is ValueType.DATE else inside


def returnable(native: str) -> bool:
    """Whether results may have this type: never a float, as noise is added to integers only."""
    return value_type(native) not in (None, ValueType.NUMBER)


def returning(name: str, native: str) -> str:
    """SQL for a column of a result that Arrow can carry. Only ids may be invalid UTF-8."""
    column = quoted(name)
    return f"make_valid_utf8({column}) AS {column}" if value_type(native) is ValueType.TEXT else column


def rows_of(table: Any) -> ResultColumns:
    """The columns of an Arrow table as numpy has them."""
    return {name: _column(table[name].combine_chunks()) for name in table.column_names}


def _column(array: Any) -> NDArray[Any]:
    import pyarrow as pa

    kind = array.type
    values: NDArray[Any]
    if pa.types.is_decimal(kind):
        values = _whole_numbers(array)
    elif pa.types.is_integer(kind):
        values = _filled(array.cast(pa.int64()))
    elif pa.types.is_date32(kind):
        values = _filled(array.cast(pa.int32())).astype(np.int64).view("datetime64[D]")
    elif pa.types.is_timestamp(kind):
        values = _filled(array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())).view("datetime64[us]")
    elif pa.types.is_boolean(kind):
        values = array.fill_null(False).to_numpy(zero_copy_only=False)
    else:
        values = array.to_numpy(zero_copy_only=False)
    if not array.null_count:
        return values
    return np.ma.MaskedArray(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def _filled(array: Any) -> NDArray[Any]:
    values: NDArray[Any] = array.fill_null(0).to_numpy(zero_copy_only=False)
    return values


def _whole_numbers(array: Any) -> NDArray[Any]:
    """Decimals as Python ints, from the two halves of 64 bits in which Arrow keeps them."""
    if not len(array):
        return np.empty(0, dtype=object)
    halves = np.frombuffer(array.buffers()[1], dtype="<u8").reshape(-1, 2)
    halves = halves[array.offset : array.offset + len(array)]
    high, low = halves[:, 1].view("<i8").astype(object), halves[:, 0].astype(object)
    whole: NDArray[Any] = high * 2**64 + low
    return whole
