"""`discreet synth`: what is typed, what is written, and what is said."""

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main

POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 10, delta = 1e-6 }
least_price = 1e-9

[tables.visits]
source = "visits.parquet"
person = "row"

[tables.visits.columns.ward]
keys = ["north", "south"]

[tables.visits.columns.age]
bounds = [0, 9]

[tables.visits.columns.cost]
bounds = [0, 100]
"""
ROWS = "SELECT ['north', 'south'][1 + range % 2] AS ward, range % 10 AS age, range % 90 AS cost, 'x' AS note"
SYNTH = ["synth", "--columns", "ward,age,cost", "--epsilon", "1", "--bins", "cost=10"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    duckdb.sql(f"COPY ({ROWS} FROM range(5000)) TO '{tmp_path}/visits.parquet'")
    (tmp_path / "discreet.toml").write_text(POLICY)
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == code, result.output
    return result.output


def spent():
    return json.loads(run("budget", "--format", "json"))["spent"]


def test_rows_and_report_are_written_and_more_rows_are_free(folder):
    said = run(*SYNTH, "--output", "out.parquet", "--report", "report.html")
    assert "rows of nobody are in out.parquet" in said
    assert "report.html" in said
    first = spent()
    ((rows, wards, oldest),) = duckdb.sql(
        f"SELECT count(*), count(DISTINCT ward), max(age) FROM '{folder}/out.parquet'"
    ).fetchall()
    assert 4000 < rows < 6000
    assert (wards, oldest) == (2, 9)
    page = (folder / "report.html").read_text()
    assert "<svg" in page
    assert "ward" in page
    again = run(*SYNTH, "--output", "more.csv", "--rows", "100", "--report", "report.json")
    assert "free" in again
    assert spent() == first
    assert len((folder / "more.csv").read_text().splitlines()) == 101
    assert json.loads((folder / "report.json").read_text())["tables"]


def test_an_explanation_spends_nothing_and_writes_nothing(folder):
    before = sorted(folder.iterdir())
    said = run(*SYNTH, "--explain")
    assert "Nothing has been spent" in said
    told = json.loads(run(*SYNTH, "--explain", "--format", "json"))
    assert told["cells"] == 3 * 11 * 11
    assert [stage["columns"] for stage in told["stages"]] == [1, 2, 3]
    assert [path for path in sorted(folder.iterdir()) if "ledger" not in path.name] == before


def test_a_price_that_buys_nothing_is_said_before():
    said = run("synth", "--columns", "ward,age,cost", "--epsilon", "0.001", "--output", "poor.parquet")
    assert "drowns" in said


def test_a_report_against_the_data_is_paid_for_once():
    words = (*SYNTH, "--check-epsilon", "0.5")
    run(*words, "--output", "a.csv", "--report", "a.json")
    first = spent()
    run(*SYNTH, "--output", "b.csv")
    assert spent() == first
    run(*words, "--output", "c.csv", "--report", "c.json")
    assert spent() == first
    told = [json.loads(Path(f"{name}.json").read_text()) for name in "ac"]
    assert told[0]["independent"]
    assert told[0]["tables"][0]["distance"] == told[1]["tables"][0]["distance"]


def test_json_for_programs():
    told = json.loads(run(*SYNTH, "--output", "out.csv", "--rows", "10", "--format", "json"))
    assert told["columns"] == ["ward", "age", "cost"]
    assert told["rows"] == 10
    assert told["charged"]["rho"] > 0


def test_a_workload_from_a_file(folder):
    (folder / "questions.sql").write_text(
        "-- what matters\nSELECT count(*) FROM visits WHERE age > 4 AND ward = 'north'\n\nmarginals 1\n"
    )
    words = ("synth", "--columns", "ward,age", "--epsilon", "1", "--workload", "questions.sql")
    assert "questions" in run(*words, "--explain")
    run(*words, "--output", "out.parquet", "--report", "report.html")
    assert "free" in run(*words, "--output", "again.parquet")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*SYNTH], "--output"),
        ([*SYNTH, "--output", "out.xlsx"], ".parquet"),
        ([*SYNTH, "--output", "visits.parquet"], "exists already"),
        ([*SYNTH, "--output", "no/such/out.parquet"], "no folder"),
        ([*SYNTH, "--output", "out.parquet", "--rows", "0"], "at least 1"),
        ([*SYNTH, "--output", "out.parquet", "--report", "report.txt"], ".html"),
        ([*SYNTH, "--output", "out.parquet", "--table", "visit"], "Did you mean"),
        ([*SYNTH, "--output", "out.parquet", "--where", "aeg > 3"], "no column"),
        ([*SYNTH, "--output", "out.parquet", "--where", "age > 3; DROP TABLE visits"], "exactly one SELECT"),
        ([*SYNTH, "--output", "out.parquet", "--workload", "none.sql"], "cannot be read"),
        ([*SYNTH, "--output", "out.parquet", "--check-epsilon", "1"], "--report"),
        ([*SYNTH, "--output", "o.csv", "--report", "o.html", "--check-epsilon", "nan"], "finite"),
        ([*SYNTH, "--output", "o.csv", "--report", "o.html", "--check-epsilon", "1e6"], "at most"),
        (["synth", "--columns", "ward,note", "--epsilon", "1", "--output", "o.csv"], "not public"),
        (["synth", "--columns", "ward", "--output", "o.csv"], "one price"),
        (["synth", "--columns", "", "--epsilon", "1", "--output", "o.csv"], "column"),
        (["synth", "--columns", "cost", "--bins", "few", "--epsilon", "1", "--output", "o.csv"], "--bins"),
        (["synth", "--columns", "cost", "--bins", "²", "--epsilon", "1", "--output", "o.csv"], "--bins"),
    ],
)
def test_mistakes_are_said_with_a_remedy_and_cost_nothing(words, said):
    assert said in run(*words, code=2)
    assert spent()["rho"] == 0


def test_a_workload_without_a_question_is_not_taken_for_none(folder):
    (folder / "questions.sql").write_text("-- nothing yet\n\n")
    words = ("synth", "--columns", "ward,age", "--epsilon", "1", "--workload", "questions.sql", "--explain")
    assert "no question" in run(*words, code=2)
