"""What one person can change where another table says whose a row is: through the real SQL, no noise.

Keys lead to nobody, to one person and to several. A person who is added or removed has orders with any keys;
items that only their orders lead to come and go with them, or stay as rows of nobody.
"""

from dataclasses import replace
from fractions import Fraction

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.dialects.duckdb import DUCKDB
from discreet.model.neighbours import Neighbours
from discreet.model.policy import (
    Bounds,
    Column,
    Dataset,
    PersonColumn,
    PrivateTable,
    Through,
    ValueType,
)
from discreet.model.request import ByEpsilon, Request
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.sql.person_through import relations_with_people
from tests.bounds.test_one_person import compare
from tests.question.clinic import Database

QUESTIONS = [
    "SELECT count(*) FROM items",
    "SELECT kind, count(*), sum(amount) FROM items GROUP BY kind",
    "SELECT count(DISTINCT customer), avg(amount) FROM items WHERE amount > 0",
    "SELECT kind, count(DISTINCT customer) FROM items GROUP BY kind",
    "SELECT kind, sum(amount), median(amount) FROM orders JOIN items USING (key) GROUP BY kind",
    "SELECT count(*), sum(a.amount * b.amount) FROM items a JOIN items b ON a.key = b.key",
    "SELECT count(*) FROM orders WHERE customer IN (SELECT customer FROM items WHERE amount > 3)",
    "SELECT avg(n) FROM (SELECT customer, count(*) AS n FROM items GROUP BY customer)",
    "SELECT avg(n) FROM (SELECT key, count(*) AS n FROM items GROUP BY key)",
    "SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.key = o.key AND i.amount > 3)",
    "SELECT count(*), count(DISTINCT customer) FROM orders WHERE key NOT IN"
    " (SELECT key FROM items GROUP BY key HAVING sum(amount) > 3)",
    "SELECT kind, count(*), avg(amount) FROM items LEFT JOIN orders USING (key) GROUP BY kind",
]


def number(name, low, high):
    bounds = Bounds(low=Fraction(low), high=Fraction(high))
    return Column(name=name, type=ValueType.INTEGER, bounds=bounds)


def shop(neighbours, delta, max_rows, max_groups):
    person, key = Column(name="customer", type=ValueType.INTEGER), Column(name="key", type=ValueType.INTEGER)
    kind = Column(name="kind", type=ValueType.TEXT, keys=("a", "b"))
    facts = {"unique": False, "max_rows": max_rows, "max_groups": max_groups}
    orders = PrivateTable(
        name="orders",
        source="orders.parquet",
        person=PersonColumn(name="customer"),
        columns={"customer": person, "key": key},
        **facts,
    )
    through = Through(table="orders", key="key", other="key", source="orders.parquet", person="customer")
    columns = {"key": key, "kind": kind, "amount": number("amount", -2, 5), "customer": person}
    items = replace(orders, name="items", source="items.parquet", columns=columns, through=through)
    return Dataset(
        name="shop",
        neighbours=neighbours,
        epsilon=Fraction(10),
        delta=Fraction(delta),
        analyst_epsilon=Fraction(10),
        question_epsilon=Fraction(10),
        tables={"orders": orders, "items": items},
    )


class Shop(Database):
    def __init__(self, dataset):
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("CREATE TABLE orders (customer BIGINT, key BIGINT)")
        self.connection.execute("CREATE TABLE items (key BIGINT, kind VARCHAR, amount BIGINT)")
        self.tables = relations_with_people({"orders": "orders", "items": "items"}, dataset, DUCKDB)

    def fill(self, orders, items):
        self.connection.execute("DELETE FROM orders; DELETE FROM items")
        self._insert("orders", orders, ("BIGINT", "BIGINT"))
        self._insert("items", items, ("BIGINT", "VARCHAR", "BIGINT"))


keys = st.one_of(st.none(), st.integers(0, 4))
order_keys = st.lists(keys, max_size=6)
items_of = st.lists(
    st.tuples(keys, st.sampled_from(["a", "b", "c", None]), st.one_of(st.none(), st.integers(-9, 9))),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(
    question=st.sampled_from(QUESTIONS),
    neighbours=st.sampled_from(list(Neighbours)),
    delta=st.sampled_from([0, "1e-6"]),
    others=st.lists(order_keys, max_size=3),
    one=order_keys,
    other=order_keys,
    items=items_of,
    max_rows=st.integers(1, 3),
    max_groups=st.integers(1, 3),
    stay=st.booleans(),
    name=st.sampled_from([None, 99, -1]),
)
def test_random_people_move_no_vector_further_than_claimed(
    question, neighbours, delta, others, one, other, items, max_rows, max_groups, stay, name
):
    dataset = shop(neighbours, delta, max_rows, max_groups)
    request = Request(price=ByEpsilon(epsilon=Fraction(1)), confidence=Fraction(95, 100))
    query = resolve(parse_sql(question), dataset, None)
    plan = calibrate(bound(query, dataset), request, dataset)
    database = Shop(dataset)
    rest = [(person, key) for person, keys in enumerate(others) for key in keys]
    shared = {key for _, key in rest}
    exact = []
    for mine in (one, other if neighbours is Neighbours.REPLACE_ONE else []):
        known = shared | set(mine)
        kept = [item for item in items if stay or item[0] in known]
        database.fill(rest + [(name, key) for key in mine], kept)
        exact.append(database.exact(plan))
    database.connection.close()
    compare(plan, *exact)
