"""A Parquet file as a relation of DuckDB that no cell can make fail.

DuckDB's reader fails on two kinds of cells: texts that are not UTF-8, and moments in milliseconds that are
beyond the years that it knows. In texts, each invalid byte is read as a question mark. For moments there is
no such way: their columns are left out, for everybody, unless the owner vouches for them.
"""

from collections.abc import Mapping, Sequence

from discreet.engines.base.files import File
from discreet.engines.duckdb.types import list_of, quoted

MILLISECONDS = "TIMESTAMP IN MILLISECONDS"
"""A made-up type for columns that the reader may fail on. discreet does not use columns of this type."""


def as_written(files: Sequence[File]) -> str:
    """The relation as the reader delivers it."""
    return (
        f"read_parquet({list_of(file.pattern for file in files)}, hive_partitioning = false,"
        " utf8_validation = 'replace')"
    )


def columns_with_milliseconds(file: File) -> str:
    """A SELECT of the names of columns with moments in milliseconds, from the schema of the file alone."""
    return (
        f"SELECT name FROM parquet_schema({list_of([file.pattern])})"  # noqa: S608
        " WHERE converted_type::VARCHAR = 'TIMESTAMP_MILLIS'"
        " OR logical_type::VARCHAR LIKE '%MILLIS=MilliSeconds%'"
    )


def usable(relation: str, native: Mapping[str, str]) -> str:
    """The relation without columns that may fail, and without the file's statistics on its texts.

    The least and greatest texts in these statistics are of the bytes as written. They would leave out rows
    whose texts are read differently: whether one person's row counts would depend on the rows beside it. A
    function of the text hides them from DuckDB. Trimming nothing is the cheapest: it is done once for each
    entry of a dictionary. Statistics of a column that may fail are not read if nothing names it.
    """
    columns = [_read(quoted(name), kind) for name, kind in native.items() if kind != MILLISECONDS]
    return f"(SELECT {', '.join(columns)} FROM {relation})" if columns else relation  # noqa: S608


def _read(column: str, kind: str) -> str:
    return f"ltrim({column}, '') AS {column}" if kind == "VARCHAR" else column
