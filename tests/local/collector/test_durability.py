"""Nothing acknowledged is lost, at whichever step a collector is killed: see crashing_collectors.py."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("command", ["crash_in_new", "crash_in_old"])
def test_a_collector_killed_at_any_step_loses_nothing_and_counts_nothing_twice(command):
    memory = Path("/dev/shm")  # noqa: S108  where there is one: it is written through thousands of times
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        program = [sys.executable, "-m", "tests.local.collector.crashing_collectors", command, folder, "30"]
        result = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["killed"] >= 30
