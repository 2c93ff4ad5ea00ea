"""`discreet mcp`: a service's tools for agents that start a program, as the package's client does."""

import asyncio
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from .running import COUNT

ROOT = Path(__file__).parents[2]
QUESTION = {"dataset": "clinic", "sql": COUNT, "epsilon": 0.5}
MODES = ("legacy", "auto")
"""With a handshake, and without."""


def environment(tmp_path, **more):
    """Without a login that somebody stored."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}/src", "XDG_CONFIG_HOME": str(tmp_path), **more}


def called(folder, url, token, mode, action):
    """What an action on a client gives that has started the program."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "discreet", "mcp", "--server", url],
        env=environment(folder, DISCREET_TOKEN=token),
    )

    async def run():
        async with Client(command, mode=mode) as client:
            return await action(client)

    return asyncio.run(run())


def lines_said(folder, url, token, *lines):
    """What the program writes to raw lines until they end."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "mcp", "--server", url],
        env=environment(folder, DISCREET_TOKEN=token),
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert b"Traceback" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def message(method, number=None, **params):
    found = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(found if number is None else {**found, "id": number}).encode()


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_starts_the_program(running, tmp_path, mode):
    token = running.add(f"ana-{mode}", most_epsilon=Fraction(1))
    question = {**QUESTION, "sql": f"{COUNT} WHERE cost < {500 + len(mode)}"}  # nobody paid for it before

    async def walk(client):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        asked = [(await client.call_tool("ask", question)).structured_content for _ in range(2)]
        over = await client.call_tool("ask", {**question, "epsilon": 0.8})
        return tools, asked, over

    tools, (first, again), over = called(tmp_path, running.url, token, mode, walk)
    assert "ask" in tools
    assert first["charged"] == {"epsilon": 0.5}
    assert (again["charged"], again["rows"]) == ({"epsilon": 0}, first["rows"])
    assert first["receipt"]["url"].startswith(running.url)
    assert over.is_error
    assert "budget-exceeded" in over.structured_content["type"]


def test_several_at_once(running, tmp_path):
    token = running.add("bo")

    async def ask_all(client):
        sql = (f"SELECT count(*) AS n FROM visits WHERE cost < {number}.5" for number in range(6))
        asked = ({"dataset": "clinic", "sql": each, "epsilon": 0.1} for each in sql)
        return await asyncio.gather(*(client.call_tool("ask", each) for each in asked))

    found = called(tmp_path, running.url, token, "legacy", ask_all)
    assert len({each.structured_content["receipt"]["number"] for each in found}) == 6


def test_the_stored_login(running, tmp_path):
    token = running.add("cy")
    for command in (["login", running.url, "--token", token], ["mcp"]):
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *command],
            env=environment(tmp_path),
            cwd=tmp_path,
            input=message("tools/call", 7, name="datasets", arguments={}) + b"\n",
            capture_output=True,
            timeout=120,
            check=True,
        )
    told = json.loads(done.stdout)
    assert (told["id"], told["result"]["structuredContent"]) == (7, {"datasets": ["clinic"]})
    assert token.encode() not in done.stdout + done.stderr


def test_a_wrong_token_is_told_in_words(running, tmp_path):
    (told,) = lines_said(tmp_path, running.url, "discreet_wrong", message("tools/list", 1))
    assert told["id"] == 1
    assert "wrong, expired or revoked" in told["error"]["message"]


def test_a_service_that_is_not_there(tmp_path):
    (told,) = lines_said(tmp_path, "http://127.0.0.1:9", "discreet_x", message("tools/list", 1))
    assert told["id"] == 1
    assert "Nothing answers at http://127.0.0.1:9" in told["error"]["message"]


def test_lines_that_are_no_messages(running, tmp_path):
    token = running.add("dee")
    lines = [b"{", b"[]", b"", b"\xff", message("notifications/initialized"), message("tools/list", 5)]
    told = lines_said(tmp_path, running.url, token, *lines)
    assert sorted(each["error"]["code"] for each in told if "error" in each) == [-32700, -32700, -32600]
    assert [each["id"] for each in told if "result" in each] == [5]


def test_without_a_service(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "mcp"],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "discreet login URL" in done.stderr


def test_it_needs_no_package():
    code = (
        "import sys, discreet.client.agent_bridge; sys.exit('mcp' in sys.modules or 'duckdb' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment("."), check=False).returncode == 0
