"""Where a command cannot write, or does not know who runs it: a sentence and an exit code, no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.apps.commands.output import written_or_told
from discreet.curator.open_policy import system_user
from tests.attacks.ask import Clinic

ROOT = Path(__file__).parents[2]
QUESTION = "SELECT count(*) AS n FROM visits"
FULL = Path("/dev/full")

needs_dev_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


def run(words, **streams):
    """The command as a process, and what it wrote to the streams that are pipes."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src"}
    command = [sys.executable, "-m", "discreet", *words]
    return subprocess.run(command, check=False, text=True, env=environment, **streams)


@pytest.fixture
def ask(tmp_path):
    clinic = Clinic(tmp_path / "clinic", epsilon=1)
    return ["ask", QUESTION, "--epsilon", "1", "--policy", str(clinic.policy)]


@needs_dev_full
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_item11_a_full_disk_is_said_and_the_answer_is_had_again_for_free(ask, output):
    with FULL.open("w") as full:
        failed = run([*ask, "--format", output], stdout=full, stderr=subprocess.PIPE)
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr
    assert "Exception ignored" not in failed.stderr
    assert "The output could not be written" in failed.stderr
    again = run([*ask, "--format", "json"], stdout=subprocess.PIPE)
    assert again.returncode == 0
    assert '"repeated": true' in again.stdout


@needs_dev_full
@pytest.mark.parametrize("words", [["--help"], ["choose", "--epsilon", "1"], ["--version"]])
def test_item11_so_it_is_for_every_command(words):
    with FULL.open("w") as full:
        failed = run(words, stdout=full, stderr=subprocess.PIPE)
        assert failed.returncode == 1
        assert failed.stderr.startswith("The output could not be written")
        assert run(words, stdout=full, stderr=full).returncode == 1


def test_item11_without_an_output_nothing_is_spent(ask):
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, "-m", "discreet", *ask],
        check=False,
        text=True,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src"},
    )
    assert closed.returncode == 1
    assert closed.stderr.startswith("There is no output to write to.")
    assert '"repeated": false' in run([*ask, "--format", "json"], stdout=subprocess.PIPE).stdout


def test_item11_a_reader_that_has_seen_enough_is_no_error(ask):
    reading, writing = os.pipe()
    os.close(reading)
    ended = run([*ask, "--format", "csv"], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert ended.stderr == ""


def test_item11_an_error_that_is_not_of_the_output_stays_one():
    with pytest.raises(OSError, match="elsewhere"), written_or_told():
        raise OSError("elsewhere")


def test_item11_a_user_without_a_name_has_a_number(monkeypatch, tmp_path):
    """As in a container: no variable says who it is, and the system's list of users has no such number."""
    import pwd

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert system_user() == f"uid {os.getuid()}"
    with Clinic(tmp_path / "clinic").open(None) as curator:
        curator.ask(QUESTION, epsilon=1)
        assert list(curator.budget().analysts) == [f"uid {os.getuid()}"]
