"""The client in JavaScript, run by Node."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.servers import missing

HERE = Path(__file__).parent
BROWSER = HERE.parent.parent / "src/discreet/local/browser"
SMALL, SOURCE = BROWSER / "discreet-local.js", BROWSER / "discreet-local.source.js"
INSTALL = "apt-get install --yes nodejs"
OLDEST = 20


def executable():
    """Node, if it is there and new enough."""
    found = shutil.which("node")
    return found if found and _version(found) >= OLDEST else missing(f"Node {OLDEST} or newer", INSTALL)


@cache
def _version(node):
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.removeprefix("v").split(".")[0])


def run(cases, *, module=SMALL):
    """What came of each case: its value, or why it was refused."""
    node = executable()
    content = json.dumps({"module": module.as_uri(), "cases": cases})
    done = subprocess.run(
        [node, "--no-warnings", HERE / "device.mjs"],
        input=content,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def values(cases, *, module=SMALL):
    results = run(cases, module=module)
    assert all("value" in result for result in results), [r for r in results if "refused" in r][:3]
    return [result["value"] for result in results]


def refusals(cases):
    results = run(cases)
    assert all("refused" in result for result in results), "some were not refused"
    return [result["refused"] for result in results]
