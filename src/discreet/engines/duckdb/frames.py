"""Tables of pandas, polars and Arrow as sources: each becomes a Parquet file that only this process uses.

It is a copy. Whatever happens to the frame later changes no answer, and all that holds for files holds for
it: what a cell can make a reader do, and that no row is read before the charge.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.base.execution import silently
from discreet.engines.base.files import File, Format, Located
from discreet.engines.duckdb.frame_cells import with_fixed_types
from discreet.engines.duckdb.types import canonical_type, literal, quoted, value_type
from discreet.errors import InvalidInput, MissingExtra
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType

_COARSE = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
"""Moments are written in microseconds, which can be read back whatever they are."""
_NOTHING = '"NULL"'
"""The type of a column of Arrow in which every cell is missing."""
_NOT_USED = "NULL::INTERVAL"
"""What is written of a column whose type is not used. Some of its cells could not be: durations below zero,
moments out of range in a list."""


def write_frame(name: str, frame: object, folder: Path, source: TableSource) -> Located:
    """The file of a frame, which is the table of this name. No cell decides the type of a column."""
    columns = _columns_of(name, frame)
    declared = {**source.implied_types, **dict.fromkeys(source.formats, ValueType.TEXT)}
    fixed = silently(lambda: _with_fixed_types(frame, declared))
    if fixed is None:
        raise _unreadable(name)
    frame, kinds = fixed
    path = folder / f"frame-{len(list(folder.iterdir()))}.parquet"
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        if silently(lambda: connection.register("frame", frame)) is None:
            raise _unreadable(name)
        types = silently(lambda: connection.execute("DESCRIBE frame").fetchall())
        if types is None or [str(row[0]) for row in types] != columns:
            raise _unreadable(name)
        for column, native, *_ in types:
            if native == _NOTHING:
                kinds.setdefault(str(column), declared.get(str(column), ValueType.TEXT))
        read = ", ".join(
            _written(str(column), str(native), kinds.get(str(column))) for column, native, *_ in types
        )
        copy = f"COPY (SELECT {read} FROM frame) TO {literal(str(path))} (FORMAT parquet)"  # noqa: S608
        if silently(lambda: connection.execute(copy).fetchall()) is None:
            raise _unreadable(name)
    return Located(format=Format.PARQUET, files=(File.at(path),))


def _columns_of(name: str, frame: Any) -> list[str]:
    """The names of the columns; refuses what is no table."""
    module = type(frame).__module__.partition(".")[0]
    if module not in ("pandas", "polars", "pyarrow") or not hasattr(frame, "columns"):
        raise InvalidInput(
            f"The table “{name}” was given as {type(frame).__name__}.",
            remedy="Give a DataFrame of pandas or polars, or a Table of pyarrow.",
        )
    if module == "polars":
        _need_pyarrow()
    columns = list(frame.column_names if module == "pyarrow" else frame.columns)
    if not all(isinstance(column, str) and column for column in columns):
        raise InvalidInput(
            f"The columns of “{name}” are not all named by texts.",
            remedy="Rename them: frame.columns = [str(column) for column in frame.columns].",
        )
    if len({column.casefold() for column in columns}) < len(columns):
        raise InvalidInput(
            f"Two columns of “{name}” have the same name, upper and lower case being the same.",
            remedy="Rename one of them.",
        )
    return columns


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "Tables of polars are read through pyarrow.", remedy="pip install pyarrow"
        ) from None


def _with_fixed_types(frame: Any, declared: Mapping[str, ValueType]) -> tuple[Any, dict[str, ValueType]]:
    """The table, and the types of columns that are written as another type than they have there."""
    if type(frame).__module__.startswith("pandas"):
        return with_fixed_types(frame, declared)
    if type(frame).__module__.startswith("polars"):
        frame = frame.to_arrow()
    for place, field in enumerate(frame.schema):
        if getattr(field.type, "tz", None) is not None:  # the same moments, in the time of UTC
            moments = frame.column(place).cast(_without_zone(field.type))
            frame = frame.set_column(place, field.name, moments)
    return frame, {}


def _without_zone(moment: Any) -> Any:
    import pyarrow as pa

    return pa.timestamp(moment.unit)


def _written(column: str, native: str, kind: ValueType | None) -> str:
    own = quoted(column)
    if kind is not None:
        return f"TRY_CAST({own} AS {canonical_type(kind)}) AS {own}"
    if value_type(native) is None:
        return f"{_NOT_USED} AS {own}"
    return f"TRY_CAST({own} AS TIMESTAMP) AS {own}" if native in _COARSE else own


def _unreadable(name: str) -> InvalidInput:
    return InvalidInput(
        f"The table “{name}” cannot be written to a file.",
        remedy="Give each column one type: numbers, texts, truth values, dates or moments."
        " In pandas, frame.astype({column: type}) does.",
    )
