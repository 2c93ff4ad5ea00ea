"""G4: how long a database plans a question before it is charged, which nobody pays for."""

import pytest

from discreet import QueryRefused
from discreet.model.privacy import PureLoss
from discreet.question import parse
from discreet.question.expressions import scope as scope_module
from discreet.question.expressions.scope import nearest
from discreet.sql import emit as emit_module
from discreet.sql.statement import MOST_WRITTEN_SQL, check_written_size

from .ask import Clinic
from .test_planning import several
from .test_public_tables import wards, with_wards

NOTHING = PureLoss(epsilon=0)
VALUES = "count(DISTINCT v.cost + {i}) AS d{i}"
LOOKUPS = " ".join(f"JOIN wards AS w{i} ON v.age = w{i}.beds" for i in range(16))
KEYS = several("v.cost > {i}", 10)
LONG_KEY = f"CASE {' '.join(f'WHEN v.cost > {i} THEN {i}' for i in range(20))} END"
SLOW = {
    "values": f"SELECT {several(VALUES, 190)} FROM visits AS v",
    "values by many keys": f"SELECT {several(VALUES, 180)} FROM visits AS v GROUP BY {KEYS}",
    "quantiles by a long key": f"SELECT {several('quantile(v.cost + {i}, 0.5) AS q{i}', 180)}"
    f" FROM visits AS v GROUP BY {LONG_KEY}",
    "values of joins": f"SELECT {several(VALUES, 60)} FROM visits AS v {LOOKUPS}",
}


@pytest.mark.parametrize("name", SLOW)
def test_g4_what_a_database_would_plan_for_long_is_refused(tmp_path, name):
    """These took 18, 37, 18 and 58 seconds on a loaded machine, before the charge."""
    clinic = with_wards(tmp_path, wards(north=1))
    with clinic.open() as curator:
        for asked in (curator.explain, curator.ask):
            with pytest.raises(QueryRefused, match="characters of SQL"):
                asked(SLOW[name], epsilon=1)
    assert clinic.spent() == NOTHING


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {several(VALUES, 40)} FROM visits AS v",
        f"SELECT v.ward, {several(VALUES, 10)}, {several('avg(v.cost + {i}) AS a{i}', 20)},"
        f" {several('quantile(v.cost, 0.0{i}1) AS q{i}', 9)} FROM visits AS v GROUP BY CUBE (v.ward)",
        f"SELECT {several(VALUES, 4)} FROM visits AS v {LOOKUPS}",
        "SELECT {} FROM visits AS v".format(several("count(*) FILTER (WHERE v.cost > {i}) AS n{i}", 190)),
    ],
    ids=["values", "CUBE", "joins", "counts"],
)
def test_g4_questions_with_many_measures_are_planned(tmp_path, sql):
    with with_wards(tmp_path, wards(north=1)).open() as curator:
        curator.explain(sql, epsilon=1)


def test_g4_long_lists_of_keys_take_no_room(tmp_path):
    """A database reads a long text in no time."""
    clinic = Clinic(tmp_path / "clinic")
    keys = ", ".join(f'"diagnosis number {i}"' for i in range(30_000))
    clinic.policy.write_text(
        f"{clinic.policy.read_text()}\n[tables.visits.columns.diagnosis]\nkeys = [{keys}]"
    )
    clinic.ask("SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis")


def test_g4_all_statements_count_and_constants_do_not():
    half = "x" * (MOST_WRITTEN_SQL // 2)
    check_written_size([half, half])
    check_written_size([half, half + f"'{half}''{half}'"])
    with pytest.raises(QueryRefused):
        check_written_size([half, half + "x"])
    with pytest.raises(QueryRefused):
        check_written_size([half, f"'a''b'{half}x'c'"])


def test_g4_a_plan_that_takes_too_long_is_refused_and_nothing_is_spent(tmp_path, monkeypatch):
    """No database notices in the midst of it that it should stop, so it is looked at for every statement."""
    clinic, now = Clinic(tmp_path / "clinic"), [1000.0]
    monkeypatch.setattr("discreet.model.deadline.time.monotonic", lambda: now[0])
    with clinic.open() as curator:
        prepared, prepare = [], curator._engine.prepare

        def slowly(sql, **bound):
            prepared.append(sql)
            now[0] += 0.6 * curator._engine.time_limit
            prepare(sql, **bound)

        monkeypatch.setattr(curator._engine, "prepare", slowly)
        with pytest.raises(QueryRefused, match=r"To plan this question .* nothing was spent"):
            curator.ask(f"SELECT {several(VALUES, 5)} FROM visits AS v", epsilon=1)
        assert len(prepared) == 2
    assert clinic.spent() == NOTHING


def test_g4_duckdb_plans_what_is_accepted(tmp_path):
    """The largest statements that are accepted are none that DuckDB refuses."""
    with with_wards(tmp_path, wards(north=1)).open() as curator:
        curator.ask(f"SELECT {several(VALUES, 25)} FROM visits AS v {LOOKUPS}", epsilon=1)


def test_g4_a_question_that_gets_too_long_is_not_written_to_its_end(tmp_path, monkeypatch):
    """198 sums over nine long lists came to 57 million characters, which took 17 seconds for nothing."""
    written = []
    monkeypatch.setattr(
        emit_module, "check_written_size", lambda *a: written.append(check_written_size(*a)) or written[-1]
    )
    lists = " OR ".join(f"diagnosis IN ({', '.join(repr(f'{i}-{j}') for i in range(990))})" for j in range(9))
    values = ", ".join(f"count(DISTINCT age + {i}) AS c{i}" for i in range(1, 199))
    with pytest.raises(QueryRefused, match="characters of SQL or more"):
        Clinic(tmp_path / "clinic").open().explain(f"SELECT {values} FROM visits WHERE {lists}", epsilon=1)
    assert len(written) < 10


def test_g4_names_in_another_case_are_looked_up_once(tmp_path, monkeypatch):
    """Each of 2,300 names was compared with 2,300 others, for each of 15 uses: 20 seconds."""
    compared = []
    monkeypatch.setattr(scope_module, "nearest", lambda *a, **k: compared.append(a) or nearest(*a, **k))
    columns = ", ".join(f"1 AS Ä{i}" for i in range(300))
    names = ", ".join(f"ä{i}" for i in range(300))
    inner = f"(SELECT {names} FROM (SELECT patient, {columns} FROM visits) AS q)"
    sql = f"SELECT count(*) AS n FROM {inner} AS r"
    Clinic(tmp_path / "clinic").open().explain(sql, epsilon=1)
    assert not compared


def test_g4_a_text_that_is_far_too_long_is_refused_unread(monkeypatch):
    """Its brackets were counted first, character by character: of 60 MB, that took more than five seconds."""
    monkeypatch.setattr(parse, "_BRACKETS", None)
    with pytest.raises(QueryRefused, match="too long"):
        parse.parse_question("SELECT " + "1, " * parse.LONGEST_TEXT)
