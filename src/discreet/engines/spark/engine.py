"""Spark, on this machine or elsewhere: only read, and silent about what it read.

The first wall is the compiler, which writes every statement itself. This is the second: a statement can only
be a query; in a Spark of this process it can only read the sources; no word of Spark's errors is passed on.
"""

import os
import threading
import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.engines.base.column_types import fitting_type, left_out, may_fail
from discreet.engines.base.engine import ResultColumns
from discreet.engines.base.execution import (
    Watch,
    bind_nothing,
    check_process,
    not_accepted,
    run_to_end,
    silently,
)
from discreet.engines.base.source_names import stamps_of
from discreet.engines.spark.session import Session, child_of, local_session, server_session
from discreet.engines.spark.silence import Trouble, attempt, load_pyspark, quiet
from discreet.engines.spark.source_names import names_of
from discreet.engines.spark.sources import (
    Home,
    SparkSource,
    check_same_columns,
    columns_with_milliseconds,
    find,
    quoted,
)
from discreet.engines.spark.statement import as_query, check_repeated
from discreet.engines.spark.types import reading, returnable, returning, rows_of, value_type
from discreet.errors import PolicyError
from discreet.model.date_format import read_format
from discreet.model.deadline import Deadline
from discreet.model.declaration import USUAL_TIME_LIMIT, TableSource
from discreet.model.expression import Parameter
from discreet.model.policy import ValueType
from discreet.model.secret import Secret

_SECONDS_BETWEEN_INTERRUPTS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A source, the view over it, and its columns as they were when it was opened."""

    source: SparkSource
    view: str
    empty: str
    """An empty view with the same columns."""
    columns: Mapping[str, str]
    kinds: Mapping[str, ValueType]
    unsafe: frozenset[str]
    """Columns that a reader may fail on, and that are not used."""
    relation: str
    names: frozenset[str]


class SparkEngine:
    """One session of Spark with a view over each source. Threads may share it; Ctrl-C stops a query."""

    dialect = "spark"

    def __init__(
        self,
        sources: Mapping[str, TableSource],
        base_dir: Path,
        *,
        session: Any = None,
        time_limit: float = USUAL_TIME_LIMIT,
    ) -> None:
        """Open the sources, relative to `base_dir`; those at spark://session are in `session`.

        A question is stopped after `time_limit` seconds.
        """
        self.time_limit = time_limit
        found = {name: find(source.location, base_dir) for name, source in sources.items()}
        place = _one_place(found, session)
        load_pyspark()
        for each in found.values():
            if each.local:
                check_same_columns(each.local)
        self._session = _open(place, session)
        self._process = os.getpid()
        self._close = weakref.finalize(self, _close, self._session, self._process)
        self._base_dir = base_dir
        prefix = f"discreet_{uuid.uuid4().hex[:12]}"
        self._tables: dict[str, _Opened] = {}
        try:
            for number, (name, source) in enumerate(sources.items()):
                self._tables[name] = self._opened(name, source, found[name], view=f"{prefix}_{number}")
        except BaseException:
            self.close()
            raise

    @property
    def relations(self) -> Mapping[str, str]:
        return {name: table.relation for name, table in self._tables.items()}

    def schema(self, table: str) -> dict[str, ValueType]:
        return dict(self._tables[table].kinds)

    def unsupported(self, table: str) -> tuple[str, ...]:
        """Columns of the source that are left out, as their type is not supported: arrays, binaries."""
        opened = self._tables[table]
        return left_out(opened.columns, opened.kinds, opened.unsafe)

    def names(self, table: str) -> frozenset[str]:
        """The names of its files, if Spark tells them, and its name in the catalogue."""
        return self._tables[table].names

    def stamps(self) -> tuple[str, ...]:
        local = [table.source.local for table in self._tables.values() if table.source.local is not None]
        return stamps_of(file for located in local for file in located.files)

    def prepare(self, sql: str, *, parameters: Sequence[Parameter] = ()) -> None:
        bind_nothing(parameters)
        check_process(self._process)
        self._check_unchanged()
        check_repeated(sql)
        if attempt(lambda: self._plan(sql)) is not True:
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
        tag = f"discreet-{uuid.uuid4()}"
        ended = threading.Event()
        views = [table.view for table in self._tables.values()]

        def fetch() -> Secret[ResultColumns]:
            try:
                with quiet(), self._session.tagged(tag):
                    return Secret(rows_of(self._frame(sql, views).toArrow()))
            finally:
                ended.set()

        def interrupt() -> None:
            """Again and again, as a statement may be between two jobs, or not have begun."""
            with quiet():
                while not ended.wait(_SECONDS_BETWEEN_INTERRUPTS):
                    silently(lambda: self._session.interrupt(tag))

        def progress() -> float | None:
            with quiet():
                return self._session.share_done(tag)

        return run_to_end(
            fetch,
            interrupt=interrupt,
            deadline=deadline or Deadline.after(self.time_limit),
            watch=watch,
            progress=progress,
        )

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
        """A session that was handed in stays, and so do other engines of this process."""
        self._close()

    def _plan(self, sql: str) -> bool:
        """Over empty views: planning looks at the sizes of files, and at rows that are in memory."""
        for table in self._tables.values():
            sql = sql.replace(quoted(table.view), quoted(table.empty))
        self._session.plan(self._frame(sql, [table.empty for table in self._tables.values()]))
        return True

    def _frame(self, sql: str, views: Sequence[str]) -> Any:
        """The result of one SELECT, not yet computed; anything else than one SELECT is refused."""
        query = as_query(sql)
        self._session.check(query, views)
        frame = self._session.frames.sql(query)
        columns = _columns(frame)
        if len(columns) != len(frame.columns) or not all(map(returnable, columns.values())):
            raise ValueError("columns that cannot be returned")
        return frame.selectExpr(*(returning(name, native) for name, native in columns.items()))

    def _opened(self, name: str, declared: TableSource, source: SparkSource, *, view: str) -> _Opened:
        source, columns = self._look_up(source, view, declared.location)
        unsafe = _unsafe(declared, source)
        for column in sorted(unsafe & declared.implied_types.keys()):
            raise may_fail(name, column)
        kinds = {
            column: fitting_type(name, column, kind, declared.types, declared.formats)
            for column, native in columns.items()
            if column not in unsafe and (kind := value_type(native)) is not None
        }
        if not kinds:
            raise PolicyError(
                f"The source “{declared.location}” has no column that can be used.",
                remedy="Give a table with columns of numbers, text, truth values or dates.",
            )
        formats = {column: read_format(written) for column, written in declared.formats.items()}
        reads = [
            reading(
                column,
                kind,
                columns[column],
                is_person=column == declared.person,
                date_format=formats.get(column),
            )
            for column, kind in kinds.items()
        ]
        relation = f"(SELECT {', '.join(reads)} FROM {quoted(view)}) AS {quoted(name)}"  # noqa: S608
        with quiet():
            names = names_of(self._session, relation, source, declared.location, self._base_dir)
        empty = f"{view}_empty"
        if isinstance(attempt(partial(_make_empty, self._session, empty, columns, kinds)), Trouble):
            raise _cannot_be_read(declared.location, Trouble.OTHER)
        return _Opened(
            source=source,
            view=view,
            empty=empty,
            columns=columns,
            kinds=kinds,
            unsafe=unsafe,
            relation=relation,
            names=names,
        )

    def _look_up(self, source: SparkSource, view: str, location: str) -> tuple[SparkSource, dict[str, str]]:
        """Also look for its name in lower case: so Spark keeps names where case does not matter."""
        small = replace(source, table=tuple(part.lower() for part in source.table))
        for candidate in dict.fromkeys((source, small)):
            columns = attempt(partial(_make_view, self._session, candidate, view))
            if columns is not Trouble.MISSING:
                break
        if isinstance(columns, Trouble):
            raise _cannot_be_read(location, columns)
        if len({column.casefold() for column in columns}) < len(columns):
            raise PolicyError(
                f"The source “{location}” has columns whose names differ only in case.",
                remedy="Rename one of them, or make a view in which it has another name.",
            )
        return candidate, columns

    def _check_unchanged(self) -> None:
        for name, table in self._tables.items():
            if table.source.local is not None:
                unchanged = table.source.local.unchanged
            else:
                unchanged = attempt(partial(self._same_columns, table)) is True
            if not unchanged:
                raise PolicyError(
                    f"The source of table “{name}” was changed, moved or removed since it was opened.",
                    remedy="Open the policy again; run “discreet check” if it no longer opens.",
                )

    def _same_columns(self, table: _Opened) -> bool:
        """The view is made anew, so that it has the rows of today. A session that was handed in is asked as
        well, as its views were copied.
        """
        now = _make_view(self._session, table.source, table.view)
        origin = self._session.origin
        there = now if origin is None else _columns(origin.table(_name(table.source.table)))
        return now == there == table.columns


def schema_of(location: str, base_dir: Path) -> dict[str, ValueType]:
    """The usable columns of a source, for the owner's first draft. No row is read."""
    source = TableSource(location=location, public=True, person=None, types={}, implied_types={})
    engine = SparkEngine({"data": source}, base_dir)
    schema = engine.schema("data")
    engine.close()
    return schema


def _one_place(sources: Mapping[str, SparkSource], session: Any) -> SparkSource:
    """One of the sources. All of them are in the same session."""
    places = {(source.home, source.server): source for source in sources.values()}
    if len(places) > 1:
        raise PolicyError(
            "The tables of this policy are in different Sparks.",
            remedy="Give all of them the same beginning, up to the “#”.",
        )
    wanted = Home.LOCAL if session is None else Home.SESSION
    place = next(iter(places.values()), SparkSource(home=wanted))
    if (place.home is Home.SESSION) != (session is not None):
        raise PolicyError(
            "Sources at spark://session, and they alone, need a session that is handed in.",
            remedy="Hand one in from Python; elsewhere, name files or a server.",
        )
    return place


def _close(session: Session, process: int) -> None:
    """Only in the process that opened it: a forked child would stop the Spark of its parent."""
    if os.getpid() == process:
        session.close()


def _open(place: SparkSource, session: Any) -> Session:
    match place.home:
        case Home.LOCAL:
            return local_session()
        case Home.SERVER:
            return server_session(place.server)
        case Home.SESSION:
            return child_of(session)


def _make_view(session: Session, source: SparkSource, view: str) -> dict[str, str]:
    """Make the view of a source, or make it anew; its columns. Reads footers and catalogues, but no row."""
    if source.paths:
        frame = session.frames.read.parquet(*source.paths)
        frame.createOrReplaceTempView(view)
        return _columns(frame)
    name = _name(source.table)
    session.forget_files(name)
    frame = session.frames.table(name)
    columns = _columns(frame)
    session.frames.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(view)} AS SELECT * FROM {name}")  # noqa: S608
    return columns


def _unsafe(declared: TableSource, source: SparkSource) -> frozenset[str]:
    """Columns that a reader may fail on, in files on this machine. Of other tables, Spark does not tell."""
    if declared.public or declared.well_formed or source.local is None:
        return frozenset()
    return columns_with_milliseconds(source.local)


def _make_empty(
    session: Session, view: str, columns: Mapping[str, str], kinds: Mapping[str, ValueType]
) -> None:
    cells = ", ".join(f"CAST(NULL AS {columns[name]}) AS {quoted(name)}" for name in kinds)
    session.frames.sql(f"CREATE TEMPORARY VIEW {quoted(view)} AS SELECT {cells} WHERE false")


def _name(table: tuple[str, ...]) -> str:
    return ".".join(map(quoted, table))


def _columns(frame: Any) -> dict[str, str]:
    """Names and types. A name that occurs twice is there once, so count them."""
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def _cannot_be_read(location: str, trouble: Trouble) -> PolicyError:
    match trouble:
        case Trouble.MISSING:
            return PolicyError(
                f"There is no “{location}”.", remedy="Check its name, and the catalogue and schema it is in."
            )
        case Trouble.FORBIDDEN:
            return PolicyError(
                f"The source “{location}” may not be read.",
                remedy="Ask whoever runs Spark for the right to SELECT from it.",
            )
        case Trouble.OTHER:
            return PolicyError(
                f"The source “{location}” cannot be read.",
                remedy="Check that it is a table or Parquet, and that Spark itself can read it.",
            )
