"""Collectors as processes of their own, as `discreet local collect` runs them."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.local.signing import key_in, sign

ROOT = Path(__file__).parents[3]


def signed_file(folder, survey):
    """The survey's file, and the key to open it with."""
    text = sign(survey, Ed25519PrivateKey.generate())
    path = folder / "survey.json"
    path.write_text(text)
    return path, key_in(text)


@contextmanager
def running(path, key, folder, *options, before=()):
    """A collector that listens; killed at the end, if it still runs. It can be run by another command."""
    command = [*before, sys.executable, "-m", "discreet", "local", "collect", str(path), "--key", key]
    process = subprocess.Popen(
        [*command, "--folder", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + process.stdout.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def stopped(process):
    """What it says when it is interrupted."""
    process.send_signal(signal.SIGINT)
    said = process.stdout.read()
    assert process.wait(30) == 0, said
    return said


class Sender:
    """One connection to a collector, kept open."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def post(self, batch):
        return self._asked("POST", "/reports", batch)

    def get(self, path):
        return self._asked("GET", path)

    def _asked(self, method, path, body=None):
        self._connection.request(method, path, body, {"Content-Type": "application/octet-stream"})
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())
