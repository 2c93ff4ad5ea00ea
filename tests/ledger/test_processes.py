"""Many processes, forks and crashes: see forks.py for what each of them does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def forks(place):
    def run(command, count):
        done = subprocess.run(
            [sys.executable, "-m", "tests.ledger.forks", command, place.address, place.anchor, str(count)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=ROOT,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


def test_64_processes_that_race_for_ten_tenths_get_ten(forks):
    result = forks("race", 64)
    assert result == {"ended": 0, "numbers": list(range(2, 12)), "refused": 54, "spent": "1"}


def test_processes_that_ask_the_same_show_the_same(forks):
    result = forks("same", 24)
    assert (len(result["shown"]), result["ended"], result["spent"]) == (1, 0, "1/10")


def test_a_process_may_fork_while_its_threads_are_at_work(forks):
    assert forks("forks_at_work", 20) == {"ended": 0, "missing": 0}


@pytest.mark.parametrize("ledger", ["new", "old"])
def test_killed_at_any_step_nothing_that_was_told_is_lost(forks, kind, ledger):
    least = {"sqlite": 80, "postgres": 20}[kind]
    assert forks(f"crash_in_{ledger}", least)["killed"] >= least


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
def test_64_machines_that_race_for_ten_tenths_get_ten(forks):
    """Each with an anchor of its own, so that no file lock keeps them apart."""
    result = forks("race_of_machines", 64)
    assert result == {"ended": 0, "numbers": list(range(2, 12)), "refused": 54, "spent": "1"}
