"""What is installed from the wheel asks a service, on a machine without a database, a parser and a server."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .running import COUNT

pytestmark = pytest.mark.xdist_group("wheel")  # it is built once
ROOT = Path(__file__).parents[2]
NEEDED = (
    "numpy",
    "cryptography",
    "cffi",
    "_cffi_backend",
    "click",
    "rich",
    "pygments",
    "markdown_it",
    "mdurl",
)
"""What the client and its commands import, with what that imports."""
SCRIPT = """
import importlib.util, json, sys
import discreet
from discreet.client import dbapi

missing = [name for name in ("duckdb", "sqlglot", "starlette", "uvicorn") if importlib.util.find_spec(name)]
assert not missing, missing
curator = discreet.connect(sys.argv[1], sys.argv[2])
sql = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
explained = curator.explain(sql, epsilon=0.1)
answer = curator.ask(sql, epsilon=0.1)
assert curator.fetch(answer.receipt.number).rows() == answer.rows()
assert dbapi.connect(sys.argv[1], sys.argv[2], epsilon=0.1).cursor().execute(sql).rowcount == len(answer)
for action in (lambda: curator.table("visits"), answer.__arrow_c_stream__):
    try:
        action()
    except discreet.MissingExtra as error:
        assert "pip install" in error.remedy
    else:
        raise AssertionError
tables = [table.name for table in curator.tables]
print(json.dumps([explained.groups, len(answer), discreet.__file__, tables]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of an environment with the wheel and what the client needs, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT]
    subprocess.run(built, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    into = [*pip, "--python", place / "bin/python", "install", "--no-deps", "--no-index", wheel]
    subprocess.run(into, check=True, capture_output=True)
    (packages,) = place.glob("lib/python*/site-packages")
    for name in NEEDED:
        found = Path(find_spec(name).origin)
        found = found.parent if found.name == "__init__.py" else found
        (packages / found.name).symlink_to(found)
        for libraries in found.parent.glob(f"{name}.libs"):
            (packages / libraries.name).symlink_to(libraries)
    return place


def run(installed, *command, **environment):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [installed / "bin" / command[0], *map(str, command[1:])],
        env=plain | environment,
        cwd=installed,
        capture_output=True,
        text=True,
    )


def test_in_python(running, installed):
    found = run(installed, "python", "-c", SCRIPT, running.url, running.add("ana"))
    assert found.returncode == 0, found.stderr
    groups, rows, place, tables = json.loads(found.stdout)
    assert (groups, rows, tables) == (3, 3, ["visits"])
    assert Path(place).is_relative_to(installed)


def test_on_the_command_line(running, installed, tmp_path):
    token = running.add("bo")
    there = ("--server", running.url, "--epsilon", 0.1)
    for output in ("table", "json", "csv"):
        found = run(installed, "discreet", "ask", COUNT, *there, "--format", output, DISCREET_TOKEN=token)
        assert (found.returncode, found.stderr) == (0, "")
    assert run(installed, "discreet", "explain", COUNT, *there, DISCREET_TOKEN=token).returncode == 0
    stored = {"XDG_CONFIG_HOME": str(tmp_path)}
    signed_in = run(installed, "discreet", "login", running.url, "--token", token, **stored)
    assert "You are bo" in signed_in.stdout
    assert "of it for you" in run(installed, "discreet", "budget", **stored).stdout
    assert run(installed, "discreet", "logout", **stored).returncode == 0
