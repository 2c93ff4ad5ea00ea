"""`discreet report`: on the terminal, as a page, as a folder of CSV files, and what is refused."""

import json

import pytest

from tests.apps.clinic import make_clinic, run

QUESTIONS = """-- The clinic in one page.

-- Patients by ward
SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY n DESC;

SELECT count(*) AS "all; of them" FROM visits;
-- title: Shares
SELECT ward, 100 * count(*) / sum(count(*)) OVER () AS share FROM visits GROUP BY ward;
"""


@pytest.fixture
def policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.sql").write_text(QUESTIONS)
    return make_clinic(tmp_path, epsilon=10)


def report(policy, *options, file="questions.sql", answer=None):
    return run("report", file, *options, "--policy", policy, "--as", "ann", answer=answer)


def spent(policy):
    return json.loads(run("budget", "--policy", policy, "--format", "json").output)["spent"]["epsilon"]


def test_the_terminal_shows_every_answer_and_one_price(policy):
    result = report(policy, "--epsilon", "1")
    assert result.exit_code == 0, result.output
    for words in ("1. Patients by ward", "Question 2", "3. Shares", "north", "all; of them"):
        assert words in result.output
    assert result.output.count("Cost ε = 1") == 1
    assert spent(policy) == 1
    assert "free" in report(policy, "--epsilon", "1").output
    assert spent(policy) == 1


def test_explain_prices_it_and_spends_nothing(policy):
    result = report(policy, "--epsilon", "1", "--explain")
    assert result.exit_code == 0, result.output
    assert "3 questions together. Costs ε = 1" in result.output.replace("\n", " ")
    assert "1. Patients by ward" in result.output
    assert "10 such reports" in result.output
    told = json.loads(report(policy, "--epsilon", "1", "--explain", "--format", "json").output)
    assert [each["title"] for each in told["questions"]] == ["Patients by ward", "Question 2", "Shares"]
    assert told["questions"][0]["explanation"]["cost"] == {"epsilon": 1.0}
    assert spent(policy) == 0


def test_a_page_a_folder_and_json(policy, tmp_path):
    result = report(policy, "--epsilon", "1", "--out", "report.html")
    assert result.exit_code == 0, result.output
    assert "Wrote report.html. Cost ε = 1 for 3 questions together" in result.output
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    result = report(policy, "--epsilon", "1", "--out", "tables/")
    assert "Wrote 3 files in tables/." in result.output
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == [
        "1-patients-by-ward.csv",
        "2.csv",
        "3-shares.csv",
    ]
    report(policy, "--epsilon", "1", "--out", "report.json")
    shown = json.loads(report(policy, "--epsilon", "1", "--format", "json").output)
    assert json.loads((tmp_path / "report.json").read_text())["questions"][0]["answer"]["rows"]
    assert len(shown["questions"]) == 3
    assert spent(policy) == 1


def test_standard_input(policy):
    result = report(policy, "--epsilon", "1", file="-", answer=QUESTIONS)
    assert result.exit_code == 0, result.output
    assert "3. Shares" in result.output


@pytest.mark.parametrize(
    ("file", "options", "words"),
    [
        ("question.sql", ("--epsilon", "1"), "There is no file question.sql. Did you mean questions.sql?"),
        ("nowhere/x.sql", ("--epsilon", "1"), "There is no file nowhere/x.sql."),
        (".", ("--epsilon", "1"), "cannot be read"),
        ("questions.sql", ("--epsilon", "1", "--out", "report.pdf"), "Give a page (report.html)"),
        ("questions.sql", ("--epsilon", "1", "--out", "nowhere/report.html"), "Make it first."),
        ("questions.sql", ("--epsilon", "1", "--out", "clinic.toml/"), "is a file"),
        ("questions.sql", ("--epsilon", "1", "--out", "r.html", "--explain"), "--explain shows"),
        ("questions.sql", (), "Give a price: --epsilon 1 takes a tenth"),
        ("questions.sql", ("--epsilon", "11"), "at most ε = 10"),
        ("questions.sql", ("--epsilon", "1", "--rho", "1"), ""),
    ],
)
def test_what_is_refused_spends_nothing(policy, file, options, words):
    result = report(policy, *options, file=file)
    assert result.exit_code == 2
    assert words in result.output.replace("\n", " ")
    assert spent(policy) == 0


@pytest.mark.parametrize("text", ["", "-- only a comment\n", ";"])
def test_an_empty_file_is_refused(policy, tmp_path, text):
    (tmp_path / "empty.sql").write_text(text)
    result = report(policy, "--epsilon", "1", file="empty.sql")
    assert result.exit_code == 2
    assert "There is no question in empty.sql." in result.output


def test_an_error_names_its_question(policy, tmp_path):
    (tmp_path / "bad.sql").write_text(
        QUESTIONS + "-- Doctors\nSELECT doctor, count(*) FROM visits GROUP BY 1;"
    )
    result = report(policy, "--epsilon", "1", file="bad.sql")
    assert result.exit_code == 2
    assert "Question 4 (Doctors): " in result.output
    assert spent(policy) == 0


def test_what_cannot_be_written_is_kept_and_free(policy, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.write_text", full)
        result = report(policy, "--epsilon", "1", "--out", "report.html")
    assert result.exit_code == 1
    assert "No space left on device. Make room for it" in result.output
    assert "free" in report(policy, "--epsilon", "1", "--out", "report.html").output
