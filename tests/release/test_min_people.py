"""Numbers of too few people are not shown, as far as the noise tells, wherever they would appear."""

import csv
import io
import json

import duckdb
import numpy as np
import pytest
from scipy.stats import binom

from discreet.answers.json_reading import read_answer
from discreet.curator.open_policy import open_curator
from discreet.errors import PolicyError
from discreet.policy.reader import read_policy

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = {{ epsilon = 1000, delta = {delta} }}
min_people = {least}
left_out_share = 0
[tables.visits]
source = "visits.parquet"
person = "patient"
max_rows = 2
[tables.visits.columns.place]
type = "integer"
bounds = [0, {last}]
[tables.visits.columns.cost]
bounds = [0, 10]
"""
GROUPS, MIN = 2_000, 10


def curator_of(folder, rows, *, least=MIN, last=2, delta=0):
    duckdb.sql(f"COPY ({rows}) TO '{folder}/visits.parquet'")
    (folder / "clinic.toml").write_text(POLICY.format(least=least, last=last, delta=delta))
    return open_curator(folder / "clinic.toml", analyst="ann")


@pytest.fixture
def clinic(tmp_path):
    """Places with 4, 40 and 0 people; each has two rows. One person of the second place paid 9."""
    rows = (
        "SELECT patient, CASE WHEN patient < 4 THEN 0 ELSE 1 END AS place,"
        " CASE WHEN patient = 5 THEN 9 ELSE 1 END AS cost"
        " FROM (SELECT range // 2 AS patient FROM range(88))"
    )
    with curator_of(tmp_path, rows) as curator:
        yield curator


EVERYTHING = (
    "SELECT place, count(*) AS n, avg(cost) AS mean, median(cost) AS half, 2 * count(*) AS twice,"
    " CASE WHEN count(*) > 1 THEN 'some' ELSE 'none' END AS word, count(DISTINCT patient) AS people,"
    " count(*) FILTER (WHERE cost > 5) AS dear FROM visits GROUP BY place ORDER BY place"
)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_all_that_is_computed_of_too_few_people_is_missing(clinic, delta):  # noqa: ARG001
    answer = clinic.ask(EVERYTHING, epsilon=900)
    small, large, empty = answer.rows()
    for row in (small, empty):
        assert [name for name, cell in row.items() if cell is not None] == ["place"]
    assert large["n"] == 80
    assert large["word"] == "some"
    assert large["dear"] is None  # of one person
    for name in answer.released.measured:
        for part in (answer.raw(name), *answer.interval(name), *answer.noise_interval(name)):
            assert np.isnan(part[[0, 2]]).all()
            assert np.isnan(part[1]) == (name == "dear")


def test_it_stays_missing_in_every_form(clinic):
    answer = clinic.ask(EVERYTHING, epsilon=900)
    rows = list(csv.reader(io.StringIO(answer.to_csv())))
    assert [cell for cell in rows[1] if cell] == ["0"]
    again = read_answer(json.loads(answer.to_json()))
    assert again.rows() == answer.rows()
    shown = [line for line in repr(answer).splitlines() if line.startswith(("0", "≤ 0"))]
    assert "–" in shown[0]
    assert not any(character in shown[0] for character in "456789")
    pandas = pytest.importorskip("pandas")
    assert isinstance(answer.to_pandas(), pandas.DataFrame)
    assert answer.to_pandas().drop(columns="place").iloc[0].isna().all()


def test_a_note_and_the_explanation_say_so(clinic):
    sql = "SELECT place, count(*) AS n FROM visits GROUP BY place"
    found = clinic.explain(sql, epsilon=1)
    assert {error.measure for error in found.errors} == {"n", "people"}
    assert any("fewer than 10 people are not shown" in note for note in found.notes)
    assert found.notes == clinic.ask(sql, epsilon=1).released.notes[: len(found.notes)]


def test_without_the_rule_nothing_is_counted(tmp_path):
    with curator_of(tmp_path, "SELECT 1 AS patient, 0 AS place, 1 AS cost", least=0) as curator:
        plan = curator.plan("SELECT place, count(*) AS n FROM visits GROUP BY place", epsilon=1)
        assert len(plan.bounded.measures) == 1
        assert curator.ask("SELECT count(*) AS n FROM visits", epsilon=900).scalar() == 1


def test_people_who_are_counted_anyway_are_counted_once(clinic):
    plan = clinic.plan("SELECT count(DISTINCT patient) AS n FROM visits", epsilon=1)
    assert len(plan.bounded.measures) == 1


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_few_numbers_of_too_few_people_are_shown(tmp_path, delta):
    """Each of 2,000 places has 9 people, one too few: at most 5 % of them are shown, and not none.

    More than 160 are shown with a probability below 10⁻⁷ if each is with 5 %, and fewer than 45 if it is 5 %
    as it should be, as nothing else moves a count.
    """
    rows = f"SELECT range AS patient, range % {GROUPS} AS place, 1 AS cost FROM range({9 * GROUPS})"
    with curator_of(tmp_path, rows, last=GROUPS - 1, delta=delta) as curator:
        answer = curator.ask("SELECT place, count(*) AS n FROM visits GROUP BY place", epsilon=3)
    shown = sum(row["n"] is not None for row in answer)
    assert binom.sf(160, GROUPS, 0.05) < 1e-7
    assert 0 < shown <= 160


def test_what_is_no_number_of_people_is_refused(tmp_path):
    policy = tmp_path / "clinic.toml"
    for least in ("-1", "1.5", '"10"', "true"):
        policy.write_text(POLICY.format(least=least, last=1, delta=0))
        with pytest.raises(PolicyError, match="min_people"):
            read_policy(policy)


def test_what_is_computed_from_hidden_cells_does_not_show_them(clinic):
    counted = "(SELECT place, count(*) AS n FROM visits GROUP BY place)"
    found = clinic.ask(
        "SELECT place, n, 2 * n AS twice, lag(n) OVER (ORDER BY place) AS before, n / sum(n) OVER () AS share"
        f" FROM {counted} ORDER BY place",
        epsilon=200,
    )
    assert found.rows()[0] == {"place": 0, "n": None, "twice": None, "before": None, "share": None}
    assert found.rows()[1]["n"] == 80  # noise of another number: once in 10²⁰ times
    assert found.rows()[1]["before"] is None
    assert found.rows()[1]["share"] == 1
    assert np.isnan(found.raw("n")[0])
    for name in ("n", "twice", "share"):
        assert np.isnan(np.array(found.interval(name))[:, 0]).all()
    total = clinic.ask(f"SELECT sum(n) AS n FROM {counted}", epsilon=200)
    assert total.scalar() == pytest.approx(80, abs=2)
    assert any("over those that are shown" in note for note in total.released.notes)
