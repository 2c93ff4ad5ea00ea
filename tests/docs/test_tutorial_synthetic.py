"""The tutorial about a synthetic table: what it says to type is typed, in order.

What does not depend on noise comes out as shown. Answers that were asked for are within ten stated errors of
those shown, and synthetic counts within 2,000 of the real ones: below 10⁻¹² for the former; the latter have
no stated error, but of the one that is far off, by 150 to 450 people, it is more than ten times the spread.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main

PAGE = Path(__file__).parents[2] / "docs/tutorial/synthetic-table.md"
BLOCKS = re.findall(r"^```(python|toml|console|text)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "88", "LOGNAME": "ann", "USER": "ann"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_the_tutorial_runs_as_shown(folder, capsys):
    kinds, names = [], {}
    for kind, text in BLOCKS:
        kinds.append(kind)
        if kind == "python":
            capsys.readouterr()
            exec(text, names)  # noqa: S102
        elif kind == "toml":
            (folder / "discreet.toml").write_text(text)
        elif kind == "text":
            compare_numbers(capsys.readouterr().out.splitlines(), text.splitlines())
        else:
            compare_commands(text)
    assert kinds == ["python", "toml", "console", "console", "console", "python", "text", "python"]
    assert (folder / "few.csv").exists()
    assert len(names["answer"]) == 15


def compare_commands(text):
    typed, *shown = text.splitlines()
    result = CliRunner().invoke(main, shlex.split(typed.removeprefix("$ discreet ")))
    assert result.exit_code == 0, result.output
    found = [line.rstrip() for line in result.output.splitlines()]
    assert [without_people(line) for line in found] == [without_people(line) for line in shown]


def without_people(line):
    """How many rows the table has is measured."""
    return re.sub(r"^6\d,\d{3} rows", "N rows", line)


def compare_numbers(found, shown):
    assert len(found) == len(shown) == 5
    for mine, other in zip(found[1:], shown[1:], strict=True):
        real, synthetic, direct, error = numbers(mine)
        assert mine[:38] == other[:38]
        assert real == numbers(other)[0]
        assert error == numbers(other)[3] or direct < numbers(other)[3]  # an interval ends at 0 people
        assert abs(direct - numbers(other)[2]) <= 10 * numbers(other)[3]
        assert abs(synthetic - real) < 2_000


def numbers(line):
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", line[38:])]
