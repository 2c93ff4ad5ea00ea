"""The same people are known again, however their source is written; other people are not taken for them."""

import os
import shutil

import duckdb
import pytest

from discreet.engines.open_engine import open_engine
from discreet.engines.spark.engine import SparkEngine
from tests.engines.conftest import source
from tests.engines.databases import create_database, execute


def names(location, folder):
    engine = open_engine({"t": source(location)}, folder)
    try:
        return engine.names("t")
    finally:
        engine.close()


@pytest.fixture
def folder(tmp_path):
    """Two files of visits, a database, and a file about others."""
    home = tmp_path / "home"
    (home / "parts").mkdir(parents=True)
    for name in ("visits", "parts/visits1", "parts/visits2", "others"):
        duckdb.sql("SELECT 1 AS patient, 2 AS cost").write_parquet(str(home / f"{name}.parquet"))
    with duckdb.connect(str(home / "clinic.duckdb")) as database:
        for table in ("visits", "staff"):
            database.execute(f"CREATE TABLE {table} AS SELECT 1 AS patient")
        database.execute("CREATE VIEW recent AS SELECT * FROM visits")
        database.execute("CREATE SCHEMA other; CREATE TABLE other.visits AS SELECT 1 AS patient")
    (home / "link.parquet").symlink_to(home / "visits.parquet")
    os.link(home / "visits.parquet", home / "hard.parquet")
    (tmp_path / "linked").symlink_to(home)
    return home


SAME = [
    ("visits.parquet", "./parts/../visits.parquet"),
    ("visits.parquet", "../home/visits.parquet"),
    ("visits.parquet", "../linked/visits.parquet"),
    ("visits.parquet", "link.parquet"),
    ("visits.parquet", "hard.parquet"),
    ("visits.parquet", "visit*.parquet"),
    ("visits.parquet", "[v]isits.parquet"),
    ("parts/visits1.parquet", "parts/*.parquet"),
    ("parts/visits1.parquet", "**/*.parquet"),
    ("parts/visits*.parquet", "parts/*[13].parquet"),
    ("clinic.duckdb#visits", "clinic.duckdb#main.visits"),
    ("clinic.duckdb#visits", "../linked/clinic.duckdb#MAIN.Visits"),
    ("clinic.duckdb#visits", "clinic.duckdb#recent"),
]
DIFFERENT = [
    ("visits.parquet", "others.parquet"),
    ("parts/visits1.parquet", "parts/visits2.parquet"),
    ("parts/visits1.parquet", "*.parquet"),
    ("clinic.duckdb#visits", "clinic.duckdb#staff"),
    ("clinic.duckdb#visits", "clinic.duckdb#other.visits"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_g7_the_same_files_are_known_again(folder, one, other):
    assert names(one, folder) & names(other, folder)


def test_g7_an_absolute_path_is_the_same_file(folder):
    assert names("visits.parquet", folder) & names(str(folder / "visits.parquet"), folder)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_g7_other_files_are_other_people(folder, one, other):
    assert not names(one, folder) & names(other, folder)


@pytest.mark.parametrize("location", ["visits.parquet", "parts/*.parquet", "clinic.duckdb#visits"])
def test_g7_a_folder_that_moves_as_a_whole_is_known_again(folder, location):
    before = names(location, folder)
    moved = folder.with_name("moved")
    shutil.copytree(folder, moved)
    shutil.rmtree(folder)
    assert before & names(location, moved)


def test_g7_a_file_that_is_renamed_is_known_again(folder):
    before = names("visits.parquet", folder)
    (folder / "visits.parquet").rename(folder / "renamed.parquet")
    assert before & names("renamed.parquet", folder)


# PostgreSQL.


@pytest.fixture
def visits(postgres_server):
    """The address of a database with a table of two parts, and views over it."""
    return create_database(
        postgres_server,
        "identity",
        "CREATE TABLE visits (patient int, year int) PARTITION BY LIST (year)",
        "CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1)",
        "CREATE TABLE visits_2 PARTITION OF visits FOR VALUES IN (2)",
        "CREATE VIEW recent AS SELECT * FROM visits_2",
        "CREATE VIEW latest AS SELECT * FROM recent",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM visits",
        "CREATE TABLE staff (patient int)",
    )


@pytest.mark.parametrize("other", ["public.visits", '"visits"', "visits_1", "recent", "latest", "kept"])
def test_g7_views_and_parts_of_a_table_are_known_again(visits, other, tmp_path):
    assert names(f"{visits}#visits", tmp_path) & names(f"{visits}#{other}", tmp_path)


@pytest.mark.parametrize("other", ["staff", "visits_1"])
def test_g7_other_tables_are_other_people(visits, other, tmp_path):
    assert not names(f"{visits}#visits_2", tmp_path) & names(f"{visits}#{other}", tmp_path)


def test_g7_a_server_is_known_by_another_address(visits, tmp_path):
    by_name = visits.replace("127.0.0.1", "localhost").replace("postgres@", "")
    assert names(f"{visits}#visits", tmp_path) & names(f"{by_name}?user=postgres#visits", tmp_path)


def test_g7_a_table_that_was_made_anew_or_renamed_is_known_again(visits, tmp_path):
    before = names(f"{visits}#staff", tmp_path)
    execute(visits, "ALTER TABLE staff RENAME TO people")
    assert before & names(f"{visits}#people", tmp_path)
    execute(visits, "CREATE TABLE staff (patient int)")
    assert before & names(f"{visits}#staff", tmp_path)


def test_g7_a_role_without_rights_is_told_no_less(visits, tmp_path):
    execute(
        visits,
        "DROP ROLE IF EXISTS plain",
        "CREATE ROLE plain LOGIN",
        "GRANT SELECT ON recent, visits TO plain",
    )
    plain = visits.replace("postgres@", "plain@")
    assert names(f"{plain}#recent", tmp_path) & names(f"{visits}#visits", tmp_path)
    execute(visits, "DROP OWNED BY plain", "DROP ROLE plain")


# Spark.


def test_g7_files_in_spark_are_the_same_files(folder, spark):
    spark.read.parquet(str(folder / "visits.parquet")).createOrReplaceTempView("identity_view")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW identity_view2 AS SELECT patient FROM identity_view")

    def in_session(view):
        handed = SparkEngine({"t": source(f"spark://session#{view}")}, folder, session=spark)
        try:
            return handed.names("t")
        finally:
            handed.close()

    plain = names("visits.parquet", folder)
    assert plain & names("spark://local#visits.parquet", folder)
    assert names("parts/visits1.parquet", folder) & names("spark://local#parts/", folder)
    assert not plain & names("spark://local#parts/", folder)
    for view in ("identity_view", "identity_view2", "IDENTITY_VIEW"):
        assert plain & in_session(view)
    assert in_session("identity_view") & in_session("IDENTITY_VIEW")
