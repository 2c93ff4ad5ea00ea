"""The role that the documentation makes can read the named tables, and nothing else."""

import re
from pathlib import Path

import psycopg
import pytest

from discreet.errors import PolicyError
from discreet.policy.reader import read_policy
from discreet.postgres.address import read_table_address
from tests.engines.conftest import source
from tests.engines.databases import execute, rows

PAGE = Path(__file__).parent.parent.parent / "docs/how-to/postgresql.md"
ROLE = "discreet"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def reader(clinic, postgres_server):
    """The address of the role, after the page was followed to the letter."""
    with psycopg.connect(clinic, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
            connection.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")
    (statements,) = blocks("sql")
    execute(clinic, statements)
    return postgres_server.url_of("clinic", role=ROLE)


@pytest.fixture
def engine(reader, open_postgres):
    return open_postgres({name: source(f"{reader}#{name}") for name in ("visits", "wards")})


def test_it_can_ask(engine):
    sql = "SELECT beds, count(*) AS n FROM {visits} JOIN {wards} USING (ward) GROUP BY beds ORDER BY beds"
    assert list(rows(engine, sql)["n"]) == [200] * 4


@pytest.mark.usefixtures("reader")
def test_it_can_not_read_other_tables(reader, open_postgres):
    with pytest.raises(PolicyError, match="may not be read by this role"):
        open_postgres({"secrets": source(f"{reader}#secrets")})


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO public.visits DEFAULT VALUES",
        "UPDATE public.visits SET cost = 0",
        "DELETE FROM public.visits",
        "TRUNCATE public.visits",
        "DROP TABLE public.visits",
        "SELECT 1 AS a INTO public.stolen",
        "CREATE TABLE public.stolen (a int)",
        "CREATE TEMPORARY TABLE stolen (a int)",
        "SELECT * FROM public.secrets",
        "SELECT pg_read_file('/etc/hostname')",
        "SELECT pg_ls_dir('/')",
        "COPY (SELECT 1) TO '/tmp/stolen'",
        "COPY (SELECT 1) TO PROGRAM 'cat'",
        "SELECT lo_import('/etc/hostname')",
        "SELECT nextval('public.numbers')",
        "SELECT public.log_visit()",
        "ALTER SYSTEM SET work_mem TO '1MB'",
        "CREATE ROLE other SUPERUSER",
        "SET ROLE postgres",
        "SELECT pg_reload_conf()",
    ],
)
def test_postgresql_itself_stops_it(reader, sql):
    """On a connection that discreet has no hand in."""
    with psycopg.connect(reader) as connection, pytest.raises(psycopg.Error):
        connection.execute(sql)


@pytest.mark.parametrize(
    "sql", ["INSERT INTO public.visits DEFAULT VALUES", "CREATE TABLE public.stolen (a int)"]
)
def test_writing_stays_forbidden_after_it_made_itself_writable(reader, sql):
    with psycopg.connect(reader) as connection:
        connection.execute("SET transaction_read_only TO off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql)


def test_it_is_a_member_of_nothing(reader):
    with psycopg.connect(reader) as connection:
        assert connection.execute(
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls,"
            " (SELECT count(*) FROM pg_auth_members WHERE member = oid) FROM pg_roles WHERE rolname = %s",
            [ROLE],
        ).fetchone() == (False, 0)


def test_the_policy_of_the_page_is_one(tmp_path):
    (example,) = blocks("toml")
    (tmp_path / "discreet.toml").write_text(example)
    sources = read_policy(tmp_path / "discreet.toml").sources
    assert {read_table_address(each.location).name for each in sources.values()} == {
        "postgresql://db.example.org/clinic#public.visits",
        "postgresql://db.example.org/clinic#public.wards",
    }
