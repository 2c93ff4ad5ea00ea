"""What one person can change where another table says whose a row is: through the real SQL, no noise."""

import duckdb
from hypothesis import given, settings

from discreet.dialects.duckdb import DUCKDB
from discreet.sql.person_through import relations_with_people
from tests.bounds.shop import TABLES, check, neighbouring
from tests.question.clinic import Database


class Shop(Database):
    def __init__(self, dataset):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.tables = relations_with_people({name: name for name in TABLES}, dataset, DUCKDB)

    def fill(self, orders, items):
        self.connection.execute("DELETE FROM orders; DELETE FROM items")
        self._insert("orders", orders, ("BIGINT", "BIGINT"))
        self._insert("items", items, ("BIGINT", "VARCHAR", "BIGINT"))


@settings(max_examples=400, deadline=None)
@given(neighbouring())
def test_random_people_move_no_vector_further_than_claimed(found):
    database = Shop(found.dataset)
    check(found, database)
    database.connection.close()
