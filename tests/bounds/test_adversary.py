"""Questions that were written to break the compiler: each is refused before anything is spent, or right."""

from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, QueryRefused
from discreet.functions import registry as functions
from discreet.model.neighbours import Neighbours
from discreet.model.policy import Bounds, Column, Dataset, PersonColumn, PrivateTable, ValueType
from discreet.question import parse
from tests.bounds.test_one_person import compare
from tests.question.clinic import Database, clinic, planned
from tests.question.releasing import release

ROWS = [
    (1, "north", 1.0, 3, "a"),
    (2, "south", 2.0, 5, "b"),
    (3, "north", 0.5, 99, "a"),
    (3, "south", 0.5, 7),
]
LABS = [(1, "x", 3), (1, "y", 4), (9, "x", 2)]


@pytest.fixture(scope="module")
def database():
    database = Database()
    database.fill(ROWS, LABS)
    return database


def answered(database, sql, **settings):
    """At ε = 10⁶ noise of 0.3 and more, on counts of at most 12 rows a person, is 10⁴ scales away."""
    dataset = clinic(epsilon=10**6, max_rows=4, max_groups=4, **settings)
    plan = planned(sql, dataset, epsilon=10**6)
    released = release(plan, database.results(plan))
    columns = [
        [round(x, 1) if isinstance(x, float) else x for x in released.values[n].tolist()]
        for n in released.columns
    ]
    return list(zip(*columns, strict=True))


# A failure that depends on a row would tell of it

FAR = "CASE WHEN note = 'b' THEN cost + 1e17 END"


@pytest.mark.parametrize("aggregate", ["sum", "avg"])
@pytest.mark.parametrize(
    "value", [FAR, "CASE WHEN note = 'b' THEN cast(cost AS BIGINT) + 4000000000000000000 END"]
)
def test_no_sum_of_one_person_overflows_on_a_row(aggregate, value):
    """⌊x/grid⌋ of such a value has no room in 64 bits: the engine would fail exactly if the row is there."""
    with pytest.raises(QueryRefused, match="too large"):
        planned(
            f"SELECT count(*) FROM (SELECT patient, {aggregate}({value}) AS s FROM visits GROUP BY patient)",
            clinic(),
        )


@pytest.mark.parametrize(
    "sql", ["SELECT variance(cost * 1e200) FROM visits", "SELECT sum(cost * 1e307) FROM visits"]
)
def test_what_no_double_can_hold_is_refused_before_the_charge(sql):
    with pytest.raises(QueryRefused, match="too large"):
        planned(sql, clinic())


# Integers beyond 2⁵³ are no doubles


def of_one_column(high):
    amount = Column(
        name="age",
        type=ValueType.INTEGER,
        bounds=Bounds(low=Fraction(0), high=Fraction(high)),
        unit=Fraction(1),
    )
    table = PrivateTable(
        name="visits",
        source="visits.parquet",
        person=PersonColumn(name="patient"),
        unique=True,
        max_rows=1,
        max_groups=1,
        columns={"patient": Column(name="patient", type=ValueType.INTEGER), "age": amount},
    )
    ten = Fraction(10)
    return Dataset(
        name="large",
        neighbours=Neighbours.ADD_REMOVE,
        epsilon=ten,
        delta=Fraction(0),
        analyst_epsilon=ten,
        question_epsilon=ten,
        tables={"visits": table},
    )


def test_a_sum_of_integers_that_doubles_round_up_is_refused():
    """2⁵³ + 3 as a double is 2⁵³ + 4: one more than the bound that noise was made for."""
    with pytest.raises(QueryRefused, match="coarser unit"):
        planned("SELECT sum(age) FROM visits", of_one_column(2**53 + 3))


def test_the_largest_integers_that_are_doubles_are_within_the_claim():
    plan = planned("SELECT sum(age) FROM visits", of_one_column(2**53 - 1))
    database = Database()
    exact = []
    for rows in ([], [(1, "north", 0.0, 2**63 - 1)]):
        database.fill(rows)
        exact.append(database.exact(plan))
    compare(plan, *exact)
    assert int(exact[1][0][0]) == 2**53 - 1


# A person with one row has more of them after a join with a public table


@pytest.mark.parametrize("relation", list(Neighbours), ids=lambda relation: relation.value)
@pytest.mark.parametrize("people", ["unique", "rows"])
def test_one_row_that_a_public_table_makes_two_of_counts_as_one(relation, people):
    dataset = clinic(relation=relation, **{people: True})
    joined = "FROM visits v JOIN wards w ON v.ward = w.ward"
    plan = planned(f"SELECT region, count(*), sum(cost), median(age) {joined} GROUP BY region", dataset)
    database = Database()
    exact = []
    for rows in ([(2, *ROWS[1][1:])], [(1, *ROWS[0][1:]), (2, *ROWS[1][1:])]):
        database.fill(rows)
        exact.append(database.exact(plan))
    compare(plan, *exact)
    assert exact[0][0].tolist() != exact[1][0].tolist()


# Meaning


def test_the_total_of_people_in_grouping_sets_is_theirs(database):
    sql = "SELECT ward, count(DISTINCT patient) AS n FROM visits GROUP BY ROLLUP (ward)"
    assert answered(database, sql) == [("north", 2), ("south", 2), (None, 3)]


def test_the_id_of_a_row_that_a_left_join_did_not_find_is_nobody(database):
    joined = "FROM visits v LEFT JOIN labs l ON v.patient = l.patient"
    assert answered(database, f"SELECT count(DISTINCT l.patient) {joined}") == [(1,)]
    assert answered(database, f"SELECT count(DISTINCT v.patient) {joined}") == [(3,)]
    with pytest.raises(QueryRefused, match="keep people apart"):
        planned(
            f"SELECT count(*) FROM (SELECT l.patient, count(*) AS n {joined} GROUP BY l.patient)", clinic()
        )


def test_only_a_plain_count_is_picked_by(database):
    order = "SELECT ward FROM visits WHERE age <> 7 GROUP BY ward ORDER BY {} LIMIT 1"
    assert answered(database, order.format("count(*) DESC")) == [("north",)]
    assert answered(database, order.format("-count(*)")) == [("north",)]
    assert answered(database, order.format("abs(count(*) - 2)")) == [("north",)]


def test_names_of_outputs_do_not_meet_our_own(database):
    names = ["n", "N", "row_number", "o0"]
    sql = f"SELECT {', '.join(f'count(*) + {i + 1} AS {name}' for i, name in enumerate(names))} FROM visits"
    assert answered(database, sql) == [(5, 6, 7, 8)]
    long = f'SELECT count(*) + 1 AS "{"x" * 11_000}" FROM visits'
    assert answered(database, long) == [(5,)]


def test_listed_keys_are_of_the_type_of_the_column(database):
    dates = "SELECT born, count(*) AS n FROM visits WHERE born IN ('2026-01-01', '2026-01-02') GROUP BY born"
    assert [n for _, n in answered(database, dates)] == [0, 0]
    assert len(answered(database, dates.replace("IN ('2026-01-01', '2026-01-02')", "= '2026-01-01'"))) == 1
    ages = dict(
        answered(database, "SELECT age, count(*) AS n FROM visits WHERE age IN (3, 5.0) GROUP BY age")
    )
    assert (ages[3], ages[5]) == (1, 1)


def test_a_person_column_may_be_called_as_our_own_fields_are():
    table = clinic().tables["visits"]
    columns = {**table.columns, "key0": Column(name="key0", type=ValueType.INTEGER)}
    renamed = PrivateTable(
        name="visits",
        source="",
        person=PersonColumn(name="key0"),
        unique=False,
        max_rows=4,
        max_groups=4,
        columns=columns,
    )
    dataset = clinic()
    tables = {**dataset.tables, "visits": renamed}
    dataset = type(dataset)(
        **{name: getattr(dataset, name) for name in dataset.__slots__} | {"tables": tables}
    )
    sql = "SELECT ward, count(*) AS n FROM (SELECT key0, ward FROM visits GROUP BY key0, ward) GROUP BY ward"
    assert len(planned(sql, dataset).bounded.query.keys[0].values) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT patient, cost FROM visits) AS t(cost, patient) WHERE cost > 0",
        "SELECT count(*) FROM visits AS t(a, b)",
        "SELECT count(age, cost) FROM visits",
    ],
)
def test_what_would_be_misread_is_refused(sql):
    with pytest.raises(QueryRefused):
        planned(sql, clinic())


# Questions that are large


DIGITS = "9" * 5000
CHAIN = ", ".join(
    ["c0 AS (SELECT * FROM visits)", *(f"c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 400))]
)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM visits ORDER BY {DIGITS}",
        f"SELECT count(*) FROM visits GROUP BY {DIGITS}",
        f"SELECT sum(n) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY {DIGITS})",
        "SELECT quantile(cost, 1e999999999) FROM visits",
        "SELECT quantile(cost, 1e-999999999) FROM visits",
        f"SELECT count(*) FROM visits GROUP BY CUBE ({', '.join(['ward'] * 40)})",
        f"SELECT count(*) FROM visits GROUP BY ROLLUP ({', '.join(['ward'] * 3000)})",
        f"WITH {CHAIN} SELECT count(*) FROM c399",
    ],
    ids=lambda sql: sql[:60],
)
def test_no_question_is_too_large_to_be_refused_at_once(sql):
    with pytest.raises(QueryRefused):
        planned(sql, clinic())


def test_a_limit_may_be_as_large_as_it_likes(database):
    assert answered(database, f"SELECT count(*) FROM visits LIMIT {DIGITS}") == [(4,)]


def test_more_measures_than_shares_of_the_price_still_spend_what_was_asked(monkeypatch):
    monkeypatch.setattr(functions, "MOST_CALLS", 10_000)  # or it would be refused for its size
    monkeypatch.setattr(parse, "MOST_WORDS", 100_000)
    sums = " + ".join(f"count(*) FILTER (WHERE age = {i})" for i in range(50))
    asked = ", ".join(sums.replace("age =", f"age * {j + 2} =") for j in range(25))
    plan = planned(f"SELECT {asked} FROM visits", clinic())
    assert len(plan.bounded.parts) > 1024
    assert plan.loss.epsilon == 1


def test_no_groups_at_all_are_an_answer_or_a_refusal(database):
    nobody = "FROM visits WHERE ward IN (NULL) GROUP BY ward"
    assert answered(database, f"SELECT ward, median(age), count(DISTINCT note), count(*) {nobody}") == []
    with pytest.raises(DiscreetError):
        planned(f"SELECT ward {nobody} ORDER BY count(*) LIMIT 1", clinic())


@pytest.mark.parametrize(
    ("group", "remedy"),
    [
        ("CUBE (age >= 65, ward)", "CUBE ((age >= 65), ward)"),
        ("ROLLUP (ward, age IS NULL)", "parentheses of its own"),
        ("grouping  sets (age > 5, ())", "parentheses of its own"),
        ("GROUPING SETS (CUBE (ward, age), (ward))", "GROUPING SETS ((ward, age), (ward), ())"),
    ],
)
def test_grouping_sets_are_refused_with_what_to_write(group, remedy):
    with pytest.raises(QueryRefused) as refused:
        planned(f"SELECT count(*) FROM visits GROUP BY {group}", clinic())
    assert remedy in refused.value.remedy


def test_what_grouping_sets_are_refused_with_works():
    for group in (
        "CUBE ((age >= 65), ward)",
        "GROUPING SETS ((ward, age), (ward), ())",
        "ROLLUP (floor(age / 10))",
    ):
        assert planned(f"SELECT count(*) FROM visits GROUP BY {group}", clinic()).bounded.query.sets
