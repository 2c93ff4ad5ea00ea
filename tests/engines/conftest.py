"""A small clinic as files of every kind and in PostgreSQL, with one cell that must never be seen."""

import traceback
from functools import cache

import duckdb
import pytest

from discreet.engines.duckdb.engine import DuckDBEngine
from discreet.engines.spark.engine import SparkEngine
from discreet.model.declaration import TableSource
from tests.engines import databases
from tests.engines.expressions import PostgresRows, SparkRows

CANARY = "canary-5e1f"


def source(location, *, public=False, person=None, **types):
    return TableSource(location=location, public=public, person=person, types=types, implied_types=types)


def everything_in(error):
    """All that a log, a debugger or a curious caller could find on an error."""
    seen = [str(error), repr(error), repr(error.args), repr(vars(error)), error.problem, error.remedy]
    captured = traceback.TracebackException.from_exception(error, capture_locals=True)
    seen.append("".join(captured.format()))
    assert error.__cause__ is None
    assert error.__context__ is None
    return "\n".join(seen)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(path / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 100 AS patient_id, i / 2 AS cost,"
            " CASE WHEN i % 5 > 0 THEN 'w' || i % 5 END AS ward,"
            f" CASE WHEN i = 7 THEN '{CANARY}' ELSE 'ok' END AS note,"
            " DATE '2020-01-01' + (i % 366)::INTEGER AS day FROM range(1000) AS r(i)"
        )
        for name in ("visits.parquet", "visits.csv", "part-1.parquet", "part-2.parquet", "other.parquet"):
            connection.execute(f"COPY visits TO '{path / name}'")
        connection.execute(f"CREATE VIEW escape AS FROM read_text('{path / 'other.parquet'}')")
    (path / "wards.csv").write_text("ward;beds;größe\nw1;10;1.5\nw2;20;2\n", encoding="utf-8")
    return path


@pytest.fixture
def open_engine(folder):
    opened = []

    def opening(sources=None, base_dir=folder, **limits):
        engine = DuckDBEngine(sources or {"visits": source("visits.parquet")}, base_dir, threads=1, **limits)
        opened.append(engine)
        return engine

    yield opening
    for engine in opened:
        engine.close()


@pytest.fixture(scope="session")
def rows_of(request, tmp_path_factory):
    """The nasty rows in a plain session of an engine."""

    @cache
    def opened(name):
        if name == "postgres":
            rows = PostgresRows(request.getfixturevalue("postgres_server").url)
            request.addfinalizer(rows.close)
            return rows
        return SparkRows(request.getfixturevalue("spark"), tmp_path_factory.mktemp("rows"))

    return opened


@pytest.fixture(scope="module")
def clinic(postgres_server):
    """The address of the superuser in a database of PostgreSQL."""
    return databases.create_clinic(postgres_server, CANARY)


@pytest.fixture
def open_postgres(clinic):
    engines = databases.Engines()
    both = {name: source(f"{clinic}#{name}") for name in ("visits", "wards")}
    yield lambda sources=None, **options: engines(sources or both, **options)
    engines.close()


@pytest.fixture
def changes(clinic):
    """Statements of the superuser in the database of the tests."""
    return lambda *statements: databases.execute(clinic, *statements)


@pytest.fixture
def open_spark(spark, folder):  # noqa: ARG001
    """Opens engines, and closes them at the end; the one Spark stays."""
    opened = []

    def opening(sources=None, base_dir=folder, **options):
        sources = {"visits": source("spark://local#visits.parquet")} if sources is None else sources
        engine = SparkEngine(sources, base_dir, **options)
        opened.append(engine)
        return engine

    yield opening
    for engine in opened:
        engine.close()


@pytest.fixture(scope="session")
def hospital(spark, folder):
    """A table of the owner, and a table that no policy names."""
    spark.sql("CREATE DATABASE IF NOT EXISTS hospital")
    spark.read.parquet(str(folder / "visits.parquet")).write.saveAsTable("hospital.visits")
    spark.sql("CREATE TABLE hospital.other USING parquet AS SELECT 1 AS a")
    yield spark
    spark.sql("DROP DATABASE hospital CASCADE")
