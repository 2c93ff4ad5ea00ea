"""Services as processes of their own, as `discreet serve` runs them, and clients of them."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.service.accounts import new_account
from discreet.service.service import open_people
from discreet.service.user_account import Role

ROOT = Path(__file__).parents[3]
COUNT = "SELECT count(*) AS n FROM visits"


@contextmanager
def running(*policies, options=(), environment=None):
    """A service that listens; killed at the end, if it still runs."""
    chosen = [part for policy in policies for part in ("--policy", str(policy))]
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", *chosen, "--port", "0", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}", **(environment or {})},
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"https?://[^/]*:(\d+)/", line)
        assert found, line + process.stderr.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def stopped(process, by=signal.SIGTERM):
    """What it wrote, after it ended in order."""
    process.send_signal(by)
    said, logged = process.communicate(timeout=60)
    assert process.returncode == 0, logged
    return said, logged


def add_account(policy, name, role=Role.ANALYST, datasets=("clinic",), **settings):
    """Its token."""
    people = open_people(policy)
    try:
        return people.accounts.add(new_account(name, role, datasets, **settings), by="the owner")
    finally:
        people.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """One connection, kept open."""

    def __init__(self, port, token=None, *, timeout=30):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._token = token

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def get(self, path, **headers):
        return self.send("GET", path, headers=headers)

    def post(self, path, body=None, **headers):
        return self.send("POST", path, json.dumps(body if body is not None else {}), headers=headers)

    def send(self, method, path, body=None, *, headers=None):
        """A path without a slash before it is one of the API."""
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        where = path if path.startswith("/") else f"/api/v1/{path}"
        self._connection.request(method, where, body, {**sent, **given})
        response = self._connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Received(status=response.status, headers=received, body=response.read())

    def ask(self, sql=COUNT, *, dataset="clinic", **terms):
        return self.post(f"datasets/{dataset}/ask", {"sql": sql, **(terms or {"epsilon": 1})})

    def explain(self, sql=COUNT, *, dataset="clinic", **terms):
        return self.post(f"datasets/{dataset}/explain", {"sql": sql, **(terms or {"epsilon": 1})})
