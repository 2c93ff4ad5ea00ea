"""Finds the files that a policy points at. Of their content, only the header of a CSV file is looked at."""

import csv
import glob
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from discreet.errors import PolicyError

_FORMS = "Give a .parquet or .csv file, a pattern such as visits/*.parquet, or FILE.duckdb#TABLE."
_LONGEST_HEADER = 2**20
_DELIMITERS = ",;\t|"


class Format(Enum):
    PARQUET = "Parquet"
    CSV = "CSV"
    DUCKDB = "DuckDB"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file as it was when it was opened."""

    path: Path
    stamp: tuple[int, int, int]

    @classmethod
    def at(cls, path: Path) -> "File":
        status = path.stat()
        return cls(path=path, stamp=(status.st_ino, status.st_size, status.st_mtime_ns))

    @property
    def unchanged(self) -> bool:
        try:
            return self.at(self.path) == self
        except OSError:
            return False

    @property
    def pattern(self) -> str:
        """The path for a reader that takes patterns: its own stars and brackets stand for themselves."""
        return re.sub(r"([*?\[])", r"[\1]", str(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The files behind a source."""

    format: Format
    files: tuple[File, ...]
    table: tuple[str, ...] = ()
    """In a DuckDB file: the table, with its schema if one was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns and the delimiter of a CSV file, read from its first line alone."""

    names: tuple[str, ...]
    delimiter: str


def locate(location: str, base_dir: Path) -> Located:
    """The files of a source, which is relative to `base_dir`."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", location):
        raise PolicyError(f"The source “{location}” is not a local file.", remedy="Download it first.")
    kind, path, table = _format(location)
    try:
        files = tuple(File.at(found) for found in _matching(base_dir, path))
    except (OSError, ValueError):
        raise PolicyError(
            f"The source “{location}” cannot be opened.", remedy="Check its name and who may read it."
        ) from None
    if not files:
        raise PolicyError(
            f"There is no file “{location}”.",
            remedy=f"Sources are relative to the policy's folder, {base_dir.resolve()}.",
        )
    return Located(format=kind, files=files, table=table)


def read_header(file: File) -> Header:
    """The column names of a CSV file. No row is read."""
    name = file.path.name
    try:
        with file.path.open("rb") as stream:
            line = stream.readline(_LONGEST_HEADER).decode("utf-8-sig")
    except (OSError, UnicodeError):
        raise PolicyError(f"The first line of “{name}” is not text.", remedy="Save it as UTF-8.") from None
    line = line.rstrip("\r\n")
    if "\r" in line:
        raise PolicyError(
            f"The first line of “{name}” ends with a carriage return alone, as lines did long ago.",
            remedy="Save the file with line ends of today: a line feed, with or without a carriage return.",
        )
    delimiter = max(_DELIMITERS, key=line.count)
    names = _first_row(line, delimiter)
    if not names or not all(names) or len({column.casefold() for column in names}) < len(names):
        raise PolicyError(
            f"The first line of “{name}” must name every column, and each once.",
            remedy="Write the names of the columns into the first line, upper and lower case being the same.",
        )
    return Header(names=tuple(names), delimiter=delimiter)


def _first_row(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a cell beyond the reader's limit
        return []


def _format(location: str) -> tuple[Format, str, tuple[str, ...]]:
    lower = location.lower()
    if lower.endswith((".parquet", ".pq")):
        return Format.PARQUET, location, ()
    if lower.endswith((".csv", ".tsv")):
        return Format.CSV, location, ()
    path, separator, table = location.rpartition("#")
    if separator and path and table:
        return Format.DUCKDB, path, tuple(table.split(".", 1))
    raise PolicyError(f"The source “{location}” is of no known kind.", remedy=_FORMS)


def _matching(base_dir: Path, path: str) -> list[Path]:
    full = (base_dir / path).resolve()
    if full.is_file():
        return [full]
    pattern = path if Path(path).is_absolute() else f"{glob.escape(str(base_dir.resolve()))}/{path}"
    found = (Path(name) for name in glob.glob(pattern, recursive=True))  # noqa: PTH207  absolute ones too
    return sorted(file.resolve() for file in found if file.is_file())
