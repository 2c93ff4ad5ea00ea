"""Attack G3 on the sides of joins: one row of one person decides whether everybody's rows are computed."""

import json
import re

import duckdb
import pytest

from discreet import QueryRefused
from discreet.aggregates.registry import AGGREGATES
from discreet.dialects.duckdb import DUCKDB
from discreet.learn import LinearRegression, LogisticRegression
from discreet.model.privacy import PureLoss
from discreet.question.parse import parse_sql
from discreet.question.resolve import resolve
from discreet.release.question_release import QuestionRelease
from discreet.sql.relation import relation_sql

from .ask import Clinic

NOTHING = PureLoss(epsilon=0)
PEOPLE, ROWS = 2_000, 20_000
GATE = "(SELECT patient, diagnosis FROM visits WHERE diagnosis = 'hiv')"
HAS = "(SELECT patient FROM visits GROUP BY patient HAVING count(*) FILTER (WHERE diagnosis = 'hiv') > 0)"
EACH = "(SELECT patient, max(length(upper(diagnosis))) AS d FROM visits GROUP BY patient)"
PAIRED = "ON a.patient = b.patient AND (a.patient = 1) = contains(b.diagnosis, 'o')"
SHAPES = {
    "a pair": f"{GATE} AS a JOIN visits AS b {PAIRED}",
    "a pair of a LEFT JOIN": f"{GATE} AS a LEFT JOIN visits AS b {PAIRED}",
    "the gate on the right": f"visits AS b JOIN {GATE} AS a {PAIRED}",
    "the gate on the right of a LEFT JOIN": f"visits AS b LEFT JOIN {GATE} AS a {PAIRED}",
    "each person": f"{GATE} AS a JOIN {EACH} AS b ON a.patient = b.patient WHERE b.d > 1",
    "a pair with each person": f"{GATE} AS a JOIN {EACH} AS b ON a.patient = b.patient AND a.patient = b.d",
    "a condition": f"{GATE} AS a JOIN (SELECT patient FROM visits WHERE upper(diagnosis) > 'B') AS b"
    " ON a.patient = b.patient",
    "three sides": f"visits AS a JOIN visits AS b ON a.patient = b.patient JOIN {GATE} AS c"
    " ON a.patient = c.patient",
    "three sides, two of LEFT JOIN": "visits AS a LEFT JOIN visits AS b ON a.patient = b.patient"
    f" JOIN {GATE} AS c ON a.patient = c.patient",
    "three sides, one of people": f"visits AS a JOIN visits AS b ON a.patient = b.patient JOIN {HAS} AS c"
    " ON a.patient = c.patient",
    "three sides, only one of people required": f"{HAS} AS a LEFT JOIN visits AS b ON a.patient = b.patient"
    " LEFT JOIN visits AS c ON a.patient = c.patient",
    "a join on the right": f"{GATE} AS a JOIN (SELECT b.patient AS patient FROM visits AS b"
    " JOIN visits AS c ON b.patient = c.patient) AS d ON a.patient = d.patient",
}


def steps(clinic, sql, diagnosis):
    """The steps of the plan that ran, if row 17 has this diagnosis: whether they are below one that brings
    all rows together, what they are, the rows that they put out, and what they compute.
    """
    source = resolve(parse_sql(sql), clinic.open().dataset, lambda *_: None).source
    relation = relation_sql(source, {"visits": "visits"}, [], DUCKDB, persons=True)
    with duckdb.connect(config={"threads": 1}) as connection:
        found = f"CASE WHEN range = 17 THEN '{diagnosis}' ELSE ['cold', 'zoster'][1 + range % 2] || range END"
        connection.execute(
            f"CREATE TABLE visits AS SELECT range % {PEOPLE} AS patient, 'north' AS ward,"
            f" 1.0::DOUBLE AS cost, 1 AS age, {found} AS diagnosis FROM range({ROWS})"
        )
        counted = f"EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM ({relation})"
        plan = json.loads(connection.execute(counted).fetchall()[0][1])
    return list(walk(plan["operator"], together=False))


def walk(nodes, *, together):
    for node in nodes:
        yield together, node["type"], node["intermediate_rows"], json.dumps(node["extra_info"])
        yield from walk(node.get("children", []), together=together or node["type"] == "WINDOW")


def rows_of(found, kind):
    return sum(rows for _, each, rows, _ in found if each == kind)


@pytest.mark.parametrize("shape", SHAPES)
def test_g3_no_row_decides_whether_the_other_side_of_a_join_is_computed(clinic, shape):
    """Rows are read, and what is compared is computed, before they are brought together. What is joined then
    is one person's, who has ten rows.
    """
    sql = f"SELECT count(*) FROM {SHAPES[shape]}"
    there, gone = (steps(clinic, sql, diagnosis) for diagnosis in ("hiv", "hix"))
    assert rows_of(there, "TABLE_SCAN") >= ROWS
    assert abs(rows_of(there, "TABLE_SCAN") - rows_of(gone, "TABLE_SCAN")) <= 100
    assert abs(rows_of(there, "HASH_JOIN") - rows_of(gone, "HASH_JOIN")) <= 1000
    assert all(together for together, _, _, info in there if "contains(" in info)


# On every engine: what could be left out is about as fast as to read the rows.

LONG = "a" * 1000
ABC = f"contains(b.diagnosis || '{LONG}', 'aaab')"
ALSO = "ON a.patient = b.patient"
LEFT_OUT = {
    "a pair": f"SELECT count(*) AS n FROM {GATE} AS a JOIN visits AS b {ALSO} AND (a.patient = 1) = {ABC}",
    "a side": f"SELECT count(*) AS n FROM {GATE} AS a JOIN (SELECT patient, max(length(lower(upper(diagnosis"
    f" || '{LONG}')))) AS d FROM visits GROUP BY patient) AS b {ALSO} WHERE d > 3",
    "a condition": f"SELECT count(*) AS n FROM {GATE} AS a JOIN visits AS b {ALSO} WHERE {ABC}",
    "a key": f"SELECT {ABC} AS k, count(*) AS n FROM {GATE} AS a JOIN visits AS b {ALSO} GROUP BY k",
    "people": f"SELECT count(DISTINCT b.patient) FILTER (WHERE {ABC}) AS n FROM {GATE} AS a"
    f" JOIN visits AS b {ALSO}",
    "different values": f"SELECT count(DISTINCT {ABC}) AS n FROM {GATE} AS a JOIN visits AS b {ALSO}",
    "a quantile": f"SELECT median(CASE WHEN {ABC} THEN b.cost ELSE 0 END) AS n FROM {GATE} AS a"
    f" JOIN visits AS b {ALSO}",
    "rows of a quantile": f"SELECT max(b.cost) FILTER (WHERE {ABC}) AS n FROM {GATE} AS a"
    f" JOIN visits AS b {ALSO}",
    "a subquery's HAVING": f"SELECT count(*) AS n FROM (SELECT a.patient, max(b.diagnosis) AS d FROM {GATE}"
    f" AS a JOIN visits AS b {ALSO} GROUP BY a.patient HAVING contains(max(b.diagnosis) || '{LONG}', 'b'))",
    "replacements": f"SELECT count(*) AS n FROM {GATE} AS a JOIN visits AS b {ALSO} AND a.diagnosis ="
    " replace(replace(b.diagnosis, 'o', 'aaaaaaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaa')",
    "united": f"SELECT count(*) AS n FROM {GATE} AS a JOIN (SELECT patient, upper(diagnosis || '{LONG}') AS d"
    f" FROM visits UNION ALL SELECT patient, 'x' FROM visits) AS b {ALSO} WHERE d > 'a'",
    "many quantiles": f"SELECT {', '.join(f'quantile(b.cost + {i}, 0.5) AS q{i}' for i in range(60))}"
    f" FROM {GATE} AS a JOIN visits AS b {ALSO} WHERE b.diagnosis LIKE '%a%' AND lower(b.ward) LIKE '%o%'",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_g3_what_takes_long_on_a_side_of_a_join_is_refused(clinic, name):
    """PostgreSQL and Spark compute it for everybody if the gate has a row, and for nobody if it has none."""
    with pytest.raises(QueryRefused, match="rows that it joins"):
        clinic.ask(LEFT_OUT[name])
    assert clinic.spent() == NOTHING


ADDING_UP = [usage for each in AGGREGATES.values() if each.adds_up for usage in each.usages if "x" in usage]


@pytest.mark.parametrize("usage", ADDING_UP)
def test_g3_what_is_only_added_up_is_computed_after_the_join(clinic, usage):
    """So it needs no limit. Arguments of other aggregates leave out rows, and databases do that first."""
    argument = re.sub(r"\bx\b", lambda _: f"CASE WHEN {ABC} THEN b.cost ELSE 0 END", usage)
    argument = re.sub(r"\by\b", "b.age", argument)
    curator = clinic.open()
    plan = curator.plan(
        f"SELECT {argument}, {argument} FILTER (WHERE {ABC}) FROM {GATE} AS a JOIN visits AS b {ALSO}",
        epsilon=1,
    )
    statements = curator._data.emit(QuestionRelease(plan=plan, dataset=curator.dataset))
    adding = [statement for statement in statements if "aaab" in statement.sql]
    assert len(adding) == len(statements)
    for statement in adding:
        with curator._engine._database.cursor() as cursor:
            (found,) = cursor.execute(f"EXPLAIN (FORMAT json) {statement.sql}").fetchall()
        told = [(node, json.dumps(node["extra_info"])) for node in every(json.loads(found[1]))]
        computing = [node for node, text in told if "aaab" in text or '"c0"' in text]  # or by its name
        assert computing
        for node in computing:
            assert any(below["extra_info"].get("Join Type") == "INNER" for below in every(node["children"]))


def every(nodes):
    for node in nodes:
        yield node
        yield from every(node["children"])


def test_g3_what_takes_long_on_rows_of_a_public_table_is_refused(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    duckdb.sql(f"COPY (SELECT 'north' AS ward, 7 AS beds) TO '{clinic.folder / 'wards.parquet'}'")
    public = '[tables.wards]\nsource = "wards.parquet"\npublic = true\n'
    clinic.policy.write_text(f"{clinic.policy.read_text()}\n{public}")
    joined = f"SELECT count(*) AS n FROM {GATE} AS a JOIN wards AS w ON"
    with pytest.raises(QueryRefused, match="rows that it joins"):
        clinic.ask(f"{joined} upper(a.diagnosis) = upper(w.ward || '{LONG}')")
    assert clinic.spent() == NOTHING
    clinic.ask(f"{joined} lower(a.diagnosis) = lower(trim(w.ward))")


BOTH = "visits AS a JOIN visits AS b ON a.patient = b.patient"
WORDS = [f"b.diagnosis LIKE '%word{i}%'" for i in range(4)]
USUAL = [
    (3, f"SELECT count(*) AS n FROM {BOTH} WHERE a.diagnosis LIKE '%vitamin_d%'"),
    (3, f"SELECT count(*) AS n FROM {BOTH} WHERE a.ward = 'north' AND a.age > 3 AND b.diagnosis LIKE '%a%'"),
    (3, f"SELECT count(*) AS n FROM {BOTH} WHERE lower(trim(a.diagnosis)) = 'flu' AND b.ward = 'north'"),
    (3, f"SELECT a.ward, avg(b.cost) AS n FROM {BOTH} AND left(a.ward, 2) = left(b.ward, 2) GROUP BY a.ward"),
    (30, f"SELECT count(*) AS n FROM {BOTH} WHERE {' OR '.join(WORDS)}"),
    (30, f"SELECT {', '.join(f'count(*) FILTER (WHERE {w})' for w in WORDS)} FROM {BOTH}"),
    (100, f"SELECT count(*) AS n FROM {BOTH} WHERE a.diagnosis LIKE '%flu%'"),
    (3, f"SELECT a.ward, median(b.cost), max(b.age), quantile(b.cost - a.cost, 0.9) FROM {BOTH} GROUP BY 1"),
    (3, f"SELECT count(DISTINCT lower(trim(a.diagnosis))), count(DISTINCT a.ward || b.ward) FROM {BOTH}"),
    (3, f"SELECT median(b.cost) FILTER (WHERE a.diagnosis LIKE '%flu%') AS n FROM {BOTH}"),
    (3, f"SELECT sum(CASE WHEN {ABC} THEN b.cost ELSE 0 END) AS n FROM {GATE} AS a JOIN visits AS b {ALSO}"),
    (100, "SELECT count(*) AS n FROM (SELECT patient FROM visits WHERE diagnosis LIKE '%flu%') AS a"
     " JOIN visits AS b ON a.patient = b.patient"),
    (3, "SELECT count(*) AS n FROM visits AS a JOIN (SELECT patient, max(cost) AS m, count(*) FILTER (WHERE"
     " diagnosis LIKE '%flu%') AS flu FROM visits GROUP BY patient) AS b USING (patient) WHERE flu > 1"),
]  # fmt: skip


@pytest.mark.parametrize(("max_rows", "sql"), USUAL)
def test_g3_usual_questions_with_joins_are_answered(clinic, max_rows, sql):
    policy = clinic.policy.read_text().replace("max_rows = 3", f"max_rows = {max_rows}")
    clinic.policy.write_text(policy)
    clinic.ask(sql)


# A4: what learns from joined rows.

FOUR = "visits AS a" + "".join(f" JOIN visits AS {t} ON a.patient = {t}.patient" for t in "bcd")


def test_g3_sums_of_products_are_counted(clinic):
    """One person of 32 rows has 32,768 joined ones, each with 903 products: on PostgreSQL, 5 µs each."""
    columns = ", ".join(f"a.cost + {i} AS c{i}" for i in range(40))
    three = FOUR.rpartition(" JOIN")[0]
    with pytest.raises(QueryRefused, match="computes too much"):
        clinic.open().fit(LinearRegression(), f"SELECT {columns}, b.age AS y FROM {three}", epsilon=1)
    few = f"SELECT a.cost, b.cost AS y FROM {FOUR.partition(' JOIN visits AS c')[0]}"
    clinic.open().explain_fit(LinearRegression(), few, epsilon=1)
    assert clinic.spent() == NOTHING


def test_g3_classes_of_a_model_are_counted_before_joins(clinic):
    """A value is computed to compare it with each of its classes, to leave out rows that have none."""
    classes = " ".join(f"WHEN contains(b.diagnosis, '{i}') THEN 'c{i}'" for i in range(6))
    asked = f"SELECT a.cost, CASE {classes} ELSE 'c0' END AS y FROM {BOTH}"
    with pytest.raises(QueryRefused, match="rows that it joins"):
        clinic.open().explain_fit(LogisticRegression(), asked, epsilon=1)
    few = f"SELECT a.cost, b.ward, b.diagnosis LIKE '%flu%' AS y FROM {BOTH}"
    clinic.open().explain_fit(LogisticRegression(), few, epsilon=1)


def test_g3_tables_that_are_counted_for_a_synthetic_one_are_counted(clinic):
    columns = ", ".join(f"{t}.{c} AS {t}{c}" for t in "abcd" for c in ("ward", "cost", "age"))
    with pytest.raises(QueryRefused, match=r"computes too much|too many rows"):
        clinic.open().synthesize(f"SELECT {columns} FROM {FOUR}", epsilon=1)
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize(
    ("sets", "counts", "refused"), [("CUBE (ward)", 2, False), ("CUBE (ward, age)", 6, True)]
)
def test_g3_a_join_is_made_only_so_often(tmp_path, sets, counts, refused):
    """One row decides what each statement of a question passes on: 73 of them took 48 s, or 17 s."""
    counted = ", ".join(f"count(DISTINCT a.cost + {i}) AS n{i}" for i in range(counts))
    keys = sets.replace("ward", "a.ward").replace("age", "a.age")
    sql = f"SELECT {counted} FROM visits AS a JOIN {GATE} AS b ON a.patient = b.patient GROUP BY {keys}"
    with Clinic(tmp_path / "clinic").open() as curator:
        if refused:
            with pytest.raises(QueryRefused, match="too many different things"):
                curator.explain(sql, epsilon=1)
        else:
            curator.explain(sql, epsilon=1)


def united(tables):
    rows = " UNION ALL ".join(f"SELECT patient, cost FROM visits WHERE age <> {i}" for i in range(tables))
    return f"FROM ({rows}) AS a JOIN {GATE} AS b USING (patient)"


def test_g3_tables_that_are_united_on_a_side_count_each(clinic):
    """The rows of fifteen were sorted if the gate had a row: with a million in each, a question took 7.4 s
    with it, and 1.4 s without it.
    """
    curator = clinic.open()
    curator.explain(f"SELECT count(*) AS n {united(6)}", epsilon=1)
    values = ", ".join(f"count(DISTINCT cost + {i}) AS n{i}" for i in range(4))
    with pytest.raises(QueryRefused, match="could have too many rows: 15 for each"):
        clinic.ask(f"SELECT count(*) AS n {united(15)}")
    with pytest.raises(QueryRefused, match="too many different things at once"):
        clinic.ask(f"SELECT {values} {united(4)}")
    assert clinic.spent() == NOTHING


PAIRS = "visits AS a JOIN visits AS b ON a.patient = b.patient"
MULTIPLIED = {
    "public": "SELECT v.patient FROM visits AS v JOIN wards AS w ON v.ward = w.ward",
    "a union": f"SELECT a.patient FROM {PAIRS} UNION ALL SELECT patient FROM visits",
    "groups": f"SELECT a.patient, a.cost, b.age, sum(1) AS n FROM {PAIRS} GROUP BY a.patient, a.cost, b.age",
    "public groups": "SELECT v.patient, w.beds, count(*) AS n FROM visits AS v JOIN wards AS w"
    " ON v.ward = w.ward GROUP BY v.patient, w.beds",
}
NOT_MULTIPLIED = {
    "pairs": f"SELECT a.patient FROM {PAIRS}",
    "groups of one side": f"SELECT a.patient, a.age, sum(1) AS n FROM {PAIRS} GROUP BY a.patient, a.age",
    "groups of the other": f"SELECT a.patient, b.age, sum(a.age) AS n FROM {PAIRS} GROUP BY a.patient, b.age",
    "each person": f"SELECT a.patient, count(*) AS n FROM {PAIRS} GROUP BY a.patient",
    "united with people": "SELECT a.patient FROM visits AS a JOIN (SELECT patient, count(*) AS n FROM visits"
    " GROUP BY patient) AS b ON a.patient = b.patient UNION ALL SELECT patient FROM visits",
    "groups beside public": "SELECT v.patient, v.ward, sum(w.beds) AS n FROM visits AS v JOIN wards AS w"
    " ON v.ward = w.ward GROUP BY v.patient, v.ward",
}


def with_wards(tmp_path, beds):
    """Each ward has so many rows in a public table."""
    clinic = Clinic(tmp_path / "clinic")
    rows = f"SELECT ward, range AS beds FROM range({beds}), (VALUES ('north'), ('south')) AS wards(ward)"
    duckdb.sql(f"COPY ({rows}) TO '{clinic.folder / 'wards.parquet'}'")
    public = '[tables.wards]\nsource = "wards.parquet"\npublic = true\n[tables.wards.columns.beds]\n'
    clinic.policy.write_text(f"{clinic.policy.read_text()}\n{public}bounds = [0, 1000]\n")
    return clinic


@pytest.mark.parametrize("name", MULTIPLIED)
def test_g3_a_side_that_has_made_many_rows_of_each_is_refused(tmp_path, name):
    """They were sorted only if the gate had a row. Where 300,000 visits met a hundred rows of a public table
    each, a count took 6.0 s with it and 1.2 s without; of a union with pairs 2.1 and 0.5 s; of groups of
    pairs 3.8 and 2.6 s.
    """
    clinic, side = with_wards(tmp_path, 13), f"({MULTIPLIED[name]}) AS x"
    for sides in (f"{GATE} AS g JOIN {side}", f"{side} JOIN {GATE} AS g"):
        with pytest.raises(QueryRefused, match="could have too many rows"):
            clinic.ask(f"SELECT count(*) AS n FROM {sides} ON g.patient = x.patient")
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize("name", NOT_MULTIPLIED)
def test_g3_a_side_with_about_as_many_rows_as_its_tables_is_joined(tmp_path, name):
    curator = with_wards(tmp_path, 13).open()
    curator.explain(
        f"SELECT count(*) AS n FROM {GATE} AS g JOIN ({NOT_MULTIPLIED[name]}) AS x ON g.patient = x.patient",
        epsilon=1,
    )


def test_g3_public_tables_are_joined_last_or_have_few_rows_for_each(tmp_path):
    """Rows that a join has left are one person's."""
    joined = "SELECT count(*) AS n FROM visits AS v JOIN visits AS x ON v.patient = x.patient"
    with_wards(tmp_path, 13).open().explain(f"{joined} JOIN wards AS w ON w.ward = x.ward", epsilon=1)
    few = f"{GATE} AS g JOIN ({MULTIPLIED['public']}) AS x ON g.patient = x.patient"
    with_wards(tmp_path, 6).open().explain(f"SELECT count(*) AS n FROM {few}", epsilon=1)
