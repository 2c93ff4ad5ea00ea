"""Columns of an answer: each kind of value has one form, so that equal columns are equal bytes.

int64, float64 in which NaN is missing, bool, str in an object array, datetime64[D] and datetime64[us]. All
but floats are a masked array where NULL occurs, with zeros below the mask. No column can be written to.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import ColumnValues, Floats
from discreet.errors import InvalidInput

Cell: TypeAlias = str | int | float | bool | date | None
KeyEnds: TypeAlias = tuple[str | int | date | None, str | int | date | None]
"""The key that stands for all below it, too, and the one that stands for all above it."""

DTYPES = {
    "integer": np.dtype(np.int64),
    "number": np.dtype(np.float64),
    "truth": np.dtype(np.bool_),
    "text": np.dtype(object),
    "date": np.dtype("datetime64[D]"),
    "timestamp": np.dtype("datetime64[us]"),
}
_KINDS = {dtype: kind for kind, dtype in DTYPES.items()}
_OF_PYTHON = {
    frozenset({str}): "text",
    frozenset({bool}): "truth",
    frozenset({int}): "integer",
    frozenset({float}): "number",
    frozenset({int, float}): "number",
    frozenset({Decimal}): "number",
    frozenset({date}): "date",
    frozenset({datetime}): "timestamp",
    frozenset[type](): "text",
}


def as_column(cells: NDArray[Any] | Sequence[Cell]) -> ColumnValues:
    """The one form of a column, from what a database gives or from plain values; None is missing."""
    if not isinstance(cells, np.ndarray):
        plain = list(cells)
        cells = np.empty(len(plain), dtype=object)
        cells[:] = plain
    data, missing = np.ma.getdata(cells), np.ma.getmaskarray(cells)
    if data.ndim != 1:
        raise InvalidInput("A column of an answer is a list of values.", remedy="Give one dimension.")
    if data.dtype == object:
        missing = missing | np.asarray(data == None, dtype=np.bool_)  # noqa: E711  each cell
    kind = _kind(data, missing)
    return _finished(_converted(data, missing, kind), missing, kind)


def as_floats(cells: NDArray[Any] | Sequence[float]) -> Floats:
    """Numbers that are measured, or an end of their intervals: NaN where there is none."""
    if type(cells) is np.ndarray and cells.dtype == np.float64 and not cells.flags.writeable:
        return cells
    found = np.array(np.ma.filled(np.ma.asarray(cells, dtype=np.float64), np.nan), dtype=np.float64)
    found.setflags(write=False)
    return found


def kind_of(column: ColumnValues) -> str:
    """A key of `DTYPES`."""
    return _KINDS[column.dtype]


def plain_cells(column: ColumnValues) -> list[Cell]:
    """Plain Python values: int, float, bool, str, date, datetime, or None where a value is missing."""
    if column.dtype != np.float64:
        cells: list[Cell] = column.tolist()
        return cells
    missing = np.isnan(column)
    if not missing.any():
        numbers: list[Cell] = column.tolist()
        return numbers
    objects = column.astype(object)
    objects[missing] = None
    some: list[Cell] = objects.tolist()
    return some


def iso_cells(column: ColumnValues) -> Sequence[object]:
    """Plain values; dates as text."""
    cells = plain_cells(column)
    if column.dtype.kind != "M":
        return cells
    return [cell.isoformat() if isinstance(cell, date) else cell for cell in cells]


def _kind(data: NDArray[Any], missing: NDArray[np.bool_]) -> str:
    match data.dtype.kind:
        case "i" | "u":
            return "integer" if _fits(data) else "number"
        case "f":
            return "number"
        case "b":
            return "truth"
        case "U":
            return "text"
        case "M":
            return "date" if np.datetime_data(data.dtype)[0] in ("D", "W", "M", "Y") else "timestamp"
        case "O":
            kind = _OF_PYTHON.get(frozenset(map(type, data[~missing].tolist())))
            if kind == "integer" and not _fits(data[~missing]):
                return "number"
            if kind is not None:
                return kind
    raise InvalidInput(
        "A column of an answer holds whole numbers, numbers, truth values, text, dates or timestamps.",
        remedy="Give values of one such kind, and None where one is missing.",
    )


def _fits(whole: NDArray[Any]) -> bool:
    return not len(whole) or bool(whole.min() >= -(2**63) and whole.max() < 2**63)


def _converted(data: NDArray[Any], missing: NDArray[np.bool_], kind: str) -> NDArray[Any]:
    """A copy of the right type; `_finished` overwrites missing values."""
    if data.dtype == object and kind != "text":
        typed = np.zeros(len(data), dtype=DTYPES[kind])
        typed[~missing] = data[~missing].astype(DTYPES[kind])
        return typed
    return data.astype(DTYPES[kind], copy=True)


def _finished(data: NDArray[Any], missing: NDArray[np.bool_], kind: str) -> ColumnValues:
    if kind == "number":
        data[missing | ~np.isfinite(data)] = np.nan
        data.setflags(write=False)
        return data
    if kind in ("date", "timestamp"):
        missing = missing | np.isnat(data)
    if not missing.any():
        data.setflags(write=False)
        return data
    data[missing] = "" if kind == "text" else np.zeros(1, dtype=data.dtype)[0]
    data.setflags(write=False)
    mask = missing.copy()
    mask.setflags(write=False)
    return np.ma.MaskedArray(data, mask=mask)
