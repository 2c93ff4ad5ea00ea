"""From a policy to an answer where the data lives, as an owner and an analyst would type it."""

import json
import re

import duckdb
import pytest
from click.testing import CliRunner

import discreet
from discreet.apps.commands.main import main
from discreet.engines.base.execution import failed
from discreet.errors import EngineFailed, PolicyError, QueryRefused
from tests.engines.databases import execute

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 100, delta = 1e-6 }}

[tables.visits]
source = "{visits}"
person = "patient"
max_rows = 3

[tables.visits.columns.cost]
bounds = [0, 100]

[tables.wards]
source = "{wards}"
public = true
"""
ROWS = (
    "SELECT range // 2 AS patient, ['north', 'süd'][1 + range % 2] AS ward, (range % 100)::DOUBLE AS cost"
    " FROM range(4000)"
)
WARDS = [("north", "up"), ("süd", "down"), ("other", "none")]
BY_REGION = (
    "SELECT region, count(*) AS n, avg(cost) AS mean FROM visits JOIN wards USING (ward) GROUP BY region"
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def running(*words):
        return CliRunner().invoke(main, list(words))

    return running


@pytest.fixture(scope="module")
def in_postgres(postgres_server):
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hospital")
        connection.execute("CREATE TABLE hospital.visits (patient bigint, ward text, cost double precision)")
        connection.execute("CREATE TABLE hospital.wards (ward text, region text)")
        rows = duckdb.sql(ROWS).fetchall()
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO hospital.visits VALUES (%s, %s, %s)", rows)
            cursor.executemany("INSERT INTO hospital.wards VALUES (%s, %s)", WARDS)
    return lambda table: f"{postgres_server.url}#hospital.{table}"


def check_answer(answer):
    """Noise of a scale below 2: 50 off are 25 scales, less likely than 10⁻⁹."""
    rows = {row["region"]: row for row in answer}
    assert set(rows) == {"up", "down", "none"}
    assert rows["up"]["n"] == pytest.approx(2000, abs=50)
    assert rows["none"]["n"] == pytest.approx(0, abs=50)
    assert rows["down"]["mean"] == pytest.approx(50, abs=5)


@pytest.mark.xdist_group("postgres")
def test_on_postgres(run, tmp_path, in_postgres):
    drafted = run("init", in_postgres("visits"), "--person", "patient", "--out", "draft.toml")
    assert drafted.exit_code == 0, drafted.output
    assert "No row was read" in drafted.output
    assert f'source = "{in_postgres("visits")}"\n' in (tmp_path / "draft.toml").read_text()
    (tmp_path / "discreet.toml").write_text(
        POLICY.format(visits=in_postgres("visits"), wards=in_postgres("wards"))
    )
    assert run("check").exit_code == 0
    assert run("explain", BY_REGION, "--epsilon", "20").exit_code == 0
    answered = run("ask", BY_REGION, "--epsilon", "20", "--format", "json")
    assert answered.exit_code == 0, answered.output
    check_answer(json.loads(answered.output)["rows"])
    again = run("ask", BY_REGION, "--epsilon", "20", "--format", "json")
    assert json.loads(again.output)["rows"] == json.loads(answered.output)["rows"]


@pytest.mark.xdist_group("postgres")
def test_what_postgres_cannot_do_is_refused_by_explain_too(tmp_path, in_postgres):
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(visits=in_postgres("visits"), wards=in_postgres("wards")))
    with discreet.open(policy) as curator:
        for call in (curator.explain, curator.ask):
            with pytest.raises(QueryRefused, match="remainder"):
                call("SELECT sum(cost % 2.5) FROM visits", epsilon=1)
        assert curator.budget().spent.rho == 0


@pytest.mark.xdist_group("postgres")
def test_postgres_accepts_every_slice_before_the_charge(tmp_path, in_postgres, monkeypatch):
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(visits=in_postgres("visits"), wards=in_postgres("wards")))
    with discreet.open(policy) as curator:
        engine, prepared, ran = curator._engine, [], []
        prepare, run_each = engine.prepare, engine.run_each

        def preparing(sql, **bound):
            assert curator.budget().spent.rho == 0
            prepared.append((sql, bound))
            prepare(sql, **bound)

        def running(sqls, *watch, deadline, **bound):
            ran.extend((sql, bound) for sql in sqls)
            return run_each(sqls, *watch, deadline=deadline, **bound)

        curator.plan(BY_REGION, epsilon=1)  # the keys of the public table, which need no charge
        monkeypatch.setattr(engine, "prepare", preparing)
        monkeypatch.setattr(engine, "run_each", running)
        curator.ask(BY_REGION, epsilon=1)
    assert len(ran) > 1
    assert prepared == ran


@pytest.mark.xdist_group("postgres")
def test_public_keys_that_could_not_be_read_are_read_again(tmp_path, in_postgres, monkeypatch):
    """Or else groups that are public would be named by noisy counts from then on, and some left out."""
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(visits=in_postgres("visits"), wards=in_postgres("wards")))

    def lost(*_, **__):
        raise failed()

    with discreet.open(policy) as curator:
        with monkeypatch.context() as patched:
            patched.setattr(curator._engine, "run", lost)
            with pytest.raises(EngineFailed):
                curator.ask(BY_REGION, epsilon=20)
        assert curator.budget().spent.rho == 0
        check_answer(curator.ask(BY_REGION, epsilon=20).rows())


@pytest.mark.xdist_group("spark")
def test_on_spark_in_a_session_that_is_handed_in(tmp_path, spark):
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path}/visits.parquet'")
    spark.read.parquet(f"{tmp_path}/visits.parquet").createOrReplaceTempView("end_to_end_visits")
    spark.createDataFrame(WARDS, "ward string, region string").createOrReplaceTempView("end_to_end_wards")
    policy = tmp_path / "discreet.toml"
    places = {name: f"spark://session#end_to_end_{name}" for name in ("visits", "wards")}
    policy.write_text(POLICY.format(**places))
    shares = []
    with discreet.open(policy, spark=spark) as curator:
        curator.watch = shares.append
        check_answer(curator.ask(BY_REGION, epsilon=20).rows())
        assert curator.ask(BY_REGION, epsilon=20).repeated
    assert all(share is None or 0 <= share <= 1 for share in shares)
    with pytest.raises(PolicyError, match="session"):
        discreet.open(policy)


WIDE = """
[dataset]
name = "wide"
neighbours = "add_remove"
budget = {{ epsilon = 200, delta = 1e-6 }}

[tables.visits]
source = "{visits}"
person = "patient"
max_rows = 1
"""
WIDE_ROWS = "SELECT CASE WHEN i % 2 = 0 THEN i ELSE 12345678901234567890123 + i END AS patient"
USED_AS_A_NUMBER = [
    ("SELECT count(*) AS n FROM visits WHERE patient >= 0", 100),
    ("SELECT count(*) AS n FROM visits WHERE patient % 2 = 0", 100),
    ("SELECT count(*) AS n FROM visits WHERE patient IS NULL", 100),
    (
        "SELECT count(*) AS n FROM (SELECT patient FROM visits GROUP BY patient) AS p WHERE patient + 1 > 0",
        100,
    ),
    ("SELECT count(DISTINCT patient) AS n FROM visits", 200),
]


def check_wide_ids(curator):
    """A question must not fail by an id beyond 64 bits. 20 off are 40 scales of noise, below 10⁻¹⁵."""
    for question, expected in USED_AS_A_NUMBER:
        ((answered,),) = (row.values() for row in curator.ask(question, epsilon=20).rows())
        assert answered == pytest.approx(expected, abs=20)


@pytest.mark.xdist_group("postgres")
def test_b5_wide_ids_as_numbers_on_postgres(tmp_path, in_postgres, postgres_server):
    execute(
        postgres_server.url,
        "CREATE TABLE hospital.wide (patient numeric(30))",
        f"INSERT INTO hospital.wide {WIDE_ROWS} FROM generate_series(0, 199) AS r(i)",
    )
    policy = tmp_path / "discreet.toml"
    policy.write_text(WIDE.format(visits=in_postgres("wide")))
    with discreet.open(policy) as curator:
        check_wide_ids(curator)


@pytest.mark.xdist_group("spark")
def test_b5_wide_ids_as_numbers_on_spark(tmp_path, spark):
    wide = WIDE_ROWS.replace("END", "END::DECIMAL(38, 0)")
    duckdb.sql(f"COPY ({wide} FROM range(200) AS r(i)) TO '{tmp_path}/wide.parquet'")
    spark.read.parquet(f"{tmp_path}/wide.parquet").createOrReplaceTempView("wide_visits")
    policy = tmp_path / "discreet.toml"
    policy.write_text(WIDE.format(visits="spark://session#wide_visits"))
    with discreet.open(policy, spark=spark) as curator:
        check_wide_ids(curator)


def test_b5_wide_ids_as_numbers_in_files(tmp_path):
    wide = WIDE_ROWS.replace("END", "END::DECIMAL(38, 0)")
    duckdb.sql(f"COPY ({wide} FROM range(200) AS r(i)) TO '{tmp_path}/wide.parquet'")
    policy = tmp_path / "discreet.toml"
    policy.write_text(WIDE.format(visits="wide.parquet"))
    with discreet.open(policy) as curator:
        check_wide_ids(curator)


def test_one_policy_has_one_engine(tmp_path):
    policy = tmp_path / "discreet.toml"
    policy.write_text(POLICY.format(visits="visits.parquet", wards="postgresql:///#wards"))
    with pytest.raises(PolicyError, match="in PostgreSQL and in files") as refused:
        discreet.open(policy)
    assert re.search("one of them", refused.value.remedy)
