"""What is written is obeyed by no terminal and run by no spreadsheet: aliases, keys, names of analysts."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from discreet import DiscreetError
from discreet.apps.commands.main import main
from tests.attacks.ask import Clinic

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u202egnp\u2028\r"
"""Sets a title, clears the screen, colours (in one character too), goes back, turns around, ends a line."""
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "＝1+1", "a;=1+1", 'a",=1+1', "=HYPERLINK(1)")
FORMATS = ("table", "json", "csv")


def run(*words):
    """All that a command writes, as a terminal would receive it."""
    result = CliRunner().invoke(main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def obeyed(text):
    """Characters in a text that a terminal acts on."""
    return {sign for sign in text if not sign.isprintable() and sign != "\n"}


def quoted(text, mark="'"):
    return mark + text.replace(mark, mark * 2) + mark


@pytest.fixture
def evil_clinic(tmp_path):
    """A clinic whose data holds a key that somebody wrote to be shown."""
    rows = (
        f"SELECT range % 400, 'north', 1.0, 30, {quoted('=1+1 ' + ESCAPES)} FROM range(1000)"
        " UNION ALL SELECT 1000 + range, 'south', 1.0, 30, '-5' FROM range(400)"
    )
    return Clinic(tmp_path / "clinic", rows=rows, delta="1e-6", epsilon=900)


QUESTIONS = (
    f'SELECT count(*) AS "{ESCAPES}" FROM visits',
    f"SELECT ward = {quoted(ESCAPES)} AS x, {quoted(ESCAPES)} AS y, count(*) AS n FROM visits GROUP BY 1, 2",
    "SELECT diagnosis, count(DISTINCT patient) AS n FROM visits GROUP BY diagnosis",
    f"SELECT avg({quoted(ESCAPES, chr(34))}) FROM visits",
    f"SELECT count(*) FROM {quoted(ESCAPES, chr(34))}",
    f"SELECT {ESCAPES}",
    f"SELECT count(*) AS n FROM visits WHERE diagnosis = {quoted(ESCAPES)}",
    f'SELECT sum(age) AS "{ESCAPES}", avg(cost) AS n FROM visits HAVING "{ESCAPES}" > 3',
)


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_item9_no_word_of_a_question_or_a_key_is_obeyed_by_a_terminal(evil_clinic, question):
    policy = ("--policy", str(evil_clinic.policy))
    price = ("--epsilon", "50")
    for output in FORMATS:
        assert obeyed(run("ask", question, *price, "--format", output, *policy).output) == set()
    for output in FORMATS[:2]:
        assert obeyed(run("explain", question, *price, "--format", output, *policy).output) == set()
        assert obeyed(run("budget", "--format", output, *policy).output) == set()
    with evil_clinic.open() as curator:
        try:
            answer = curator.ask(question, epsilon=50)
            shown = str(answer) + repr(answer) + answer._repr_html_().replace("\n", "")
        except DiscreetError as error:
            shown = f"{error} {error.problem} {error.remedy}"
    assert obeyed(shown) == set()


def test_item9_nor_is_the_name_of_an_analyst(evil_clinic):
    policy = ("--policy", str(evil_clinic.policy))
    words = ("SELECT count(*) AS n FROM visits", "--epsilon", "1", "--as", ESCAPES, *policy)
    assert obeyed(run("ask", *words).output) == set()
    for output in FORMATS[:2]:
        assert obeyed(run("budget", "--format", output, *policy).output) == set()
    assert obeyed(run("ledger", "verify", *policy).output) == set()
    assert obeyed(run("ledger", "export", *policy).output) == set()


def test_item9_json_keeps_what_was_asked(evil_clinic):
    """Its own escapes hide nothing: what is read back is the same text."""
    question = f'SELECT count(*) AS "{ESCAPES}" FROM visits'
    policy = ("--policy", str(evil_clinic.policy))
    told = json.loads(run("ask", question, "--epsilon", "2", "--format", "json", *policy).output)
    assert told["columns"] == [ESCAPES]
    assert list(told["rows"][0]) == [ESCAPES]


def test_item9_nor_are_the_columns_of_a_file_that_somebody_sent(tmp_path, monkeypatch):
    """The owner looks at it by init, check and bounds; the policy that init writes is shown too."""
    monkeypatch.chdir(tmp_path)
    wards = quoted("w" + ESCAPES, chr(34))
    duckdb.sql(
        f"COPY (SELECT range AS patient, 1 AS {wards}, [1] AS {quoted('l' + ESCAPES, chr(34))} FROM range(9))"
        " TO 'sent.parquet'"
    )
    assert obeyed(run("init", "sent.parquet", "--person", "patient").output) == set()
    assert obeyed(Path("discreet.toml").read_text()) == set()
    policy = Path("discreet.toml").read_text().partition("[tables.sent.columns")[0]
    Path("discreet.toml").write_text(policy)
    checked = run("check")
    assert checked.exit_code == 0
    assert obeyed(checked.output) == set()
    for output in FORMATS[:2]:
        found = run("bounds", f"sent.w{ESCAPES}", "--epsilon", "0.1", "--format", output)
        assert obeyed(found.output) == set()


def test_item9_nor_are_the_options_of_a_survey_that_somebody_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = json.dumps(["no", f"yes{ESCAPES}"]).replace("\\u2028", "")
    Path("survey.toml").write_text(
        'name = "health"\nepoch = 1\nexpires = 2099-01-01\n[questions.smokes]\ntext = "Do you smoke?"\n'
        f"options = {told}\nepsilon = 1\n"
    )
    made = run("local", "new", "survey.toml")
    assert made.exit_code == 0
    assert obeyed(made.output) == set()


@pytest.mark.parametrize("formula", FORMULAS)
def test_item9_no_cell_of_a_csv_is_a_formula(tmp_path, formula):
    """Text, and the names of columns; whatever a spreadsheet takes for the end of a cell."""
    clinic = Clinic(tmp_path / "clinic")
    question = f"SELECT {quoted(formula)} AS {quoted(formula, chr(34))}, count(*) AS n FROM visits GROUP BY 1"
    told = run("ask", question, "--epsilon", "1", "--format", "csv", "--policy", str(clinic.policy)).output
    for mark in ",;\t":
        table = list(csv.reader(io.StringIO(told), delimiter=mark))
        cells = [cell for row in table for cell in row]
        texts = [cell for cell in cells if not _is_number(cell)] + [table[1][0], table[0][0]]
        assert [text for text in texts if text.startswith(tuple("=+-@\t\r＝＋－＠"))] == []
    header, row = csv.reader(io.StringIO(told))
    assert len(header) == len(row)
    assert header[1:4] == ["n", "n_low", "n_high"]
    assert header[4:] in ([], ["n_noise_low", "n_noise_high"])


def test_item9_numbers_of_a_csv_stay_numbers(tmp_path):
    clinic = Clinic(tmp_path / "clinic")
    question = "SELECT -5 AS k, sum(age) - 1000000 AS n FROM visits GROUP BY 1"
    told = run("ask", question, "--epsilon", "1", "--format", "csv", "--policy", str(clinic.policy)).output
    header, row = csv.reader(io.StringIO(told))
    assert header == ["k", "n", "n_low", "n_high", "n_noise_low", "n_noise_high"]
    assert row[0] == "-5"
    assert all(float(cell) < 0 for cell in row)


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
