"""The engine over PostgreSQL opens what the policy says or says why not, and returns exact numbers."""

import builtins
import re
import time

import numpy as np
import pytest

from discreet.engines.postgres.engine import PostgresEngine, schema_of
from discreet.errors import EngineFailed, MissingExtra, PolicyError, QueryRefused
from discreet.model.policy import ValueType
from discreet.postgres import connection as postgres_connection
from tests.engines.conftest import everything_in, source
from tests.engines.databases import READER, create_database, execute, rows
from tests.servers.postgres import UNTRUSTED

INTEGER, NUMBER, TEXT, DATE = ValueType.INTEGER, ValueType.NUMBER, ValueType.TEXT, ValueType.DATE
VISITS = {"patient_id": INTEGER, "cost": NUMBER, "ward": TEXT, "note": TEXT, "day": DATE}
BY_WARD = "SELECT ward, count(*) AS n FROM {visits} GROUP BY ward ORDER BY ward NULLS FIRST"


# Sources


@pytest.mark.parametrize("place", ["visits", "public.visits", "Public.VISITS", '"public"."visits"'])
def test_a_table_with_and_without_its_schema(open_postgres, clinic, place):
    engine = open_postgres({"visits": source(f"{clinic}#{place}")})
    assert engine.schema("visits") == VISITS
    assert list(rows(engine, BY_WARD)["n"]) == [200] * 5


def test_the_first_draft_of_a_policy(clinic):
    assert schema_of(f"{clinic}#visits") == VISITS


def test_what_the_address_leaves_out_comes_from_the_environment(open_postgres, postgres_server, monkeypatch):
    settings = {"HOST": "127.0.0.1", "PORT": postgres_server.port, "DATABASE": "clinic", "USER": "reader"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PG{name}", str(value))
    engine = open_postgres({"visits": source("postgresql:///#visits")})
    assert rows(engine, "SELECT count(*) AS n FROM {visits}")["n"] == [1000]


def test_names_with_signs_of_every_kind(open_postgres, clinic, changes):
    changes(
        'DROP SCHEMA IF EXISTS "My.Schema ä" CASCADE',
        'CREATE SCHEMA "My.Schema ä"',
        'CREATE TABLE "My.Schema ä"."T "" #x%s" AS SELECT 1 AS "a ""b"" ä %%s", 2 AS "{}"',
    )
    engine = open_postgres({'Tä"b; --': source(f'{clinic}#"My.Schema ä"."T "" #x%s"')})
    relation = engine.relations['Tä"b; --']
    sql = f'SELECT "a ""b"" ä %%s" AS a, "{{}}" AS b FROM {relation}'
    engine.prepare(sql)
    found = engine.run(sql).reveal()
    assert (found["a"], found["b"]) == ([1], [2])


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_views(open_postgres, clinic, changes, kind):
    changes(f"CREATE {kind} busy AS SELECT patient_id, cost FROM visits WHERE patient_id < 10")
    try:
        assert rows(open_postgres({"v": source(f"{clinic}#busy")}), "SELECT count(*) AS n FROM {v}")["n"] == [
            100
        ]
    finally:
        changes(f"DROP {kind} busy")


def test_partitioned_tables(open_postgres, clinic, changes):
    changes(
        "DROP TABLE IF EXISTS parts",
        "CREATE TABLE parts (id int, x numeric(9, 2)) PARTITION BY RANGE (id)",
        "CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
        "INSERT INTO parts SELECT i, i FROM generate_series(0, 19) AS r(i)",
    )
    engine = open_postgres({"p": source(f"{clinic}#parts")})
    assert rows(engine, "SELECT count(*) AS n FROM {p} WHERE x > 3.5")["n"] == [16]


def test_columns_that_the_role_may_not_read_do_not_exist(open_postgres, postgres_server, changes):
    changes(
        "DROP TABLE IF EXISTS mixed",
        "CREATE TABLE mixed AS SELECT 1 AS id, 2 AS open, 3 AS shut",
        f"GRANT SELECT (id, open) ON mixed TO {READER}",
    )
    engine = open_postgres({"m": source(f"{postgres_server.url_of('clinic', role=READER)}#mixed")})
    assert list(engine.schema("m")) == ["id", "open"]
    assert engine.unsupported("m") == ("shut",)
    assert rows(engine, "SELECT count(*) AS n FROM {m} WHERE open = 2")["n"] == [1]


def opening(location):
    """The error of a source that cannot be opened."""
    with pytest.raises((PolicyError, MissingExtra)) as caught:
        PostgresEngine({"v": source(location)})
    return caught.value


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("postgresql://127.0.0.1:1/clinic#visits", "does not answer"),
        ("postgresql://nowhere.invalid/clinic#visits", "nobody knows"),
        ("postgresql://postgres@127.0.0.1:{port}/none#visits", "none is not there"),
        ("postgresql://postgres@127.0.0.1:{port}/ssl%20passwords#visits", "ssl%20passwords is not there"),
        ("postgresql://nobody@127.0.0.1:{port}/clinic#visits", "does not know this role"),
        (f"postgresql://{UNTRUSTED}@127.0.0.1:{{port}}/clinic#visits", "another password"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic?sslmode=require#visits", "no encrypted connection"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#none", "public.none is not there"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#none.visits", "none.visits is not there"),
        ('postgresql://postgres@127.0.0.1:{port}/clinic#"Visits"', "in quotes"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#numbers", "neither a table nor a view"),
        ("postgresql://reader@127.0.0.1:{port}/clinic#secrets", "may not be read by this role"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic", "does not name a table"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#", "does not name a table"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#a.b.c", "does not name a table"),
        ("postgresql://postgres@127.0.0.1:{port}/clinic#two words", "does not name a table"),
        ("postgresql://[::1/clinic#visits", "no address"),
        ("postgresql://h/clinic?nonsense=1#visits", "no address"),
        ("visits.parquet", "no address"),
        ("postgresql://h/a\0b#visits", "no address"),
    ],
)
@pytest.mark.usefixtures("clinic")
def test_sources_that_cannot_be_opened_say_why(postgres_server, location, hint, monkeypatch):
    execute(
        postgres_server.url,
        f"DROP ROLE IF EXISTS {UNTRUSTED}",
        f"CREATE ROLE {UNTRUSTED} LOGIN PASSWORD 'other'",
    )
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    error = opening(location.format(port=postgres_server.port))
    assert re.search(hint, str(error))
    assert error.remedy
    assert "FATAL" not in everything_in(error)
    told = f"{error.problem} {error.remedy}"
    assert not any(word in told for word in ("hunter2", "@", "FATAL", "reader", UNTRUSTED))


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://ann:hunter2@h/db#v",
        "postgresql://h/db?password=hunter2#v",
        "postgres://ann:hunter2@h/db#v",
    ],
)
def test_a_password_in_a_policy_is_refused_and_not_repeated(location):
    error = opening(location)
    assert "PGPASSFILE" in error.remedy
    assert "hunter2" not in f"{error.problem} {error.remedy}"
    assert "ann" not in error.problem.replace("cannot", "")


def test_the_tables_of_a_policy_are_in_one_database(postgres_server):
    with pytest.raises(PolicyError, match="more than one database"):
        PostgresEngine(
            {name: source(f"{postgres_server.url_of(name)}#visits") for name in ("clinic", "postgres")}
        )


def test_text_that_is_not_utf_8_is_not_opened(postgres_server):
    options = "ENCODING 'LATIN1' TEMPLATE template0"
    url = create_database(postgres_server, "latin", "CREATE TABLE t (a int)", options=options)
    assert "UTF-8" in str(opening(f"{url}#t"))


def test_servers_that_are_too_old_are_not_opened(clinic, monkeypatch):
    monkeypatch.setattr(postgres_connection, "OLDEST_SERVER", 99)
    assert "older than PostgreSQL 99" in str(opening(f"{clinic}#visits"))


def test_without_the_driver_the_line_that_installs_it_is_said(monkeypatch):
    honest = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("psycopg"):
            raise ImportError(name)
        return honest(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert 'pip install "discreet[postgres]"' in opening("postgresql://h/d#v").remedy


def test_a_declared_type_must_fit(open_postgres, clinic):
    for types in ({"ward": INTEGER}, {"ward": DATE}, {"day": NUMBER}, {"cost": TEXT}):
        with pytest.raises(PolicyError, match="in its source, not"):
            open_postgres({"v": source(f"{clinic}#visits", **types)})
    assert open_postgres({"v": source(f"{clinic}#visits", cost=INTEGER)}).schema("v")["cost"] is INTEGER


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE t",
        "DROP TABLE t; CREATE TABLE t AS SELECT 1 AS a, 'x' AS b",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t ALTER COLUMN a TYPE bigint",
        "ALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE t DROP COLUMN b",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "REVOKE SELECT ON t FROM reader",
        "CREATE OR REPLACE VIEW w AS SELECT 2 AS a",
    ],
)
def test_a_table_that_changed_is_noticed_before_anything_is_charged(
    open_postgres, postgres_server, changes, change
):
    changes(
        "DROP TABLE IF EXISTS t",
        "DROP TABLE IF EXISTS u",
        "DROP VIEW IF EXISTS w",
        "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b",
        "CREATE VIEW w AS SELECT 1 AS a",
        f"GRANT SELECT ON t, w TO {READER}",
    )
    url = postgres_server.url_of("clinic", role=READER)
    engine = open_postgres({"t": source(f"{url}#t"), "w": source(f"{url}#w")})
    changes("INSERT INTO t VALUES (2, 'y')", "ANALYZE t")
    rows(engine, "SELECT count(*) AS n FROM {t}")
    changes(change)
    with pytest.raises(PolicyError, match="dropped, re-created, altered") as caught:
        rows(engine, "SELECT count(*) AS n FROM {t}")
    assert "Open the policy again" in caught.value.remedy


def test_a_view_whose_owner_may_no_longer_read_is_told(open_postgres, postgres_server, changes):
    changes(
        "DROP VIEW IF EXISTS behind",
        f"GRANT SELECT ON secrets TO {READER}",
        "CREATE VIEW behind AS SELECT a FROM secrets",
        f"ALTER VIEW behind OWNER TO {READER}",
    )
    engine = open_postgres({"t": source(f"{postgres_server.url_of('clinic', role=READER)}#behind")})
    changes(f"REVOKE SELECT ON secrets FROM {READER}")
    with pytest.raises(PolicyError, match="what a view of it is made of") as caught:
        engine.prepare(f"SELECT count(*) AS n FROM {engine.relations['t']}")
    everything_in(caught.value)
    changes("DROP VIEW behind")


@pytest.mark.parametrize("hidden_by", ["view", "row security"])
def test_g2_functions_of_the_owner_do_not_run_before_the_charge(
    open_postgres, postgres_server, changes, hidden_by
):
    """PostgreSQL runs STABLE functions to plan. This one fails if somebody is of age −1."""
    changes(
        "DROP TABLE IF EXISTS ages CASCADE",
        "CREATE TABLE ages AS SELECT 1 AS id, 40 AS age",
        "CREATE OR REPLACE FUNCTION least_age() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER"
        " AS 'SELECT max(1000 / (age + 1)) / 1000 FROM public.ages'",
        f"GRANT SELECT ON ages TO {READER}",
        "CREATE VIEW aged AS SELECT * FROM ages WHERE age >= public.least_age()",
        f"GRANT SELECT ON aged TO {READER}",
        *(["ALTER TABLE ages ENABLE ROW LEVEL SECURITY"] if hidden_by == "row security" else []),
        "CREATE POLICY grown ON ages USING (age >= public.least_age())",
    )
    table = "aged" if hidden_by == "view" else "ages"
    engine = open_postgres({"t": source(f"{postgres_server.url_of('clinic', role=READER)}#{table}")})
    sql = f"SELECT count(*) AS n FROM {engine.relations['t']}"
    engine.prepare(sql)
    changes("INSERT INTO ages VALUES (2, -1)")
    engine.prepare(sql)
    changes("DROP TABLE ages CASCADE")


@pytest.mark.parametrize("invoker", [False, True])
def test_whose_rights_count_behind_a_view(open_postgres, postgres_server, changes, invoker):
    """Those of its owner; of whoever asks, if the view says so. And the owner is a superuser here."""
    changes(
        "DROP VIEW IF EXISTS behind",
        f"CREATE VIEW behind WITH (security_invoker = {invoker}) AS SELECT a FROM secrets",
        f"GRANT SELECT ON behind TO {READER}",
        f"REVOKE SELECT ON secrets FROM {READER}",
    )
    engine = open_postgres({"t": source(f"{postgres_server.url_of('clinic', role=READER)}#behind")})
    sql = f"SELECT count(*) AS n FROM {engine.relations['t']}"
    if invoker:
        with pytest.raises(PolicyError, match="what a view of it is made of"):
            engine.prepare(sql)
        changes(f"GRANT SELECT (a) ON secrets TO {READER}")
    engine.prepare(sql)
    engine.run(sql)
    changes("DROP VIEW behind", f"REVOKE SELECT (a) ON secrets FROM {READER}")


# Results


def test_integers_wider_than_64_bits_are_exact(open_postgres):
    numbers = [0, 1, -1, 2**62, 2**63, -(2**63) - 1, 2**124 + 5, -(10**60) - 7]
    values = ", ".join(f"({number}::numeric)" for number in numbers)
    result = rows(open_postgres(), f"SELECT h FROM (VALUES {values}) AS v(h)")["h"]
    assert list(result) == numbers
    assert all(type(number) is int for number in result)
    assert rows(
        open_postgres(), "SELECT 5.00 AS d, sum(i) AS s FROM generate_series(1::bigint, 3) AS r(i)"
    ) == {
        "d": [5],
        "s": [6],
    }


def test_a_fraction_is_never_rounded(open_postgres):
    for sql in ("SELECT 1.5 AS a", "SELECT 'NaN'::numeric AS a", "SELECT 'Infinity'::numeric AS a"):
        with pytest.raises(EngineFailed):
            open_postgres().run(sql)


def test_null_keys_are_masked_and_never_a_value(open_postgres):
    engine = open_postgres()
    assert rows(engine, BY_WARD)["ward"].mask.tolist() == [True, False, False, False, False]
    kinds = {
        "1::smallint": "int64",
        "1::bigint": "int64",
        "1::numeric": "object",
        "'a'": "object",
        "true": "bool",
        "DATE '0001-01-01'": "datetime64[D]",
        "TIMESTAMP '9999-12-31 23:59:59.999999'": "datetime64[us]",
    }
    for value, dtype in kinds.items():
        column = rows(
            engine,
            f"SELECT CASE WHEN i = 1 THEN {value} END AS x FROM generate_series(0, 2) AS r(i) ORDER BY i",
        )["x"]
        assert np.ma.getmaskarray(column).tolist() == [True, False, True], value
        assert column.dtype == dtype
    found = rows(engine, "SELECT DATE '0001-01-01' AS d, TIMESTAMP '9999-12-31 23:59:59.999999' AS t")
    assert found["d"] == [np.datetime64("0001-01-01")]
    assert found["t"] == [np.datetime64("9999-12-31T23:59:59.999999")]


def test_types_do_not_depend_on_the_rows(open_postgres):
    sql = "SELECT ward, patient_id, sum(patient_id) AS s, day FROM {{visits}} WHERE {} GROUP BY 1, 2, 4"
    some, none = (rows(open_postgres(), sql.format(condition)) for condition in ("true", "false"))
    assert {name: column.dtype for name, column in some.items()} == {
        name: column.dtype for name, column in none.items()
    }
    assert {len(column) for column in none.values()} == {0}


def test_a_million_rows(open_postgres):
    columns = "i::bigint AS k, 'ward ' || i AS t, i::numeric * 4 AS h"
    sql = f"SELECT {columns} FROM generate_series(1, 1000000) AS r(i)"
    engine = open_postgres()
    start = time.perf_counter()
    found = rows(engine, sql)
    assert time.perf_counter() - start < 30  # about 2 s
    assert found["k"].dtype == np.int64
    assert found["t"][-1] == "ward 1000000"
    assert sum(found["h"]) == 4 * sum(range(10**6 + 1))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(cost) AS a FROM {visits}",
        "SELECT 1.5::double precision AS a",
        "SELECT 1.5::numeric(9, 2) AS a",
        "SELECT ARRAY[1] AS a",
        "SELECT 1 AS a, 2 AS a",
        "SELECT none FROM {visits}",
        "SELECT 1 AS a; SELECT 2 AS a",
        "SELECT 1 AS a;",
        "SELECT 1 AS a) AS b, (SELECT 2 AS c",
        "SELECT (1 AS a",
        "SELECT 'a AS b",
        "SELECT",
        "",
        "\0",
        "SELECT 1 AS a\0",
        "SELECT '\ud800' AS a",
        "SELECT E'a' AS a",
        "SELECT 1 /* /* */ */ AS a",
        "SELECT " + "(" * 50_000 + "1" + ")" * 50_000,
    ],
)
def test_statements_that_cannot_be_answered_are_refused_before_the_charge(open_postgres, sql):
    engine = open_postgres()
    sql = sql.replace("{visits}", engine.relations["visits"])
    with pytest.raises(QueryRefused, match="nothing was spent"):
        engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)


def test_a_comment_at_the_end_and_common_table_expressions(open_postgres):
    assert rows(open_postgres(), "WITH a AS (SELECT 1 AS b) SELECT b FROM a -- so (")["b"] == [1]


def test_no_row_is_read_before_the_charge(open_postgres, clinic, changes):
    """A view that fails on every row can be opened and prepared, but not run."""
    changes(
        "DROP VIEW IF EXISTS bad",
        "CREATE VIEW bad AS SELECT patient_id, 1 / (cost * 0)::int AS x FROM visits",
    )
    engine = open_postgres({"bad": source(f"{clinic}#bad")})
    sql = f"SELECT sum(x) AS s FROM {engine.relations['bad']}"
    engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)
