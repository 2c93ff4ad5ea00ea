"""Dates in a CSV file, from `init` to an answer: by the format that was guessed, or as text."""

import datetime
import tomllib

import pytest
from click.testing import CliRunner

import discreet
from discreet.apps.commands.main import main
from discreet.bounds.identity import question_identity
from discreet.engines.duckdb.draft_types import fitting_formats
from discreet.release.older_keys import older_keys

DAYS = [datetime.date(2025, 1, 1) + datetime.timedelta(days=i) for i in range(300)]


@pytest.fixture
def init(tmp_path, monkeypatch):
    """Writes a file with one column of dates, drafts a policy, and reads back what it says of the column."""
    monkeypatch.chdir(tmp_path)

    def run(*cells):
        lines = [f"{i % 50};{cell}" for i, cell in enumerate(cells)]
        (tmp_path / "visits.csv").write_text("\n".join(["patient;day", *lines, ""]), encoding="utf-8")
        (tmp_path / "discreet.toml").unlink(missing_ok=True)
        result = CliRunner().invoke(main, ["init", "visits.csv", "--person", "patient"])
        assert result.exit_code == 0, result.output
        text = (tmp_path / "discreet.toml").read_text(encoding="utf-8")
        return tomllib.loads(text)["tables"]["visits"]["columns"]["day"], text, result.output

    return run


@pytest.mark.parametrize(
    "written", ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%Y %H:%M"]
)
def test_a_format_that_is_not_iso_is_written_down_and_every_value_is_read(init, tmp_path, written):
    declared, _, output = init(*(day.strftime(written) for day in DAYS))
    kind = "timestamp" if "%H" in written else "date"
    if written == "%Y/%m/%d":  # which is read as it is
        assert declared == {"type": kind}
    else:
        assert declared == {"type": kind, "format": written}
        assert written in output
        assert written in CliRunner().invoke(main, ["check"]).output
    policy = tmp_path / "discreet.toml"
    policy.write_text(policy.read_text().replace("epsilon = 1.0", "epsilon = 1000.0"))
    with discreet.open(policy) as curator:
        counted = "SELECT count(*) FILTER (WHERE day >= DATE '2025-03-15') AS n FROM visits"
        answer = curator.ask(counted, epsilon=100)
    assert answer["n"][0] == pytest.approx(sum(day >= datetime.date(2025, 3, 15) for day in DAYS), abs=8)


def test_days_that_could_be_months_are_text_until_the_owner_decides(init):
    declared, text, output = init("03/04/2025", "05/06/2025", "1/2/2025")
    assert declared == {"type": "text"}
    assert '# format = "%m/%d/%Y"\n# format = "%d/%m/%Y"' in text
    assert "do not tell days from months" in text
    assert "not clear: day" in output
    assert CliRunner().invoke(main, ["check"]).exit_code == 0


def test_one_row_decides_between_days_and_months(init):
    assert init("03/04/2025", "05/16/2025")[0]["format"] == "%m/%d/%Y"
    assert init("03/04/2025", "16/05/2025")[0]["format"] == "%d/%m/%Y"


def test_dots_have_the_day_first(init):
    assert init("03.04.2025", "05.06.2025")[0]["format"] == "%d.%m.%Y"


def test_dates_in_a_form_that_cannot_be_read_are_text(init):
    declared, text, _ = init("03/16/25", "04/17/25")
    assert declared == {"type": "text"}
    assert "this looks like dates, but in a form that cannot be read" in text


@pytest.mark.parametrize("cell", ["2025-03-15", "2025-03-15 10:30:00"])
def test_iso_needs_no_format(init, cell):
    declared, text, _ = init(cell, cell)
    assert declared == {"type": "timestamp" if ":" in cell else "date"}
    assert "format" not in text


def test_each_column_has_a_format_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{d:%d.%m.%Y},{d:%m/%d/%Y},{d},{d:%d.%m.%Y}x" for i, d in enumerate(DAYS)]
    (tmp_path / "visits.csv").write_text("\n".join(["p,a,b,c,d", *rows, ""]))
    assert CliRunner().invoke(main, ["init", "visits.csv", "--person", "p"]).exit_code == 0
    columns = tomllib.loads((tmp_path / "discreet.toml").read_text())["tables"]["visits"]["columns"]
    assert columns["a"] == {"type": "date", "format": "%d.%m.%Y"}
    assert columns["b"] == {"type": "date", "format": "%m/%d/%Y"}
    assert columns["c"] == {"type": "date"}
    assert columns["d"] == {"type": "text"}


def test_a_column_of_few_texts_is_no_date():
    assert fitting_formats(["north"]) == ()
    assert fitting_formats(["01.02.2025", "north"]) == ()


@pytest.mark.parametrize(
    ("declared", "hint"),
    [
        ('format = "%d.%m.%y"', "no format of dates"),
        ("format = 5", "format"),
        ('type = "text"\nformat = "%d.%m.%Y"', "has no format"),
        ('bounds = [0, 1]\nformat = "%d.%m.%Y"', "no bounds"),
    ],
)
def test_mistakes_in_a_format_are_said(init, tmp_path, declared, hint):
    init("03.04.2025")
    policy = tmp_path / "discreet.toml"
    policy.write_text(
        policy.read_text().replace('type = "date"', "").replace('format = "%d.%m.%Y"', declared)
    )
    result = CliRunner().invoke(main, ["check"])
    assert result.exit_code == 2
    assert hint in result.output


def test_a_format_alone_says_the_type(init, tmp_path):
    init("03.04.2025")
    policy = tmp_path / "discreet.toml"
    policy.write_text(policy.read_text().replace('type = "date"\n', ""))
    assert " date " in CliRunner().invoke(main, ["check"]).output
    policy.write_text(policy.read_text().replace("%d.%m.%Y", "%d.%m.%Y %H:%M"))
    assert " timestamp " in CliRunner().invoke(main, ["check"]).output


def test_a_format_is_part_of_what_questions_of_its_column_are_known_by(init, tmp_path):
    """And of no others: what was paid for stays free."""
    init("03.04.2025")
    policy = tmp_path / "discreet.toml"
    text = policy.read_text()
    keys = {}
    for written in ("%d.%m.%Y", "%m.%d.%Y", None):
        line = "" if written is None else f'format = "{written}"'
        policy.write_text(text.replace('format = "%d.%m.%Y"', line))
        with discreet.open(policy) as curator:
            plans = [
                curator.plan(sql, epsilon=0.5)
                for sql in ("SELECT count(day) FROM visits", "SELECT count(*) FROM visits")
            ]
            keys[written] = [(question_identity(plan), older_keys(plan)) for plan in plans]
    of_the_day, of_others = zip(*keys.values(), strict=True)
    assert len({key for key, _ in of_the_day}) == len({older for _, older in of_the_day}) == 3
    assert len(set(of_others)) == 1
