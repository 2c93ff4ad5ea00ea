"""Spark Connect: the same engine, with the data and all the work on a server."""

import logging
import time

import pytest

from discreet.engines.spark.engine import SparkEngine
from discreet.engines.spark.session import server_session
from discreet.errors import EngineFailed, PolicyError, QueryRefused
from discreet.model.policy import ValueType
from tests.engines.conftest import CANARY, everything_in, source
from tests.engines.test_spark import ENDLESS, FAILING, FORBIDDEN, rows, tables_of

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def server(spark, folder):
    """The server runs in the same Spark, which is much faster than to start another one."""
    service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    service = getattr(service, "MODULE$")
    service.start(spark._jsc.sc())
    spark.read.parquet(str(folder / "visits.parquet")).createGlobalTempView("visits")
    yield f"sc://127.0.0.1:{service.localPort()}"
    spark.sql("DROP VIEW global_temp.visits")
    service.stop(getattr(service, "stop$default$1")(), getattr(service, "stop$default$2")())


@pytest.fixture(scope="module")
def engine(server, folder):
    """One for all tests, as they leave it as it is."""
    engine = SparkEngine({"visits": source(f"{server}#global_temp.visits", person="patient_id")}, folder)
    yield engine
    engine.close()


def test_tables_and_files_of_a_server(open_spark, server, folder, engine):
    sql = "SELECT ward, count(*) AS n, sum(patient_id) AS s FROM {visits} GROUP BY ward ORDER BY ward"
    files = open_spark({"visits": source(f"{server.replace('sc:', 'spark:')}#{folder}/visits.parquet")})
    for each in (engine, files):
        found = rows(each, sql)
        assert found["n"].tolist() == [200] * 5
        assert found["ward"].tolist() == [None, "w1", "w2", "w3", "w4"]
        assert each.schema("visits")["day"] is ValueType.DATE
    with pytest.raises(PolicyError, match="There is no"):
        open_spark({"visits": source(f"{server}#global_temp.none")})
    with pytest.raises(PolicyError, match="There is no"):
        open_spark({"visits": source(f"{server}#/nowhere/visits.parquet")})


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_c2_nothing_can_be_done(engine, folder, sql, hospital):
    before = sorted(folder.iterdir())
    statement = sql.format(folder=folder, **engine.relations)
    with pytest.raises(QueryRefused):
        engine.prepare(statement)
    with pytest.raises(EngineFailed):
        engine.run(statement)
    assert sorted(folder.iterdir()) == before
    assert tables_of(hospital) == {"visits", "other"}
    assert not hospital.catalog.databaseExists("stolen")
    assert engine._session.frames.conf.get("spark.sql.ansi.enabled") == "true"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(cost) AS a FROM {visits}",
        "SELECT 1 AS a, 2 AS a",
        "SELECT none FROM {visits}",
        "SELECT 'a",
    ],
)
def test_statements_that_cannot_be_answered_are_refused_before_the_charge(engine, sql):
    with pytest.raises(QueryRefused, match="nothing was spent"):
        engine.prepare(sql.format(**engine.relations))


def test_c1_a_text_stays_itself(engine):
    assert rows(engine, "SELECT '${{env:PATH}}' AS a FROM {visits} LIMIT 1")["a"] == ["${env:PATH}"]


def test_b6_a_cell_never_appears(engine, caplog, capfd):
    logger = logging.getLogger("pyspark.sql.connect.logging")
    logger.disabled = False  # as SPARK_CONNECT_LOG_LEVEL makes it
    caplog.set_level(logging.DEBUG, logger.name)
    caplog.set_level(logging.DEBUG)
    for sql in FAILING[:2]:
        statement = sql.replace("{visits}", "{visits} WHERE note <> 'ok'").format(**engine.relations)
        with pytest.raises(EngineFailed) as caught:
            engine.run(statement)
        for text in (everything_in(caught.value), caplog.text, *capfd.readouterr()):
            assert CANARY not in text
            assert "org.apache" not in text
    logger.disabled = True


def test_stopping_and_progress(engine):
    told = []

    def watch(share):
        told.append(share)
        if len(told) > 15:
            raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        engine.run(ENDLESS, watch)
    assert time.perf_counter() - start < 30
    assert all(share is None or 0 <= share <= 1 for share in told)
    assert any(share is not None for share in told)
    assert rows(engine, "SELECT count(*) AS n FROM {visits}")["n"] == [1000]


def test_a_session_that_was_handed_in_stays_as_it_is(open_spark, server):
    owner = server_session(server).frames
    owner.conf.set("spark.sql.ansi.enabled", "false")
    owner.sql("SELECT 7 AS a").createTempView("own")
    engine = open_spark({"own": source("spark://session#own")}, session=owner)
    assert rows(engine, "SELECT a FROM {own}")["a"] == [7]
    owner.sql("SELECT 'x' AS a").createOrReplaceTempView("own")
    with pytest.raises(PolicyError, match="changed"):
        engine.prepare("SELECT 1 AS a")
    engine.close()
    assert owner.conf.get("spark.sql.ansi.enabled") == "false"
    assert owner.sql("SELECT a FROM own").collect()[0].a == "x"
    owner.stop()


def test_a_server_that_is_gone_is_told(open_spark, server):
    engine = open_spark({"visits": source(f"{server}#global_temp.visits")})
    sql = f"SELECT count(*) AS n FROM {engine.relations['visits']}"
    engine._session.frames.client.release_session()
    with pytest.raises(PolicyError, match="changed, moved or removed"):
        engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)
