"""A small clinic in PostgreSQL, with one cell that must never be seen."""

import psycopg

from discreet.engines.postgres.engine import PostgresEngine

READER = "reader"
CLINIC = """
CREATE TABLE visits AS SELECT i % 100 AS patient_id, i / 2.0::double precision AS cost,
    CASE WHEN i % 5 > 0 THEN 'w' || i % 5 END AS ward,
    CASE WHEN i = 7 THEN 'CANARY' ELSE 'ok' END AS note,
    DATE '2020-01-01' + i % 366 AS day FROM generate_series(0, 999) AS r(i);
CREATE TABLE wards AS SELECT 'w' || i AS ward, i * 10 AS beds FROM generate_series(1, 4) AS r(i);
CREATE TABLE secrets AS SELECT 1 AS a;
CREATE SEQUENCE numbers;
CREATE FUNCTION log_visit() RETURNS bigint LANGUAGE sql AS
    'INSERT INTO public.secrets VALUES (2) RETURNING 1::bigint';
GRANT EXECUTE ON FUNCTION log_visit TO PUBLIC;
"""


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def create_database(server, name, *statements, options=""):
    """A database of the superuser's, made anew."""
    execute(
        server.url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', f'CREATE DATABASE "{name}" {options}'
    )
    execute(server.url_of(name), *statements)
    return server.url_of(name)


def create_clinic(server, canary):
    """A database whose role "reader" may read visits and wards; the address of its superuser."""
    url = create_database(server, "clinic", CLINIC.replace("CANARY", canary))
    for name in ("dblink", "citext"):
        if has_extension(url, name):
            execute(url, f"CREATE EXTENSION {name}")
    execute(
        url,
        f"DROP ROLE IF EXISTS {READER}",
        f"CREATE ROLE {READER} LOGIN",
        f"GRANT SELECT ON visits, wards TO {READER}",
    )
    return url


def has_extension(url, name):
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", [name])
        return found.fetchone() is not None


def rows(engine, sql):
    """Tables are in braces."""
    sql = sql.format(**engine.relations)
    engine.prepare(sql)
    return engine.run(sql).reveal()


class Engines:
    """Opens engines, and closes them all at the end."""

    def __init__(self):
        self.opened = []

    def __call__(self, sources, **options):
        self.opened.append(PostgresEngine(sources, **options))
        return self.opened[-1]

    def close(self):
        for engine in self.opened:
            engine.close()
