"""Answers as data frames: through pandas' own arrays, or an Arrow stream for everybody else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answers.columns import kind_of
from discreet.answers.json_reading import read_answer
from discreet.answers.released import Released
from discreet.arrays import ColumnValues
from discreet.errors import MissingExtra

if TYPE_CHECKING:
    import duckdb
    import pandas

ARROW_MEDIA_TYPE = "application/vnd.apache.arrow.file"
_SQL_TYPES = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "truth": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}


def arrow_stream(released: Released, requested_schema: object) -> object:
    """An Arrow C stream of a private database that holds the columns and nothing else."""
    return _relation(released).__arrow_c_stream__(requested_schema)


def arrow_of(answer: Mapping[str, Any]) -> bytes:
    """An Arrow file (IPC, also called Feather) of an answer that is there as its JSON only. It needs pyarrow.

    It has the columns of `to_arrow`. The metadata of the schema has the notes, confidence and receipt.
    """
    table = read_answer(answer).to_arrow()  # says what to install if pyarrow is missing
    import pyarrow.ipc

    facts = {name: json.dumps(answer[name]) for name in ("notes", "confidence", "receipt")}
    table = table.replace_schema_metadata(facts)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def write_file(released: Released, path: Path) -> None:
    """As Parquet or CSV, by the ending of the name."""
    relation = _relation(released)
    if path.suffix == ".csv":
        relation.write_csv(str(path))
    else:
        relation.write_parquet(str(path))


def _relation(released: Released) -> "duckdb.DuckDBPyRelation":
    try:
        import duckdb
    except ImportError as missing:  # a client of a service has none
        raise MissingExtra("DuckDB is not installed.", remedy="Run: pip install duckdb") from missing
    connection = duckdb.connect(
        ":memory:", config={"memory_limit": "2GB", "python_enable_replacements": False}
    )
    flat = released.flat()
    connection.register("answer", {f"c{i}": _for_duckdb(column) for i, column in enumerate(flat.values())})
    selected = ", ".join(
        f"CAST(c{i} AS {_SQL_TYPES[kind_of(column)]}) AS {_quoted(name)}"
        for i, (name, column) in enumerate(flat.items())
    )
    return connection.sql(f"SELECT {selected} FROM answer")  # noqa: S608  names are quoted, values registered


def _for_duckdb(column: ColumnValues) -> ColumnValues:
    return column.astype("datetime64[us]") if kind_of(column) == "date" else column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def pandas_frame(pandas: Any, released: Released) -> "pandas.DataFrame":
    """A data frame in which whole numbers and truth values keep their type where some are missing."""
    columns = {name: _pandas_column(pandas, column) for name, column in released.flat().items()}
    frame: pandas.DataFrame = pandas.DataFrame(columns)
    frame.attrs["notes"] = list(released.notes)
    return frame


def _pandas_column(pandas: Any, column: ColumnValues) -> Any:
    data, missing = np.ma.getdata(column).copy(), np.ma.getmaskarray(column)
    match kind_of(column):
        case "integer" if missing.any():
            return pandas.arrays.IntegerArray(data, missing)
        case "truth" if missing.any():
            return pandas.arrays.BooleanArray(data, missing)
        case "text":
            data[missing] = None
        case "date" | "timestamp":
            data[missing] = np.datetime64("NaT")
            return data.astype("datetime64[us]")
    return data
