"""What one person can change where another table says whose a row is: random questions in PostgreSQL, Spark.

`tests/bounds/test_person_through.py` does the same in DuckDB. Spark takes seconds for a question: it is asked
few here, and more with DISCREET_HUNT.
"""

import os

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from discreet.dialects import DIALECTS
from discreet.engines.open_engine import open_engine
from discreet.model.declaration import TableSource
from discreet.sql.emit import emit_sql
from tests.bounds.shop import TABLES, check, neighbouring
from tests.question.clinic import Database

HUNT = int(os.environ.get("DISCREET_HUNT", "0"))
PERSONS = {"orders": "customer", "items": None, "notes": None}


def opened(place, **options):
    sources = {
        name: TableSource(
            location=place.format(name), public=False, person=person, types={}, implied_types={}
        )
        for name, person in PERSONS.items()
    }
    return open_engine(sources, None, **options)


class EngineShop(Database):
    """What an engine returns for the statements of a plan."""

    engine = None

    def close(self):
        if self.engine is not None:
            self.engine.close()

    def results(self, plan):
        found = []
        dialect = DIALECTS[self.engine.dialect]
        for statement in emit_sql(plan, self.engine.relations, dialect):
            for sql in statement.runs:
                self.engine.prepare(sql, parameters=statement.parameters)
            runs = self.engine.run_each(statement.runs, parameters=statement.parameters)
            found += [(statement, rows.reveal()) for rows in runs]
        return found


class PostgresShop(EngineShop):
    """One schema, whose rows are put in anew for each neighbour."""

    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("DROP SCHEMA IF EXISTS neighbours CASCADE")
        self.connection.execute("CREATE SCHEMA neighbours")
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE neighbours.{name} ({columns})")
        self.engine = opened(f"{url}#neighbours.{{}}")

    def close(self):
        super().close()
        self.connection.close()

    def fill(self, tables):
        for name, rows in tables.items():
            self.connection.execute(f"DELETE FROM neighbours.{name}")
            with self.connection.cursor().copy(f"COPY neighbours.{name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)


class SparkShop(EngineShop):
    """Views of rows, which are opened anew for each neighbour."""

    def __init__(self, session):
        self.session = session

    def fill(self, tables):
        self.close()
        for name, rows in tables.items():
            columns = TABLES[name].replace("VARCHAR", "STRING")
            self.session.createDataFrame(rows, columns).createOrReplaceTempView(name)
        self.engine = opened("spark://session#{}", spark=self.session)


@pytest.fixture(scope="module")
def postgres_shop(postgres_server):
    database = PostgresShop(postgres_server.url)
    yield database
    database.close()


@pytest.fixture(scope="module")
def spark_shop(spark):
    database = SparkShop(spark)
    yield database
    database.close()


def examples(number):
    """What fails is told at once, and not made smaller for minutes."""
    return settings(
        max_examples=number,
        deadline=None,
        phases=[Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.xdist_group("postgres")
@examples(HUNT or 200)
@given(found=neighbouring())
def test_in_postgresql_random_people_move_no_vector_further_than_claimed(postgres_shop, found):
    check(found, postgres_shop)


@pytest.mark.xdist_group("spark")
@examples(HUNT or 8)
@given(found=neighbouring())
def test_in_spark_random_people_move_no_vector_further_than_claimed(spark_shop, found):
    check(found, spark_shop)
