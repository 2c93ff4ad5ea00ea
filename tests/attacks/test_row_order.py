"""C6: where each row is another person, what counts of one must not follow from the rows before it.

Of a person with too many different values, some are dropped: the first ones in the order of a hash count. It
was the hash of the number of the row, so that one row more, before all others, changed what counts of all.
"""

import hashlib
import random
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest

from discreet.bounds.bound import bound
from discreet.bounds.calibrate import calibrate
from discreet.dialects import DIALECTS
from discreet.engines.open_engine import open_engine
from discreet.model.declaration import TableSource
from discreet.model.neighbours import Neighbours
from discreet.model.request import ByEpsilon, Request
from discreet.question.expressions.scope import FanOut
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.sql.emit import emit_sql
from tests.bounds.test_one_person import compare
from tests.question.clinic import Database, clinic

WARDS = 200
PEOPLE = 25
REGIONS = [(f"w{ward}", region, ward) for ward in range(WARDS) for region in ("same", f"own{ward}")]
"""Each ward is in two regions, one of which is that of all wards. Of a person, one region counts."""
JOINED = "FROM visits v JOIN wards w ON v.ward = w.ward"
QUESTIONS = [
    f"SELECT count(DISTINCT w.region) AS n {JOINED}",
    f"SELECT count(DISTINCT w.region) FILTER (WHERE v.cost > 0) AS n {JOINED} WHERE v.age > 1 OR w.beds > 3",
    "SELECT v.age > 5 AS old, count(DISTINCT w.region) AS n, count(DISTINCT w.region)"
    f" FILTER (WHERE v.note = 'a') AS m {JOINED} GROUP BY CUBE (old)",
]
TABLES = {
    "visits": "patient BIGINT, ward VARCHAR, cost DOUBLE PRECISION, age BIGINT, note VARCHAR, born DATE",
    "wards": "ward VARCHAR, region VARCHAR, beds BIGINT",
}


class RowsInPostgres(Database):
    def __init__(self, url):
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("DROP SCHEMA IF EXISTS row_order CASCADE")
        self.connection.execute("CREATE SCHEMA row_order")
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE row_order.{name} ({columns})")
        self._put("wards", REGIONS)
        self.engine = open_engine(
            {name: _source(f"{url}#row_order.{name}", name == "wards") for name in TABLES}, None
        )

    def fill(self, rows):
        self.connection.execute("TRUNCATE row_order.visits")
        self._put("visits", [(*row, None) for row in rows])

    def _put(self, name, rows):
        with self.connection.cursor().copy(f"COPY row_order.{name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def results(self, plan):
        found = []
        for statement in emit_sql(plan, self.engine.relations, DIALECTS["postgres"]):
            runs = self.engine.run_each(statement.runs, parameters=statement.parameters)
            found += [(statement, rows.reveal()) for rows in runs]
        return found

    def close(self):
        self.engine.close()
        self.connection.close()


def _source(location, public):
    return TableSource(location=location, public=public, person=None, types={}, implied_types={})


@pytest.fixture(
    scope="module", params=["duckdb", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
def rows(request):
    if request.param == "duckdb":
        found = Database()
        found.connection.execute("DELETE FROM wards")
        found._insert("wards", REGIONS, ("VARCHAR", "VARCHAR", "BIGINT"))
        yield found
        found.connection.close()
        return
    found = RowsInPostgres(request.getfixturevalue("postgres_server").url)
    yield found
    found.close()


def planned(sql, relation=Neighbours.ADD_REMOVE):
    dataset = clinic(relation=relation, rows=True)
    visits = dataset.tables["visits"]
    columns = {**visits.columns, "ward": replace(visits.columns["ward"], keys=None)}
    dataset = replace(dataset, tables={**dataset.tables, "visits": replace(visits, columns=columns)})
    query = resolve(parse_sql(sql), dataset, lambda *_: None, lambda *_: FanOut(matches=2, rows=len(REGIONS)))
    return calibrate(
        bound(query, dataset),
        Request(price=ByEpsilon(epsilon=Fraction(1)), confidence=Fraction(95, 100)),
        dataset,
    )


def first_of(number, ward):
    """What counted of the person in a row with this number."""

    def order(region):
        return hashlib.md5(f"{number} {region}".encode()).hexdigest()  # noqa: S324  as it was in the SQL

    return min(("same", f"own{ward}"), key=order)


def worst_people():
    """Whose regions were all the same, and all different if they stood one row further down."""
    wards, found = list(range(WARDS - 1)), []
    for number in range(1, PEOPLE + 1):
        ward = next(w for w in wards if first_of(number, w) == "same" and first_of(number + 1, w) != "same")
        wards.remove(ward)
        found.append(person(ward))
    return found


def person(ward, age=9, note="a"):
    return (None, f"w{ward}", 1.0, age, note)


ONE_MORE = person(WARDS - 1)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("relation", list(Neighbours), ids=lambda relation: relation.value)
def test_c6_one_row_more_changes_nothing_of_what_counts_of_the_others(rows, sql, relation):
    plan, people = planned(sql, relation), worst_people()
    others = [person(WARDS - 2, note=None), *people] if relation is Neighbours.REPLACE_ONE else people
    exact = []
    for each in (others, [ONE_MORE, *people]):
        rows.fill(each)
        exact.append(rows.exact(plan))
    compare(plan, *exact)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_c6_what_counts_does_not_follow_from_the_order_of_rows(rows, sql):
    """Also of rows that hold the same, which are numbered among themselves."""
    chance = random.Random(7)  # noqa: S311
    plan = planned(sql)
    people = [
        person(ward % 9, age, note) for ward in range(40) for age, note in ((1, "a"), (9, "b"))
    ] + worst_people()
    found = set()
    for _ in range(5):
        chance.shuffle(people)
        rows.fill(people)
        found.add(str([list(map(int, vector)) for vector in rows.exact(plan)]))
    assert len(found) == 1


def test_c6_rows_that_hold_the_same_count_different_values(rows):
    """They are told apart: 30 people in one ward have both of its regions, but for 2 in 2³⁰."""
    plan = planned(QUESTIONS[0])
    rows.fill([person(3)] * 30)
    assert int(rows.exact(plan)[0][0]) == 2
