"""What one person can change where another table says whose a row is: through the real SQL, no noise."""

from collections import Counter
from dataclasses import replace

import duckdb
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from discreet.dialects.duckdb import DUCKDB
from discreet.model.expression import Field
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Column, PersonColumn, Through, ValueType
from discreet.model.query import FollowKey, Scan
from discreet.sql.relation import relation_sql
from tests.bounds.shop import TABLES, check, neighbouring, planned, shop
from tests.question.clinic import Database


class Shop(Database):
    def __init__(self, columns=TABLES):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.columns = columns
        for name in columns:
            self.connection.execute(f"CREATE TABLE {name} ({columns[name]})")
        self.tables = {name: name for name in columns}

    def fill(self, tables):
        for name, rows in tables.items():
            self.connection.execute(f"DELETE FROM {name}")
            self._insert(name, rows, [column.split()[1] for column in self.columns[name].split(", ")])

    def rows(self, relation, fields):
        """The rows of a relation, each with its person first."""
        sql = relation_sql(relation, self.tables, fields, DUCKDB, persons=True)
        return self.connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def database():
    found = Shop()
    yield found
    found.connection.close()


@settings(max_examples=400, deadline=None)
@given(found=neighbouring())
def test_random_people_move_no_vector_further_than_claimed(database, found):
    check(found, database)


@settings(max_examples=200, deadline=None)
@given(found=neighbouring())
def test_rows_added_up_by_person_and_group_before_have_the_same_sums(database, found):
    plan = planned(found.question, found.dataset)
    database.fill(found.shops[0])
    exact = database.exact(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(DUCKDB), "sums_pairs", False)
        one_by_one = database.exact(plan)
    assert [each.tolist() for each in exact] == [each.tolist() for each in one_by_one]


def followed(dataset):
    """Items with their orders, and notes with their items and orders."""
    orders, items, notes = (
        Scan(table=dataset.tables[name], alias=name) for name in ("orders", "items", "notes")
    )
    of_items = FollowKey(child=items, parent=orders)
    return [of_items, FollowKey(child=notes, parent=of_items), FollowKey(child=notes, parent=items)]


def fields_of_all(relation, but=None):
    return [
        Field(name=f"{scan.alias}.{column.name}", type=column.type)
        for scan in relation.scans
        for column in scan.table.columns.values()
        if column.name != but
    ]


@settings(max_examples=200, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(found=neighbouring())
def test_to_follow_a_key_makes_rows_of_their_own_people_and_no_more_than_there_are(database, found):
    """Whoever else is there, each person has the same rows: as many as in the table, with its columns, and
    with columns of rows that are theirs.
    """
    for relation in followed(found.dataset):
        fields, kept = fields_of_all(relation), []
        for tables in found.shops:
            database.fill(tables)
            rows = database.rows(relation, fields)
            mine = [field for field in fields if field.name.startswith(f"{relation.child.alias}.")]
            plain = Counter(database.rows(relation.child, mine))
            assert Counter(row[: len(mine) + 1] for row in rows) == plain
            assert Counter(database.rows(relation, mine)) == plain
            kept.append(Counter(row for row in rows if row[0] != found.person))
            if "orders.year" in {field.name for field in fields} and not relation.scans[-1].table.per_person:
                assert {(row[0], *row[-2:]) for row in rows} <= set(tables["orders"])
        assert kept[0] == kept[1]


@settings(max_examples=100, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(found=neighbouring())
def test_which_row_of_a_person_is_taken_depends_on_no_order(database, found):
    for relation in followed(found.dataset)[:2]:
        fields = [each for each in fields_of_all(relation) if each.name in ("orders.year", "notes.what")]
        taken = []
        for way in (1, -1):
            database.fill({name: rows[::way] for name, rows in found.shops[0].items()})
            taken.append(Counter(database.rows(relation, fields)))
        assert taken[0] == taken[1]
        assert taken[0].total() == len(database.rows(relation.child, []))


_few = st.one_of(st.none(), st.integers(0, 2))
_regions = st.lists(st.tuples(_few, st.sampled_from(["a", "b", None])), max_size=6)
_bought = st.lists(st.tuples(_few, _few, st.sampled_from([None, 1, 2])), max_size=6)
_lines = st.lists(st.tuples(_few, st.just("a"), st.integers(0, 3), _few), max_size=8)


@settings(max_examples=100, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(person=_few, people=_regions, bought=_bought, lines=_lines)
def test_so_it_is_where_the_key_of_the_last_table_is_the_person(person, people, bought, lines):
    """People with regions ← orders ← items: somebody's rows in the first table come or go."""
    dataset = shop(Neighbours.ADD_REMOVE, 0, 2, 2)
    who = Column(name="who", type=ValueType.INTEGER)
    columns = {"who": who, "region": Column(name="region", type=ValueType.TEXT)}
    table = replace(dataset.tables["orders"], name="people", person=PersonColumn(name="who"), columns=columns)
    of_people = Through(table="people", key="customer", other="who", person="who")
    orders, items = dataset.tables["orders"], dataset.tables["items"]
    orders = replace(orders, person=table.person, through=of_people)
    way = replace(items.through, person="who", further=of_people)
    items = replace(items, person=table.person, through=way)
    scans = [Scan(table=each, alias=each.name) for each in (table, orders, items)]
    of_orders = FollowKey(child=scans[1], parent=scans[0])
    database = Shop({**TABLES, "people": "who BIGINT, region VARCHAR"})
    for relation in (of_orders, FollowKey(child=scans[2], parent=of_orders)):
        fields, kept = fields_of_all(relation, but="customer"), []
        for known in (people, [row for row in people if row[0] != person]):
            database.fill({"people": known, "orders": bought, "items": lines})
            mine = [field for field in fields if field.name.startswith(f"{relation.child.alias}.")]
            rows = database.rows(relation, fields)
            plain = Counter(database.rows(relation.child, mine))
            assert Counter(row[: len(mine) + 1] for row in rows) == plain
            assert {(row[0], row[-1]) for row in rows} <= set(known)
            kept.append(Counter(row for row in rows if row[0] != person))
        assert kept[0] == kept[1]
    database.connection.close()
