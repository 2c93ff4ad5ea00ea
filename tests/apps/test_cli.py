"""The command line as a user meets it."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from discreet.apps.commands.main import main


def run(*arguments):
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import random\n"
        "def leaks(n):\n    return n\n"
        "def silent(n):\n    return random.random()\n"
        "def pairs(n):\n    return [n[0] > 0, 'x']\n"
        "number = 5\n"
    )
    return path


def test_help_is_instant_and_names_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "audit" in result.output
    assert "demo" in result.output


def test_help_does_not_load_what_it_does_not_need():
    heavy = "[name for name in ('rich', 'dp_accounting', 'scipy') if name in sys.modules]"
    code = f"import sys; from discreet.apps.commands.main import main; print({heavy})"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_the_audit_shows_a_table():
    result = run("audit", "--only", "Randomized response")
    assert result.exit_code == 0
    assert "coin toss" in result.output
    assert "hold" in result.output


def test_the_audit_shows_what_is_not_checked_in_every_layer():
    """Fits have an exact loss and no draws; canaries have draws and no law."""
    rows = run("audit", "--only", "own gradient").output.splitlines()
    exact = next(row for row in rows if "descent, own gradient, Laplace " in row)
    assert exact.split()[-6:] == ["ε", "1", "ε", "1.000", "–", "–"]
    canary = next(row for row in rows if "✓ own gradient, Gaussian" in row)
    assert re.search(r"ρ 2\.117 +– +≥ \d\.\d\d of 2\.12 +–", canary)
    assert "All 5 checks hold." in rows[-1]


def test_the_audit_speaks_json():
    result = run("audit", "--only", "Randomized response: keep", "--format", "json")
    report = json.loads(result.output)
    assert report["holds"] is True
    assert {"subject", "layer", "claimed", "found", "holds"} <= set(report["findings"][0])


def test_a_claim_that_fails_exits_with_1(monkeypatch):
    from discreet.noise.randomized_response import RandomizedResponse

    honest = RandomizedResponse.for_loss.__func__
    generous = classmethod(
        lambda cls, epsilon, *, categories=2: honest(cls, 2 * epsilon, categories=categories)
    )
    monkeypatch.setattr(RandomizedResponse, "for_loss", generous)
    result = run("audit", "--only", "Randomized response: yes")
    assert result.exit_code == 1
    assert "FAILS" in result.output
    assert "✗" in result.output


def test_a_check_that_does_not_exist():
    result = run("audit", "--only", "nonsense")
    assert result.exit_code == 2
    assert "without --only" in result.output


def test_a_leak_of_ones_own_is_found(mine):
    result = run("audit", "--mechanism", f"{mine}:leaks", "--first", "10", "--second", "11", "--epsilon", "1")
    assert result.exit_code == 1
    assert "wrong" in result.output


def test_a_mechanism_of_ones_own_that_holds(mine):
    arguments = ["--first", "10", "--second", "11", "--epsilon", "1", "--runs", "2000"]
    result = run("audit", "--mechanism", f"{mine}:silent", *arguments)
    assert result.exit_code == 0
    assert "not disproved" in result.output


def test_outputs_that_are_not_numbers(mine):
    arguments = ["--first", "[1]", "--second", "[0]", "--epsilon", "1", "--format", "json"]
    result = run("audit", "--mechanism", f"{mine}:pairs", *arguments)
    assert result.exit_code == 1
    assert json.loads(result.output)["epsilon_at_least"] > 5


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--mechanism", "nowhere.py:f", "--first", "1", "--second", "2", "--epsilon", "1"], "FILE.py:NAME"),
        (["--mechanism", "{mine}:missing", "--first", "1", "--second", "2", "--epsilon", "1"], "colon"),
        (["--mechanism", "{mine}:number", "--first", "1", "--second", "2", "--epsilon", "1"], "colon"),
        (["--mechanism", "{mine}:leaks", "--first", "a", "--second", "2", "--epsilon", "1"], "JSON"),
        (["--mechanism", "{mine}:leaks", "--first", "1"], "--second"),
        (["--mechanism", "{mine}:leaks", "--first", "1", "--second", "2", "--epsilon", "nan"], "finite"),
        (["--mechanism", "{mine}:leaks", "--first", "1", "--second", "2", "--epsilon", "-1"], "epsilon"),
        (
            ["--mechanism", "{mine}:leaks", "--first", "1", "--second", "2", "--epsilon", "1", "--runs", "3"],
            "runs",
        ),
        (["--epsilon", "one"], "not a valid float"),
    ],
)
def test_mistakes_get_a_clear_message_and_exit_code_2(mine, arguments, hint):
    result = run("audit", *(argument.format(mine=mine) for argument in arguments))
    assert result.exit_code == 2
    assert hint in result.output
    assert "Traceback" not in result.output


def test_options_that_do_not_belong_together_are_refused(mine):
    assert run("audit", "--first", "10", "--epsilon", "1").exit_code == 2
    inputs = ["--first", "1", "--second", "2", "--epsilon", "1"]
    assert run("audit", "--mechanism", f"{mine}:leaks", *inputs, "--thorough").exit_code == 2


def test_a_mechanism_that_raises_is_a_mistake_not_a_verdict(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text("def raises(n):\n    raise KeyError('oops')\n")
    inputs = ["--first", "1", "--second", "2", "--epsilon", "1"]
    result = run("audit", "--mechanism", f"{path}:raises", *inputs)
    assert result.exit_code == 2
    assert "KeyError" in result.output
    path.write_text("this is not Python")
    assert run("audit", "--mechanism", f"{path}:raises", *inputs).exit_code == 2


def test_a_mechanism_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "beside.py").write_text("ANSWER = 7\n")
    (tmp_path / "mech.py").write_text("from beside import ANSWER\ndef fixed(n):\n    return ANSWER\n")
    inputs = ["--first", "1", "--second", "2", "--epsilon", "1", "--runs", "500"]
    assert run("audit", "--mechanism", f"{tmp_path}/mech.py:fixed", *inputs).exit_code == 0


def test_a_terminal_that_cannot_show_greek_still_shows_the_rest():
    command = [sys.executable, "-m", "discreet", "audit", "--only", "Randomized response: keep"]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    result = subprocess.run(command, capture_output=True, text=True, env=ascii_only, check=False)
    assert result.returncode == 0
    assert "hold" in result.stdout
