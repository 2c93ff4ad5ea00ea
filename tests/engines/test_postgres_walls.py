"""Over PostgreSQL nothing can be done but to read, nothing is said, and what is lost is found again."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import numpy as np
import psycopg
import pytest

from discreet.engines.postgres import session as postgres_session
from discreet.engines.postgres.engine import PostgresEngine
from discreet.errors import EngineFailed, PolicyError, QueryRefused, TookTooLong
from tests.engines.conftest import CANARY, everything_in, source
from tests.engines.databases import READER, rows

FOR_LONG = "SELECT count(*) AS n FROM (SELECT generate_series(1, 1000000000000) AS i) AS r WHERE i % 7 = 8"
"""Rows are passed on one by one. In FROM, the series would be written to a file first."""


# Attacks

FORBIDDEN = [
    "INSERT INTO public.visits DEFAULT VALUES",
    "INSERT INTO public.visits DEFAULT VALUES RETURNING patient_id",
    "UPDATE public.visits SET cost = 0",
    "DELETE FROM public.visits RETURNING patient_id",
    "WITH gone AS (DELETE FROM public.visits RETURNING patient_id) SELECT count(*) AS n FROM gone",
    "SELECT patient_id INTO public.stolen FROM public.visits",
    "CREATE TABLE public.stolen AS SELECT 1 AS a",
    "DROP TABLE public.visits",
    "TRUNCATE public.visits",
    "COPY public.visits TO STDOUT",
    "COPY public.visits TO '/tmp/stolen'",
    "COPY public.visits TO PROGRAM 'cat'",
    "SELECT patient_id FROM public.visits FOR UPDATE",
    "SELECT 1 AS a; DROP TABLE public.visits",
    "SELECT nextval('public.numbers') AS a",
    "SELECT a FROM nextval('public.numbers') AS r(a)",
    "SELECT pg_catalog.nextval('public.numbers') AS a",
    "SELECT \"nextval\" ('public.numbers') AS a",
    "SELECT NextVal -- (\n ('public.numbers') AS a",
    "SELECT U&\"next\\0076al\"('public.numbers') AS a",
    "SELECT setval('public.numbers', 5) AS a",
    "SELECT pg_read_file('/etc/hostname') AS a",
    "SELECT count(*) AS a FROM pg_ls_dir('/') AS r(i)",
    "SELECT lo_import('/etc/hostname')::bigint AS a",
    "SELECT lo_create(0)::bigint AS a",
    "SELECT lo_export(1, '/tmp/stolen') AS a",
    "SELECT set_config('search_path', 'public', false) AS a",
    "SELECT set_config('transaction_read_only', 'off', true) AS a",
    "SELECT pg_sleep(0)::text AS a",
    "SELECT (random() * 10)::bigint AS a",
    "SELECT pg_notify('a', 'b')::text AS a",
    "SELECT pg_advisory_lock(1)::text AS a",
    "SELECT pg_terminate_backend(0) AS a",
    "SELECT query_to_xml('SELECT 1', true, true, '')::text AS a",
    "SELECT public.log_visit() AS a",
    "SELECT log_visit() AS a",
    "SELECT a FROM public.dblink('dbname=clinic', 'SELECT 1') AS t(a int)",
    "SELECT public.dblink_exec('dbname=clinic', 'DROP TABLE public.visits') AS a",
    "SELECT 1 OPERATOR(pg_catalog.+) 2 AS a",
    "SET search_path TO public",
    "SHOW search_path",
    "RESET ALL",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "DO 'BEGIN END'",
    "CALL x()",
    "LISTEN a",
    "PREPARE p AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1 AS a",
    "VACUUM public.visits",
    "DECLARE c CURSOR FOR SELECT 1",
    "LOCK TABLE public.visits",
]


@pytest.fixture(scope="module", params=["postgres", READER])
def shared_engine(request, clinic):
    """As the superuser, and as a role that may only read. The tests that share it cannot change it."""
    location = clinic.replace("postgres@", f"{request.param}@")
    engine = PostgresEngine({"visits": source(f"{location}#visits")})
    yield engine
    engine.close()


def contents(url):
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT (SELECT count(*) FROM visits), (SELECT sum(cost) FROM visits),"
            " (SELECT count(*) FROM secrets), (SELECT is_called FROM numbers),"
            " to_regclass('public.stolen') IS NULL, (SELECT count(*) FROM pg_largeobject_metadata)"
        ).fetchone()


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_c2_nothing_can_be_written_called_or_set(shared_engine, clinic, sql):
    engine, before = shared_engine, contents(clinic)
    with pytest.raises(QueryRefused):
        engine.prepare(sql)
    with pytest.raises(EngineFailed):
        engine.run(sql)
    assert contents(clinic) == before
    assert rows(engine, "SELECT count(*) AS n FROM {visits}")["n"] == [1000]


WRITES = [
    sql for sql in FORBIDDEN if sql.startswith(("INSERT", "UPDATE", "DELETE", "WITH", "DROP", "CREATE"))
]


@pytest.mark.parametrize("sql", [*WRITES, FORBIDDEN[14], "SELECT public.log_visit()", "SELECT 1; SELECT 2"])
def test_c2_postgresql_itself_refuses_them_too(shared_engine, sql):
    """Without our reading of the statement: the transaction only reads, and takes one statement at a time."""
    with shared_engine._sessions.transaction() as connection, pytest.raises(psycopg.Error):
        connection.cursor(binary=True).execute(sql.encode())


def test_c2_what_a_superuser_can_do_all_the_same_is_undone(open_postgres, clinic):
    before = contents(clinic)
    with (
        open_postgres()._sessions.transaction() as connection,
        suppress(psycopg.errors.ReadOnlySqlTransaction),
    ):
        connection.execute("SELECT lo_create(0)")  # PostgreSQL 16 and later refuse it
    assert contents(clinic) == before


def test_c2_a_transaction_stays_read_only(open_postgres):
    with open_postgres()._sessions.transaction() as connection, pytest.raises(psycopg.Error):
        connection.execute("SET transaction_read_only TO off")


@pytest.mark.parametrize("where", ["role", "database"])
def test_c1_settings_of_the_role_and_the_database_do_not_matter(open_postgres, clinic, changes, where):
    who = f"ROLE {READER} IN DATABASE clinic" if where == "role" else "DATABASE clinic"
    location = clinic.replace("postgres@", f"{READER}@")
    settings = {
        "search_path": "public, pg_catalog",
        "TimeZone": "'Asia/Tokyo'",
        "DateStyle": "'SQL, DMY'",
        "extra_float_digits": "-15",
        "standard_conforming_strings": "off",
        "transform_null_equals": "on",
        "default_transaction_read_only": "off",
        "default_transaction_isolation": "'read committed'",
    }
    changes(
        *(f"ALTER {who} SET {name} TO {value}" for name, value in settings.items()),
        "CREATE OR REPLACE FUNCTION public.upper(text) RETURNS text LANGUAGE sql AS 'SELECT ''shadowed'''",
    )
    try:
        engine = open_postgres({"visits": source(f"{location}#visits")})
        found = rows(
            engine,
            "SELECT upper('a'::text) AS u, 'a\\' AS b, (TIMESTAMPTZ '2020-01-01 00:00+00')::timestamp AS t,"
            " (0.1::double precision + 0.2::double precision)::text AS f, (1 = NULL) IS NULL AS n,"
            " DATE '2020-03-04'::text AS d",
        )
    finally:
        changes(f"ALTER {who} RESET ALL", "DROP FUNCTION public.upper(text)")
    assert {name: column.tolist()[0] for name, column in found.items() if name != "t"} == {
        "u": "A",
        "b": "a\\",
        "f": "0.30000000000000004",
        "n": True,
        "d": "2020-03-04",
    }
    assert found["t"] == [np.datetime64("2020-01-01")]


def test_a_server_that_does_not_take_our_settings_is_not_asked(clinic, monkeypatch):
    monkeypatch.setitem(postgres_session._SETTINGS, "DateStyle", "YMD, ISO")
    with pytest.raises(PolicyError, match="does not keep the settings"):
        PostgresEngine({"visits": source(f"{clinic}#visits")})


# Nothing is said

FAILING = [
    "SELECT sum(note::bigint) AS s FROM {visits}",
    "SELECT max(note::date) AS s FROM {visits}",
    "SELECT count(*) AS s FROM {visits} WHERE note::boolean",
    "SELECT max(note::uuid::text) AS s FROM {visits}",
]


@pytest.mark.parametrize("sql", FAILING)
def test_b6_a_cell_never_appears(open_postgres, clinic, sql, caplog, capfd):
    engine = open_postgres()
    sql = sql.format(**engine.relations)
    with psycopg.connect(clinic) as connection, pytest.raises(psycopg.Error, match=f"{CANARY}|ok"):
        connection.execute(sql)
    caplog.set_level(logging.DEBUG)
    engine.prepare(sql)
    with pytest.raises(EngineFailed) as caught:
        engine.run(sql)
    logging.getLogger("test").exception("it failed", exc_info=caught.value)
    output = capfd.readouterr()
    for text in (everything_in(caught.value), caplog.text, output.out, output.err):
        assert CANARY not in text
        assert "invalid input" not in text


def test_b6_a_constant_of_a_refused_question_is_not_repeated_from_the_server(open_postgres):
    with pytest.raises(QueryRefused) as caught:
        open_postgres().prepare(f"SELECT '{CANARY}'::bigint AS a")
    assert CANARY not in str(caught.value)
    everything_in(caught.value)


def test_b5_every_failure_has_the_same_words(open_postgres, monkeypatch):
    engine, messages = open_postgres(), set()
    for sql in (*FAILING, "SELECT 1 / 0 AS", "DROP TABLE x"):
        with pytest.raises(EngineFailed) as caught:
            engine.run(sql.format(**engine.relations))
        messages.add(str(caught.value))
    engine.close()
    monkeypatch.setitem(engine._sessions._options, "port", "1")
    with pytest.raises(EngineFailed) as caught:
        engine.run("SELECT 1 AS a")
    everything_in(caught.value)
    assert messages == {str(caught.value)}


# Limits and losses


def test_threads_share_one_engine(open_postgres):
    engine = open_postgres()
    found, errors = [], []

    def ask(number):
        try:
            found.append(int(rows(engine, f"SELECT sum(patient_id) + {number} AS s FROM {{visits}}")["s"][0]))
        except Exception as error:  # noqa: BLE001, RUF100  a thread's error must fail the test
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(found) == [49_500 + number for number in range(32)]
    assert len(engine._sessions._idle) <= postgres_session.MOST_CONNECTIONS


def test_a_statement_ends_in_time(open_postgres):
    engine = open_postgres(time_limit=0.3)
    start = time.perf_counter()
    with pytest.raises(TookTooLong):
        engine.run(FOR_LONG)
    assert time.perf_counter() - start < 20
    assert rows(engine, "SELECT 1 AS a")["a"] == [1]


def terminate(clinic, *, only_active):
    """End the connections of engines, as an administrator does."""
    condition = "state = 'active' AND query LIKE '%1000000000000%'" if only_active else "datname = 'clinic'"
    ending = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    with psycopg.connect(clinic, autocommit=True) as connection:
        return sum(done for (done,) in connection.execute(f"{ending} AND {condition}").fetchall())


def test_a_connection_that_is_lost_fails_one_statement_alone(open_postgres, clinic):
    engine, failures = open_postgres(), []

    def ask():
        with pytest.raises(EngineFailed) as caught:
            engine.run(FOR_LONG)
        failures.append(caught.value)

    asking = threading.Thread(target=ask)
    asking.start()
    end = time.monotonic() + 30
    while not terminate(clinic, only_active=True):
        assert time.monotonic() < end
        time.sleep(0.05)
    asking.join()
    everything_in(failures[0])
    assert rows(engine, "SELECT 1 AS a")["a"] == [1]


def test_connections_that_were_ended_while_nobody_asked_are_replaced(open_postgres, clinic):
    engine = open_postgres()
    rows(engine, "SELECT 1 AS a")
    assert terminate(clinic, only_active=False) >= 1
    assert rows(engine, "SELECT 1 AS a")["a"] == [1]


def test_a_table_that_is_locked_is_told(open_postgres, clinic, monkeypatch):
    monkeypatch.setitem(postgres_session._SETTINGS, "lock_timeout", "200")
    engine = open_postgres()
    with psycopg.connect(clinic) as other:
        other.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(PolicyError, match="locked for another program"):
            rows(engine, "SELECT count(*) AS n FROM {visits}")
    assert rows(engine, "SELECT count(*) AS n FROM {visits}")["n"] == [1000]


def test_a_sign_of_life_while_it_runs(open_postgres):
    told = []
    open_postgres().run("SELECT count(*) AS n FROM generate_series(1, 5000000) AS r(i)", watch=told.append)
    assert told
    assert set(told) == {None}


def test_ctrl_c_cancels_at_the_server(clinic):
    code = f"""
        from discreet.engines.postgres.engine import PostgresEngine
        from discreet.model.declaration import TableSource
        facts = dict(public=False, person=None, types={{}}, implied_types={{}})
        where = TableSource(location="{clinic}#visits", **facts)
        engine = PostgresEngine({{"visits": where}})
        print("ready", flush=True)
        try:
            engine.run_each(["{FOR_LONG}"] * 2)
        except KeyboardInterrupt:
            print(engine.run("SELECT 1 AS one").reveal()["one"][0], flush=True)
            input()
    """
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "1\n"
        assert terminate(clinic, only_active=True) == 0
        output, errors = process.communicate("\n", timeout=30)
    finally:
        process.kill()
    assert (output, errors) == ("", "")


def test_a_child_process_leaves_the_connections_of_its_parent_alone(open_postgres):
    engine = open_postgres()
    rows(engine, "SELECT 1 AS a")
    (held,) = engine._sessions._idle
    child = os.fork()
    if child == 0:
        asked = engine.run("SELECT 2 AS a").reveal()["a"] == [2]
        os._exit(0 if asked and held not in engine._sessions._idle else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert rows(engine, "SELECT 1 AS a")["a"] == [1]
    assert engine._sessions._idle == [held]
