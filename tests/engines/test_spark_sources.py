"""What a policy may name in Spark, and what is said where it is not there."""

import os
import re
import socket
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark import SparkContext

from discreet.engines.spark import silence as spark_quiet
from discreet.engines.spark.engine import SparkEngine, schema_of
from discreet.engines.spark.local_session import LocalSpark
from discreet.engines.spark.sources import Home, find
from discreet.errors import MissingExtra, PolicyError
from discreet.model.policy import ValueType
from discreet.policy.reader import read_policy
from tests.engines.conftest import CANARY, everything_in, source

pytestmark = pytest.mark.xdist_group("spark")
INTEGER, NUMBER, TEXT, DATE = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT, ValueType.DATE
VISITS = {"patient_id": INTEGER, "cost": NUMBER, "ward": TEXT, "note": TEXT, "day": DATE}


@pytest.mark.parametrize(
    ("location", "home", "server", "table", "paths"),
    [
        ("spark://local#clinic.visits", Home.LOCAL, "", ("clinic", "visits"), ()),
        ("spark://local#s3a://bucket/visits/", Home.LOCAL, "", (), ("s3a://bucket/visits/",)),
        ("sc://host:15002#c.s.t", Home.SERVER, "sc://host:15002", ("c", "s", "t"), ()),
        ("spark://host#t", Home.SERVER, "sc://host:15002", ("t",), ()),
        ("sc://a.b-c/;use_ssl=true#t", Home.SERVER, "sc://a.b-c:15002/;use_ssl=true", ("t",), ()),
        ("sc://[::1]:15003#/data/v.parquet", Home.SERVER, "sc://[::1]:15003", (), ("/data/v.parquet",)),
        ("sc://host#s3a://bucket/v/", Home.SERVER, "sc://host:15002", (), ("s3a://bucket/v/",)),
        ("spark://session#visits", Home.SESSION, "", ("visits",), ()),
        ("spark://session#global_temp.`my ``v``/x`", Home.SESSION, "", ("global_temp", "my `v`/x"), ()),
    ],
)
def test_what_a_source_means(tmp_path, location, home, server, table, paths):
    found = find(location, tmp_path)
    assert (found.home, found.server, found.table, found.paths) == (home, server, table, paths)


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("spark://local", "known kind"),
        ("spark://local#", "known kind"),
        ("spark:visits.parquet", "known kind"),
        ("hdfs://host#t", "known kind"),
        ("spark://#t", "no Spark server"),
        ("spark://host:99999#t", "no Spark server"),
        ("sc://host name#t", "no Spark server"),
        ("sc://user:word@host#t", "no password"),
        ("sc://host/;token=abc#t", "no password"),
        ("sc://host#visits/", "relative path"),
        ("sc://host#visits.parquet", "relative path"),
        ("spark://session#visits.parquet", "not a table"),
        ("spark://session#a b", "names no table"),
        ("spark://session#a.b.c.d.e", "names no table"),
        ("spark://local#a'; DROP TABLE b", "names no table"),
        ("spark://local#none.parquet", "no Parquet file"),
        ("spark://local#none/*.parquet", "no Parquet file"),
        ("spark://local#../none/", "no Parquet file"),
        ("spark://local#a\0.parquet", "no Parquet file"),
    ],
)
def test_sources_that_cannot_be(tmp_path, location, hint):
    with pytest.raises(PolicyError, match=hint) as caught:
        find(location, tmp_path)
    assert "abc" not in str(caught.value)
    assert "word@" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_told(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PolicyError, match="may not be read"):
        find("spark://local#visits.parquet", folder)


def test_all_tables_must_be_in_one_session(tmp_path):
    with pytest.raises(PolicyError, match="different Sparks"):
        SparkEngine({"a": source("sc://a#t"), "b": source("sc://b#t")}, tmp_path)
    with pytest.raises(PolicyError, match="need a session"):
        SparkEngine({"a": source("spark://session#t")}, tmp_path)
    with pytest.raises(PolicyError, match="need a session"):
        SparkEngine({"a": source("sc://a#t")}, tmp_path, session=object())
    with pytest.raises(PolicyError, match="cannot be used"):
        SparkEngine({"a": source("spark://session#t")}, tmp_path, session=object())


def test_the_policy_and_the_sources_of_the_documentation(tmp_path):
    page = (Path(__file__).parent.parent.parent / "docs/how-to/spark.md").read_text()
    (policy,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "discreet.toml").write_text(policy)
    (tmp_path / "visits").mkdir()
    for name in ("visits.parquet", "visits/1.parquet", "wards.parquet"):
        duckdb.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path / name}'")
    named = [each.location for each in read_policy(tmp_path / "discreet.toml").sources.values()]
    table = re.findall(r"^\| `((?:spark|sc)://[^`]*)` \|", page, re.MULTILINE)
    assert len(table) == 8
    for location in [*named, *table]:
        assert find(location, tmp_path).home in Home


# What is missing


def test_without_the_extra_the_line_that_installs_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.logger", None)
    with pytest.raises(MissingExtra, match=r'pip install "discreet\[spark\]"'):
        SparkEngine({"a": source("sc://a#t")}, tmp_path)


@pytest.fixture
def no_spark_yet(monkeypatch):
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)


@pytest.mark.usefixtures("no_spark_yet")
def test_without_java_spark_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PolicyError, match="needs Java"):
        LocalSpark().session()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pyspark leaves a pipe open
@pytest.mark.usefixtures("no_spark_yet")
def test_a_java_that_does_not_run_is_told_without_its_words(tmp_path, monkeypatch, capfd):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho UnsupportedClassVersionError >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(PolicyError, match="does not start"):
        LocalSpark().session()
    assert capfd.readouterr() == ("", "")


def test_a_spark_of_somebody_else_is_not_taken_over(spark):
    assert spark is not None
    with pytest.raises(PolicyError, match="already"):
        LocalSpark().session()


def test_a_server_that_does_not_answer(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(PolicyError, match="no Spark server at 127"):
        SparkEngine({"a": source(f"{address}#t")}, tmp_path)
    with pytest.raises(PolicyError, match="no Spark server at no-such"):
        SparkEngine({"a": source("sc://no-such-host.invalid#t")}, tmp_path)


def test_a_server_that_is_none(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse():
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=refuse, daemon=True).start()
        with pytest.raises(PolicyError, match="no Spark Connect server"):
            SparkEngine({"a": source(f"sc://127.0.0.1:{server.getsockname()[1]}#t")}, tmp_path)
        server.shutdown(socket.SHUT_RDWR)


class Refused(Exception):
    def __init__(self, condition, words=""):
        super().__init__(words)
        self._condition = condition

    def getCondition(self):  # noqa: N802  as pyspark names it
        return self._condition


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (Refused("TABLE_OR_VIEW_NOT_FOUND"), "missing"),
        (Refused("PATH_NOT_FOUND"), "missing"),
        (Refused("INSUFFICIENT_PERMISSIONS"), "forbidden"),
        (Refused(None, "org.apache.hadoop.security.AccessControlException: x"), "forbidden"),
        (OSError("Permission denied"), "forbidden"),
        (Refused(None, "UNAUTHENTICATED"), "forbidden"),
        (Refused("CAST_INVALID_INPUT"), "other"),
        (ValueError(), "other"),
    ],
)
def test_troubles_are_told_apart(error, trouble):
    def fail():
        raise error

    assert spark_quiet.attempt(fail).value == trouble


# Opening


@pytest.fixture
def tables(spark):
    spark.sql("CREATE DATABASE IF NOT EXISTS clinic")
    spark.sql("CREATE TABLE clinic.visits USING parquet AS SELECT id, id % 3 AS Ward FROM range(10)")
    spark.sql("CREATE TEMPORARY VIEW own AS SELECT id, id % 3 AS Ward FROM range(10)")
    spark.sql("CREATE GLOBAL TEMPORARY VIEW `all of us` AS SELECT id, id % 3 AS Ward FROM range(10)")
    yield
    spark.sql("DROP TABLE IF EXISTS clinic.visits")
    spark.sql("DROP VIEW IF EXISTS own")
    spark.sql("DROP VIEW IF EXISTS global_temp.`all of us`")


def count(engine, table):
    sql = f"SELECT count(*) AS n FROM {engine.relations[table]}"
    engine.prepare(sql)
    return engine.run(sql).reveal()["n"][0]


def test_every_kind_of_source(open_spark, spark, tables, tmp_path):  # noqa: ARG001
    for name in ("a/b/1.parquet", "a/b/2.parquet", "a/_hidden/3.parquet", "a/.4.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        duckdb.execute(f"COPY (SELECT i AS id FROM range(10) AS r(i)) TO '{tmp_path / name}'")
    locations = {"a/b/1.parquet": 10, "a/*/*.parquet": 30, "a/b/": 20, f"{tmp_path}/a/b/": 20}
    sources = {path: source(f"spark://local#{path}") for path in locations}
    sources["table"] = source("spark://local#clinic.visits")
    sources["spelt"] = source("spark://local#Clinic.VISITS")
    sources["global"] = source("spark://local#global_temp.`all of us`")
    engine = open_spark(sources, tmp_path)
    assert {name: count(engine, name) for name in locations} == locations
    assert [count(engine, name) for name in ("table", "spelt", "global")] == [10, 10, 10]
    assert engine.schema("table") == {"id": INTEGER, "Ward": INTEGER}
    handed = {"own": source("spark://session#own"), "Table": source("spark://session#clinic.visits")}
    engine = open_spark(handed, tmp_path, session=spark)
    assert [count(engine, name) for name in handed] == [10, 10]


def test_a_folder_with_partitions_has_them_as_text(open_spark, spark, tmp_path):
    frame = spark.sql("SELECT id, id % 2 AS even, DATE'2020-01-01' AS day FROM range(10)")
    frame.write.partitionBy("even", "day").parquet(str(tmp_path / "visits"))
    engine = open_spark({"v": source("spark://local#visits/")}, tmp_path)
    assert engine.schema("v") == {"id": INTEGER, "even": TEXT, "day": TEXT}
    sql = f"SELECT even, count(*) AS n FROM {engine.relations['v']} GROUP BY even ORDER BY even"
    assert engine.run(sql).reveal()["even"].tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("spark://local#clinic.none", "There is no"),
        ("spark://local#nowhere.visits", "There is no"),
        ("spark://local#nowhere.clinic.visits", "There is no"),
        ("spark://local#own", "There is no"),
        ("spark://local#file:/nowhere/visits.parquet", "There is no"),
        ("spark://local#nowhere://bucket/visits/", "cannot be read"),
    ],
)
def test_sources_that_are_not_there(open_spark, tables, location, hint):  # noqa: ARG001
    with pytest.raises(PolicyError, match=hint) as caught:
        open_spark({"v": source(location)})
    said = everything_in(caught.value)
    assert "org.apache" not in said


def test_names_with_signs_of_every_kind(open_spark, tmp_path):
    strange = tmp_path / "d[1]* {a,b} 'ä' %20;\\x"
    strange.mkdir()
    for name in ("x?.parquet", "xy.parquet"):
        duckdb.execute('COPY (SELECT 1 AS "a `b` "" ä.é") TO $1', [str(strange / name)])
    engine = open_spark({"Tä`b; --": source("spark://local#x?.parquet")}, strange)
    sql = f'SELECT count(`a ``b`` " ä.é`) AS a FROM {engine.relations["Tä`b; --"]}'
    engine.prepare(sql)
    assert engine.run(sql).reveal()["a"] == [1]


def test_types_that_are_of_no_use_are_left_out_and_told(open_spark, spark):
    columns = "1 AS a, array(1) AS l, named_struct('x', 1) AS s, x'00' AS b, TIME'10:00' AS t, 2BD AS d,"
    spark.sql(f"SELECT {columns} 1.5BD AS f, 'x' AS u, NULL AS n, 1Y AS y").createTempView("mixed")
    engine = open_spark({"a": source("spark://session#mixed")}, session=spark)
    assert engine.schema("a") == {"a": INTEGER, "d": INTEGER, "f": NUMBER, "u": TEXT, "y": INTEGER}
    assert engine.unsupported("a") == ("l", "s", "b", "t", "n")
    spark.sql("SELECT array(1) AS l").createTempView("nothing")
    with pytest.raises(PolicyError, match="no column that can be used"):
        open_spark({"a": source("spark://session#nothing")}, session=spark)


def test_columns_whose_names_differ_only_in_case(open_spark, tmp_path):
    parquet.write_table(pa.table({"id": [1], "ID": [2]}), tmp_path / "a.parquet")
    with pytest.raises(PolicyError, match="only in case"):
        open_spark({"a": source("spark://local#a.parquet")}, tmp_path)


def test_files_of_one_source_must_have_the_same_columns(open_spark, tmp_path):
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path / '1.parquet'}'")
    duckdb.execute(f"COPY (SELECT 'x' AS a) TO '{tmp_path / '2.parquet'}'")
    for location in ("spark://local#*.parquet", "spark://local#./"):
        with pytest.raises(PolicyError, match="different columns"):
            open_spark({"a": source(location)}, tmp_path)


def test_a_file_that_is_not_parquet_is_told_without_its_content(open_spark, tmp_path):
    (tmp_path / "a.parquet").write_text(CANARY)
    with pytest.raises(PolicyError, match="as Parquet") as caught:
        open_spark({"a": source("spark://local#a.parquet")}, tmp_path)
    assert CANARY not in everything_in(caught.value)


def test_a_declared_type_must_fit(open_spark):
    location = "spark://local#visits.parquet"
    for types in ({"ward": INTEGER}, {"ward": DATE}, {"day": NUMBER}, {"cost": TEXT}):
        with pytest.raises(PolicyError, match="in its source, not"):
            open_spark({"v": source(location, **types)})
    assert open_spark({"v": source(location, cost=INTEGER)}).schema("v")["cost"] is INTEGER


def test_the_schema_for_a_first_draft(spark, folder):
    assert spark is not None
    assert schema_of("spark://local#visits.parquet", folder) == VISITS


# Changes


@pytest.mark.parametrize("change", ["touch", "replace", "remove", "add"])
def test_a_file_that_changed_is_noticed_before_anything_is_charged(open_spark, tmp_path, change):
    path = tmp_path / "a.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{path}'")
    engine = open_spark({"a": source("spark://local#./")}, tmp_path)
    sql = f"SELECT count(*) AS n FROM {engine.relations['a']}"
    engine.prepare(sql)
    match change:
        case "remove":
            path.unlink()
        case "touch":
            os.utime(path, (1, 1))
        case "replace":
            duckdb.execute(f"COPY (SELECT 2 AS a) TO '{path}'")
        case "add":
            duckdb.execute(f"COPY (SELECT 2 AS a) TO '{tmp_path / 'b.parquet'}'")
    with pytest.raises(PolicyError, match="changed, moved or removed"):
        engine.prepare(sql)


CHANGES = {
    "clinic.visits": [
        "ALTER TABLE clinic.visits ADD COLUMN more INT",
        "DROP TABLE clinic.visits",
    ],
    "own": [
        "DROP VIEW own",
        "CREATE OR REPLACE TEMPORARY VIEW own AS SELECT 'x' AS id, 1L AS Ward",
    ],
}


@pytest.mark.parametrize(("table", "change"), [(t, change) for t in CHANGES for change in CHANGES[t]])
def test_a_table_that_changed_is_noticed_before_anything_is_charged(open_spark, spark, tables, table, change):  # noqa: ARG001
    engine = open_spark({"a": source(f"spark://session#{table}")}, session=spark)
    sql = f"SELECT count(*) AS n FROM {engine.relations['a']}"
    engine.prepare(sql)
    spark.sql(change)
    with pytest.raises(PolicyError, match="changed, moved or removed"):
        engine.prepare(sql)


def test_rows_that_came_since_are_read(open_spark, spark, tables, tmp_path):  # noqa: ARG001
    """A file that an answer needs and that is gone would fail after the charge."""
    folder = tmp_path / "visits"
    spark.range(10).write.parquet(str(folder))
    engine = open_spark(
        {"table": source("spark://local#clinic.visits"), "files": source(f"spark://local#file:{folder}/")}
    )
    assert [count(engine, name) for name in ("table", "files")] == [10, 10]
    spark.sql("INSERT OVERWRITE clinic.visits SELECT id, id % 3 FROM range(20)")
    spark.range(30).write.mode("overwrite").parquet(str(folder))
    assert [count(engine, name) for name in ("table", "files")] == [20, 30]
