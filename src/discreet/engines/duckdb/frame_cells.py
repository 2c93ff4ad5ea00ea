"""The cells of a table of pandas, as one type that no cell decides.

A column of objects has no type of its own. Whoever guesses one from its cells lets one person's cell decide
what questions are taken, before any charge. So its type is the one that the policy declares, or text; a cell
that cannot be read as that is missing. The same holds for categories, whose type is that of the values that
occur, and for columns of floats or texts that are declared as something else: pandas makes floats of whole
numbers if one is missing, and texts of numbers if one is none.

So what is read of a cell must not follow from the type that pandas chose for all of them: 1, 1.0 and "1" are
the same number, and the same text. Otherwise one person's cell would decide about everybody's.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

from discreet.engines.base.column_types import fits
from discreet.model.policy import ValueType

_DTYPES = {
    ValueType.INTEGER: "Int64",
    ValueType.NUMBER: "float64",
    ValueType.TEXT: "object",
    ValueType.BOOLEAN: "boolean",
    ValueType.DATE: "datetime64[us]",
    ValueType.TIMESTAMP: "datetime64[us]",
}
_LARGEST = 2**63
_WRITTEN_AS_TEXT = (str, bool, int, float, Decimal, date, UUID)
_MOST_BITS = 4096
"""Of a number that is written as a text. Python refuses to write very long ones."""
_MOST_DIGITS = 400
"""Before the point, of a decimal. To make a whole number of more takes long."""
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)
_NUMBER = re.compile(
    r"\s*[+-]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?\s*", re.ASCII
)
_TRUTHS: Mapping[str, bool] = MappingProxyType(
    {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
)
"""As pandas reads them from files."""


def with_fixed_types(frame: Any, declared: Mapping[str, ValueType]) -> tuple[Any, dict[str, ValueType]]:
    """A copy of a table of pandas, and the types of the columns that are not what pandas says they are."""
    import pandas as pd

    columns: dict[str, Any] = {}
    types: dict[str, ValueType] = {}
    frame = frame.reset_index(drop=True)
    for name in frame.columns:
        series, kind = frame[name], _decided_here(frame[name].dtype, declared.get(name))
        if kind is not None:
            types[name] = kind
        elif _has_zone(series.dtype):
            series = series.dt.tz_convert(None)  # the same moments, in the time of UTC
        if name in types:
            read, missing = _READ[types[name]], series.isna()
            cells = [
                None if absent else _or_missing(read, cell)
                for cell, absent in zip(series, missing, strict=True)
            ]
            series = pd.Series(cells, dtype=_DTYPES[types[name]])
        columns[name] = series
    return pd.DataFrame(columns), types


def _decided_here(dtype: Any, declared: ValueType | None) -> ValueType | None:
    """The type of a column whose own type is none, or may follow from its cells; None for all others."""
    import pandas as pd

    if isinstance(dtype, pd.StringDtype):
        if declared not in (None, ValueType.TEXT):
            return declared
        return None if dtype.storage == "pyarrow" else ValueType.TEXT  # which may hold half a character
    if dtype.kind == "O" and not isinstance(dtype, pd.ArrowDtype):
        return declared or ValueType.TEXT
    misfit = declared is not None and not fits(ValueType.NUMBER, declared)
    return declared if misfit and dtype.kind == "f" else None


def _has_zone(dtype: Any) -> bool:
    return getattr(getattr(dtype, "pyarrow_dtype", dtype), "tz", None) is not None


def _or_missing(read: Callable[[Any], object], cell: Any) -> object:
    """What is read from a cell; None if that fails, whatever it is."""
    try:
        return read(cell.item() if hasattr(cell, "item") else cell)
    except Exception:
        return None


def _integer(cell: Any) -> int | None:
    """Halves are rounded to even, as DuckDB rounds floats."""
    number = _number_of(cell)
    whole = None if number is None else round(number)
    return whole if whole is not None and -_LARGEST <= whole < _LARGEST else None


def _number(cell: Any) -> float | None:
    number = _number_of(cell)
    return None if number is None or not math.isfinite(float(number)) else float(number)


def _number_of(cell: Any) -> int | float | Decimal | None:
    """A number, or a text that is one."""
    if isinstance(cell, str):
        if _WHOLE.fullmatch(cell):
            return int(cell)
        return float(cell) if _NUMBER.fullmatch(cell) else None
    if isinstance(cell, Decimal) and cell.adjusted() > _MOST_DIGITS:
        return None
    return cell if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) else None


def _text(cell: Any) -> str | None:
    """Whole numbers are written without a point, however pandas keeps them."""
    if not isinstance(cell, _WRITTEN_AS_TEXT) or (isinstance(cell, int) and cell.bit_length() > _MOST_BITS):
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST:
        cell = int(cell)
    return str(cell).encode("utf-8", "replace").decode()


def _truth(cell: Any) -> bool | None:
    if isinstance(cell, str):
        return _TRUTHS.get(cell.strip())
    return cell if isinstance(cell, bool) else None


def _moment(cell: Any) -> datetime | None:
    if isinstance(cell, str):
        cell = datetime.fromisoformat(cell.strip())
    if not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None
    at = cell if cell.tzinfo is None else cell.astimezone(UTC)
    return datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)


_READ: Mapping[ValueType, Callable[[Any], object]] = MappingProxyType(
    {
        ValueType.INTEGER: _integer,
        ValueType.NUMBER: _number,
        ValueType.TEXT: _text,
        ValueType.BOOLEAN: _truth,
        ValueType.DATE: _moment,
        ValueType.TIMESTAMP: _moment,
    }
)
