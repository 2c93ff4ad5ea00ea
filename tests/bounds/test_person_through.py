"""What one person can change where another table says whose a row is: through the real SQL, no noise."""

from collections import Counter

import duckdb
import pytest
from hypothesis import Phase, given, settings

from discreet.dialects.duckdb import DUCKDB
from discreet.model.expression import Field
from discreet.model.query import FollowKey, Scan
from discreet.sql.relation import relation_sql
from tests.bounds.shop import TABLES, check, neighbouring
from tests.question.clinic import Database


class Shop(Database):
    def __init__(self):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.tables = {name: name for name in TABLES}

    def fill(self, tables):
        for name, rows in tables.items():
            self.connection.execute(f"DELETE FROM {name}")
            self._insert(name, rows, [column.split()[1] for column in TABLES[name].split(", ")])

    def rows(self, relation, fields):
        """The rows of a relation, each with its person first."""
        sql = relation_sql(relation, self.tables, fields, DUCKDB, persons=True)
        return self.connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def database():
    found = Shop()
    yield found
    found.connection.close()


@settings(max_examples=600, deadline=None)
@given(found=neighbouring())
def test_random_people_move_no_vector_further_than_claimed(database, found):
    check(found, database)


def followed(dataset):
    """Items with their orders, and notes with their items and orders."""
    orders, items, notes = (
        Scan(table=dataset.tables[name], alias=name) for name in ("orders", "items", "notes")
    )
    of_items = FollowKey(child=items, parent=orders)
    return [of_items, FollowKey(child=notes, parent=of_items), FollowKey(child=notes, parent=items)]


def fields_of_all(relation):
    return [
        Field(name=f"{scan.alias}.{column.name}", type=column.type)
        for scan in relation.scans
        for column in scan.table.columns.values()
    ]


@settings(max_examples=300, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(found=neighbouring())
def test_to_follow_a_key_makes_rows_of_their_own_people_and_no_more_than_there_are(database, found):
    """Whoever else is there, each person has the same rows: as many as in the table, with its columns, and
    with columns of rows that are theirs.
    """
    for relation in followed(found.dataset):
        fields, kept = fields_of_all(relation), []
        for shop in found.shops:
            database.fill(shop)
            rows = database.rows(relation, fields)
            mine = [field for field in fields if field.name.startswith(f"{relation.child.alias}.")]
            plain = Counter(database.rows(relation.child, mine))
            assert Counter(row[: len(mine) + 1] for row in rows) == plain
            assert Counter(database.rows(relation, mine)) == plain
            kept.append(Counter(row for row in rows if row[0] != found.person))
            if "orders.year" in {field.name for field in fields} and not relation.scans[-1].table.per_person:
                assert {(row[0], *row[-2:]) for row in rows} <= set(shop["orders"])
        assert kept[0] == kept[1]
