"""One question has one exact answer: the same integers from files, from PostgreSQL and from Spark."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.aggregates.weights import Norm, Weight
from discreet.dialects import DIALECTS
from discreet.errors import QueryRefused
from discreet.learn import LinearRegression
from discreet.learn.plan.fit_plan import plan_fit
from discreet.model.neighbours import Neighbours
from discreet.model.policy import ValueType
from discreet.model.privacy import PureLoss
from discreet.profile.profile_plan import ProfilePlan
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import resolve_rows
from discreet.sql.emit import emit_sql
from discreet.sql.weights import weight_sql
from discreet.synth.plan.attributes import attributes_of
from discreet.synth.plan.count_tables import counting, sets_of
from discreet.synth.plan.synthesis_plan import SynthesisPlan
from tests.engines.everywhere import (
    exact,
    fill_postgres,
    learnt_from,
    open_files,
    open_postgres,
    open_spark,
    size_of,
    write_files,
)
from tests.question.clinic import clinic, has_one_of, planned, public_keys
from tests.question.random_questions import questions

ENGINES = [
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=pytest.mark.xdist_group("spark")),
]
SIZES = {
    "small": {"rows": 900, "people": 120},
    "medium": {"rows": 60_000, "people": 4_000},
    "large": {"rows": 300_000, "people": 20_000},
}
LARGE = {"spark": "medium"}
"""Spark takes seconds for each question of many rows, and reads any file in two tasks (`conftest`)."""
EXAMPLES = {"postgres": 80, "spark": 25}

QUESTIONS = {
    "rows": "SELECT ward, count(*), sum(cost), avg(age), variance(cost) FROM visits GROUP BY ward",
    "all rows": "SELECT count(*), sum(age), count(cost), stddev(age) FROM visits",
    "people": "SELECT ward, count(DISTINCT patient) FROM visits GROUP BY ward",
    "private keys": "SELECT note, count(*), sum(cost) FROM visits GROUP BY note",
    "private people": "SELECT note, count(DISTINCT patient), avg(cost) FROM visits GROUP BY note",
    "several keys": "SELECT ward, floor(age / 10) AS decade, count(*) FROM visits GROUP BY ward, decade",
    "quantiles": "SELECT ward, median(cost), quantile(age, 0.9) FROM visits GROUP BY ward",
    "other values": "SELECT ward, count(DISTINCT note) FROM visits GROUP BY ward",
    "selection": "SELECT ward FROM visits GROUP BY ward ORDER BY count(*) DESC LIMIT 1",
    "filter": "SELECT ward, count(*) FILTER (WHERE note LIKE 'n1%'), sum(cost) FILTER (WHERE age > 50)"
    " FROM visits WHERE born >= '1960-01-01' GROUP BY ward",
    "together": "SELECT ward, count(*) FILTER (WHERE age > 50), count_if(age > 80), count(*), avg(cost),"
    " sum(CASE WHEN note LIKE 'n1%' THEN age END) FROM visits GROUP BY ward",
    "polynomials": "SELECT variance(cost), avg(cost), stddev(age), sum(cost) FILTER (WHERE age < 9), count(*)"
    " FROM visits",
    "public table": "SELECT region, count(*), sum(cost) FROM visits JOIN wards USING (ward) GROUP BY region",
    "two tables": "SELECT v.ward, count(*), sum(l.level) FROM visits v JOIN labs l USING (patient)"
    " GROUP BY v.ward",
    "each person": "SELECT avg(n), median(n), avg(s) FROM"
    " (SELECT patient, count(*) AS n, sum(cost) AS s, max(age) AS a FROM visits GROUP BY patient)",
    "union": "SELECT k, count(*), sum(x) FROM (SELECT patient, ward AS k, cost AS x FROM visits"
    " UNION ALL SELECT patient, test AS k, level AS x FROM labs) GROUP BY k",
    "rollup": "SELECT ward, floor(age / 50) AS old, count(*) FROM visits GROUP BY ROLLUP (ward, old)",
    "dates": "SELECT quarter(born) AS q, count(*), avg(date_diff('day', '2000-01-01', born)) FROM visits"
    " WHERE year(born) BETWEEN 1950 AND 2000 GROUP BY q",
    "case": "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS who,"
    " count(*), sum(greatest(cost, 0.5) * 2) FROM visits GROUP BY who",
}

PURE = ("rows", "people", "two tables", "each person", "together", "polynomials")

ONE_VALUE = {
    "people": "SELECT ward, age > 50 AS old, count(DISTINCT patient) FROM visits WHERE cost > 0"
    " GROUP BY ward, old",
    "rows": "SELECT ward, count(*), sum(cost), median(cost), count(DISTINCT note) FROM visits GROUP BY ward",
    "private keys": "SELECT note, born, count(*), sum(cost) FROM visits GROUP BY note, born",
    "private people": "SELECT note, count(DISTINCT patient) FROM visits GROUP BY note",
    "a number": "SELECT floor(cost) AS c, count(DISTINCT patient), avg(age) FROM visits GROUP BY c",
    "two tables": "SELECT ward, count(*), sum(level), count(DISTINCT l.patient) FROM labs l"
    " JOIN visits v USING (patient) GROUP BY ward",
    "each person": "SELECT old, young, count(*), sum(n) FROM (SELECT patient, min(age > 50) AS old,"
    " max(cost > 0) AS young, count(*) AS n FROM visits GROUP BY patient) GROUP BY old, young",
}
"""The policy says that a person has one of each, and the rows say otherwise."""


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory):
    """An engine over the small or the large clinic, opened once."""
    engines, folders = {}, {}

    def folder_of(size):
        if size not in folders:
            folders[size] = tmp_path_factory.mktemp(f"{size}_clinic")
            write_files(folders[size], **SIZES[size])
        return folders[size]

    def opening(name, size):
        if (name, size) not in engines:
            folder = folder_of(size)
            if name == "duckdb":
                engine = open_files(folder)
            elif name == "postgres":
                url = request.getfixturevalue("postgres_server").url
                fill_postgres(url, f"{size}_clinic", folder)
                engine = open_postgres(url, f"{size}_clinic")
            else:
                engine = open_spark(request.getfixturevalue("spark"), folder)
            request.addfinalizer(engine.close)
            engines[name, size] = engine
        return engines[name, size]

    return opening


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("question", "delta"),
    [*((question, "1e-6") for question in QUESTIONS), *((question, 0) for question in PURE)],
)
def test_the_same_integers(name, question, delta, opened):
    sql = QUESTIONS[question]
    dataset = clinic(delta=delta, max_rows=4, max_groups=2)
    plan = planned(sql, dataset)
    size = LARGE.get(name, "large")
    expected = exact(opened("duckdb", size), plan)
    assert size_of(expected)
    assert exact(opened(name, size), plan) == expected


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("delta", ["1e-6", 0])
@pytest.mark.parametrize("question", ONE_VALUE)
def test_what_a_person_has_one_of_is_the_same(name, question, delta, opened):
    if "private" in question and not delta:
        pytest.skip("private keys need a δ")
    declared = has_one_of("ward", "age", "note", "born", "cost", delta=delta, max_rows=4, max_groups=2)
    plan = planned(ONE_VALUE[question], declared)
    expected = exact(opened("duckdb", "small"), plan)
    assert size_of(expected)
    assert exact(opened(name, "small"), plan) == expected


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("question", ["rows", "people", "public table", "two tables", "each person"])
def test_g8_rows_without_an_id_are_left_out_where_one_row_a_person_is_vouched_for(name, question, opened):
    nobody = "SELECT count(*) FROM visits WHERE patient IS NULL"
    for sql in (QUESTIONS[question], nobody):
        plan = planned(sql, clinic(unique=True))
        assert exact(opened(name, "small"), plan) == exact(opened("duckdb", "small"), plan)
    assert exact(opened(name, "small"), plan) == {0: {(0,): 0}}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("wide", [False, True])
def test_the_counts_of_a_synthetic_table_are_the_same(name, wide, opened):
    dataset = clinic(max_rows=4)
    rows = resolve_rows(
        parse_sql("SELECT ward, age, cost, age > 50 AS old FROM visits"), dataset, public_keys
    )
    attributes = attributes_of(rows.columns, {"age": 7, "cost": 9})
    bounded = counting(rows, attributes, dataset, sets=sets_of(4, wide=wide))
    plan = SynthesisPlan(attributes=attributes, bounded=bounded, loss=PureLoss(epsilon=1), dataset=dataset)
    expected = exact(opened("duckdb", "large"), plan)
    assert size_of(expected) > 100
    assert exact(opened(name, "large"), plan) == expected


@pytest.mark.parametrize("name", ENGINES)
def test_a_profile_is_the_same(name, opened):
    table = clinic(max_rows=4).tables["visits"]
    plan = ProfilePlan(table=table, neighbours=Neighbours.ADD_REMOVE, loss=PureLoss(epsilon=1))

    def people(engine):
        (statement,) = plan.statements(engine.relations, DIALECTS[engine.dialect])
        engine.prepare(statement.sql, parameters=statement.parameters)
        found = engine.run(statement.sql, parameters=statement.parameters).reveal()
        columns = (found[column].tolist() for column in ("h", "leaf", "s0"))
        return {(place, leaf): count for place, leaf, count in zip(*columns, strict=True)}

    expected = people(opened("duckdb", "large"))
    assert len(expected) > 10
    assert people(opened(name, "large")) == expected


ROWS_OF_MODELS = {
    "rows": "SELECT age, ward, cost * 2 AS twice, age > 50 AS old FROM visits",
    "public table": "SELECT region, age, cost FROM visits JOIN wards USING (ward)",
    "each person": "SELECT s, n FROM (SELECT patient, least(count(*), 9) AS n,"
    " least(greatest(sum(cost), 0), 50) AS s FROM visits GROUP BY patient)",
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("question", ROWS_OF_MODELS)
@pytest.mark.parametrize("solver", ["statistics", "descent"])
def test_what_a_model_learns_from_is_the_same(name, question, solver, opened):
    dataset = clinic(max_rows=4)
    rows = resolve_rows(parse_sql(ROWS_OF_MODELS[question]), dataset, public_keys)
    plan = plan_fit(LinearRegression(solver=solver), rows, PureLoss(epsilon=1), dataset.neighbours)
    expected = learnt_from(opened("duckdb", "small"), plan)
    assert len(expected) > 5
    assert learnt_from(opened(name, "small"), plan) == expected


@pytest.mark.parametrize("name", ENGINES)
def test_g3_the_same_people_are_left_out_of_a_fit(name, opened):
    """Who has very many rows, and the one person of all rows without an id."""
    dataset = clinic(max_rows=4)
    rows = resolve_rows(parse_sql("SELECT age, cost FROM visits WHERE age < 30"), dataset, public_keys)
    plan = plan_fit(LinearRegression(solver="descent"), rows, PureLoss(epsilon=1), dataset.neighbours)
    expected = learnt_from(opened("duckdb", "large"), plan)
    lightest = min(weight for *_, weight in expected)
    assert len(expected) > 5_000
    assert lightest >= 4 / plan.data.source.rows
    assert learnt_from(opened(name, "large"), plan) == expected


@pytest.mark.parametrize("name", ENGINES)
def test_random_questions_have_the_same_integers(name, opened):
    compared = 0

    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(questions(), st.sampled_from([0, "1e-6"]))
    def compare(question, delta):
        nonlocal compared
        try:
            plan = planned(question.sql, clinic(delta="1e-6" if question.private else delta, max_groups=3))
        except QueryRefused:
            return
        expected = exact(opened("duckdb", "small"), plan)
        assert exact(opened(name, "small"), plan) == expected, question.sql
        compared += size_of(expected)

    compare()
    assert compared > 100


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("names_keys", [False, True])
def test_weights_are_the_same(name, norm, names_keys, opened):
    """For people with up to 300 rows: the weight as each engine computes it."""
    weight = Weight.for_rows(4, norm, names_keys=names_keys)

    def weights(engine):
        dialect = DIALECTS[engine.dialect]
        number = (
            "CAST(age AS BIGINT)" if norm is Norm.L1 else f"CAST(age AS {dialect.types[ValueType.NUMBER]})"
        )
        most = f"{engine.relations['visits']} WHERE age BETWEEN 17 AND 300"
        sql = f"SELECT DISTINCT age AS n, {weight_sql(weight, number, dialect)} AS s0 FROM {most}"
        table = engine.run(sql).reveal()
        return dict(zip(table["n"].tolist(), table["s0"].tolist(), strict=True))

    assert len(weights(opened("duckdb", "large"))) > 90
    assert weights(opened(name, "large")) == weights(opened("duckdb", "large"))


def test_no_dialect_writes_what_another_reads_otherwise():
    """The statements differ where they must; equal ones would be a dialect that is not used."""
    plan = planned(QUESTIONS["rows"], clinic())
    tables = {"visits": "visits", "labs": "labs", "wards": "wards"}
    written = {name: emit_sql(plan, tables, dialect)[0].sql for name, dialect in DIALECTS.items()}
    assert len(set(written.values())) == len(DIALECTS)
