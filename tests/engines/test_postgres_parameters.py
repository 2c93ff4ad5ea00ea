"""What an analyst or an owner wrote reaches PostgreSQL beside the SQL, never in it, and means itself."""

import re
from dataclasses import replace

import duckdb
import psycopg
import pytest

from discreet.bounds.identity import question_identity
from discreet.dialects import DIALECTS
from discreet.dialects.parameters import MOST_PARAMETERS, Parameters
from discreet.dialects.quoting import build_literal, text_sql
from discreet.engines.open_engine import open_engine
from discreet.engines.postgres import statement as postgres_statement
from discreet.errors import EngineFailed, QueryRefused
from discreet.model.policy import ValueType
from discreet.sql.emit import emit_public_keys, emit_sql
from tests.engines.conftest import CANARY, everything_in, source
from tests.engines.everywhere import TABLES, exact, size_of
from tests.question.clinic import COLUMNS, clinic, planned

pytestmark = pytest.mark.xdist_group("postgres")

HOSTILE = [
    f"'; DROP TABLE {CANARY}; --",
    f"' OR '{CANARY}'='",
    f"\\'{CANARY}\\",
    f"\\{CANARY}",
    f"$1{CANARY}",
    f"$${CANARY}$$",
    f"$a${CANARY}$a$",
    f"%s%(a)s%%{CANARY}_",
    f"{{0}}:name?{CANARY}",
    f'{CANARY}{{a,b}},NULL,"c"',
    f"E'\\x41'{CANARY}",
    f"U&'\\0041'{CANARY}",
    f"/* {CANARY} */ --\n;\r\t",
    f"\u2019\uff07{CANARY}\u202eé👩‍🔬\U0010ffff",
    f"{CANARY} ",
    f"{CANARY}",
    "NULL",
    "",
]
BIG = "é'\\$1%s" * 150_000
QUESTIONS = [
    "SELECT count(*) FROM visits WHERE note = {}",
    "SELECT count(*) FROM visits WHERE note <> {}",
    "SELECT count(*) FROM visits WHERE note >= {}",
    "SELECT count(*) FROM visits WHERE note IN ({}, 'x')",
    "SELECT count(*) FROM visits WHERE note NOT IN ({})",
    "SELECT count(*) FROM visits WHERE note LIKE {}",
    "SELECT count(*) FROM visits WHERE starts_with(note, {}) AND ends_with(note, {}) AND contains(note, {})",
    "SELECT count(*) FROM visits WHERE note || 'b' = {} || 'b' AND coalesce(note, {}) = {}",
    "SELECT count(*) FROM visits WHERE upper(note) = upper({}) AND length(note) = length({})",
    "SELECT count(*) FROM visits WHERE nullif(note, {}) IS NULL",
    "SELECT CASE WHEN note = {} THEN {} ELSE 'no' END AS k, count(*) FROM visits GROUP BY k",
    "SELECT note, sum(cost) FROM visits WHERE note IN ({}, 'other') GROUP BY note",
    "SELECT avg(cost) FILTER (WHERE note = {}), median(cost) FROM visits",
]
OTHERS = [
    "SELECT count(*) FROM visits WHERE note IN ('', NULL)",
    "SELECT count(*) FROM visits WHERE note NOT IN ('', NULL)",
    "SELECT count(*) FROM visits WHERE note IN (NULL)",
    "SELECT count(*) FROM visits WHERE born IN ('1987-06-05', NULL)",
    "SELECT count(*) FROM visits WHERE born NOT IN ('1987-06-05', '0001-01-01')",
    "SELECT count(*) FROM visits WHERE born > '1987-06-04' AND born < TIMESTAMP '1987-06-05 00:00:00.5'",
    "SELECT count(*) FROM visits WHERE CAST(born AS TIMESTAMP) IN ('1987-06-05 00:00:00', NULL)",
    "SELECT count(*) FROM visits WHERE date_trunc('month', born) = DATE '1987-06-01'",
    "SELECT count(*) FROM visits WHERE date_diff('day', born, DATE '1987-06-06') = 1",
    "SELECT ward, count(*) FROM visits GROUP BY ward",
    "SELECT ward, count(*) FROM visits WHERE ward IN ('NULL', NULL, '') GROUP BY ward",
]


def policy(*, keys=tuple(HOSTILE), **options):
    dataset = clinic(**options)
    columns = {**COLUMNS, "ward": replace(COLUMNS["ward"], keys=keys)}
    visits = replace(dataset.tables["visits"], columns=columns)
    return replace(dataset, tables={**dataset.tables, "visits": visits})


@pytest.fixture(scope="module")
def engines(clinic, tmp_path_factory):
    """DuckDB, PostgreSQL, and a PostgreSQL where every note is the SQL that the server was sent."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = [*HOSTILE, None, BIG]
    rows = [(i, text, 1, 30, text, "1987-06-05" if i % 2 else None) for i, text in enumerate(texts)]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE visits ({TABLES['visits']})")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute(f"COPY visits TO '{folder}/visits.parquet'")
    with psycopg.connect(clinic) as connection:
        connection.execute("CREATE SCHEMA hostile")
        columns = TABLES["visits"].replace("VARCHAR", "text").replace("DOUBLE", "double precision")
        connection.execute(f"CREATE TABLE hostile.visits ({columns})")
        connection.cursor().executemany("INSERT INTO hostile.visits VALUES (%s, %s, %s, %s, %s, %s)", rows)
        connection.execute(
            "CREATE VIEW hostile.seen AS SELECT patient, ward, cost, age, current_query() AS note, born"
            " FROM hostile.visits"
        )
    places = ("visits.parquet", f"{clinic}#hostile.visits", f"{clinic}#hostile.seen")
    opened = [open_engine({"visits": source(place, person="patient")}, folder) for place in places]
    yield opened
    for engine in opened:
        engine.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_hostile_texts_mean_themselves(engines, question):
    files, postgres, _ = engines
    for text in HOSTILE:
        sql = question.replace("{}", text_sql(text))
        plan = planned(sql, policy(unique=True))
        found = exact(postgres, plan)
        assert found == exact(files, plan)
        assert size_of(found) > 0


@pytest.mark.parametrize("question", OTHERS)
@pytest.mark.parametrize("unique", [True, False])
def test_lists_dates_and_declared_keys_mean_themselves(engines, question, unique):
    files, postgres, _ = engines
    plan = planned(question, policy(unique=unique))
    assert exact(postgres, plan) == exact(files, plan)


def test_one_row_has_each_text(engines):
    """Against a count by hand, and not only against another engine."""
    for text in HOSTILE:
        plan = planned(f"SELECT count(*) FROM visits WHERE note = {text_sql(text)}", policy(unique=True))
        assert exact(engines[1], plan) == {0: {(0,): 1}}
    plan = planned("SELECT ward, count(*) FROM visits GROUP BY ward", policy(unique=True))
    assert exact(engines[1], plan) == {0: {(0, text): 1 for text in HOSTILE}}


@pytest.mark.parametrize("text", HOSTILE[:-2])
def test_the_server_is_sent_no_text_of_a_question_or_a_policy(engines, text, monkeypatch):
    """By its own account, and by all that was sent, to describe and to plan as well."""
    postgres, sent, executed = engines[2], [], postgres_statement.executed
    monkeypatch.setattr(
        postgres_statement,
        "executed",
        lambda connection, sql, parameters: sent.append(sql) or executed(connection, sql, parameters),
    )
    where = f"ward = {text_sql(text)} AND ward IN ({text_sql(text)}, 'NULL')"
    where += f" AND NOT ward LIKE {text_sql('!' + text)}"
    when = "(born IS NULL OR born <= '1987-06-05')"
    plan = planned(
        f"SELECT note, ward, count(*) FROM visits WHERE {where} AND {when} GROUP BY note, ward",
        policy(delta=1e-6, unique=True),
    )
    ((row,),) = [integers.items() for integers in exact(postgres, plan).values()]
    (_, seen, ward), count = row
    assert (ward, count) == (text, 1)
    assert seen.startswith("SELECT ")
    assert {f"${i}" for i in range(1, 6)} == set(re.findall(r"[$][0-9]+", seen))
    assert seen in sent
    assert len(sent) == 4  # described and planned, described and fetched
    for each in sent:
        assert CANARY not in each
        assert text not in each
        assert "1987" not in each


def test_a_statement_is_the_same_for_every_text_and_the_question_is_not(engines):
    first, second = (
        planned(f"SELECT count(*) FROM visits WHERE note = '{text}'", policy()) for text in ("a", "b")
    )
    (one,), (other,) = (
        emit_sql(plan, engines[1].relations, DIALECTS["postgres"]) for plan in (first, second)
    )
    assert (one.sql, one.slices) == (other.sql, other.slices)
    assert (one.parameters, other.parameters) == (("a",), ("b",))
    assert question_identity(first) != question_identity(second)


def test_more_keys_than_there_can_be_parameters(engines):
    keys = tuple(f"k'{i}" for i in range(MOST_PARAMETERS + 1000))
    plan = planned("SELECT ward, count(*) FROM visits GROUP BY ward", policy(keys=(*keys, *HOSTILE)))
    (statement,) = emit_sql(plan, engines[1].relations, DIALECTS["postgres"])
    assert len(statement.parameters) == 1
    assert len(statement.sql) < 2000
    found = exact(engines[1], plan)[0]
    assert {key for key, total in found.items() if total} == {(0, text) for text in HOSTILE}


def test_more_texts_than_there_can_be_parameters_are_refused():
    dialect = DIALECTS["postgres"].binding(Parameters())
    for i in range(MOST_PARAMETERS):
        dialect.text(str(i))
    assert dialect.text("7") == "CAST($8 AS text)"
    with pytest.raises(QueryRefused, match="65,535"):
        dialect.text("one more")


def test_a_text_of_a_megabyte(engines):
    postgres = engines[1]
    sql = (
        "SELECT count(*) AS n, CAST(length(CAST($1 AS text)) AS bigint) AS l, CAST($1 AS text) AS t"
        f" FROM {postgres.relations['visits']}"
        " WHERE note = CAST($1 AS text) AND note = ANY(CAST($2 AS text[]))"
    )
    parameters = [BIG, ("x", None, BIG)]
    assert len(BIG) >= 2**20
    postgres.prepare(sql, parameters=parameters)
    found = postgres.run(sql, parameters=parameters).reveal()
    assert (found["n"], found["l"], found["t"][0]) == ([1], [len(BIG)], BIG)


@pytest.mark.parametrize("text", ["a\0b", f"{CANARY}\0", "\ud800"])
def test_what_no_database_stores_is_refused(engines, text):
    with pytest.raises(QueryRefused):
        DIALECTS["postgres"].binding(Parameters()).literal(build_literal(text))
    sql = "SELECT 1 AS a WHERE $1 = CAST('' AS text)"
    with pytest.raises(QueryRefused) as refused:
        engines[1].prepare(sql, parameters=[text])
    with pytest.raises(EngineFailed) as failed:
        engines[1].run(sql, parameters=[text])
    for error in (refused.value, failed.value):
        everything_in(error)
        assert CANARY not in str(error)


def test_constants_are_never_written_into_the_sql_of_postgres():
    plain = DIALECTS["postgres"]
    for value in ("a", "", build_literal("a"), build_literal("2020-01-01")):
        with pytest.raises(TypeError, match="binds them"):
            plain.text(value) if isinstance(value, str) else plain.literal(value)


def test_the_keys_of_public_tables_need_no_constants(engines):
    def keys(engine, column, kind):
        sql = emit_public_keys(engine.relations["visits"], column, kind, 100, DIALECTS[engine.dialect])
        return engine.run(sql).reveal()["v"].tolist()

    for column, kind in engines[1].schema("visits").items():
        if kind is not ValueType.NUMBER:
            assert keys(engines[1], column, kind) == keys(engines[0], column, kind) != []


def test_an_engine_that_binds_nothing_drops_nothing(engines):
    with pytest.raises(TypeError):
        engines[0].prepare("SELECT 1 AS a", parameters=["a"])
    with pytest.raises(TypeError):
        engines[0].run_each(["SELECT 1 AS a"], parameters=["a"])
