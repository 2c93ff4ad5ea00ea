"""Types between DuckDB and discreet: what a column is, how it is read, and how results come back exactly."""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from discreet.engines.base.engine import ResultColumns
from discreet.model.date_format import DateFormat
from discreet.model.policy import ValueType

_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_WIDE = {"HUGEINT", "UHUGEINT", "UBIGINT"}
_VALUE_TYPES = {
    **dict.fromkeys(_NARROW | _WIDE, ValueType.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ValueType.NUMBER),
    **dict.fromkeys(("VARCHAR", "UUID"), ValueType.TEXT),
    "BOOLEAN": ValueType.BOOLEAN,
    "DATE": ValueType.DATE,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
        ValueType.TIMESTAMP,
    ),
}
_CANONICAL = {
    ValueType.INTEGER: "BIGINT",
    ValueType.NUMBER: "DOUBLE",
    ValueType.TEXT: "VARCHAR",
    ValueType.BOOLEAN: "BOOLEAN",
    ValueType.DATE: "DATE",
    ValueType.TIMESTAMP: "TIMESTAMP",
}
_LIMB = 2**62


def value_type(native: str) -> ValueType | None:
    """The type of a DuckDB column; None for those that discreet does not use, such as lists and blobs."""
    if native.startswith("ENUM("):
        return ValueType.TEXT
    decimal = re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", native)
    if decimal:
        return ValueType.INTEGER if decimal[1] == "0" else ValueType.NUMBER
    return _VALUE_TYPES.get(native)


def canonical_type(kind: ValueType) -> str:
    """The type of DuckDB that columns of a kind are read as."""
    return _CANONICAL[kind]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def list_of(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]"


def reading(
    name: str, kind: ValueType, native: str, *, is_person: bool, date_format: DateFormat | None = None
) -> str:
    """SQL that reads a column as one canonical type, and cannot fail on any cell.

    What does not fit becomes NULL, and so do NaN, ±∞ and dates beyond the years 1 to 9999: they could not be
    returned. An id that is wider than 64 bits stays as it is, or different people would become one.
    """
    column = quoted(name)
    wide = native in _WIDE or native.startswith("DECIMAL")
    target = "HUGEINT" if is_person and wide and kind is ValueType.INTEGER else _CANONICAL[kind]
    value = column if native == target else f"TRY_CAST({_inside(column, native)} AS {target})"
    if date_format is not None:
        value = _by_format(column, date_format, target)
    match kind:
        case ValueType.NUMBER:
            value = f"CASE WHEN isfinite({value}) THEN {value} END"
        case ValueType.DATE | ValueType.TIMESTAMP:
            value = f"CASE WHEN {value} >= '0001-01-01' AND {value} < '10000-01-01' THEN {value} END"
    return f"{value} AS {column}"


def _by_format(column: str, date_format: DateFormat, target: str) -> str:
    """A text that does not fit, or names a day that there is not, becomes NULL."""
    text, pattern = f"TRY_CAST({column} AS VARCHAR)", literal(f"^{date_format.pattern}$")
    by_groups = literal(date_format.iso(lambda place: f"\\{place}"))
    iso = f"regexp_replace({text}, {pattern}, {by_groups})"
    moment = f"TRY_CAST(TRY_CAST({iso} AS TIMESTAMP) AS {target})"
    return f"(CASE WHEN regexp_matches({text}, {pattern}) THEN {moment} END)"


def _inside(column: str, native: str) -> str:
    """A column; NULL where a decimal has more digits than its type, as even TRY_CAST fails on some."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", native)
    if decimal is None:
        return column
    digits, scale = int(decimal[1]), int(decimal[2])
    most = f"'{'9' * (digits - scale)}.{'9' * scale}'::{native}"
    return f"CASE WHEN {column} BETWEEN -{most} AND {most} THEN {column} END"


def returning(sql: str, columns: Mapping[str, str]) -> str:
    """The statement with integers wider than 64 bits cut into three, as numpy would round them to floats."""
    parts = []
    for name, native in columns.items():
        column = quoted(name)
        if is_wide(native):
            wide = column if native == "UHUGEINT" else f"{column}::HUGEINT"
            parts += [
                f"({wide} % {_LIMB})::BIGINT AS {quoted(name + '.0')}",
                f"({wide} // {_LIMB} % {_LIMB})::BIGINT AS {quoted(name + '.1')}",
                f"({wide} // {_LIMB * _LIMB})::BIGINT AS {quoted(name + '.2')}",
            ]
        else:
            target = _CANONICAL[_VALUE_TYPES[native]]
            parts.append(column if native == target else f"{column}::{target} AS {column}")
    return f"SELECT {', '.join(parts)} FROM ({sql}\n)"  # noqa: S608  the compiler's own SQL


def is_wide(native: str) -> bool:
    return native in _WIDE or native.startswith("DECIMAL")


def returnable(native: str) -> bool:
    """Whether results may have this type: never a float, as noise is added to integers only."""
    return value_type(native) not in (None, ValueType.NUMBER) and not native.startswith("ENUM(")


def joined(fetched: ResultColumns, columns: Mapping[str, str]) -> ResultColumns:
    """What `returning` cut, put together again."""
    rows: ResultColumns = {}
    for name, native in columns.items():
        if is_wide(native):
            low, middle, high = (fetched[f"{name}.{part}"] for part in range(3))
            whole = np.ma.getdata(high).astype(object) * _LIMB + np.ma.getdata(middle)
            whole = whole * _LIMB + np.ma.getdata(low)
            masked = isinstance(low, np.ma.MaskedArray)
            rows[name] = np.ma.MaskedArray(whole, mask=np.ma.getmaskarray(low)) if masked else whole
        elif value_type(native) is ValueType.DATE:
            rows[name] = fetched[name].astype("datetime64[D]")
        else:
            rows[name] = fetched[name]
    return rows
