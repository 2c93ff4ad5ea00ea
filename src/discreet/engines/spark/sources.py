"""Where the tables of a policy are in Spark. Of local files, only the schema in their footers is looked at.

spark://local#visits.parquet               files of this machine: a file, a pattern, or a folder/
spark://local#clinic.visits                a table of the catalogue that this machine's Spark is set up with
sc://host:15002#clinic.visits              a table behind Spark Connect; spark://host:15002#… is the same
sc://host:15002#s3a://bucket/visits/       files as that server sees them
spark://session#visits                     a table or view of a session that was handed in from Python
"""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from discreet.engines.base.execution import silently
from discreet.engines.base.files import File
from discreet.errors import PolicyError

_FORMS = (
    "Write spark://local#visits.parquet, spark://local#folder/, sc://host:15002#schema.table,"
    " or spark://session#view."
)
_PART = r"`(?:[^`]|``)+`|[^.`/\s#]+"
_TABLE = re.compile(rf"(?:{_PART})(?:\.(?:{_PART})){{0,3}}")
_SERVER = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(/.*)?", re.ASCII)
_DEFAULT_PORT = 15002


class Home(Enum):
    """Whose session a table is read in."""

    LOCAL = "local"
    SERVER = "server"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource:
    """One table, or files, in one session."""

    home: Home
    server: str = ""
    """The address of a server, as Spark Connect writes it."""
    table: tuple[str, ...] = ()
    """The name of a table, with its schema and catalogue if they were given."""
    paths: tuple[str, ...] = ()
    """What Spark is to read as Parquet, if it is not a table."""
    local: "LocalFiles | None" = None
    """These files, if they are on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """Parquet files as they were when they were opened."""

    roots: tuple[Path, ...]
    files: tuple[File, ...]

    @property
    def unchanged(self) -> bool:
        return silently(lambda: tuple(_files(self.roots)) == self.files) or False


def find(location: str, base_dir: Path) -> SparkSource:
    """What a source means. Relative paths are in `base_dir`; nothing is asked of Spark."""
    scheme, separator, rest = location.partition("://")
    place, fragment_follows, fragment = rest.partition("#")
    if scheme not in ("spark", "sc") or not separator or not fragment_follows or not fragment:
        raise PolicyError(f"The source “{location}” is of no known kind.", remedy=_FORMS)
    if scheme == "spark" and place == "local":
        return _local(location, fragment, base_dir)
    if scheme == "spark" and place == "session":
        if _is_path(fragment):
            raise PolicyError(
                f"The source “{location}” is not a table.",
                remedy="Read the files in that session, and give them a name with createTempView.",
            )
        return SparkSource(home=Home.SESSION, table=_table(location, fragment))
    return _on_server(location, place, fragment)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def check_same_columns(local: LocalFiles) -> None:
    """Spark takes the schema from one of the files, and gives NULL or fails where another one differs."""
    import pyarrow.parquet

    first = silently(lambda: pyarrow.parquet.read_schema(local.files[0].path))
    for file in local.files:
        schema = silently(partial(pyarrow.parquet.read_schema, file.path))
        if schema is None:
            raise PolicyError(
                f"The file “{file.path.name}” cannot be read as Parquet.",
                remedy="Check that it is one, and that it is complete.",
            )
        if not schema.equals(first):
            raise PolicyError(
                f"The files “{local.files[0].path.name}” and “{file.path.name}” of one source have different"
                " columns.",
                remedy="Give them the same columns in the same order, or make them two tables.",
            )


def columns_with_milliseconds(local: LocalFiles) -> frozenset[str]:
    """Columns of moments that Spark's reader fails on if one is out of range, from the schemas of the files.

    The units are those of the Parquet schema: the schema that Arrow makes of it may have others.
    """
    import pyarrow.parquet

    found: set[str] = set()
    for file in local.files:
        with pyarrow.parquet.ParquetFile(file.path) as opened:
            columns = [opened.schema.column(i) for i in range(len(opened.schema))]
        kinds = {column.path: f"{column.converted_type} {column.logical_type}" for column in columns}
        found |= {path for path, kind in kinds.items() if "MILLIS" in kind or "timeUnit=milliseconds" in kind}
    return frozenset(found)


def _local(location: str, fragment: str, base_dir: Path) -> SparkSource:
    if not _is_path(fragment):
        return SparkSource(home=Home.LOCAL, table=_table(location, fragment))
    if _has_scheme(fragment):
        return SparkSource(home=Home.LOCAL, paths=(fragment,))
    found = silently(lambda: _matching(fragment, base_dir))
    if found is None:
        raise PolicyError(
            f"The source “{location}” cannot be opened.", remedy="Check its name and who may read it."
        )
    if not found.files:
        raise PolicyError(
            f"There is no Parquet file at “{fragment}”.",
            remedy=f"Sources are relative to the policy's folder, {base_dir.resolve()}.",
        )
    for file in found.files:
        if not os.access(file.path, os.R_OK):
            raise PolicyError(
                f"The file “{file.path.name}” may not be read.", remedy="Give this user the right to read it."
            )
    return SparkSource(home=Home.LOCAL, paths=tuple(map(_escaped, found.roots)), local=found)


def _on_server(location: str, place: str, fragment: str) -> SparkSource:
    """The address is checked by itself, as the policy is public: it must not hold a password or token."""
    if "@" in place or re.search(r"token|password|secret", place, re.IGNORECASE):
        raise PolicyError(
            "The address of a Spark server must hold no password and no token, as policies are public.",
            remedy="Set SPARK_CONNECT_AUTHENTICATE_TOKEN in the environment instead.",
        )
    matched = _SERVER.fullmatch(place)
    if matched is None or int(matched[1] or 1) not in range(1, 2**16):
        raise PolicyError(f"The source “{location}” names no Spark server.", remedy=_FORMS)
    server = f"sc://{place}" if matched[1] else f"sc://{_with_port(place)}"
    if not _is_path(fragment):
        return SparkSource(home=Home.SERVER, server=server, table=_table(location, fragment))
    if not (_has_scheme(fragment) or fragment.startswith("/")):
        raise PolicyError(
            f"The source “{location}” names files by a relative path.",
            remedy="Give the whole path, as the server sees it.",
        )
    return SparkSource(home=Home.SERVER, server=server, paths=(fragment,))


def _with_port(place: str) -> str:
    host, slash, parameters = place.partition("/")
    return f"{host}:{_DEFAULT_PORT}{slash}{parameters}"


def _is_path(fragment: str) -> bool:
    unquoted = re.sub(r"`[^`]*`", "", fragment)
    return "/" in unquoted or unquoted.lower().endswith((".parquet", ".pq"))


def _has_scheme(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) is not None


def _table(location: str, fragment: str) -> tuple[str, ...]:
    if _TABLE.fullmatch(fragment) is None:
        raise PolicyError(
            f"The source “{location}” names no table.",
            remedy="Write it as schema.table, and a name with other signs as `my table`.",
        )
    parts = re.findall(_PART, fragment)
    return tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts)


def _matching(path: str, base_dir: Path) -> LocalFiles:
    full = base_dir / path
    if full.exists():
        roots = [full]
    else:
        pattern = path if Path(path).is_absolute() else f"{glob.escape(str(base_dir.resolve()))}/{path}"
        roots = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207  absolute ones too
    resolved = tuple(sorted(root.resolve() for root in roots))
    return LocalFiles(roots=resolved, files=tuple(_files(resolved)))


def _files(roots: Sequence[Path]) -> Iterator[File]:
    """All files that Spark would read: it leaves out names that begin with a dot or an underscore."""
    for root in roots:
        inside = sorted(root.rglob("*")) if root.is_dir() else [root]
        for path in inside:
            if path.is_file() and not any(map(_hidden, path.relative_to(root).parts)):
                yield File.at(path)


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _escaped(path: Path) -> str:
    """For Hadoop, which takes paths for patterns: their own stars and brackets stand for themselves."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))
