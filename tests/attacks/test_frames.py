"""Tables of pandas, polars and Arrow: no cell decides what is refused, or which columns there are."""

import io
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.errors import DiscreetError
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 0 }
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 3
"""
ROWS = 3_000
QUESTIONS = [
    "SELECT count(note) AS n FROM visits",
    "SELECT count(*) AS n FROM visits WHERE note = 'x'",
    "SELECT count(*) AS n FROM visits WHERE note > 3",
    "SELECT count(*) AS n FROM visits WHERE note > DATE '2025-01-01'",
    "SELECT count(*) AS n FROM visits WHERE note",
]
ODD = [
    *("x", "\ud800", b"\xff", 3, 10**30, 10**5000, 1.5, float("nan"), True, None, [1], {"a": 1}),
    *(Decimal("1.5"), Decimal("NaN"), date(2025, 1, 1), datetime(2025, 1, 1, tzinfo=UTC), pd.NaT, object()),
]
USUAL = {
    "texts": ("a", "text"),
    "integers": (7, "integer"),
    "numbers": (0.5, "number"),
    "decimals": (Decimal(1), "number"),
    "truth": (True, "boolean"),
    "dates": (date(2025, 3, 1), "date"),
    "moments": (datetime(2025, 3, 1), "timestamp"),
    "nothing": (None, "text"),
}


def _told(curator, sql):
    try:
        return repr(curator.explain(sql, epsilon=1))
    except DiscreetError as refused:
        return str(refused)


def seen_for_free(folder, frame, declared=""):
    """Everything that anybody is told of a table before a charge."""
    (folder / "clinic.toml").write_text(POLICY + declared)
    told = []
    try:
        with discreet.open(folder / "clinic.toml", tables={"visits": frame}) as curator:
            told.append(str(curator.tables))
            told += [_told(curator, sql) for sql in QUESTIONS]
    except DiscreetError as refused:
        told.append(str(refused))
    return told


def frame_with(cells, dtype="object"):
    return pd.DataFrame({"patient": np.arange(ROWS) // 3, "note": pd.Series(cells, dtype=dtype)})


@pytest.mark.parametrize("usual", USUAL)
@pytest.mark.parametrize("is_declared", [False, True])
def test_g2_one_cell_of_a_column_of_objects_changes_nothing_before_the_charge(usual, is_declared, tmp_path):
    """DuckDB guesses its type from a thousand of its cells, and fails on others that do not fit."""
    cell, kind = USUAL[usual]
    columns = {"patient": np.arange(ROWS) // 3, "usual": pd.Series([cell] * ROWS, dtype=object)}
    for number, odd in enumerate(ODD):
        for place in (0, 1501):  # one of the thousand, and none of them
            cells = [cell] * ROWS
            cells[place] = odd
            columns[f"odd_{number}_{place}"] = pd.Series(cells, dtype=object)
    names = [name for name in columns if name != "patient"]
    declared = "".join(f'[tables.visits.columns.{name}]\ntype = "{kind}"\n' for name in names)
    (tmp_path / "clinic.toml").write_text(POLICY + declared * is_declared)
    with discreet.open(tmp_path / "clinic.toml", tables={"visits": pd.DataFrame(columns)}) as curator:
        found = {each.name: each.type for each in curator.tables["visits"].columns}
        assert [found[name] for name in names] == [kind if is_declared else "text"] * len(names)
        for sql in QUESTIONS:
            told = {_told(curator, sql.replace("note", name)).replace(name, "note") for name in names}
            assert len(told) == 1


def test_g2_one_category_changes_nothing_before_the_charge(tmp_path):
    expected = seen_for_free(tmp_path, frame_with(pd.Categorical(["a"] * ROWS), None))
    for only in (None, 3, "\ud800", 0.5):
        cells = pd.Series([None] * (ROWS - 1) + [only], dtype=object)
        assert seen_for_free(tmp_path, frame_with(pd.Categorical(cells), None)) == expected


def test_g2_a_column_of_missing_cells_has_the_declared_type(tmp_path):
    """pandas takes it for numbers, or objects; Arrow and polars have a type for it."""
    declared = '[tables.visits.columns.note]\nkeys = ["a", "b"]\n'
    patients = list(np.arange(ROWS) // 3)
    expected = seen_for_free(tmp_path, frame_with(["a"] * ROWS), declared)
    nothing = [
        frame_with([np.nan] * ROWS, "float64"),
        frame_with([None] * ROWS),
        pa.table({"patient": patients, "note": pa.nulls(ROWS)}),
        pl.DataFrame({"patient": patients, "note": [None] * ROWS}),
    ]
    for frame in nothing:
        assert seen_for_free(tmp_path, frame, declared) == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_g2_a_moment_with_a_zone_that_is_out_of_range_changes_nothing_before_the_charge(unit, tmp_path):
    near, far = np.zeros(ROWS, dtype="int64"), np.zeros(ROWS, dtype="int64")
    far[7] = 2**62
    patients = np.arange(ROWS) // 3

    def as_pandas(moments):
        return frame_with(moments.astype(f"datetime64[{unit}]"), None).assign(
            note=lambda frame: frame["note"].dt.tz_localize("UTC")
        )

    def as_arrow(moments):
        return pa.table({"patient": patients, "note": pa.array(moments, type=pa.timestamp(unit, tz="UTC"))})

    for form in (as_pandas, as_arrow):
        expected = seen_for_free(tmp_path, form(near))
        assert len(expected) == 1 + len(QUESTIONS)
        assert seen_for_free(tmp_path, form(far)) == expected


def _moments_in_lists(numbers):
    return pa.ListArray.from_arrays(np.arange(ROWS + 1, dtype="int32"), pa.array(numbers, pa.timestamp("s")))


NOT_USED = {
    "durations of pandas": lambda numbers: pd.Series(numbers.astype("timedelta64[us]")),
    "durations": lambda numbers: pa.array(numbers, type=pa.duration("s")),
    "moments in lists": _moments_in_lists,
    "moments in records": lambda numbers: pa.StructArray.from_arrays(
        [pa.array(numbers, type=pa.timestamp("s"))], names=["at"]
    ),
}


@pytest.mark.parametrize("column", NOT_USED)
def test_g2_a_cell_of_a_column_that_is_not_used_changes_nothing_before_the_charge(column, tmp_path):
    """Parquet has no durations below zero, and no moments in lists beyond what microseconds can hold."""
    near, far = np.zeros(ROWS, dtype="int64"), np.zeros(ROWS, dtype="int64")
    far[7] = -(2**62)
    frames = []
    for numbers in (near, far):
        cells = {"patient": np.arange(ROWS) // 3, "note": NOT_USED[column](numbers)}
        frames.append(pd.DataFrame(cells) if isinstance(cells["note"], pd.Series) else pa.table(cells))
    expected = seen_for_free(tmp_path, frames[0])
    assert len(expected) == 1 + len(QUESTIONS)
    assert seen_for_free(tmp_path, frames[1]) == expected


DAYS = [date(2025, 3, day) for day in range(1, 7)]
KEPT = {
    "integer": [range(1, 7), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]],
    "number": [range(1, 7), [0.5, 1.5, 2.5, 1e300, -4.25, 1e-7]],
    "text": [range(1, 7), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5], ["a", "b", "1", "1.0", "", "é"]],
    "boolean": [[True, False] * 3],
    "date": [pd.to_datetime(DAYS)],
    "timestamp": [pd.to_datetime(DAYS) + pd.Timedelta(seconds=5)],
}
"""Cells as pandas usually keeps them, by the type that a policy declares."""
ODDITIES = [None, np.nan, pd.NaT, pd.NA, "x", 1.5, 2**64, 10**30, Decimal("1.5"), date(2025, 1, 1), b"x", [1]]


def _kept_by_pandas(cells):
    """A column in the forms that pandas may give it, from a file too if that keeps its cells apart."""
    yield pd.Series(cells)
    yield pd.Series(cells, dtype=object)
    yield pd.Series(cells).convert_dtypes()
    if isinstance(cells[0], int | float):
        lines = "".join(
            "\n" if pd.api.types.is_scalar(each) and pd.isna(each) else f"{each}\n" for each in cells
        )
        yield pd.read_csv(io.StringIO(f"note\n{lines}"), skip_blank_lines=False)["note"]


@pytest.mark.parametrize("kind", KEPT)
def test_g5_one_cell_of_pandas_changes_nothing_that_is_read_of_others(kind, tmp_path):
    """pandas makes floats of whole numbers, and texts of numbers: 1 became “1.0” for everybody, or the policy
    could not be opened.
    """
    columns, alike = {}, []
    for usual in map(list, KEPT[kind]):
        several = [usual, *([*usual[:3], odd, *usual[4:]] for odd in ODDITIES)]
        forms = [form for cells in several for form in _kept_by_pandas(cells)]
        names = [f"c{len(columns) + i}" for i in range(len(forms))]
        columns |= dict(zip(names, forms, strict=True))
        alike.append(names)
    declared = dict.fromkeys(columns, ValueType(kind))
    source = TableSource(
        location="notes.parquet", public=False, person="patient", types=declared, implied_types=declared
    )
    frame = pd.DataFrame({"patient": range(6), **columns})
    with closing(DuckDBEngine({"notes": source}, tmp_path, frames={"notes": frame})) as engine:
        texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in columns)
        found = engine.run(f"SELECT {texts} FROM {engine.relations['notes']} ORDER BY patient").reveal()
    for names in alike:
        (read,) = {tuple(np.delete(np.ma.filled(found[name], None), 3)) for name in names}
        assert None not in read


def test_what_is_declared_is_read_from_objects(tmp_path):
    """At ε = 100 a count is off less than once in 10⁴⁰ times."""
    cells = [1, 2.0, Decimal(3), 2.5, "4", True, None, np.int64(5), 2**63, date(2025, 1, 1)]
    found = {}
    for kind in ("integer", "number", "text", "date"):
        (tmp_path / f"{kind}.toml").write_text(POLICY + f'[tables.visits.columns.note]\ntype = "{kind}"\n')
        frame = pd.DataFrame({"patient": range(10), "note": pd.Series(cells, dtype=object)})
        with discreet.open(tmp_path / f"{kind}.toml", tables={"visits": frame}) as curator:
            found[kind] = curator.ask("SELECT count(note) AS n FROM visits", epsilon=300)["n"].tolist()
    assert found == {"integer": [6], "number": [7], "text": [9], "date": [1]}


KILLED = """
import os, signal, sys
import pandas as pd
import discreet
frame = pd.DataFrame({"patient": range(9), "note": ["CANARY"] * 9})
curator = discreet.open(sys.argv[1], tables={"visits": frame})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_g1_the_rows_that_a_killed_process_leaves_behind_are_removed(tmp_path, monkeypatch):
    """The copy of a frame, and what DuckDB wrote because it did not fit into memory."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    (tmp_path / "clinic.toml").write_text(POLICY)
    frame = pd.DataFrame({"patient": range(9), "note": ["a"] * 9})
    with discreet.open(tmp_path / "clinic.toml", tables={"visits": frame}) as curator:
        (ours,) = place.iterdir()
        killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "clinic.toml")], check=False)
        assert killed.returncode == -signal.SIGKILL
        (left,) = set(place.iterdir()) - {ours}
        assert any(b"CANARY" in file.read_bytes() for file in left.iterdir())
        with discreet.open(tmp_path / "clinic.toml", tables={"visits": frame}):
            assert not left.exists()
            assert ours.exists()
        curator.ask("SELECT count(*) AS n FROM visits", epsilon=1)
    assert list(place.iterdir()) == []
