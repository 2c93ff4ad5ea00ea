"""Attack G2 on PostgreSQL and Spark: before the charge, a question meets names and types, and nothing else.

For files in DuckDB: test_duckdb_files. Here too, what Spark reads of cells that should not be there (G5).
"""

import os

import pyarrow as pa
import pytest

from discreet.engines.postgres import statement as postgres_statement
from discreet.errors import EngineFailed, PolicyError
from discreet.model.declaration import TableSource
from discreet.model.policy import ValueType
from tests.engines.conftest import source
from tests.engines.hostile_files import NOT_UTF8, texts, write_parquet

QUESTION = "SELECT ward, count(*) AS n FROM {visits} WHERE cost > 400 AND patient_id < 50 GROUP BY ward"


@pytest.mark.xdist_group("postgres")
def test_g2_a_plan_in_postgres_is_the_same_whatever_the_rows_are(clinic, open_postgres, changes, monkeypatch):
    """Over the table, estimates and the choice of an index follow from what PostgreSQL noted of its rows."""
    plans = []

    def watched(connection, sql, parameters):
        cursor = executed(connection, sql, parameters)
        if sql.startswith("EXPLAIN"):
            plans.append(cursor.fetchall())
        return cursor

    executed = postgres_statement.executed
    monkeypatch.setattr(postgres_statement, "executed", watched)
    changes(
        "CREATE TABLE planned AS SELECT * FROM visits",
        "CREATE INDEX ON planned (cost)",
        "ANALYZE planned",
    )
    try:
        engine = open_postgres({"visits": source(f"{clinic}#planned")})
        sql = QUESTION.format(**engine.relations)
        engine.prepare(sql)
        changes("UPDATE planned SET cost = 500", "ANALYZE planned")
        engine.prepare(sql)
        assert plans[0] == plans[1] != []
        assert "planned" not in str(plans)
    finally:
        changes("DROP TABLE planned")


def spoil(path):
    """Overwrite all of a file, footer and all, and let it look as before."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"\xa5" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.xdist_group("spark")
def test_g2_spark_reads_nothing_of_a_file_between_opening_and_the_charge(open_spark, tmp_path):
    write_parquet(tmp_path / "a.parquet", patient_id=[1, 2], ward=["w1", "w2"], cost=[1.0, 500.0])
    engine = open_spark({"visits": source("spark://local#a.parquet")}, tmp_path)
    sql = QUESTION.format(**engine.relations)
    spoil(tmp_path / "a.parquet")
    engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)


@pytest.mark.xdist_group("spark")
def test_g2_a_plan_in_spark_is_the_same_whatever_the_rows_are(spark, open_spark, monkeypatch):
    """Over rows in memory, Spark computes parts of the answer while it plans."""
    plans = []
    for rows in ([(1, "w1", 1.0)], [(1, "w1", 1.0), (2, "w2", 500.0)]):
        spark.createDataFrame(rows, "patient_id long, ward string, cost double").createOrReplaceTempView(
            "few"
        )
        engine = open_spark({"visits": source("spark://session#few")}, session=spark)
        frames = []
        monkeypatch.setattr(engine._session, "plan", frames.append)
        engine.prepare(QUESTION.format(**engine.relations))
        plan = frames[0]._jdf.queryExecution().optimizedPlan()
        plans.append((plan.canonicalized().toString(), str(plan.stats().sizeInBytes())))
    assert plans[0] == plans[1]


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("encoding", ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY"])
def test_g5_text_that_is_not_utf8_fails_no_question_in_spark(open_spark, tmp_path, encoding):
    cells = [b"a", *NOT_UTF8, None]
    write_parquet(tmp_path / "a.parquet", encoding=encoding, id=[1] * len(cells), x=texts(cells))
    engine = open_spark({"t": source("spark://local#a.parquet")}, tmp_path)
    sql = "SELECT x, count(*) AS n FROM {t} GROUP BY x".format(**engine.relations)
    engine.prepare(sql)
    assert sorted(engine.run(sql).reveal()["n"].tolist()) == [1, len(cells) - 1]


@pytest.mark.xdist_group("spark")
def test_g5_milliseconds_in_spark_are_refused_for_everybody_unless_the_owner_vouches(open_spark, tmp_path):
    for i, moment in enumerate((0, 10**17)):
        name = f"{i}.parquet"
        write_parquet(tmp_path / name, id=[1], x=pa.array([moment], pa.int64()).cast(pa.timestamp("ms")))
        engine = open_spark({"t": source(f"spark://local#{name}")}, tmp_path)
        assert engine.schema("t") == {"id": ValueType.INTEGER}
        assert engine.unsupported("t") == ("x (milliseconds, see well_formed)",)
        with pytest.raises(PolicyError, match=r"well_formed = true in \[tables\.t\]"):
            open_spark({"t": source(f"spark://local#{name}", x=ValueType.TIMESTAMP)}, tmp_path)
        vouched = TableSource(
            location=f"spark://local#{name}",
            public=False,
            person=None,
            types={},
            implied_types={},
            well_formed=True,
        )
        assert open_spark({"t": vouched}, tmp_path).schema("t")["x"] is ValueType.TIMESTAMP


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("moment", [2**63 - 1, -(2**63), 10**18])
def test_g5_moments_out_of_range_are_missing_in_spark(open_spark, tmp_path, moment):
    write_parquet(tmp_path / "a.parquet", x=pa.array([0, moment], pa.int64()).cast(pa.timestamp("us")))
    engine = open_spark({"t": source("spark://local#a.parquet")}, tmp_path)
    sql = "SELECT count(x) AS n, count(*) AS a FROM {t}".format(**engine.relations)
    found = engine.run(sql).reveal()
    assert (found["n"][0], found["a"][0]) == (1, 2)
