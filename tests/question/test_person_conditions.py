"""IN (SELECT …) and EXISTS on the person: joins with one row for each person."""

import pytest

from discreet.errors import QueryRefused
from discreet.model.query import Filter, PerPerson, PersonJoin
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from tests.question.clinic import Database, clinic, fan_out, planned, public_keys
from tests.question.releasing import release

VISITS = [
    (patient, ["north", "south"][patient % 2], 1.0 + patient % 3, 30 + patient % 40, "a")
    for patient in range(200)
    for _ in range(1 + patient % 2)
]
LABS = [
    (patient, "xyz"[patient % 3], patient % 10) for patient in range(50, 260) for _ in range(1 + patient % 2)
]
NOBODY = [(None, "north", 2.0, 50, "a")] * 2


def asked(sql):
    return resolve(parse_sql(sql), clinic(), public_keys, fan_out)


@pytest.fixture(scope="module")
def database():
    return Database()


def answered(database, sql, visits=VISITS, labs=LABS):
    database.fill(visits, labs)
    plan = planned(sql, clinic(max_rows=4, max_groups=4, labs_limit=4, epsilon=1000), epsilon=1000)
    released = release(plan, database.results(plan))
    columns = [released.values[name].tolist() for name in released.columns]
    return [tuple(row) for row in zip(*columns, strict=True)]


CONDITIONS = [
    "patient IN (SELECT patient FROM labs)",
    "patient IN (SELECT DISTINCT patient FROM labs WHERE level > 4)",
    "patient IN (SELECT l.patient FROM labs l WHERE l.test = 'x' GROUP BY l.patient HAVING count(*) > 1)",
    "patient NOT IN (SELECT patient FROM labs WHERE level > 4)",
    "NOT patient IN (SELECT patient FROM labs WHERE level > 4) AND cost > 1",
    "cost > 1 OR patient IN (SELECT patient FROM labs WHERE test = 'z')",
    "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.level > 6)",
    "EXISTS (SELECT * FROM labs WHERE v.patient = labs.patient)",
    "NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient)",
    "NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND test IN ('x', 'y')) AND age > 35",
    "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient GROUP BY l.patient HAVING count(*) > 1)",
    "EXISTS (SELECT 1 FROM visits w WHERE w.patient = v.patient AND w.cost > 2)",
    "patient IN (SELECT patient FROM labs WHERE test = 'x') AND patient NOT IN (SELECT patient FROM labs"
    " WHERE level = 3)",
    "patient IN (SELECT patient FROM labs WHERE level < 3 UNION ALL SELECT patient FROM visits"
    " WHERE cost > 2)",
    "patient IN (SELECT l.patient FROM labs l JOIN visits w ON l.patient = w.patient WHERE w.cost > 2)",
    "EXISTS (SELECT 1 FROM labs l, visits w WHERE l.patient = w.patient AND w.patient = v.patient"
    " AND level > 4)",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_people_are_chosen_as_in_plain_sql(database, condition):
    """At ε = 1000 a count is off by 2 with a probability below 10⁻¹⁰⁰."""
    sql = f"SELECT v.ward, count(*) AS n FROM visits v WHERE {condition} GROUP BY v.ward ORDER BY v.ward"
    found = dict(answered(database, sql))
    expected = {"north": 0, "south": 0} | dict(database.connection.execute(sql).fetchall())
    assert 0 < sum(expected.values()) < len(VISITS)
    for ward, count in expected.items():
        assert found[ward] == pytest.approx(count, abs=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FILTER (WHERE patient IN (SELECT patient FROM labs)) AS n FROM visits",
        "SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient) THEN 1 ELSE 0 END)"
        " AS n FROM visits v",
        "SELECT count(*) AS n FROM (SELECT patient FROM visits WHERE patient IN (SELECT patient FROM labs))",
        "WITH sick AS (SELECT patient FROM labs WHERE level > 4)"
        " SELECT count(*) AS n FROM visits WHERE patient IN (SELECT patient FROM sick)",
    ],
)
def test_conditions_stand_wherever_others_do(database, sql):
    ((found,),), ((expected,),) = answered(database, sql), database.connection.execute(sql).fetchall()
    assert found == pytest.approx(float(expected), abs=2)


def test_groups_by_such_a_condition_are_public(database):
    sql = "SELECT patient IN (SELECT patient FROM labs) AS tested, count(*) AS n FROM visits GROUP BY tested"
    assert {row[0] for row in answered(database, sql)} == {False, True}


def counted(database, condition, labs=LABS):
    ((found,),) = answered(
        database, f"SELECT count(*) FROM visits v WHERE {condition}", VISITS + NOBODY, labs
    )
    return round(found)


def test_rows_without_a_person_are_in_no_list(database):
    """And one of them in the subquery changes nothing, where NOT IN of SQL would leave nobody."""
    inside, outside = (
        counted(database, CONDITIONS[0]),
        counted(database, "patient NOT IN (SELECT patient FROM labs)"),
    )
    assert inside + outside == pytest.approx(len(VISITS), abs=1)
    for labs in ([*LABS, (None, "x", 1)], [*LABS, *[(None, "y", 9)] * 3]):
        assert counted(database, CONDITIONS[0], labs) == pytest.approx(inside, abs=1)
        assert counted(database, "patient NOT IN (SELECT patient FROM labs)", labs) == pytest.approx(
            outside, abs=1
        )
    missing = counted(database, "NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient)")
    assert missing == pytest.approx(outside + len(NOBODY), abs=1)


def test_what_is_read_is_the_join_of_people():
    query = asked(
        "SELECT count(*) AS n FROM visits WHERE patient IN (SELECT patient FROM labs WHERE level > 3)"
    )
    join = asked(
        "SELECT count(*) AS n FROM visits JOIN (SELECT patient FROM labs WHERE level > 3 GROUP BY patient)"
        " USING (patient)"
    )
    assert query == join
    absent = asked("SELECT count(*) FROM visits WHERE patient NOT IN (SELECT patient FROM labs)").source
    assert isinstance(absent, Filter)
    assert isinstance(absent.source, PersonJoin)
    assert absent.source.keep_unmatched
    assert isinstance(absent.source.right, PerPerson)
    assert absent.max_rows == asked("SELECT count(*) FROM visits").source.max_rows


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("ward IN (SELECT test FROM labs)", "PERSON IN"),
        ("ward IN (SELECT ward FROM wards)", "public table"),
        ("patient IN (SELECT level FROM labs)", "SELECT PERSON"),
        ("patient IN (SELECT patient, level FROM labs)", "SELECT PERSON"),
        ("patient IN (SELECT patient FROM labs ORDER BY level LIMIT 3)", "at the end"),
        ("patient IN (SELECT count(*) FROM labs)", "GROUP BY the person"),
        ("EXISTS (SELECT 1 FROM labs)", "t.PERSON = v.PERSON"),
        ("EXISTS (SELECT 1 FROM labs l WHERE l.level = v.age)", "t.PERSON = v.PERSON"),
        (
            "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.level > v.age AND"
            " l.level < v.cost)",
            "JOIN on the person",
        ),
        (
            "EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient HAVING count(*) > 1)",
            "t.PERSON = v.PERSON",
        ),
        ("EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient LIMIT 1)", "t.PERSON = v.PERSON"),
        ("EXISTS (SELECT 1 FROM labs l WHERE l.patient = l.patient)", "t.PERSON = v.PERSON"),
        ("age > (SELECT avg(age) FROM visits)", "Compare with a number"),
    ],
)
def test_what_would_look_at_other_people_is_refused_with_a_remedy(condition, remedy):
    with pytest.raises(QueryRefused) as refused:
        asked(f"SELECT count(*) FROM visits v WHERE {condition}")
    assert remedy in refused.value.remedy
