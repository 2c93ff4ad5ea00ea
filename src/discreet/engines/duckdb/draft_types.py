"""The types of a source's columns, for the owner's first draft. Those of CSV are guessed from its first rows.

DuckDB guesses one form of dates for a whole file, and reads `15.03.2025` by it. A private file is read as
texts, which are cast without any guess: dates that are not as ISO has them need a format in the policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.base.execution import silently
from discreet.engines.base.files import File, Format, Header, locate, read_header
from discreet.engines.duckdb import csv
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.engines.duckdb.types import quoted
from discreet.model.date_format import read_format
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType

_FIRST_ROWS = 20_480
"""As many as DuckDB guesses types from."""
_WHOLE = r"[+-]?\d{1,15}(\.0*)?"
_FLAGS = "'0', '1', '0.0', '1.0'"
_ISO = "%Y-%m-%d"
_DAYS = (_ISO, "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
_TIMES = ("", " %H:%M:%S", " %H:%M")
_MOMENTS = (ValueType.DATE, ValueType.TIMESTAMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTypes:
    """The usable columns of a source, and what is to be said of those that hold dates."""

    types: Mapping[str, ValueType]
    guessed: bool = False
    """Whether the source has no types of its own."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """How columns of CSV write dates, where not as ISO does."""
    unsure: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns that seem to hold dates, and are taken for texts: all formats that fit, or none."""
    whole: frozenset[str] = frozenset()
    """Columns of whole numbers that are written as 1.0, as pandas does if some are missing."""
    flags: frozenset[str] = frozenset()
    """Columns of nothing but 0 and 1."""


def guess_types(location: str, base_dir: Path) -> DraftTypes:
    """The usable columns of a source. What follows from rows, only the owner may see."""
    source = TableSource(location=location, public=True, person=None, types={}, implied_types={})
    engine = DuckDBEngine({"data": source}, base_dir)
    types = engine.schema("data")
    engine.close()
    located = locate(location, base_dir)
    if located.format is not Format.CSV:
        return DraftTypes(types=types)
    header = read_header(located.files[0])
    found = _with_formats(types, _first_texts(located.files, header, types))
    return _with_whole_numbers(found, located.files, header)


def fitting_formats(texts: Iterable[str]) -> tuple[str, ...]:
    """The formats that all of the texts have. Days before months, if there are dots between them."""
    found = list(texts)
    candidates = [f"{day}{time}" for day, time in product(_DAYS, _TIMES)]
    return tuple(written for written in candidates if all(map(read_format(written).parse, found)))


def _with_formats(types: Mapping[str, ValueType], texts: Mapping[str, "_Texts"]) -> DraftTypes:
    kinds, formats, unsure = dict(types), {}, {}
    for column, found in texts.items():
        if not found.different:
            continue
        fitting = fitting_formats(found.different)
        if kinds[column] in _MOMENTS and found.cast_as_they_are:
            kinds[column] = ValueType.DATE if fitting == (_ISO,) else kinds[column]
        elif len(fitting) == 1:
            kinds[column] = ValueType.TIMESTAMP if read_format(fitting[0]).has_time else ValueType.DATE
            if not fitting[0].startswith(_ISO):
                formats[column] = fitting[0]
        elif fitting or kinds[column] in _MOMENTS:
            kinds[column] = ValueType.TEXT
            unsure[column] = fitting
    return DraftTypes(types=kinds, guessed=True, formats=formats, unsure=unsure)


def _with_whole_numbers(found: DraftTypes, files: tuple[File, ...], header: Header) -> DraftTypes:
    """Numbers that are whole in the first rows are integers, and may be flags."""
    columns = [name for name, kind in found.types.items() if kind.numeric]
    if not columns:
        return found
    selected = ", ".join(
        f"bool_and(regexp_full_match({quoted(name)}, '{_WHOLE}')), bool_and({quoted(name)} IN ({_FLAGS}))"
        for name in columns
    )
    row = silently(lambda: _only_row(f"SELECT {selected} FROM {_first_rows(files, header)}"))  # noqa: S608
    if row is None:
        return found
    integers = {name for name, whole in zip(columns, row[::2], strict=True) if whole}
    whole = {name for name in integers if found.types[name] is ValueType.NUMBER}
    return replace(
        found,
        types={name: ValueType.INTEGER if name in whole else kind for name, kind in found.types.items()},
        whole=frozenset(whole),
        flags=frozenset(name for name, flag in zip(columns, row[1::2], strict=True) if flag),
    )


def _first_rows(files: tuple[File, ...], header: Header) -> str:
    """Cut as a private file is."""
    return f"(FROM {csv.lines_as_rows(files, header)} LIMIT {_FIRST_ROWS})"


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of a column in the first rows."""

    different: tuple[str, ...]
    cast_as_they_are: bool
    """Whether each is a moment to DuckDB without any format, as a private file is read."""


def _first_texts(
    files: tuple[File, ...], header: Header, types: Mapping[str, ValueType]
) -> dict[str, _Texts]:
    """Of the columns that may hold dates, cut as a private file is."""
    columns = [name for name, kind in types.items() if kind in (*_MOMENTS, ValueType.TEXT)]
    if not columns:
        return {}
    selected = ", ".join(
        f"list(DISTINCT {quoted(name)}) FILTER ({quoted(name)} IS NOT NULL),"
        f" bool_and(TRY_CAST({quoted(name)} AS TIMESTAMP) IS NOT NULL) FILTER ({quoted(name)} IS NOT NULL)"
        for name in columns
    )
    row = silently(lambda: _only_row(f"SELECT {selected} FROM {_first_rows(files, header)}"))  # noqa: S608
    if row is None:  # a file that was read a moment ago: types stay as they are
        return {}
    pairs = zip(columns, row[::2], row[1::2], strict=True)
    return {name: _Texts(tuple(found or ()), bool(cast)) for name, found, cast in pairs}


def _only_row(statement: str) -> tuple[Any, ...] | None:
    with duckdb.connect(":memory:", config={"python_enable_replacements": False}) as connection:
        return connection.execute(statement).fetchone()
