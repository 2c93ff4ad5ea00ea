"""Questions from files and standard input, what can be asked about, and completion in a shell."""

import json
import shutil
import subprocess

import pytest

from tests.apps.clinic import COUNT, make_clinic, run
from tests.client.conftest import running  # noqa: F401  a fixture


@pytest.mark.parametrize("end", ["", ";\n", "\n\n"])
def test_a_question_is_read_from_a_file_and_from_standard_input(tmp_path, end):
    policy = make_clinic(tmp_path)
    (tmp_path / "count.sql").write_text(f"\ufeff-- how many\n{COUNT}{end}", encoding="utf-8")
    rest = ("--epsilon", 0.25, "--policy", policy, "--format", "json")
    plain = run("ask", COUNT, *rest)
    from_file = run("ask", f"@{tmp_path}/count.sql", *rest)
    typed = run("ask", "-", *rest, answer=COUNT + end)
    assert {plain.exit_code, from_file.exit_code, typed.exit_code} == {0}
    rows = [json.loads(result.stdout)["rows"] for result in (plain, from_file, typed)]
    assert rows[0] == rows[1] == rows[2]
    assert run("explain", f"@{tmp_path}/count.sql", "--epsilon", 0.1, "--policy", policy).exit_code == 0


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    policy = make_clinic(tmp_path)
    for name, problem in (("none.sql", "There is no file"), ("odd.sql", "cannot be read")):
        (tmp_path / "odd.sql").write_bytes(b"\xff\xfe\x00")
        result = run("ask", f"@{tmp_path}/{name}", "--epsilon", 0.1, "--policy", policy)
        assert result.exit_code == 2
        assert problem in result.output


def test_tables_are_shown_and_nothing_is_opened_for_it(tmp_path):
    policy = make_clinic(tmp_path)
    shown = run("tables", "--policy", policy).output.splitlines()
    assert shown[0] == "visits: a person is patient; max_rows = 1, max_groups = 1"
    assert shown[2].split(maxsplit=2) == ["ward", "text", "2 keys: 'north', 'south'"]
    (visits,) = json.loads(run("tables", "--policy", policy, "--format", "json").output)["tables"]
    assert [column["keys"] for column in visits["columns"]] == [None, ["north", "south"]]
    assert not list(tmp_path.glob("*.ledger*"))


def test_tables_of_a_service(running):  # noqa: F811
    token = running.add("tab")
    result = run("tables", "--server", running.url, "--token", token, "--dataset", "clinic")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("visits: a person is patient; max_rows = 2")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell):
    script = run("completion", shell).output
    assert f"_DISCREET_COMPLETE={shell}_complete" in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n", "-c", script], check=True)


def test_the_script_completes_commands():
    from click.testing import CliRunner

    from discreet.apps.commands.main import main

    words = {"COMP_WORDS": "discreet ta", "COMP_CWORD": "1", "_DISCREET_COMPLETE": "bash_complete"}
    result = CliRunner().invoke(main, [], prog_name="discreet", env=words)
    assert result.output.split() == ["plain,tables"]


def test_another_shell_is_refused():
    assert run("completion", "tcsh").exit_code == 2
