"""Joins along the key by which one table says whose rows of another are: limits, words, older answers."""

import duckdb
import pytest

import discreet
from discreet.bounds.bound import limits_are_facts
from discreet.bounds.one_value import fields_with_one_value
from discreet.bounds.relation_tree import aliases_of, follows_a_key, tables_of
from discreet.curator import planning
from discreet.errors import QueryRefused
from discreet.ledger.interface import EntryKind
from discreet.model.query import Filter, FollowKey, Lookup, PersonJoin

TABLES = {
    "customers": "SELECT range AS c_key, ['up', 'down'][1 + range % 2] AS segment FROM range(40)",
    "orders": "SELECT range AS o_key, range // 3 AS o_customer, 2020 + range % 3 AS year FROM range(120)",
    "items": "SELECT range AS i_key, range // 2 AS i_order, range % 7 AS amount FROM range(240)",
    "years": "SELECT 2020 + range AS year, range AS grade FROM range(3)",
}
POLICY = """
[dataset]
name = "shop"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 1e-6 }
[tables.customers]
source = "customers.parquet"
person = "c_key"
unique = true
columns.segment = { keys = ["up", "down"] }
[tables.orders]
source = "orders.parquet"
person = { through = "customers", on = { o_customer = "c_key" } }
max_rows = 5
limits = "facts"
columns.year = { keys = [2020, 2021, 2022] }
[tables.items]
source = "items.parquet"
person = { through = "orders", on = { i_order = "o_key" } }
max_rows = 12
limits = "facts"
columns.amount = { bounds = [0, 10] }
[tables.years]
source = "years.parquet"
public = true
"""
ALONG = [
    "customers JOIN orders ON c_key = o_customer JOIN items ON o_key = i_order",
    "items JOIN orders ON o_key = i_order JOIN customers ON c_key = o_customer",
    "customers, items, orders WHERE o_customer = c_key AND i_order = o_key",
    "orders JOIN items ON o_key = i_order JOIN customers ON orders.c_key = customers.c_key",
    "customers JOIN (SELECT i_key, o_customer, c_key FROM orders JOIN items ON i_order = o_key) AS o"
    " ON o_customer = customers.c_key",
]
COUNT = "SELECT segment, count(*) AS n FROM {} GROUP BY segment"


@pytest.fixture
def curator(tmp_path):
    for name, rows in TABLES.items():
        duckdb.sql(f"COPY ({rows}) TO '{tmp_path / name}.parquet'")
    (tmp_path / "discreet.toml").write_text(POLICY)
    with discreet.open(tmp_path / "discreet.toml", analyst="anna") as found:
        yield found


def source_of(curator, rows):
    return curator.plan(f"SELECT count(*) FROM {rows}", epsilon=3).bounded.query.source


def core_of(source):
    while isinstance(source, Filter | Lookup):
        source = source.source
    return source


@pytest.mark.parametrize("rows", ALONG)
def test_in_whichever_order_tables_are_joined_the_rows_are_those_of_the_last(curator, rows):
    source = source_of(curator, rows)
    assert isinstance(source, FollowKey)
    assert tables_of(source) == ["items", "orders", "customers"]
    assert (source.max_rows, source.one_row_a_person, source.has_ids) == (12, False, True)
    assert limits_are_facts(source)
    assert curator.ask(COUNT.format(rows), epsilon=90)["n"].sum() == pytest.approx(240, abs=30)


def test_filters_and_public_tables_stay_and_other_conditions_are_filters(curator):
    source = source_of(
        curator,
        "(SELECT * FROM orders WHERE year > 2020) AS o JOIN years USING (year)"
        " JOIN items ON i_order = o_key AND i_key = o_customer",
    )
    kinds = []
    while isinstance(source, Filter | Lookup):
        kinds.append(type(source))
        source = source.source
    assert kinds == [Filter, Lookup, Filter]
    assert isinstance(source, FollowKey)


@pytest.mark.parametrize(
    "rows",
    [
        "orders JOIN items ON orders.c_key = items.c_key",
        "orders LEFT JOIN items ON o_key = i_order",
        "items AS a JOIN items AS b ON a.i_order = b.i_order",
        "orders JOIN (SELECT i_order, count(*) AS n FROM items GROUP BY i_order) AS i ON o_key = i_order",
    ],
)
def test_all_other_joins_are_as_before(curator, rows):
    assert isinstance(core_of(source_of(curator, rows)), PersonJoin)


def test_two_tables_along_keys_of_one_are_joined_on_the_person(curator):
    """Each item meets all items of its order: that multiplies."""
    source = source_of(
        curator, "items AS a JOIN orders ON o_key = a.i_order JOIN items AS b ON o_key = b.i_order"
    )
    assert isinstance(source, PersonJoin)
    assert follows_a_key(source.left)
    assert source.max_rows == 12 * (12 // 5)


def test_a_key_that_leads_nowhere_is_refused(curator):
    with pytest.raises(QueryRefused, match="only on the person"):
        source_of(curator, "orders JOIN items ON o_customer = i_order")


def test_what_customers_have_one_of_puts_them_in_one_group(curator):
    source = source_of(curator, ALONG[0])
    (customers,) = [scan.alias for scan in source.scans if scan.table.name == "customers"]
    assert f"{customers}.segment" in fields_with_one_value(source)
    assert len(aliases_of(source)) == 3
    plan = curator.plan(COUNT.format(ALONG[0]), epsilon=3)
    assert all(part.weight is None or part.weight.most >= 12 for part in plan.bounded.parts)


def test_nobody_is_left_out_of_it_and_nothing_is_said_to_multiply(curator):
    along, general = ALONG[0], ALONG[0].replace("o_key = i_order", "orders.c_key = items.c_key")
    notes = curator.explain(COUNT.format(along), epsilon=3).notes
    assert not any("one side of a join" in note for note in notes)
    assert any("12 rows" in note for note in notes)
    assert any(
        "one side of a join" in note for note in curator.explain(COUNT.format(general), epsilon=3).notes
    )


TWO_LEAVES = (
    "WITH a AS (SELECT count(*) AS n FROM orders JOIN items ON o_key = i_order),"
    " b AS (SELECT count(*) AS m FROM items) SELECT 1.0 * n / m AS share FROM a, b"
)


@pytest.mark.parametrize(
    "asked",
    [COUNT.format(ALONG[0]), COUNT.format(ALONG[1]), TWO_LEAVES, [COUNT.format(ALONG[0]), TWO_LEAVES]],
)
def test_what_older_versions_were_paid_for_is_found_free(curator, asked, monkeypatch):
    """They planned such a join as any other on the person."""
    read = planning.read_question
    with monkeypatch.context() as older:
        older.setattr(
            planning, "read_question", lambda *given, follows_keys: read(*given, follows_keys=False)
        )
        paid = curator.ask(asked, epsilon=3)
        answers = paid.answers if isinstance(asked, list) else [paid]
    for price in (3, 2):
        again = curator.ask(asked, epsilon=price)
        found = again.answers if isinstance(asked, list) else [again]
        assert [each.receipt for each in found] == [each.receipt for each in answers]
        assert [each.rows() for each in found] == [each.rows() for each in answers]
        assert all(each.repeated and each.dearer == (price < 3) for each in found)
    assert sum(entry.kind is EntryKind.CHARGED for entry in curator.entries()) == 1
    curator.ask(asked, epsilon=4)
    assert sum(entry.kind is EntryKind.CHARGED for entry in curator.entries()) == 2
