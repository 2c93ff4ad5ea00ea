"""A shop in which orders say whose items are, and items whose notes are; random questions and random people.

Keys lead to nobody, to one person and to several, and a person may have several rows with one key. A person
who is added or removed has orders with any keys; items that only their orders lead to come and go with them,
or stay as rows of nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
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
from tests.bounds.test_one_person import compare

TABLES = {
    "orders": "customer BIGINT, key BIGINT, year BIGINT",
    "items": "key BIGINT, kind VARCHAR, amount BIGINT, item BIGINT",
    "notes": "item BIGINT, what VARCHAR",
}
"""Columns with their types, as DuckDB has them."""


def number(name, low, high):
    bounds = Bounds(low=Fraction(low), high=Fraction(high))
    return Column(name=name, type=ValueType.INTEGER, bounds=bounds)


def shop(neighbours, delta, max_rows, max_groups, *, per_person=False, limits_are_facts=False):
    person, key = Column(name="customer", type=ValueType.INTEGER), Column(name="key", type=ValueType.INTEGER)
    kind = Column(name="kind", type=ValueType.TEXT, keys=("a", "b"))
    item = Column(name="item", type=ValueType.INTEGER)
    what = Column(name="what", type=ValueType.TEXT, keys=("c", "d"))
    year = replace(number("year", 1, 4), keys=(1, 2, 3), per_person=per_person)
    facts = {
        "unique": False,
        "max_rows": max_rows,
        "max_groups": max_groups,
        "limits_are_facts": limits_are_facts,
    }
    orders = PrivateTable(
        name="orders",
        source="orders.parquet",
        person=PersonColumn(name="customer"),
        columns={"customer": person, "key": key, "year": year},
        **facts,
    )
    through = Through(table="orders", key="key", other="key", source="orders.parquet", person="customer")
    columns = {"key": key, "kind": kind, "amount": number("amount", -2, 5), "item": item, "customer": person}
    items = replace(orders, name="items", source="items.parquet", columns=columns, through=through)
    steps = replace(through, table="items", key="item", other="item", source="items.parquet", further=through)
    columns = {"item": item, "what": what, "customer": person}
    notes = replace(orders, name="notes", source="notes.parquet", columns=columns, through=steps)
    return Dataset(
        name="shop",
        neighbours=neighbours,
        epsilon=Fraction(10),
        delta=Fraction(delta),
        analyst_epsilon=Fraction(10),
        question_epsilon=Fraction(10),
        tables={"orders": orders, "items": items, "notes": notes},
    )


# Questions

_AMOUNT = st.sampled_from(["amount", "amount + 1", "abs(amount)", "CASE WHEN amount > 1 THEN amount END"])
_CONDITION = st.sampled_from(
    [
        *("amount > 0", "kind = 'a'", "amount IS NULL", "NOT (kind = 'b' AND amount < 3)"),
        "customer IN (SELECT customer FROM items WHERE amount > 3)",
        "customer NOT IN (SELECT customer FROM orders WHERE key > 2)",
        "EXISTS (SELECT 1 FROM items AS other WHERE other.customer = {0}.customer AND other.kind = 'a')",
    ]
)
_SOURCE = st.sampled_from(
    [
        ("items", "items"),
        ("orders JOIN items USING (key)", "items"),
        (
            "items JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY customer) AS o USING (customer)",
            "items",
        ),
        ("(SELECT * FROM items WHERE amount < 4) AS few", "few"),
    ]
)
_TWICE = st.sampled_from(
    [
        "SELECT count(*), sum(a.amount * b.amount) FROM items a JOIN items b ON a.key = b.key",
        "SELECT count(*) FROM orders WHERE customer IN (SELECT customer FROM items WHERE amount > 3)",
        "SELECT avg(n) FROM (SELECT customer, count(*) AS n FROM items GROUP BY customer)",
        "SELECT kind, avg(n) FROM"
        " (SELECT customer, kind, sum(amount) AS n FROM items GROUP BY customer, kind) GROUP BY kind",
        "SELECT count(*) FROM (SELECT key FROM items UNION ALL SELECT key FROM orders)",
        "SELECT avg(n) FROM (SELECT key, count(*) AS n FROM items GROUP BY key)",
        "SELECT count(*) FROM orders o WHERE EXISTS"
        " (SELECT 1 FROM items i WHERE i.key = o.key AND i.amount > 3)",
        "SELECT count(*), count(DISTINCT customer) FROM orders WHERE key NOT IN"
        " (SELECT key FROM items GROUP BY key HAVING sum(amount) > 3)",
        "SELECT kind, count(*), avg(amount) FROM items LEFT JOIN orders USING (key) GROUP BY kind",
    ]
)
_ALONG_KEYS = st.sampled_from(
    [
        "SELECT year, count(*), sum(amount) FROM orders JOIN items USING (key) GROUP BY year",
        "SELECT count(*), sum(year * amount), median(year) FROM items i JOIN orders o ON o.key = i.key"
        " AND o.year > i.amount",
        "SELECT count(*), count(DISTINCT late.customer) FROM items JOIN"
        " (SELECT * FROM orders WHERE year > 1) AS late USING (key)",
        "SELECT year, count(DISTINCT o.customer), count(DISTINCT kind) FROM items i NATURAL JOIN orders o"
        " GROUP BY year",
        "SELECT year, what, count(*) FROM orders JOIN items USING (key) JOIN notes USING (item)"
        " GROUP BY year, what",
        "SELECT kind, count(*), avg(year) FROM notes n, orders o, items i WHERE n.item = i.item"
        " AND o.key = i.key AND amount < 4 GROUP BY kind",
        "SELECT count(*), count(DISTINCT i.customer) FROM notes JOIN items i USING (item)",
        "SELECT year, avg(n) FROM (SELECT o.customer, year, sum(amount) AS n FROM items JOIN orders o"
        " USING (key) GROUP BY o.customer, year) GROUP BY year",
        "SELECT count(*), sum(a.year) FROM items JOIN orders a USING (key) JOIN orders b"
        " ON a.customer = b.customer AND a.year < b.year",
        "SELECT year, count(*) FROM orders o JOIN items i USING (key) WHERE EXISTS (SELECT 1 FROM notes n"
        " WHERE n.item = i.item AND n.what = 'c') GROUP BY year",
        "SELECT year, what, count(*), sum(amount) FROM orders JOIN items USING (key) JOIN notes USING (item)"
        " GROUP BY ROLLUP (year, what)",
    ]
)


@st.composite
def _plain(draw):
    source, name = draw(_SOURCE)
    measures = [draw(_measure()) for _ in range(draw(st.integers(1, 3)))]
    where = f" WHERE {draw(_CONDITION)}".format(name) if draw(st.booleans()) else ""
    if draw(st.booleans()):
        return f"SELECT kind, {', '.join(measures)} FROM {source}{where} GROUP BY kind"
    return f"SELECT {', '.join(measures)} FROM {source}{where}"


@st.composite
def _measure(draw):
    form = draw(
        st.sampled_from(
            [
                *("count(*)", "count(DISTINCT customer)", "count(DISTINCT kind)", "count({0})", "sum({0})"),
                *("avg({0})", "median({0})", "variance({0})", "sum({0}) FILTER (WHERE kind = 'a')"),
            ]
        )
    )
    return form.format(draw(_AMOUNT))


questions = st.one_of(_plain(), _ALONG_KEYS, _TWICE)

# People

_keys = st.one_of(st.none(), st.integers(0, 4))
_orders = st.lists(st.tuples(_keys, st.sampled_from([None, 1, 2, 3])), max_size=6)
_items = st.lists(
    st.tuples(_keys, st.sampled_from(["a", "b", "c", None]), st.one_of(st.none(), st.integers(-9, 9)), _keys),
    max_size=12,
)
_notes = st.lists(st.tuples(_keys, st.sampled_from(["c", "d", None])), max_size=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbouring:
    """A question, and two shops that differ by one person, or in one."""

    question: str
    dataset: Dataset
    person: int | None
    """The person in whom they differ."""
    shops: tuple[Mapping[str, list[tuple[int | str | None, ...]]], ...]
    """The rows of each table."""


@st.composite
def neighbouring(draw):
    relation = draw(st.sampled_from(list(Neighbours)))
    delta, limits = draw(st.sampled_from([0, "1e-6"])), st.integers(1, 3)
    dataset = shop(
        relation,
        delta,
        draw(limits),
        draw(limits),
        per_person=draw(st.booleans()),
        limits_are_facts=draw(st.booleans()),
    )
    others, items, notes = draw(st.lists(_orders, max_size=3)), draw(_items), draw(_notes)
    name, stay = draw(st.sampled_from([None, 99, -1])), draw(st.booleans())
    rest = [(person, *order) for person, orders in enumerate(others) for order in orders]
    shops = []
    for mine in (draw(_orders), draw(_orders) if relation is Neighbours.REPLACE_ONE else []):
        orders = rest + [(name, *order) for order in mine]
        known = {key for _, key, _ in orders}
        kept = [item for item in items if stay or item[0] in known]
        shops.append({"orders": orders, "items": kept, "notes": notes})
    return Neighbouring(question=draw(questions), dataset=dataset, person=name, shops=tuple(shops))


def planned(question, dataset):
    request = Request(price=ByEpsilon(epsilon=Fraction(1)), confidence=Fraction(95, 100))
    return calibrate(bound(resolve(parse_sql(question), dataset, None), dataset), request, dataset)


def check(found, database):
    """No vector of integers moves further from one shop to the other than the plan claims."""
    plan = planned(found.question, found.dataset)
    exact = []
    for rows in found.shops:
        database.fill(rows)
        exact.append(database.exact(plan))
    compare(plan, *exact)
