"""The servers of the tests come, answer, and leave nothing behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests import servers
from tests.servers import openid_provider, postgres

ROOT = Path(__file__).parent.parent.parent


def test_postgres_answers(postgres_server):
    with psycopg.connect(postgres_server.url) as connection:
        assert connection.execute("SELECT current_user, current_setting('server_encoding')").fetchone() == (
            "postgres",
            "UTF8",
        )


HOLD = """
import time
from tests.servers.postgres import running_postgres
with running_postgres() as server:
    print(server.port, server.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.usefixtures("postgres_server")
def test_postgres_ends_with_its_tests_however_they_end(by):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        port, folder = process.stdout.readline().decode().split()
        assert Path(folder).exists()
        process.send_signal(by)
    end = time.monotonic() + 30
    while Path(folder).exists():
        assert time.monotonic() < end, "the server's files are still there"
        time.sleep(0.05)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_what_is_missing_is_skipped_with_a_line_and_fails_where_it_must_not_be(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="Run: apt-get install teapot"):
        servers.missing("A teapot", "apt-get install teapot")


def test_without_postgres_its_tests_say_what_to_install(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(postgres.shutil, "which", lambda _: None)
    monkeypatch.setattr(postgres.Path, "glob", lambda *_: iter(()))
    with pytest.raises(pytest.skip.Exception, match=postgres.INSTALL), postgres.running_postgres():
        os.abort()


HOLD_PROVIDER = """
import time
from tests.servers.openid_provider import running_provider
with running_provider() as provider:
    print(provider.issuer, flush=True)
    time.sleep(600)
"""


def test_the_openid_provider_ends_with_its_tests():
    with openid_provider.running_provider() as provider:
        assert provider.issuer.startswith("http://localhost:")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_PROVIDER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as process:
        port = int(process.stdout.readline().decode().rpartition(":")[2])
        process.kill()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.05)
    raise AssertionError("the provider still listens")


def test_without_npm_its_tests_say_what_to_install(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    found = shutil.which
    monkeypatch.setattr(openid_provider.shutil, "which", lambda name: None if name == "npm" else found(name))
    with (
        pytest.raises(pytest.skip.Exception, match=openid_provider.INSTALL),
        openid_provider.running_provider(),
    ):
        os.abort()
