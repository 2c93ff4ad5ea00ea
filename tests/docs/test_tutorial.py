"""The tutorial about real data, from its first block to its last: what it says to type is typed, in order.

What does not depend on noise comes out as shown, letter by letter. Noisy numbers differ from those shown by
at most ten stated errors: as each of the two has one, that is more than 13 standard deviations, and false
alarms are below 10⁻¹². Of private groups at least five are there; six are 15 deviations above the threshold.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main

PAGE = Path(__file__).parents[2] / "docs/tutorial/first-questions.md"
BLOCKS = re.findall(r"^```(python|toml|console)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n", re.MULTILINE)
CELL = re.compile(r"(−?[\d,.]+) (?:± ([\d,.]+)|\((\S+) … (\S+)\))")
REFUSED = 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "88", "LOGNAME": "ann", "USER": "ann"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_the_tutorial_runs_as_shown(folder):
    compared = {"init": 0, "check": 0, "explain": 0, "ask": 0, "budget": 0}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(text, {})  # noqa: S102
        elif kind == "toml":
            (folder / "discreet.toml").write_text(text)
        else:
            for typed, shown in commands(text):
                compared[typed[1]] += 1
                compare(typed, shown)
    assert compared == {"init": 1, "check": 1, "explain": 3, "ask": 11, "budget": 1}


def commands(text):
    """What is typed after each $, as words, and the lines that are shown below it."""
    _, *parts = COMMAND.split(text)
    for typed, shown in zip(parts[::2], parts[1::2], strict=True):
        yield shlex.split(typed.replace("\n> ", "\n")), shown.splitlines()


def compare(typed, shown):
    result = CliRunner().invoke(main, typed[1:])
    found = [line.rstrip() for line in result.output.splitlines()]
    assert result.exit_code in (0, REFUSED), result.output
    if typed[1] == "ask" and result.exit_code == 0:
        compare_numbers(found, shown)
        shown, found = without_rows(shown), without_rows(found)
    if shown != found:
        wanted = r"(?:.*\n)*".join(re.escape(part) for part in "\n".join([*shown, ""]).split("…\n"))
        assert re.fullmatch(wanted, "\n".join([*found, ""])), f"{typed}\n{result.output}"


def rows(lines):
    """The first and the last line of what is between a table's head and the sentence below it."""
    head = next(i for i, line in enumerate(lines) if set(line) == {"─"})
    return head + 1, next(i for i, line in enumerate(lines) if line.startswith("Each error"))


def without_rows(lines):
    """Columns as wide as their numbers differ from time to time, so only their names are left of a head."""
    first, last = rows(lines)
    return [" ".join(line.split()) for line in lines[: first - 1]] + lines[last:]


def compare_numbers(found, shown):
    one, other = cells(found), cells(shown)
    common = one.keys() & other.keys()
    assert len(common) >= min(5, len(other))
    for key in common:
        assert len(one[key]) == len(other[key]) > 0
        for (a, first), (b, second) in zip(one[key], other[key], strict=True):
            assert abs(a - b) <= 10 * max(first, second), (key, a, b)


def cells(lines):
    """By key: the numbers of a row, each with its error, or with the longer side of its interval."""
    first, last = rows(lines)
    keys = [re.split(r"\s{2,}", line.strip())[0] for line in lines[first:last]]
    return {
        "" if CELL.fullmatch(key) else key: [numbers(*match) for match in CELL.findall(line)]
        for key, line in zip(keys, lines[first:last], strict=True)
    }


def numbers(value, error, low, high):
    centre = number(value)
    return centre, number(error) if error else max(number(high) - centre, centre - number(low))


def number(text):
    return float(text.replace(",", "").replace("−", "-"))
