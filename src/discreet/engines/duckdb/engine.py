"""DuckDB over files: opened read-only, locked, and silent about what it read.

A locked DuckDB is no sandbox. The first wall is the compiler, which writes every statement itself. This is
the second: only the sources can be read, nothing can be written or set, a statement is one SELECT, and no
word of the database's own errors is passed on.
"""

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import duckdb

from discreet.engines.base.column_types import fitting_type, left_out, may_fail
from discreet.engines.base.engine import ResultColumns
from discreet.engines.base.execution import (
    Watch,
    accepted,
    bind_nothing,
    check_process,
    not_accepted,
    run_to_end,
    silently,
)
from discreet.engines.base.files import File, Format, Located, locate, read_header
from discreet.engines.base.source_names import names_of_files, stamps_of
from discreet.engines.duckdb import csv, parquet
from discreet.engines.duckdb.connection import opened, share_done
from discreet.engines.duckdb.folder import make_folder, remove_folder
from discreet.engines.duckdb.frames import write_frame
from discreet.engines.duckdb.renewed import RenewedDatabase
from discreet.engines.duckdb.statement import EmptyTables, result_columns
from discreet.engines.duckdb.types import joined, list_of, literal, quoted, reading, returning, value_type
from discreet.errors import InvalidInput, PolicyError
from discreet.model.date_format import read_format
from discreet.model.deadline import Deadline
from discreet.model.declaration import USUAL_TIME_LIMIT, TableSource
from discreet.model.expression import Parameter
from discreet.model.policy import ValueType
from discreet.model.secret import Secret

_SCHEMA = "data"
"""Tables live in a schema of their own, so that none of their names can mean something to DuckDB."""


class DuckDBEngine:
    """One in-memory DuckDB with a view over each source. Threads may share it; Ctrl-C stops a query."""

    dialect = "duckdb"

    def __init__(
        self,
        sources: Mapping[str, TableSource],
        base_dir: Path,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        time_limit: float = USUAL_TIME_LIMIT,
        frames: Mapping[str, object] | None = None,
    ) -> None:
        """Open the sources, relative to `base_dir`, and lock the database.

        A question is stopped after `time_limit` seconds. `frames` are used instead of their sources.
        """
        self.time_limit = time_limit
        self._schemas: dict[str, dict[str, ValueType]] = {}
        self._unsupported: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, frozenset[str]] = {}
        folder, held = make_folder()
        self._process = os.getpid()
        self._remove_spill = weakref.finalize(self, remove_folder, folder, held, self._process)
        self._frames = {
            name: write_frame(name, frame, folder, sources[name]) for name, frame in (frames or {}).items()
        }
        in_files = {name: source for name, source in sources.items() if name not in self._frames}
        self._located = {name: locate(source.location, base_dir) for name, source in in_files.items()}
        private = [self._located[name] for name, source in in_files.items() if not source.public]
        self._stamps = stamps_of(file for located in private for file in located.files)
        self._located |= self._frames
        connect = partial(opened, folder, memory_limit=memory_limit)
        self._definitions: list[str] = []
        self._database = RenewedDatabase(partial(connect, threads=threads), self._definitions)
        self._empty = EmptyTables(partial(connect, threads=1), _SCHEMA)
        databases = self._attach()
        self._allow_only_sources()
        for name, source in sources.items():
            self._create_view(name, source, databases)
            self._names[name] = self._names_of(name, source, databases, base_dir)
        self._watching = threading.Lock()
        self._define("SET lock_configuration = true")

    @property
    def relations(self) -> Mapping[str, str]:
        return {name: self._view(name) for name in self._schemas}

    def schema(self, table: str) -> dict[str, ValueType]:
        return dict(self._schemas[table])

    def unsupported(self, table: str) -> tuple[str, ...]:
        """Columns of the source that are left out, as their type is not supported: lists, blobs, times."""
        return self._unsupported[table]

    def names(self, table: str) -> frozenset[str]:
        """A view in a DuckDB file may show the people of any table in it, so it has the names of all."""
        return self._names[table]

    def stamps(self) -> tuple[str, ...]:
        return self._stamps

    def prepare(self, sql: str, *, parameters: Sequence[Parameter] = ()) -> None:
        bind_nothing(parameters)
        check_process(self._process)
        self._check_unchanged()
        if not accepted(lambda: self._empty.accepts(sql)):
            raise not_accepted()

    def run(
        self,
        sql: str,
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> Secret[ResultColumns]:
        bind_nothing(parameters)
        check_process(self._process)
        watched = watch is not None and self._watching.acquire(blocking=False)
        try:
            with self._database.cursor(watched=watched) as cursor:
                return run_to_end(
                    lambda: self._fetch(cursor, sql),
                    interrupt=cursor.interrupt,
                    deadline=deadline or Deadline.after(self.time_limit),
                    watch=watch,
                    progress=lambda: share_done(cursor),
                )
        finally:
            if watched:
                self._watching.release()

    def _fetch(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> Secret[ResultColumns]:
        columns = self._empty.known_columns(sql) or result_columns(cursor, sql)
        return Secret(joined(cursor.execute(returning(sql, columns)).fetchnumpy(), columns))

    def run_each(
        self,
        sqls: Sequence[str],
        watch: Watch | None = None,
        *,
        parameters: Sequence[Parameter] = (),
        deadline: Deadline | None = None,
    ) -> list[Secret[ResultColumns]]:
        deadline = deadline or Deadline.after(self.time_limit)
        return [  # each takes all cores already
            self.run(sql, watch, parameters=parameters, deadline=deadline) for sql in sqls
        ]

    def close(self) -> None:
        """A forked process closes nothing: DuckDB would wait for threads that are not there."""
        if os.getpid() != self._process:
            return
        try:
            self._database.close()
        except duckdb.Error:
            busy = True
        else:
            busy = False
        if busy:
            raise InvalidInput(
                "A question is under way, so the data cannot be closed. It goes on, and nothing was closed.",
                remedy="Wait for its answer in the thread that asks, and close then.",
            )
        self._empty.close()
        self._remove_spill()

    def _check_unchanged(self) -> None:
        for located in self._located.values():
            for file in located.files:
                if not file.unchanged:
                    raise PolicyError(
                        f"The file “{file.path.name}” was changed, moved or removed since it was opened.",
                        remedy="Open the policy again; run “discreet check” if it no longer opens.",
                    )

    def _attach(self) -> dict[Path, str]:
        """Every DuckDB file once, read-only. After the lock nothing more can be attached."""
        databases: dict[Path, str] = {}
        for located in self._located.values():
            for file in located.files if located.format is Format.DUCKDB else ():
                if file.path not in databases:
                    databases[file.path] = f"source_{len(databases)}"
                    statement = (
                        f"ATTACH {literal(str(file.path))} AS {databases[file.path]} (TYPE duckdb, READ_ONLY)"
                    )
                    self._owner_execute(statement, file.path.name, "a DuckDB file")
                    self._definitions.append(statement)
        return databases

    def _allow_only_sources(self) -> None:
        files = [
            file
            for located in self._located.values()
            for file in located.files
            if located.format is not Format.DUCKDB
        ]
        allowed = sorted({name for file in files for name in (str(file.path), file.pattern)})
        self._define(f"SET allowed_paths = {list_of(allowed)}")
        self._define("SET enable_external_access = false")
        self._define(f"CREATE SCHEMA {_SCHEMA}")

    def _names_of(
        self, table: str, source: TableSource, databases: Mapping[Path, str], base_dir: Path
    ) -> frozenset[str]:
        if table in self._frames:  # its file is another one each time
            return names_of_files(source.location, base_dir, ())
        located = self._located[table]
        files = [file.path for file in located.files]
        if located.format is not Format.DUCKDB:
            return names_of_files(source.location, base_dir, files)
        schema, within = ("main", *located.table)[-2:]
        of_file = f"database_name = '{databases[files[0]]}'"
        catalogue = f"SELECT schema_name, table_name FROM duckdb_tables() WHERE {of_file}"  # noqa: S608
        tables = {
            (str(home).casefold(), str(own).casefold())
            for home, own in self._owner_execute(catalogue, source.location, located.format.value)
        }
        wanted = (schema.casefold(), within.casefold())
        written = source.location.rpartition("#")[0]
        return names_of_files(
            written, base_dir, files, [wanted] if wanted in tables else sorted({wanted, *tables})
        )

    def _create_view(self, name: str, source: TableSource, databases: Mapping[Path, str]) -> None:
        located = self._located[name]
        relation, native = self._relation(located, source, databases)
        declared = source.implied_types if located.format is Format.CSV else source.types
        kinds: dict[str, ValueType] = {}
        for column, in_source in native.items():
            if in_source == parquet.MILLISECONDS and column in source.implied_types:
                raise may_fail(name, column)
            found = value_type(in_source)
            if found is not None:
                kinds[column] = self._declared(name, column, found, declared, located, source)
        formats = {column: read_format(written) for column, written in source.formats.items()}
        reads = [
            reading(
                column,
                kind,
                native[column],
                is_person=column == source.person,
                date_format=formats.get(column),
            )
            for column, kind in kinds.items()
        ]
        if not reads:
            raise PolicyError(
                f"The source “{source.location}” has no column that can be used.",
                remedy="Give a table with columns of numbers, text, truth values or dates.",
            )
        statement = f"CREATE VIEW {self._view(name)} AS SELECT {', '.join(reads)} FROM {relation}"  # noqa: S608
        self._owner_execute(statement, source.location, located.format.value)
        self._definitions.append(statement)
        self._empty.add(name, self._describe(self._view(name), source.location, located.format))
        self._schemas[name] = kinds
        unsafe = {column for column, in_source in native.items() if in_source == parquet.MILLISECONDS}
        self._unsupported[name] = left_out(native, kinds, unsafe)

    @staticmethod
    def _view(table: str) -> str:
        return f"{_SCHEMA}.{quoted(table)}"

    @staticmethod
    def _declared(
        table: str,
        column: str,
        found: ValueType,
        declared: Mapping[str, ValueType],
        located: Located,
        source: TableSource,
    ) -> ValueType:
        from_text = located.format is Format.CSV and (not source.public or found is ValueType.TEXT)
        if from_text:
            return declared.get(column, found)
        return fitting_type(table, column, found, declared, source.formats)

    def _relation(
        self, located: Located, source: TableSource, databases: Mapping[Path, str]
    ) -> tuple[str, dict[str, str]]:
        """What stands after FROM, and the types of its columns."""
        match located.format:
            case Format.DUCKDB:
                if len(located.files) > 1:
                    raise PolicyError(
                        f"The source “{source.location}” is several DuckDB files.", remedy="Name one of them."
                    )
                relation = ".".join([databases[located.files[0].path], *map(quoted, located.table)])
            case Format.CSV:
                relation = _csv(located.files, source)
            case Format.PARQUET:
                schemas = [self._in_parquet(file, source) for file in located.files]
                for file, schema in zip(located.files, schemas, strict=True):
                    if schema != schemas[0]:
                        raise _differs(file, located.files[0])
                return parquet.usable(parquet.as_written(located.files), schemas[0]), schemas[0]
        return relation, self._describe(relation, source.location, located.format)

    def _in_parquet(self, file: File, source: TableSource) -> dict[str, str]:
        """The columns of a file, from its schema. Those that its reader may fail on get an unused type."""
        columns = self._describe(parquet.as_written([file]), file.path.name, Format.PARQUET)
        if source.public or source.well_formed:
            return columns
        found = self._owner_execute(parquet.columns_with_milliseconds(file), file.path.name, "Parquet")
        return columns | {
            str(name): parquet.MILLISECONDS
            for (name,) in found
            if columns.get(str(name), "").startswith("TIMESTAMP")
        }

    def _describe(self, relation: str, name: str, kind: Format) -> dict[str, str]:
        rows = self._owner_execute(f"DESCRIBE FROM {relation}", name, kind.value)
        return {str(row[0]): str(row[1]) for row in rows}

    def _define(self, statement: str) -> None:
        """A database that is opened anew is told the same."""
        self._database.connection.execute(statement)
        self._definitions.append(statement)

    def _owner_execute(self, statement: str, name: str, kind: str) -> list[tuple[object, ...]]:
        """While opening. PolicyError if it fails, without DuckDB's own words, which quote cells."""
        rows = silently(lambda: self._database.connection.execute(statement).fetchall())
        if rows is None:
            raise PolicyError(
                f"The source “{name}” cannot be read as {kind}.",
                remedy="Check that it is one, that it is complete, and that the table in it exists.",
            )
        return rows


def _csv(files: tuple[File, ...], source: TableSource) -> str:
    header = read_header(files[0])
    for file in files[1:]:
        if read_header(file) != header:
            raise _differs(file, files[0])
    if source.public:
        return csv.sniffed(files, header, source.formats)
    return csv.vouched_for(files, header) if source.well_formed else csv.lines_as_rows(files, header)


def _differs(file: File, first: File) -> PolicyError:
    return PolicyError(
        f"The files “{first.path.name}” and “{file.path.name}” of one source have different columns.",
        remedy="Give them the same columns in the same order, or make them two tables.",
    )
