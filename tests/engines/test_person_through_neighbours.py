"""What one person can change where another table says whose a row is: random questions, in PostgreSQL.

`tests/bounds/test_person_through.py` does the same in DuckDB. Spark takes seconds for a question, and is left
out.
"""

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from discreet.dialects import DIALECTS
from discreet.engines.open_engine import open_engine
from discreet.model.declaration import TableSource
from discreet.sql.emit import emit_sql
from tests.bounds.shop import TABLES, check, neighbouring
from tests.question.clinic import Database

PERSONS = {"orders": "customer", "items": None, "notes": None}


class PostgresShop(Database):
    """One schema, whose rows are put in anew for each neighbour."""

    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("DROP SCHEMA IF EXISTS neighbours CASCADE")
        self.connection.execute("CREATE SCHEMA neighbours")
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE neighbours.{name} ({columns})")
        sources = {
            name: TableSource(
                location=f"{url}#neighbours.{name}", public=False, person=person, types={}, implied_types={}
            )
            for name, person in PERSONS.items()
        }
        self.engine = open_engine(sources, None)

    def close(self):
        self.engine.close()
        self.connection.close()

    def fill(self, tables):
        for name, rows in tables.items():
            self.connection.execute(f"DELETE FROM neighbours.{name}")
            with self.connection.cursor().copy(f"COPY neighbours.{name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def results(self, plan):
        found = []
        dialect = DIALECTS[self.engine.dialect]
        for statement in emit_sql(plan, self.engine.relations, dialect):
            for sql in statement.runs:
                self.engine.prepare(sql, parameters=statement.parameters)
            runs = self.engine.run_each(statement.runs, parameters=statement.parameters)
            found += [(statement, rows.reveal()) for rows in runs]
        return found


@pytest.fixture(scope="module")
def shop(postgres_server):
    database = PostgresShop(postgres_server.url)
    yield database
    database.close()


@pytest.mark.xdist_group("postgres")
@settings(
    max_examples=200,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],  # what fails is told at once, and not made smaller for minutes
    suppress_health_check=list(HealthCheck),
)
@given(found=neighbouring())
def test_random_people_move_no_vector_further_than_claimed(shop, found):
    shop.dataset = found.dataset
    check(found, shop)
